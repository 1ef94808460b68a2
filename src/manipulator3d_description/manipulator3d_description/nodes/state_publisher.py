# SPDX-License-Identifier: Apache-2.0
"""Publishes the robot description and its transforms where ROS 2's robot_state_publisher is not installed."""

from dataclasses import dataclass

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from manipulator3d_description.joint_state_filter import JointStateFilter
from manipulator3d_description.urdf_tree import Transform, UrdfTree
from manipulator3d_node.nodes.parameters import declare_parameters
from manipulator3d_node.nodes.process import run_node
from manipulator3d_node.parameter import parameter


@dataclass(frozen=True)
class StatePublisherParameters:
    """Parameters of the state publisher; names as in robot_state_publisher."""

    robot_description: str = parameter("", "URDF of the robot.")
    frame_prefix: str = parameter("", "Text before every frame name in the transforms.")
    publish_frequency: float = parameter(
        1000.0, "Highest rate of transforms; slower joint states are passed on one by one.", "Hz", 0.1, 1000.0
    )


class StatePublisher(Node):
    """Joint states become transforms with the same stamp.

    Raises:
        ValueError: a parameter or the robot description is not usable.
    """

    def __init__(self) -> None:
        super().__init__("robot_state_publisher")
        parameters = declare_parameters(self, StatePublisherParameters)
        if not parameters.robot_description.strip():
            raise ValueError("parameter robot_description is empty; give the URDF of the robot")
        self._frame_prefix = parameters.frame_prefix
        self._tree = UrdfTree(parameters.robot_description)
        self._filter = JointStateFilter(self._tree.joints, round(1e9 / parameters.publish_frequency))
        self._warned: set[str] = set()
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._description = self.create_publisher(String, "robot_description", latched)
        # tf2 listens to these absolute names in every namespace; frame names keep two arms apart
        self._static = self.create_publisher(TFMessage, "/tf_static", latched)
        self._moving = self.create_publisher(TFMessage, "/tf", 100)
        self._description.publish(String(data=parameters.robot_description))
        self._publish_static()
        self.create_subscription(JointState, "joint_states", self._on_joint_states, qos_profile_sensor_data)

    def _publish_static(self) -> None:
        stamp = self.get_clock().now().to_msg()
        self._static.publish(TFMessage(transforms=[self._stamped(part, stamp) for part in self._tree.fixed()]))

    def _on_joint_states(self, message: JointState) -> None:
        stamp_ns = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        now_ns = self.get_clock().now().nanoseconds
        try:
            positions = self._filter.passing(message.name, message.position, stamp_ns, now_ns)
        except ValueError as error:
            self._warn_once(f"joint_states: {error}; it is left out")
            return
        for name in self._filter.not_finite:
            self._warn_once(f"joint_states: {name} has a position that is not finite; it is left out")
        transforms = self._tree.moving(positions)
        if transforms:
            stamp = message.header.stamp
            self._moving.publish(TFMessage(transforms=[self._stamped(part, stamp) for part in transforms]))

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self.get_logger().warning(text)

    def _stamped(self, transform: Transform, stamp: Time) -> TransformStamped:
        message = TransformStamped()
        message.header.stamp = stamp
        message.header.frame_id = self._frame_prefix + transform.parent
        message.child_frame_id = self._frame_prefix + transform.child
        vector, quaternion = message.transform.translation, message.transform.rotation
        vector.x, vector.y, vector.z = transform.translation
        quaternion.x, quaternion.y, quaternion.z, quaternion.w = transform.rotation
        return message


def main() -> int:
    """Run the state publisher as a process."""
    return run_node(StatePublisher)


if __name__ == "__main__":
    raise SystemExit(main())
