# SPDX-License-Identifier: Apache-2.0
"""Straight lines of the tool point, through the inverse kinematics with one branch."""

import numpy as np

from manipulator3d_control.path import Array, PathError
from manipulator3d_kinematics import ArmModel, IkStatus, inverse_kinematics, jacobian, manipulability

_SAMPLE_SPACING_M = 0.002
_FEWEST_SAMPLES = 17
# joint angles of neighbouring samples differ by less than this on a continuous path
_LARGEST_STEP_RAD = 0.3
# |det| of the position Jacobian below which joint speeds have no useful bound; 0.4 % of the capstone arm's largest
_SMALLEST_MANIPULABILITY = 2e-5
_SMALLEST_LENGTH_M = 1e-9


class ToolLine:
    """A straight line of the tool point, made by `plan_tool_line`.

    Args:
        arm: the arm.
        start, end: shape (3,), m, in the base frame.
        samples: shape (N, 3), rad; joint angles at evenly spaced points of the line, both ends included.
    """

    def __init__(self, arm: ArmModel, start: Array, end: Array, samples: Array) -> None:
        self._arm = arm
        self._start = start
        self._length = float(np.linalg.norm(end - start))
        self._direction = (end - start) / self._length if self._length > 0.0 else np.zeros(3)
        self._samples = samples

    @property
    def length(self) -> float:
        """Length of the line, m."""
        return self._length

    def joints(self, s: float) -> Array:
        """Joint angles at s, shape (3,), rad; exact, not interpolated."""
        share = s / self._length if self._length > 0.0 else 0.0
        nearest = self._samples[min(max(round(share * (len(self._samples) - 1)), 0), len(self._samples) - 1)]
        result = inverse_kinematics(self._arm, self._start + self._direction * s, seed=nearest)
        # between checked samples a point on the very boundary may fail by rounding
        return nearest if result.q is None else result.q

    def slope(self, s: float) -> Array:
        """First derivative of the joint angles by s, shape (3,), rad/m."""
        if self._length == 0.0:
            return np.zeros(3)
        return np.asarray(np.linalg.solve(jacobian(self._arm, self.joints(s))[:3], self._direction), dtype=np.float64)


def plan_tool_line(arm: ArmModel, start: Array, end: Array, start_joints: Array) -> ToolLine:
    """Make the straight tool line and check the whole of it for reach, limits, floor, singularities and jumps.

    Args:
        arm: the arm.
        start, end: shape (3,), m, in the base frame.
        start_joints: shape (3,), rad; where the line starts, which also fixes the branch.

    Raises:
        PathError: the arm cannot follow; tells the place as a fraction and a point.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    if length < _SMALLEST_LENGTH_M:
        return ToolLine(arm, start, start, np.array([start_joints, start_joints]))
    count = max(_FEWEST_SAMPLES, int(length / _SAMPLE_SPACING_M) + 2)
    samples = np.empty((count, 3))
    previous = np.asarray(start_joints, dtype=float)
    for i, fraction in enumerate(np.linspace(0.0, 1.0, count)):
        point = start + (end - start) * fraction
        result = inverse_kinematics(arm, point, seed=previous)
        if result.q is None:
            raise PathError(_at(fraction, point) + result.message, int(result.status), float(fraction))
        if np.max(np.abs(result.q - previous)) > _LARGEST_STEP_RAD:
            raise PathError(
                _at(fraction, point) + "the arm would have to jump to another branch; move in joint space instead",
                IkStatus.JOINT_LIMIT,
                float(fraction),
            )
        if 0 < i < count - 1 and manipulability(arm, result.q) < _SMALLEST_MANIPULABILITY:
            raise PathError(
                _at(fraction, point) + "the line passes too close to a singular position; move in joint space instead",
                IkStatus.TOO_CLOSE,
                float(fraction),
            )
        samples[i] = previous = result.q
    return ToolLine(arm, start, end, samples)


def _at(fraction: float, point: Array) -> str:
    x, y, z = point
    return f"at {fraction:.0%} of the line, ({x:.3f}, {y:.3f}, {z:.3f}) m: "
