# SPDX-License-Identifier: Apache-2.0
"""Expresses targets in the arm's base frame: by the URDF where a link is fixed to the base, else by transforms."""

import numpy as np
from geometry_msgs.msg import Point, PointStamped
from rclpy.node import Node
from std_msgs.msg import Header

from manipulator3d_kinematics import ArmModel
from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_node.nodes.target_frame import FrameRefusal, TargetFrame


class BaseFrame:
    """Finds the pose of a frame in the base frame.

    Args:
        node: listens to transforms where tf2_ros is installed.
    """

    def __init__(self, node: Node) -> None:
        self._transforms = TargetFrame(node)

    def point(self, arm: ArmModel, base: str, target: PointStamped) -> tuple[float, float, float] | FrameRefusal:
        """The target's coordinates in the base frame, m, or why there are none."""
        frame, point = target.header.frame_id, target.point
        if frame in ("", base):
            return point.x, point.y, point.z
        pose = arm.fixed_frames.get(frame)
        if pose is None:
            return self._transforms.in_base(target, base)
        x, y, z = pose[:3, :3] @ (point.x, point.y, point.z) + pose[:3, 3]
        return float(x), float(y), float(z)

    def pose(self, arm: ArmModel, base: str, frame: str) -> Array | FrameRefusal:
        """The frame's pose in the base frame, shape (4, 4), or why there is none."""
        pose = np.eye(4)
        corners = []
        for x, y, z in ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
            corner = self.point(arm, base, PointStamped(header=Header(frame_id=frame), point=Point(x=x, y=y, z=z)))
            if isinstance(corner, FrameRefusal):
                return corner
            corners.append(np.array(corner))
        pose[:3, 3] = corners[0]
        pose[:3, :3] = np.column_stack([corner - corners[0] for corner in corners[1:]])
        return pose
