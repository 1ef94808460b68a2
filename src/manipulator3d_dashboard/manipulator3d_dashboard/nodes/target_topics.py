# SPDX-License-Identifier: Apache-2.0
"""START and GOAL as topics, so that all who show or set them agree: who set one last is right."""

import math
from collections.abc import Callable

from geometry_msgs.msg import PointStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.time import Time

from manipulator3d_dashboard.nodes.pick_place_goal import point_message
from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.target import TARGETS


class TargetTopics:
    """Publishes and hears target_start and target_goal; for the thread that spins the node.

    A message with a stamp that is not newer than the last one is the past; one without a stamp counts when it comes.

    Args:
        node: that publishers and subscriptions belong to.
        base_frame: frame of the arm's base.
        on_target: takes START or GOAL and its new place, m in the base frame, when somebody else has set it.
        tell: takes a sentence on what went wrong.
    """

    def __init__(
        self, node: Node, base_frame: str, on_target: Callable[[str, Vector], None], tell: Callable[[str], object]
    ) -> None:
        self.base_frame = base_frame
        self._clock = node.get_clock()
        self._on_target = on_target
        self._tell = tell
        self._newest = dict.fromkeys(TARGETS, 0)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._publishers = {}
        for name in TARGETS:
            topic = f"target_{name.lower()}"
            self._publishers[name] = node.create_publisher(PointStamped, topic, latched)
            node.create_subscription(
                PointStamped, topic, lambda message, name=name: self._on_message(name, message), latched
            )

    def publish(self, name: str, point: Vector) -> None:
        """Tell all others where START or GOAL is now, m in the base frame."""
        now = self._clock.now()
        self._newest[name] = now.nanoseconds
        message = PointStamped(point=point_message(point))
        message.header.frame_id, message.header.stamp = self.base_frame, now.to_msg()
        self._publishers[name].publish(message)

    def _on_message(self, name: str, message: PointStamped) -> None:
        stamp = Time.from_msg(message.header.stamp).nanoseconds
        if 0 < stamp <= self._newest[name]:
            return
        topic, frame = self._publishers[name].topic_name, message.header.frame_id
        point = (message.point.x, message.point.y, message.point.z)
        if frame not in ("", self.base_frame):
            self._tell(f"{topic}: frame '{frame}' is not the arm's base; give the point in '{self.base_frame}'")
        elif not all(map(math.isfinite, point)):
            self._tell(f"{topic}: {point} m is not finite; give x, y and z in m")
        else:
            self._newest[name] = stamp or self._clock.now().nanoseconds
            self._on_target(name, point)
