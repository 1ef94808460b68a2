# SPDX-License-Identifier: Apache-2.0
"""Motions along paths: the joint angles by the path, the path parameter by a time law."""

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_control.motion import Motion, MotionState, Standing
from manipulator3d_control.path import Path
from manipulator3d_control.path_bounds import path_bounds, rest_to_rest_law
from manipulator3d_control.piecewise_polynomial import PiecewisePolynomial
from manipulator3d_kinematics import ArmModel


class PathMotion:
    """A motion along a path.

    Args:
        path: the path.
        law: path parameter over time, shape (1,) values, from 0 to the path's length, at rest at both ends.
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
        law = self._law.derivatives(np.clip(times, 0.0, self.duration), 3)
        law[1:, (times < 0.0) | (times >= self.duration)] = 0.0
        s, v, a, j = law
        q, first, second, third = self.path.derivatives(np.clip(s[:, 0], 0.0, self.path.length))
        states = (q, first * v, first * a + second * v**2, first * j + 3.0 * second * v * a + third * v**3)
        return MotionState(*(state[0] if np.ndim(t) == 0 else state for state in states))


def motion_along(arm: ArmModel, path: Path, tool_speed: float = np.inf) -> Motion:
    """Plan the motion along a path from rest to rest.

    Args:
        arm: the arm; its limits.
        path: the path.
        tool_speed: largest speed of the tool, m/s.
    """
    if path.length == 0.0:
        return Standing(path.start)
    bounds = path_bounds(arm, path, tool_speed)
    return PathMotion(path, rest_to_rest_law(path.length, bounds))
