# SPDX-License-Identifier: Apache-2.0
"""What a motion is: joint angles as a function of its own time, from rest to rest."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manipulator3d_control.piecewise_polynomial import PiecewisePolynomial

Array = NDArray[np.float64]


class MotionState(NamedTuple):
    """Joint angles and their derivatives by the motion's own time.

    Attributes:
        position: shape (3,) for one time or (N, 3) for N; rad.
        velocity, acceleration, jerk: the same shape; rad/s, rad/s², rad/s³.
    """

    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array


class Motion(Protocol):
    """A motion of the whole arm. It starts and ends with zero velocity, and zero acceleration but for rounding.

    Attributes:
        duration: s; 0 for a motion that stays where it is.
    """

    @property
    def duration(self) -> float: ...

    def sample(self, t: ArrayLike) -> MotionState:
        """Give the state at one time or at several.

        Args:
            t: scalar or shape (N,), s. Before 0 the arm stands at the start, from `duration` on at the end.
        """
        ...


@dataclass(frozen=True)
class Setpoint:
    """What the arm is commanded to at one instant.

    Attributes:
        position: shape (3,), rad.
        velocity: shape (3,), rad/s.
        acceleration: shape (3,), rad/s².
    """

    position: Array
    velocity: Array
    acceleration: Array = field(default_factory=lambda: np.zeros(3))


class PolynomialMotion:
    """A motion whose joint angles are piecewise polynomials of time.

    Args:
        angles: with three values, rad; its first break is 0, its last the duration in s.
    """

    def __init__(self, angles: PiecewisePolynomial) -> None:
        self._angles = angles

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self._angles.breaks[-1])

    def sample(self, t: ArrayLike) -> MotionState:
        """Give the state at one time or at several; see Motion."""
        return state_at(self._angles, self.duration, t)


class Standing:
    """The motion that stays where it is.

    Args:
        position: shape (3,), rad.
    """

    duration = 0.0

    def __init__(self, position: Array) -> None:
        self._position = np.asarray(position, dtype=np.float64)

    def sample(self, t: ArrayLike) -> MotionState:
        """Give the state at one time or at several; see Motion."""
        position = np.broadcast_to(self._position, (*np.shape(t), 3))
        zero = np.zeros(position.shape)
        return MotionState(position, zero, zero, zero)


def state_at(angles: PiecewisePolynomial, duration: float, t: ArrayLike) -> MotionState:
    """Give the state of a motion that stands before 0 and from `duration` on."""
    times = np.atleast_1d(np.asarray(t, dtype=np.float64))
    states = angles.derivatives(np.clip(times, 0.0, duration), 3)
    states[1:, (times < 0.0) | (times >= duration)] = 0.0
    return MotionState(*(states[:, 0] if np.ndim(t) == 0 else states))
