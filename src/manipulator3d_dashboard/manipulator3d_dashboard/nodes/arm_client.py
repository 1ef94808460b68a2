# SPDX-License-Identifier: Apache-2.0
"""Asks the stack to move the arm, by its services and actions, and tells what became of it."""

import time
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Quaternion
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from manipulator3d_dashboard.arm_state import Command
from manipulator3d_dashboard.nodes.pick_place_goal import pick_place_goal, point_message, stamped_point
from manipulator3d_dashboard.request import Task
from manipulator3d_dashboard.sketch import Sketch
from manipulator3d_dashboard.state_text import code_name
from manipulator3d_interfaces.action import DrawPath, Home, PickPlace
from manipulator3d_interfaces.srv import ChangePickPlace
from manipulator3d_node.error_code import ErrorCode

_ANSWER_LIMIT = 5.0
# the answer to new points comes when the paths between them are planned
_PLANNING_LIMIT = 30.0
_SERVICES = {
    Command.PAUSE: "pause",
    Command.RESUME: "resume",
    Command.STOP: "stop",
    Command.EMERGENCY_STOP: "emergency_stop",
    Command.RESET: "reset_fault",
}
# ends that someone asked for and that need no entry in the log
_WANTED_ENDS = (ErrorCode.SUCCESS, ErrorCode.CANCELED, ErrorCode.STOPPED)


