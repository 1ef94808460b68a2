# SPDX-License-Identifier: Apache-2.0
"""Paths in joint space: all joints start and end together."""

from dataclasses import dataclass

import numpy as np

from manipulator3d_control.path import Array, PathError
from manipulator3d_kinematics import ArmModel, IkStatus, forward_kinematics

_SAMPLE_SPACING_RAD = 0.02
_FLOOR_TOLERANCE_M = 1e-9


@dataclass(frozen=True)
class JointPath:
    """A straight line in joint space.

    Attributes:
        start, end: shape (3,), rad.
    """

    start: Array
    end: Array

    @property
    def length(self) -> float:
        """Largest angle that a joint turns, rad."""
        return float(np.max(np.abs(self.end - self.start)))

    def joints(self, s: float) -> Array:
        """Joint angles at s, shape (3,), rad."""
        return self.start + self.slope(s) * s

    def slope(self, s: float) -> Array:
        """First derivative of the joint angles by s, shape (3,)."""
        return (self.end - self.start) / self.length if self.length > 0.0 else np.zeros(3)


def plan_joint_path(arm: ArmModel, start: Array, end: Array) -> JointPath:
    """Make the path from one position to another and check it for limits and floor.

    Args:
        arm: the arm.
        start, end: shape (3,), rad.

    Raises:
        PathError: `end` is outside a joint's limits, or tool or elbow would go below the floor on the way; the start is
            where the arm is, and may be on the wrong side of either.
    """
    for name, angle, lower, upper in zip(arm.joint_names, end, arm.lower, arm.upper, strict=True):
        if not lower <= angle <= upper:
            side, bound = ("below its lower", lower) if angle < lower else ("above its upper", upper)
            raise PathError(
                f"{name}: {angle:.4g} rad is {side} limit of {bound:.4g} rad; choose a position within the limits",
                IkStatus.JOINT_LIMIT,
                1.0,
            )
    path = JointPath(np.asarray(start, dtype=float), np.asarray(end, dtype=float))
    samples = np.linspace(0.0, path.length, max(2, int(path.length / _SAMPLE_SPACING_RAD) + 2))
    angles = path.start + np.outer(samples, path.slope(0.0))
    heights = np.minimum(forward_kinematics(arm, angles)[:, 2], elbow_heights(arm, angles))
    # an arm that starts below the floor may rise from there
    lowest_allowed = min(arm.floor_z, float(heights[0])) - _FLOOR_TOLERANCE_M
    below = np.flatnonzero(heights < lowest_allowed)
    if below.size:
        at = int(below[0])
        raise PathError(
            f"the joint-space path goes down to {float(heights.min()):.3f} m, below the floor at {arm.floor_z:.3f} m, "
            f"from {samples[at] / path.length:.0%} of the way; go over a point above",
            IkStatus.BELOW_FLOOR,
            float(samples[at] / path.length),
        )
    return path


def elbow_heights(arm: ArmModel, angles: Array) -> Array:
    """Heights of the elbow above the origin of the base frame, shape (N,), m, for joint angles of shape (N, 3)."""
    theta = arm.sign * angles + arm.offset
    along = arm.shoulder_offset + arm.upper_arm * np.cos(theta[:, 1])
    elbow = np.stack(
        [
            along * np.cos(theta[:, 0]),
            along * np.sin(theta[:, 0]),
            arm.base_height + arm.upper_arm * np.sin(theta[:, 1]),
        ]
    )
    return arm.mount[2, :3] @ elbow + arm.mount[2, 3]
