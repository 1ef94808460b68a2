# SPDX-License-Identifier: Apache-2.0
"""A simulated arm and the motion server as processes, and a client that commands and watches them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import rclpy
from control_msgs.action import FollowJointTrajectory
from domain_coordinator import domain_id
from geometry_msgs.msg import PointStamped
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from manipulator3d_description.robot_description import robot_description
from manipulator3d_interfaces.action import DrawPath, MoveTo, PickPlace
from manipulator3d_interfaces.msg import ArmStatus

# a range that the environment has chosen is kept; none means this computer
RANGE = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

LIMIT_S = 60.0
LATCHED = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class RunningGoal:
    """A goal that was sent: its handle, its feedback so far and its result to come."""

    def __init__(self, cell: "Cell", client: Any, goal: Any) -> None:
        self.feedback: list[Any] = []
        self._cell = cell
        sent = client.send_goal_async(goal, feedback_callback=lambda message: self.feedback.append(message.feedback))
        self.handle: Any = cell.answer(sent)
        self._result = self.handle.get_result_async()

    def cancel(self) -> None:
        self._cell.answer(self.handle.cancel_goal_async())

    @property
    def done(self) -> bool:
        return self._result.done()

    def result(self) -> Any:
        return self._cell.answer(self._result).result

    def status(self) -> int:
        """Final state, a constant of GoalStatus."""
        return int(self._cell.answer(self._result).status)


class Cell:
    """The processes and the client, in a ROS domain of their own.

    Attributes:
        commands, states, statuses: what was received so far.
    """

    def __init__(self, folder: Path, domain: int, hardware: str, parameters: Sequence[str] = ()) -> None:
        self._folder = folder
        self._environment = os.environ | {
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": RANGE,
        }
        self.processes = {
            "arm_simulator": self._start("arm_simulator", f"hardware:={hardware}"),
            "motion_server": self._start("motion_server", *parameters),
        }
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = Node("client", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.commands: list[JointState] = []
        self.states: list[JointState] = []
        self.statuses: list[ArmStatus] = []
        self.markers: list[Any] = []
        self.node.create_subscription(JointState, "joint_commands", self.commands.append, 2000)
        self.node.create_subscription(JointState, "joint_states", self.states.append, 2000)
        self.node.create_subscription(ArmStatus, "arm_status", self.statuses.append, 100)
        self.node.create_subscription(MarkerArray, "markers", lambda array: self.markers.extend(array.markers), LATCHED)
        self._description = self.node.create_publisher(String, "robot_description", LATCHED)
        self._ball = self.node.create_publisher(PointStamped, "set_ball", 10)
        self._speed = self.node.create_publisher(Float64, "speed_scale", 10)
        self.pick_place_client: Any = ActionClient(self.node, PickPlace, "pick_place")
        self.move_to_client: Any = ActionClient(self.node, MoveTo, "move_to")
        self.trajectory_client: Any = ActionClient(
            self.node, FollowJointTrajectory, "arm_controller/follow_joint_trajectory"
        )
        self.draw_path_client: Any = ActionClient(self.node, DrawPath, "draw_path")

    def _start(self, name: str, *parameters: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", f"manipulator3d_control.nodes.{name}", "--ros-args"]
        for parameter in parameters:
            command += ["-p", parameter]
        with (self._folder / f"{name}.log").open("w") as output:
            return subprocess.Popen(command, env=self._environment, stdout=output, stderr=output, text=True)

    def describe(self, xml: str) -> None:
        self._description.publish(String(data=xml))

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def wait_for(self, condition: Callable[[], Any], what: str) -> None:
        end = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < end, f"waited {LIMIT_S:g} s for {what}\n{self.log('motion_server')}"
            self._executor.spin_once(timeout_sec=0.05)

    def answer(self, future: Future) -> Any:
        self.wait_for(future.done, "an answer")
        return future.result()

    def wait_until_ready(self) -> None:
        clients = (self.pick_place_client, self.move_to_client, self.draw_path_client)
        self.wait_for(lambda: all(client.server_is_ready() for client in clients), "the actions")
        self.wait_for_mode(ArmStatus.MODE_IDLE)

    def wait_for_mode(self, mode: int) -> ArmStatus:
        """Wait for a status from now on."""
        seen = len(self.statuses)
        self.wait_for(lambda: any(status.mode == mode for status in self.statuses[seen:]), f"mode {mode}")
        return self.statuses[-1]

    def trigger(self, name: str) -> Trigger.Response:
        client: Any = self.node.create_client(Trigger, name)
        self.wait_for(client.service_is_ready, name)
        response = self.answer(client.call_async(Trigger.Request()))
        self.node.destroy_client(client)
        return response

    def send(self, goal: Any) -> RunningGoal:
        clients = {
            PickPlace.Goal: self.pick_place_client,
            MoveTo.Goal: self.move_to_client,
            DrawPath.Goal: self.draw_path_client,
            FollowJointTrajectory.Goal: self.trajectory_client,
        }
        return RunningGoal(self, clients[type(goal)], goal)

    def put_ball(self, x: float, y: float, z: float) -> None:
        """Put the ball somewhere and wait until it is shown there."""
        message = PointStamped()
        message.point.x, message.point.y, message.point.z = x, y, z
        seen = len(self.markers)

        def is_shown() -> bool:
            balls = [marker.pose.position for marker in self.markers[seen:] if marker.ns == "ball"]
            return bool(balls) and abs(balls[-1].x - x) + abs(balls[-1].y - y) + abs(balls[-1].z - z) < 1e-3

        self._ball.publish(message)
        self.wait_for(is_shown, "the marker of the ball")

    def set_speed(self, scale: float) -> None:
        self._speed.publish(Float64(data=scale))

    def position(self) -> list[float]:
        """Measured joint angles, rad, of a measurement made from now on."""
        seen = len(self.states)
        self.wait_for(lambda: len(self.states) > seen + 1, "joint states")
        return list(self.states[-1].position)

    def wait_for_commands(self, count: int) -> None:
        """Wait for further commands."""
        seen = len(self.commands)
        self.wait_for(lambda: len(self.commands) >= seen + count, "joint commands")

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def start_cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Cell]]:
    """Starts cells; all end with the module."""
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", RANGE)

        def start(hardware: str, described: bool = True, parameters: Sequence[str] = ()) -> Cell:
            cell = Cell(tmp_path_factory.mktemp("cell"), stack.enter_context(domain_id()), hardware, parameters)
            stack.callback(cell.close)
            if described:
                cell.describe(robot_description("capstone"))
                cell.wait_until_ready()
            return cell

        yield start


@pytest.fixture(scope="module")
def cell(start_cell: Callable[..., Cell]) -> Cell:
    """A mock arm, ready for goals, for all tests of a module."""
    return start_cell("mock")


@pytest.fixture(scope="module")
def patient_cell(start_cell: Callable[..., Cell]) -> Cell:
    """The same with a server that gives no goal up where the computer is busy elsewhere and the arm lags behind."""
    patience = ("tracking_tolerance:=3.0", "settle_timeout:=30.0", "state_timeout:=10.0", "command_lead:=0.25")
    return start_cell("mock", parameters=patience)