class ArmClient:
    """Sends requests without ever waiting; must be used in the thread that spins the node.

    Args:
        node: that the clients belong to.
        tell: takes a sentence on what went wrong.
    """

    def __init__(self, node: Node, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._services: dict[Command, Client] = {
            command: node.create_client(Trigger, name) for command, name in _SERVICES.items()
        }
        self._gripper: Client = node.create_client(SetBool, "set_gripper")
        self._pick_place: ActionClient = ActionClient(node, PickPlace, "pick_place")
        self._home: ActionClient = ActionClient(node, Home, "home")
        self._draw: ActionClient = ActionClient(node, DrawPath, "draw_path")
        self._speed = node.create_publisher(Float64, "speed_scale", 10)
        self._change: Client = node.create_client(ChangePickPlace, "change_pick_place")
        self._waiting: dict[Future, tuple[str, float, float, Client | None]] = {}
        self._running: ClientGoalHandle | None = None
        self._homing: ClientGoalHandle | None = None
        self.cycle = 0

    def trigger(self, command: Command) -> None:
        """Call the service of a button."""
        self._call(self._services[command], Trigger.Request(), _SERVICES[command])
        if command is Command.STOP and self._homing is not None:
            self._homing.cancel_goal_async()

    def set_gripper(self, closed: bool) -> None:
        """Close or open the gripper."""
        self._call(self._gripper, SetBool.Request(data=closed), "set_gripper")

    def set_speed(self, fraction: float) -> None:
        """Run the present motion, and later ones, at a fraction of their planned speed."""
        self._speed.publish(Float64(data=fraction))

    def play(self, task: Task) -> None:
        """Start a pick-and-place."""
        self.set_speed(task.speed)
        goal = pick_place_goal(task.start, task.goal, task.cycles)
        self._send(self._pick_place, goal, "pick_place", self._on_pick_place_accepted, self._on_feedback)

    def change(self, task: Task) -> None:
        """Give the paused pick-and-place other points, from its next cycle on, and let it go on."""
        self.set_speed(task.speed)
        if not self._change.service_is_ready():
            self._tell("change_pick_place: nobody serves it; start the stack")
            return
        request = ChangePickPlace.Request(pick=stamped_point(task.start), place=stamped_point(task.goal))
        future = self._change.call_async(request)
        self._await(future, "change_pick_place", self._change, self._on_changed, _PLANNING_LIMIT)

    def home(self) -> None:
        """Start homing."""
        self._send(self._home, Home.Goal(), "home", self._on_home_accepted, None)

    def draw(self, sketch: Sketch) -> None:
        """Start drawing."""
        goal = DrawPath.Goal(shape=int(sketch.kind), size=list(sketch.size), closed=sketch.closed)
        position, (w, x, y, z) = sketch.pose
        goal.plane.pose.position = point_message(position)
        goal.plane.pose.orientation = Quaternion(w=w, x=x, y=y, z=z)
        goal.points = [point_message(point) for point in sketch.points]
        goal.corner_radius, goal.speed, goal.repeat = sketch.corner_radius, sketch.speed, sketch.rounds
        self._send(self._draw, goal, "draw_path", self._on_draw_accepted, None)

    def check_answers(self) -> None:
        """Give up requests that were not answered in time; to be called now and then."""
        now = time.monotonic()
        for future, (name, sent, limit, client) in list(self._waiting.items()):
            if now < sent + limit:
                continue
            del self._waiting[future]
            if client is not None:
                client.remove_pending_request(future)
            self._tell(f"{name}: no answer within {limit:g} s; see whether the stack runs, then try again")

    def _call(self, client: Client, request: Any, name: str) -> None:
        if not client.service_is_ready():
            self._tell(f"{name}: nobody serves it; start the stack")
            return
        future = client.call_async(request)
        self._await(future, name, client, self._on_answer)

    def _send(self, client: ActionClient, goal: Any, name: str, accepted: Any, feedback: Any) -> None:
        if not client.server_is_ready():
            self._tell(f"{name}: nobody serves it; start the stack")
            return
        self._await(client.send_goal_async(goal, feedback_callback=feedback), name, None, accepted)

    def _await(
        self,
        future: Future,
        name: str,
        client: Client | None,
        then: Callable[[str, Any], None],
        limit: float = _ANSWER_LIMIT,
    ) -> None:
        self._waiting[future] = (name, time.monotonic(), limit, client)

        def done(answered: Future) -> None:
            # an answer that comes after it was given up is still obeyed: it may be a goal that now runs
            self._waiting.pop(answered, None)
            if not answered.cancelled():
                then(name, answered.result())

        future.add_done_callback(done)

    def _on_answer(self, name: str, answer: Any) -> None:
        if not answer.success:
            self._tell(f"{name}: {answer.message}")

    def _on_changed(self, name: str, answer: Any) -> None:
        self._on_answer(name, answer)
        if answer.success:
            self.trigger(Command.RESUME)

    def _on_pick_place_accepted(self, name: str, handle: ClientGoalHandle) -> None:
        if not handle.accepted:
            self._tell(f"{name}: the motion server did not take the goal; look at its log")
            return
        self._running = handle
        handle.get_result_async().add_done_callback(lambda future: self._on_pick_place_end(name, handle, future))

    def _on_pick_place_end(self, name: str, handle: ClientGoalHandle, future: Future) -> None:
        if self._running is handle:
            self._running = None
            self.cycle = 0
        self._tell_end(name, future)

    def _on_feedback(self, message: Any) -> None:
        self.cycle = message.feedback.cycle

    def _on_draw_accepted(self, name: str, handle: ClientGoalHandle) -> None:
        if not handle.accepted:
            self._tell(f"{name}: the motion server did not take the goal; look at its log")
            return
        handle.get_result_async().add_done_callback(lambda future: self._tell_end(name, future))

    def _on_home_accepted(self, name: str, handle: ClientGoalHandle) -> None:
        if not handle.accepted:
            self._tell(f"{name}: the arm's driver did not take the goal; look at its log")
            return
        self._homing = handle

        def ended(future: Future) -> None:
            self._homing = None
            self._tell_end(name, future)

        handle.get_result_async().add_done_callback(ended)

    def _tell_end(self, name: str, future: Future) -> None:
        answer: Any = future.result()
        result = answer.result
        if answer.status != GoalStatus.STATUS_SUCCEEDED and result.error_code not in _WANTED_ENDS:
            self._tell(f"{name}: {code_name(result.error_code)}: {result.message}")
