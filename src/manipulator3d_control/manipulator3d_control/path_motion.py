# SPDX-License-Identifier: Apache-2.0
"""Motions along paths: the joint angles by the path, the path parameter by a time law."""

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_control.motion import MotionState, Standing
from manipulator3d_control.path import Path
from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial
from manipulator3d_control.time_law import MotionLimits, joints_along, quickest_law
from manipulator3d_kinematics import ArmModel

# what a planned motion uses of the joints' limits; the rest is for changes of its speed
_SHARE = 0.98
# the same for the tool's; the limits are checked at points so close that more is not exceeded between them
_TOOL_SHARE = 0.999


class PathMotion:
    """A motion along a path.

    Args:
        path: the path.
        law: path parameter over time, values of shape (1,), from 0 to the path's length, at rest at both ends.
    """

    def __init__(self, path: Path, law: PiecewisePolynomial) -> None:
        self.path = path
        self._law = law

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self._law.breaks[-1])

    def sample(self, t: ArrayLike) -> MotionState:
        """Give the state at one time or at several; see Motion."""
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        states = joints_along(self.path, self._law, np.clip(times, 0.0, self.duration))
        states[1:, (times < 0.0) | (times >= self.duration)] = 0.0
        return MotionState(*(states[:, 0] if np.ndim(t) == 0 else states))

    def parameter_at(self, t: ArrayLike) -> Array:
        """Path parameters at times of shape (N,), s."""
        return self._law.derivatives(np.clip(t, 0.0, self.duration), 0)[0, :, 0]

    def time_at(self, s: float) -> float:
        """Time at which a path parameter is passed, s; to a thousandth of the duration or better."""
        times = np.linspace(0.0, self.duration, 1001)
        return float(np.interp(s, self.parameter_at(times), times))


def motion_along(
    arm: ArmModel, path: Path, tool_speed: float = np.inf, tool_acceleration: float = np.inf
) -> PathMotion | Standing:
    """Plan the quickest motion along a path from rest to rest, within nearly the whole of the arm's limits.

    Args:
        arm: the arm; its limits.
        path: the path.
        tool_speed, tool_acceleration: limits of the tool; m/s, m/s².
    """
    if path.length == 0.0:
        return Standing(path.start)
    limits = MotionLimits.of_joints(arm, _SHARE, _TOOL_SHARE * tool_speed, _TOOL_SHARE * tool_acceleration)
    return PathMotion(path, quickest_law(arm, path, limits))
