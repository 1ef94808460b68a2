# SPDX-License-Identifier: Apache-2.0
"""Where the tool point and the link frames are for given joint angles."""

from collections.abc import Callable
from math import cos, sin

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, Triple, rows, triple, triple_or_none
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.packed_array import pack_vector


def forward_kinematics(arm: ArmModel, q: ArrayLike) -> Array:
    """Give the tool point, from the DH table.

    Args:
        arm: the arm.
        q: shape (3,) or (N, 3), rad.

    Returns:
        Shape (3,) or (N, 3), m, in the base frame.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    one = triple_or_none(q, "q")
    if one is None:
        return _tool_points(arm, rows(q, "q"))
    return arm.one_tool_point(one)


def tool_point(arm: ArmModel, q: Triple) -> Triple:
    """The same for one position given and returned as plain floats; for callers that count microseconds."""
    return arm.locate_tool(q)


def tool_locator(arm: ArmModel) -> Callable[[Triple], Triple]:
    """Make the function that gives one arm's tool point; its constants are local, which makes it quick."""
    base_height, d, shoulder_offset = arm.base_height, arm.lateral_offset, arm.shoulder_offset
    upper_arm, forearm = arm.upper_arm, arm.forearm

    def locate(theta: Triple) -> Triple:
        t0, t1, t2 = theta
        t12 = t1 + t2
        c0, s0 = cos(t0), sin(t0)
        radial = shoulder_offset + upper_arm * cos(t1) + forearm * cos(t12)
        up = base_height + upper_arm * sin(t1) + forearm * sin(t12)
        return radial * c0 + d * s0, radial * s0 - d * c0, up

    if arm.is_plain:
        return locate
    (xx, xy, xz, x0), (yx, yy, yz, y0), (zx, zy, zz, z0) = arm.mount[:3].tolist()
    plain_theta = arm.plain_theta

    def locate_in_base(q: Triple) -> Triple:
        x, y, z = locate(plain_theta(q))
        return xx * x + xy * y + xz * z + x0, yx * x + yy * y + yz * z + y0, zx * x + zy * y + zz * z + z0

    return locate_in_base


def tool_point_function(arm: ArmModel) -> Callable[[Triple], Array]:
    """Make the function that gives one arm's tool point as an array."""
    base_height, d, shoulder_offset = arm.base_height, arm.lateral_offset, arm.shoulder_offset
    upper_arm, forearm, locate = arm.upper_arm, arm.forearm, arm.locate_tool

    # the lines of tool_locator again, as a call and a tuple between would cost an eighth of the time
    def one_tool_point(theta: Triple) -> Array:
        t0, t1, t2 = theta
        t12 = t1 + t2
        c0, s0 = cos(t0), sin(t0)
        radial = shoulder_offset + upper_arm * cos(t1) + forearm * cos(t12)
        up = base_height + upper_arm * sin(t1) + forearm * sin(t12)
        point = empty(3)
        pack_vector(point, 0, radial * c0 + d * s0, radial * s0 - d * c0, up)
        return point

    return one_tool_point if arm.is_plain else lambda q: np.array(locate(q))


def _tool_points(arm: ArmModel, q: Array) -> Array:
    t0, t1, t2 = (q if arm.is_plain else arm.theta(q)).T
    t12 = t1 + t2
    c0, s0, d = np.cos(t0), np.sin(t0), arm.lateral_offset
    radial = arm.shoulder_offset + arm.upper_arm * np.cos(t1) + arm.forearm * np.cos(t12)
    points = np.empty(q.shape)
    points[:, 0] = radial * c0 + d * s0
    points[:, 1] = radial * s0 - d * c0
    points[:, 2] = arm.base_height + arm.upper_arm * np.sin(t1) + arm.forearm * np.sin(t12)
    return points if arm.is_plain else points @ arm.mount[:3, :3].T + arm.mount[:3, 3]


def link_frames(arm: ArmModel, q: ArrayLike) -> tuple[Array, Array, Array]:
    """Give the poses of the link frames (x along the link, y left, z up when level) of turret, upper arm and forearm.

    Args:
        arm: the arm.
        q: shape (3,), rad.

    Returns:
        Three homogeneous matrices of shape (4, 4) in the base frame. Origins: on the yaw axis, at the shoulder, at the
        elbow.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    t0, t1, t2 = arm.theta(np.array(triple(q, "q")))
    turret = arm.mount @ _frame(_yaw(t0), (0.0, 0.0, 0.0))
    upper_arm = turret @ _frame(_pitch(t1), (arm.shoulder_offset, 0.0, arm.base_height))
    forearm = upper_arm @ _frame(_pitch(t2), (arm.upper_arm, -arm.lateral_offset, 0.0))
    return turret, upper_arm, forearm


def named_frames(arm: ArmModel, q: ArrayLike) -> dict[str, Array]:
    """Give the poses of the elbow's and the tool's frame as the description has them, by name.

    Returns:
        Homogeneous matrices of shape (4, 4) in the base frame.
    """
    forearm = link_frames(arm, q)[2]
    return {arm.elbow_frame: forearm @ arm.elbow_pose, arm.tool_frame: forearm @ arm.tool_pose}


def _frame(rotation: Array, origin: Triple) -> Array:
    pose = np.eye(4)
    pose[:3, :3] = rotation
    pose[:3, 3] = origin
    return pose


def _yaw(angle: float) -> Array:
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _pitch(angle: float) -> Array:
    c, s = cos(angle), sin(angle)
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
