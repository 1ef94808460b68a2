# SPDX-License-Identifier: Apache-2.0
"""Expresses points of any frame in the frame of the arm's base."""

import importlib
from dataclasses import dataclass
from typing import Any

from geometry_msgs.msg import PointStamped
from rclpy.node import Node
from rclpy.time import Time

from manipulator3d_node.error_code import ErrorCode


@dataclass(frozen=True)
class FrameRefusal:
    """Why a point cannot be expressed in the base frame.

    Attributes:
        code: of the result.
        message: names the frame and the remedy.
    """

    code: ErrorCode
    message: str


class TargetFrame:
    """Follows the transforms of a node's domain where tf2_ros is installed.

    Args:
        node: listens to the transforms; to be given before its executor spins, or from the executor's thread.
    """

    def __init__(self, node: Node) -> None:
        self._tf2: Any = None
        self._buffer: Any = None
        try:
            self._tf2 = importlib.import_module("tf2_ros")
        except ModuleNotFoundError as error:
            if error.name != "tf2_ros":
                raise
            return
        self._buffer = self._tf2.Buffer(node=node)
        self._listener = self._tf2.TransformListener(self._buffer, node)

    def in_base(self, point: PointStamped, base_frame: str) -> tuple[float, float, float] | FrameRefusal:
        """Return the point in the base frame, m, by the latest transform, or why there is none.

        Args:
            point: an empty frame means the base frame.
            base_frame: name of the frame of the arm's base.
        """
        position = (point.point.x, point.point.y, point.point.z)
        pose = self.pose_in_base(point.header.frame_id, base_frame)
        if isinstance(pose, FrameRefusal):
            return pose
        turn, shift = pose
        x, y, z = _rotated(turn, position)
        return x + shift[0], y + shift[1], z + shift[2]

    def pose_in_base(
        self, frame: str, base_frame: str
    ) -> tuple[tuple[float, float, float, float], tuple[float, float, float]] | FrameRefusal:
        """Return the pose of a frame in the base frame, by the latest transform, or why there is none.

        Args:
            frame: empty means the base frame.
            base_frame: name of the frame of the arm's base.

        Returns:
            Unit quaternion (w, x, y, z) and origin, m.
        """
        if frame in ("", base_frame):
            return (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if self._buffer is None:
            return FrameRefusal(
                ErrorCode.UNKNOWN_FRAME,
                f"frame '{frame}' is not the arm's base frame '{base_frame}', and other frames need tf2_ros, which is "
                f"not installed; give the point in '{base_frame}', or install the package tf2_ros of your ROS 2 "
                "(ros-$ROS_DISTRO-tf2-ros-py)",
            )
        try:
            transform = self._buffer.lookup_transform(base_frame, frame, Time()).transform
        except self._tf2.TransformException as error:
            return FrameRefusal(
                ErrorCode.UNKNOWN_FRAME,
                f"frame '{frame}' has no transform to the arm's base frame '{base_frame}' ({error}); "
                f"publish one on /tf or /tf_static, or give the point in '{base_frame}'",
            )
        turn, shift = transform.rotation, transform.translation
        return (turn.w, turn.x, turn.y, turn.z), (shift.x, shift.y, shift.z)


def _rotated(
    quaternion: tuple[float, float, float, float], point: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Turn a point by a unit quaternion (w, x, y, z): p + 2w (v × p) + 2 v × (v × p)."""
    w, x, y, z = quaternion
    px, py, pz = point
    cx, cy, cz = 2.0 * (y * pz - z * py), 2.0 * (z * px - x * pz), 2.0 * (x * py - y * px)
    return (
        px + w * cx + y * cz - z * cy,
        py + w * cy + z * cx - x * cz,
        pz + w * cz + x * cy - y * cx,
    )
