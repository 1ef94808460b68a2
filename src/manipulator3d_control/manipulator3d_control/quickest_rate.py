# SPDX-License-Identifier: Apache-2.0
"""The quickest rate at which a given law of time may be run, by an interior-point method.

The unknown is b(u), the square of the rate over the given law's time u: a uniform cubic spline. Its limits are linear
in b, b' and b'' but for the root in those of the jerk, which only widens them where b is small. The duration, the
integral of 1/√b, is convex. Minimised is the duration less a multiple of the logarithms of all slacks, for ever smaller
multiples (Boyd and Vandenberghe, Convex Optimization, chapter 11); of the jerk limits' curvature the part that is not
convex is left out of the Newton steps. Every step keeps all limits, so that the method may stop at any.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from manipulator3d_control.piecewise_polynomial import Array

# the limits are held at so many points in each interval of the spline, and at the very end
POINTS = 3
_BARRIER_SHRINKAGE = 0.2
_MOST_NEWTON_STEPS = 30
_SUFFICIENT_DECREASE, _SHORTEST_STEP = 0.1, 1e-6
# Newton's decrement, as a share of barrier times unknowns, below which the barrier is lowered
_CENTRED = 0.01
_RIDGE = 1e-10


@dataclass(frozen=True)
class RateLimits:
    """What b may be at the points of rate_points; each row of coefficients is one limit.

    Attributes:
        linear: shape (K, R, 2), for b and b' (per unit of u): the sum must not exceed 1.
        jerk: shape (K, R', 3), for b, b' and b'': the sum must not exceed 1/√b.
    """

    linear: Array
    jerk: Array


def rate_points(count: int) -> Array:
    """Where limits are held, shape (K,), in intervals from the start, for a spline of `count` intervals."""
    return np.append(np.arange(POINTS * count) / POINTS, count)


def spline_basis(x: Array) -> Array:
    """Value, first and second derivative of the four parts of a uniform cubic spline in one interval of length 1.

    Args:
        x: shape (N,), 0 to 1.

    Returns:
        Shape (N, 3, 4).
    """
    y = 1.0 - x
    value = [y**3, 3.0 * x**3 - 6.0 * x**2 + 4.0, 3.0 * y**3 - 6.0 * y**2 + 4.0, x**3]
    first = [-3.0 * y**2, 9.0 * x**2 - 12.0 * x, 12.0 * y - 9.0 * y**2, 3.0 * x**2]
    second = [6.0 * y, 18.0 * x - 12.0, 18.0 * y - 12.0, 6.0 * x]
    return np.stack([np.stack(part, axis=1) for part in (value, first, second)], axis=1) / 6.0


def quickest_rate(limits: RateLimits, spacing: float, start: float, barriers: tuple[float, float]) -> Array:
    """Find the spline of the quickest rate.

    Args:
        limits: at the points of rate_points.
        spacing: length of an interval, in u.
        start: a constant b that keeps all limits with room.
        barriers: multiples of the logarithms to begin and to end with, as a share of an interval's length.

    Returns:
        The coefficients, shape (count + 3,).

    Raises:
        ValueError: `start` does not keep the limits.
    """
    problem = _Problem(limits, spacing)
    coefficients = np.full(problem.count + 3, start)
    rate = problem.evaluate(coefficients)
    slacks = problem.slacks(rate)
    if slacks is None:
        raise ValueError(f"a rate of {sqrt(start):.3g} is beyond the limits already")
    barrier = barriers[0]
    while True:
        for _ in range(_MOST_NEWTON_STEPS):
            step, decrement = problem.newton_step(rate, slacks, barrier)
            present, change = problem.objective(rate, slacks, barrier), problem.evaluate(step)
            length = 1.0
            while length > _SHORTEST_STEP:
                further = rate + length * change
                left = problem.slacks(further)
                if left is not None:
                    gained = present - problem.objective(further, left, barrier)
                    if gained >= _SUFFICIENT_DECREASE * length * decrement:
                        break
                length *= 0.5
            if left is None or length <= _SHORTEST_STEP:
                break
            coefficients, rate, slacks = coefficients + length * step, further, left
            if decrement <= _CENTRED * barrier * spacing * len(coefficients):
                break
        if barrier <= barriers[1]:
            return coefficients
        barrier = max(barrier * _BARRIER_SHRINKAGE, barriers[1])


class _Problem:
    def __init__(self, limits: RateLimits, spacing: float) -> None:
        self._linear, self._jerk = limits.linear, limits.jerk
        points = len(limits.linear)
        self.count = (points - 1) // POINTS
        interval = np.append(np.repeat(np.arange(self.count), POINTS), self.count - 1)
        within = rate_points(self.count) - interval
        self._basis = spline_basis(within) / np.array([1.0, spacing, spacing**2])[:, None]
        self._window = interval[:, None] + np.arange(4)
        self._weights = np.full(points, spacing / POINTS)
        self._weights[[0, -1]] *= 0.5

    def evaluate(self, coefficients: Array) -> Array:
        """Values of b, b', b'' at the points, shape (K, 3)."""
        return (self._basis @ coefficients[self._window][:, :, None])[:, :, 0]

    def slacks(self, rate: Array) -> tuple[Array, Array] | None:
        """What is left to each limit, None if nothing is to one of them."""
        if rate[:, 0].min() <= 0.0:
            return None
        b, db, ddb = rate.T[:, :, None]
        linear = 1.0 - self._linear[:, :, 0] * b - self._linear[:, :, 1] * db
        jerk = b**-0.5 - self._jerk[:, :, 0] * b - self._jerk[:, :, 1] * db - self._jerk[:, :, 2] * ddb
        if min(linear.min(), jerk.min()) <= 0.0:
            return None
        return linear, jerk

    def objective(self, rate: Array, slacks: tuple[Array, Array], barrier: float) -> float:
        logarithms = np.log(slacks[0]).sum(axis=1) + np.log(slacks[1]).sum(axis=1)
        return float(self._weights @ (rate[:, 0] ** -0.5 - barrier * logarithms))

    def newton_step(self, rate: Array, slacks: tuple[Array, Array], barrier: float) -> tuple[Array, float]:
        """The step, shape (count + 3,), and how fast it lowers the objective at its beginning."""
        b = rate[:, 0]
        # both by (b, b', b'') at each point
        gradient, hessian = np.zeros((len(b), 3)), np.zeros((len(b), 3, 3))
        linear = self._linear / slacks[0][:, :, None]
        gradient[:, :2] = barrier * linear.sum(axis=1)
        hessian[:, :2, :2] = barrier * (linear.transpose(0, 2, 1) @ linear)
        jerk = self._jerk.copy()
        jerk[:, :, 0] += 0.5 * b[:, None] ** -1.5
        jerk /= slacks[1][:, :, None]
        gradient += barrier * jerk.sum(axis=1)
        hessian += barrier * (jerk.transpose(0, 2, 1) @ jerk)
        gradient[:, 0] -= 0.5 * b**-1.5
        hessian[:, 0, 0] += 0.75 * b**-2.5
        turned = self._basis.transpose(0, 2, 1)
        slopes = self._per_interval((turned @ gradient[:, :, None])[:, :, 0] * self._weights[:, None])
        blocks = self._per_interval(turned @ hessian @ self._basis * self._weights[:, None, None])
        slope = np.zeros(self.count + 3)
        band = np.zeros((4, self.count + 3))
        for i in range(4):
            slope[i : i + self.count] += slopes[:, i]
            for j in range(i, 4):
                band[j - i, i : i + self.count] += blocks[:, i, j]
        band[0] *= 1.0 + _RIDGE
        step = -_solved(band, slope)
        return step, float(-slope @ step)

    def _per_interval(self, values: Array) -> Array:
        sums = values[:-1].reshape(self.count, POINTS, *values.shape[1:]).sum(axis=1)
        sums[-1] += values[-1]
        return sums


def _solved(band: Array, right: Array) -> Array:
    """Solve a symmetric positive definite system with three diagonals beside the main one, by Cholesky's method.

    Written out for plain numbers: a dense solution of this size would wake the threads of the linear algebra library.

    Args:
        band: shape (4, M); row k holds the elements (i, i + k).
        right: shape (M,).
    """
    d0, d1, d2, d3 = (row.tolist() for row in band)
    y = right.tolist()
    size = len(y)
    # rows of the factor: diagonal's inverse and the three elements to its right
    factor: list[tuple[float, float, float, float]] = []
    a1 = a2 = a3 = b2 = b3 = c3 = 0.0
    for i in range(size):
        # a, b, c are the rows before, one, two and three above; only what reaches this column and beyond is kept
        inverse = 1.0 / sqrt(d0[i] - a1 * a1 - b2 * b2 - c3 * c3)
        right1 = (d1[i] - a1 * a2 - b2 * b3) * inverse
        right2 = (d2[i] - a1 * a3) * inverse
        right3 = d3[i] * inverse
        total = y[i]
        if i > 0:
            total -= a1 * y[i - 1]
        if i > 1:
            total -= b2 * y[i - 2]
        if i > 2:
            total -= c3 * y[i - 3]
        y[i] = total * inverse
        factor.append((inverse, right1, right2, right3))
        c3, b2, b3 = b3, a2, a3
        a1, a2, a3 = right1, right2, right3
    x1 = x2 = x3 = 0.0
    for i in range(size - 1, -1, -1):
        inverse, right1, right2, right3 = factor[i]
        y[i] = (y[i] - right1 * x1 - right2 * x2 - right3 * x3) * inverse
        x1, x2, x3 = y[i], x1, x2
    return np.array(y)
