# SPDX-License-Identifier: Apache-2.0
"""Sends what a held jog button asks for to the motion server."""

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from manipulator3d_dashboard.pose import Vector
from manipulator3d_kinematics import ArmModel


class JogPublisher:
    """Publishes jog_twist and jog_joints; must be used in the thread that spins the node.

    Args:
        node: that the publishers belong to.
        tell: takes a sentence on what went wrong.
    """

    def __init__(self, node: Node, tell: Callable[[str], None]) -> None:
        self._clock = node.get_clock()
        self._tell = tell
        self._has_told = False
        self._twist = node.create_publisher(TwistStamped, "jog_twist", 10)
        self._joints = node.create_publisher(JointState, "jog_joints", 10)

    def move_tool(self, arm: ArmModel, velocity: Vector) -> None:
        """Move the tool, m/s in the arm's base."""
        message = TwistStamped()
        message.header.stamp = self._clock.now().to_msg()
        message.header.frame_id = arm.base_frame
        message.twist.linear.x, message.twist.linear.y, message.twist.linear.z = velocity
        self._publish(self._twist, message)

    def move_joints(self, arm: ArmModel, velocity: Vector) -> None:
        """Move the joints, rad/s."""
        message = JointState(name=list(arm.joint_names), velocity=list(velocity))
        message.header.stamp = self._clock.now().to_msg()
        self._publish(self._joints, message)

    def _publish(self, publisher: Publisher, message: Any) -> None:
        is_heard = publisher.get_subscription_count() > 0
        if not is_heard and not self._has_told:
            self._tell(f"{publisher.topic_name}: nobody listens; start the motion server")
        self._has_told = not is_heard
        publisher.publish(message)
