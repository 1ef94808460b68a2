# SPDX-License-Identifier: Apache-2.0
"""Checks the fields of goals at the door."""

import math

import numpy as np
from geometry_msgs.msg import PointStamped
from sensor_msgs.msg import JointState

from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.target_frame import FrameRefusal, TargetFrame

_ELBOWS = ("auto", "down", "up")


def point_in_base(point: PointStamped, name: str, arm: ArmModel, frames: TargetFrame) -> Array:
    """Give a point in the base frame, shape (3,), m.

    Raises:
        Refusal: a coordinate is not finite, or the frame is not known.
    """
    for axis in ("x", "y", "z"):
        value = getattr(point.point, axis)
        if not math.isfinite(value):
            raise Refusal(ErrorCode.INVALID_INPUT, f"{name}.{axis} is {value}; give a finite number of metres")
    found = frames.in_base(point, arm.base_frame)
    if isinstance(found, FrameRefusal):
        raise Refusal(found.code, f"{name}: {found.message}")
    return np.array(found)


def joint_angles(joints: JointState, name: str, arm: ArmModel) -> Array:
    """Give joint angles in the chain's order, shape (3,), rad.

    Raises:
        Refusal: wrong number, unknown or repeated names, or a number that is not finite.
    """
    expected = ", ".join(arm.joint_names)
    names = list(joints.name) or list(arm.joint_names)
    if len(joints.position) != 3 or len(names) != 3:
        raise Refusal(
            ErrorCode.INVALID_INPUT,
            f"{name} has {len(joints.position)} positions and {len(joints.name)} names; give 3 for {expected}",
        )
    if set(names) != set(arm.joint_names):
        raise Refusal(ErrorCode.INVALID_INPUT, f"{name} names {', '.join(names)}; the arm's joints are {expected}")
    given = dict(zip(names, joints.position, strict=True))
    for joint, angle in given.items():
        if not math.isfinite(angle):
            raise Refusal(ErrorCode.INVALID_INPUT, f"{name}: {joint} is {angle}; give a finite number of radians")
    return np.array([given[joint] for joint in arm.joint_names])


def elbow_name(elbow: int) -> str:
    """Give the name of an elbow constant.

    Raises:
        Refusal: there is no such constant.
    """
    if elbow >= len(_ELBOWS):
        raise Refusal(ErrorCode.INVALID_INPUT, f"elbow is {elbow}; give AUTO (0), DOWN (1) or UP (2)")
    return _ELBOWS[elbow]


def speed_scale(value: float, default: float) -> float:
    """Give a goal's fraction of the limits; 0 stands for the default.

    Raises:
        Refusal: not within 0 to 1.
    """
    if not 0.0 <= value <= 1.0:
        raise Refusal(
            ErrorCode.INVALID_INPUT, f"speed_scale is {value:g}; give above 0 to 1 of the limits, or 0 for the default"
        )
    return value or default


def not_negative(value: float, name: str, unit: str) -> float:
    """Give a number of at least 0.

    Raises:
        Refusal: negative or not finite.
    """
    if not (math.isfinite(value) and value >= 0.0):
        raise Refusal(ErrorCode.INVALID_INPUT, f"{name} is {value:g} {unit}; give a finite number of at least 0 {unit}")
    return value
