# SPDX-License-Identifier: Apache-2.0
"""START and GOAL for RViz: the Publish Point tool sets GOAL, interactive markers move both and run the task."""

import sys

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PointStamped
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger

from manipulator3d_dashboard.nodes.interactive_targets import MENU, InteractiveTargets
from manipulator3d_dashboard.nodes.pick_place_goal import pick_place_goal
from manipulator3d_dashboard.nodes.target_topics import TargetTopics
from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.state_text import code_name, point_text
from manipulator3d_dashboard.target import TARGETS, check_target, default_targets, refusal
from manipulator3d_interfaces.action import PickPlace
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.nodes.process import run_node
from manipulator3d_node.nodes.target_frame import FrameRefusal, TargetFrame

_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class TargetMarkers(Node):
    """Keeps START and GOAL in step with RViz and with the page."""

    def __init__(self) -> None:
        super().__init__("target_markers")
        self._arm: ArmModel | None = None
        self._targets: dict[str, Vector] = {}
        self._topics: TargetTopics | None = None
        self._frames = TargetFrame(self)
        self._pick_place: ActionClient = ActionClient(self, PickPlace, "pick_place")
        self._stop: Client = self.create_client(Trigger, "stop")
        self._markers: InteractiveTargets | None = None
        try:
            self._markers = InteractiveTargets(self, self._set, self._on_menu)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "interactive_markers":
                raise
            self.get_logger().info(
                "interactive_markers is not installed: START and GOAL cannot be dragged in RViz; the tool Publish "
                "Point sets GOAL all the same; install ros-$ROS_DISTRO-interactive-markers"
            )
        self.create_subscription(String, "robot_description", self._on_description, _LATCHED)
        self.create_subscription(PointStamped, "clicked_point", self._on_clicked_point, 10)

    def close(self) -> None:
        """Take the markers off RViz."""
        if self._markers is not None:
            self._markers.shutdown()

    def _on_description(self, message: String) -> None:
        try:
            self._arm = arm = ArmModel.from_urdf(message.data)
        except ValueError as error:
            self.get_logger().error(f"robot_description: {error}")
            return
        if self._topics is None:
            self._targets = dict(zip(TARGETS, default_targets(arm), strict=True))
            self._topics = TargetTopics(self, arm.base_frame, self._take, self.get_logger().warning)
        self._topics.base_frame = arm.base_frame
        for name in TARGETS:
            self._show(name)

    def _on_clicked_point(self, message: PointStamped) -> None:
        if self._arm is None:
            self.get_logger().error("clicked_point: no robot_description has arrived; start the stack")
            return
        point = self._frames.in_base(message, self._arm.base_frame)
        if isinstance(point, FrameRefusal):
            self.get_logger().error(f"clicked_point: {point.message}")
            return
        self._set("GOAL", point)

    def _set(self, name: str, point: Vector) -> None:
        """Take a place that somebody at RViz has chosen, and tell the others."""
        if self._arm is None or self._topics is None:
            return
        verdict = check_target(self._arm, point)
        if not verdict.reachable:
            self.get_logger().warning(f"{name} {point_text(point)}: {verdict.text}", throttle_duration_sec=1.0)
        self._take(name, point)
        self._topics.publish(name, point)

    def _take(self, name: str, point: Vector) -> None:
        self._targets[name] = point
        self._show(name)

    def _show(self, name: str) -> None:
        if self._markers is not None and self._arm is not None:
            point = self._targets[name]
            self._markers.show(name, self._arm.base_frame, point, check_target(self._arm, point))

    def _on_menu(self, entry: str) -> None:
        once, repeat, _stop = MENU
        if entry in (once, repeat):
            self._play(cycles=1 if entry == once else 0)
        elif self._stop.service_is_ready():
            self._stop.call_async(Trigger.Request())
        else:
            self.get_logger().error("stop: nobody serves it; start the stack")

    def _play(self, cycles: int) -> None:
        reason = refusal(self._arm, self._targets["START"], self._targets["GOAL"])
        if not reason and not self._pick_place.server_is_ready():
            reason = "pick_place: nobody serves it; start the stack"
        if reason:
            self.get_logger().error(reason)
            return
        goal = pick_place_goal(self._targets["START"], self._targets["GOAL"], cycles)
        self._pick_place.send_goal_async(goal).add_done_callback(self._on_accepted)

    def _on_accepted(self, answered: Future) -> None:
        handle = answered.result()
        if handle is None or not handle.accepted:
            self.get_logger().error("pick_place: the motion server did not take the goal; look at its log")
            return
        handle.get_result_async().add_done_callback(self._on_end)

    def _on_end(self, ended: Future) -> None:
        answer = ended.result()
        if answer is not None and answer.status == GoalStatus.STATUS_ABORTED:
            result = answer.result
            self.get_logger().error(f"pick_place: {code_name(result.error_code)}: {result.message}")


def main() -> None:
    """Run the node as a program."""
    sys.exit(run_node(TargetMarkers))


if __name__ == "__main__":
    main()
