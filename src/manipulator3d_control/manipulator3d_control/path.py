# SPDX-License-Identifier: Apache-2.0
"""What a path is: joint angles over a path parameter, without time."""

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial, hermite_coefficients


class Path:
    """A path of the whole arm: piecewise polynomials of degree 7.

    Between the points at which it was made, its pieces meet in position and three derivatives.

    Args:
        angles: joint angles over the path parameter s, rad; the first break is 0, the last the length. The parameter
            is the distance for tool paths, m, and the largest angle that a joint turns for joint paths, rad.
    """

    def __init__(self, angles: PiecewisePolynomial) -> None:
        self._angles = angles

    @classmethod
    def standing(cls, position: Array) -> "Path":
        """Give the path of length 0 at a position, shape (3,), rad."""
        coefficients = np.zeros((1, 8, 3))
        coefficients[0, 0] = position
        return cls(PiecewisePolynomial(np.zeros(2), coefficients))

    @property
    def length(self) -> float:
        """Range of the path parameter, which runs from 0 to it."""
        return float(self._angles.breaks[-1])

    @property
    def breaks(self) -> Array:
        """Path parameters at which the pieces meet, shape (n + 1,)."""
        return self._angles.breaks

    @property
    def start(self) -> Array:
        """Joint angles at the start, shape (3,), rad."""
        return self._angles.coefficients[0, 0]

    @property
    def end(self) -> Array:
        """Joint angles at the end, shape (3,), rad."""
        return self.joints(np.array([self.length]))[0]

    def joints(self, s: ArrayLike) -> Array:
        """Joint angles at path parameters of shape (N,): shape (N, 3), rad."""
        return self._angles.derivatives(s, 0)[0]

    def derivatives(self, s: ArrayLike, order: int = 3) -> Array:
        """Joint angles and their derivatives by s at shape (N,): shape (order + 1, N, 3)."""
        return self._angles.derivatives(s, order)

    def part(self, start: float, end: float, scale: float = 1.0) -> "Path":
        """Give a part of the path; its parameter runs from 0 and is multiplied by `scale`, above 0."""
        inner = self.breaks[(self.breaks > start) & (self.breaks < end)]
        breaks = np.concatenate([[start], inner, [end]])
        states = self.derivatives(breaks) / (scale ** np.arange(4))[:, None, None]
        return path_through((breaks - start) * scale, states)

    def followed_by(self, *others: "Path") -> "Path":
        """Join the path with others, each beginning where the one before ends."""
        paths = (self, *others)
        ends = np.cumsum([path.length for path in paths])
        breaks = [path.breaks[:-1] + end - path.length for path, end in zip(paths, ends, strict=True)]
        coefficients = [path._angles.coefficients for path in paths]
        return Path(PiecewisePolynomial(np.concatenate([*breaks, ends[-1:]]), np.concatenate(coefficients)))


def path_through(breaks: Array, states: Array) -> Path:
    """Make the path that has given joint angles and derivatives at its breaks.

    Args:
        breaks: shape (n + 1,), from 0.
        states: joint angles and their first three derivatives by s at the breaks, shape (4, n + 1, 3).
    """
    return Path(PiecewisePolynomial(breaks, hermite_coefficients(np.diff(breaks), states[:, :-1], states[:, 1:])))


class PathError(Exception):
    """A path that the arm cannot follow.

    Attributes:
        status: number of what stands in the way, a kinematics code of msg/ErrorCode.
        fraction: of the path, 0 to 1, at which it does.
    """

    def __init__(self, message: str, status: int, fraction: float) -> None:
        super().__init__(message)
        self.status = status
        self.fraction = fraction
