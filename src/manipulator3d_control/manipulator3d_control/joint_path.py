# SPDX-License-Identifier: Apache-2.0
"""Paths and motions in joint space: all joints start and end together."""

import numpy as np

from manipulator3d_control.motion import Motion
from manipulator3d_control.path import Path, PathError, path_through
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_kinematics import ArmModel, IkStatus, forward_kinematics

_SAMPLE_SPACING_RAD = 0.02
_FLOOR_TOLERANCE_M = 1e-9
_LIMIT_TOLERANCE_RAD = 1e-9


def plan_joint_path(arm: ArmModel, start: Array, end: Array) -> Path:
    """Make the straight line in joint space from one position to another and check it for limits and floor.

    Args:
        arm: the arm.
        start, end: shape (3,), rad.

    Raises:
        PathError: `end` is outside a joint's limits, or tool or elbow would go below the floor on the way; the start is
            where the arm is, and may be on the wrong side of either.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    _check_target(arm, end)
    path = joint_line(start, end)
    _check_floor(arm, path.joints(_fractions(path.length) * path.length), "joint-space path")
    return path


def plan_joint_motion(arm: ArmModel, start: Array, end: Array) -> Motion:
    """Plan the quickest motion from one position to another and check it for limits and floor.

    Args, Raises: as plan_joint_path.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    _check_target(arm, end)
    motion = point_to_point(arm, start, end)
    # on the way the joints may turn more unevenly than on the straight line, but none turns back
    turned = float(np.sum(np.abs(end - start)))
    _check_floor(arm, motion.sample(_fractions(turned) * motion.duration).position, "joint-space path")
    return motion


def joint_line(start: Array, end: Array) -> Path:
    """Make the straight line in joint space, unchecked; its parameter is the largest angle that a joint turns."""
    length = float(np.max(np.abs(end - start)))
    if length == 0.0:
        return Path.standing(start)
    states = np.zeros((4, 2, 3))
    states[0], states[1] = (start, end), (end - start) / length
    return path_through(np.array([0.0, length]), states)


def _fractions(turned: float) -> Array:
    """Fractions of a path on which the joints turn by so much, close enough for checks."""
    return np.linspace(0.0, 1.0, max(2, int(turned / _SAMPLE_SPACING_RAD) + 2))


def check_positions(arm: ArmModel, angles: Array, name: str) -> None:
    """Check joint angles of shape (N, 3), rad, for limits and floor; `name` is what they belong to, for messages.

    Raises:
        PathError: one is beyond; names joint or height, and the place as a fraction.
    """
    outside = np.maximum(arm.lower - angles, angles - arm.upper)
    at, joint = np.unravel_index(int(np.argmax(outside)), outside.shape)
    if outside[at, joint] > _LIMIT_TOLERANCE_RAD:
        _check_limits(arm, angles[at], name, float(at / max(len(angles) - 1, 1)))
    _check_floor(arm, angles, name)


def _check_target(arm: ArmModel, end: Array) -> None:
    _check_limits(arm, end, "position", 1.0)


def _check_limits(arm: ArmModel, angles: Array, name: str, fraction: float) -> None:
    for joint, angle, lower, upper in zip(arm.joint_names, angles, arm.lower, arm.upper, strict=True):
        if not lower <= angle <= upper:
            side, bound = ("below its lower", lower) if angle < lower else ("above its upper", upper)
            raise PathError(
                f"{joint}: {angle:.4g} rad is {side} limit of {bound:.4g} rad; choose a {name} within the limits",
                IkStatus.JOINT_LIMIT,
                fraction,
            )


def _check_floor(arm: ArmModel, angles: Array, name: str) -> None:
    heights = np.minimum(forward_kinematics(arm, angles)[:, 2], elbow_heights(arm, angles))
    # an arm that starts below the floor may rise from there
    lowest_allowed = min(arm.floor_z, float(heights[0])) - _FLOOR_TOLERANCE_M
    below = np.flatnonzero(heights < lowest_allowed)
    if below.size:
        fraction = float(below[0] / (len(angles) - 1))
        raise PathError(
            f"the {name} goes down to {float(heights.min()):.3f} m, below the floor at {arm.floor_z:.3f} m, "
            f"from {fraction:.0%} of the way; go over a point above",
            IkStatus.BELOW_FLOOR,
            fraction,
        )


def elbow_heights(arm: ArmModel, angles: Array) -> Array:
    """Heights of the elbow above the origin of the base frame, shape (N,), m, for joint angles of shape (N, 3)."""
    theta = arm.theta(angles)
    along = arm.shoulder_offset + arm.upper_arm * np.cos(theta[:, 1])
    elbow = np.stack(
        [
            along * np.cos(theta[:, 0]),
            along * np.sin(theta[:, 0]),
            arm.base_height + arm.upper_arm * np.sin(theta[:, 1]),
        ]
    )
    return arm.mount[2, :3] @ elbow + arm.mount[2, 3]
