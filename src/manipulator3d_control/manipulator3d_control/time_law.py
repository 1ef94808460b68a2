# SPDX-License-Identifier: Apache-2.0
"""The quickest way in time along a path, within limits of velocity, acceleration and jerk of the joints and the tool.

A first law s(u) is made quicker by running it at a varying rate: with b(u) the square of that rate, q(u) the joint
angles along the first law, and dashes for derivatives by u,

    velocity      q' √b
    acceleration  q'' b + q' b'/2
    jerk          (q''' b + 3/2 q'' b' + q' b''/2) √b

so that all but the jerk's root is linear in b. quickest_rate.py finds b. It is positive where the arm rests, too, so
that no end is singular. The result is the first law of the next, finer round, whose points then lie evenly in time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_control.path import Path
from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial, hermite_coefficients
from manipulator3d_control.quickest_rate import POINTS, RateLimits, quickest_rate, rate_points, spline_basis
from manipulator3d_control.tool_derivatives import tool_derivatives
from manipulator3d_kinematics import ArmModel

# intervals of the last round: so long in time, at least so many; above the many longer, since long paths are drawings
# at an even speed
_SPACING_S = 0.018
_FEWEST, _MANY = 40, 300
# rounds: share of the intervals (the duration, and so their number, is not known before the first), barriers to begin
# and to end with, attempts
_ROUNDS = ((None, (0.4, 4e-3), 1), (0.75, (4e-3, 4e-4), 1), (1.0, (4e-4, 4e-5), 3))
# the first round must see each piece of the path; so many of its breaks share an interval
_BREAKS_AN_INTERVAL = 3
# the limits are looked at at so many points of each interval, both its ends included; what is too fast there slows the
# whole law
_CHECKS_AN_INTERVAL = 13
# slowing by so much is not worth another attempt
_GOOD_ENOUGH = 1.003
# the rate begins at this share of what the limits allow everywhere
_ROOM = 0.95
_NEARLY_ZERO = 1e-12
# facets of the polygon within the circle of allowed tool accelerations, over half a turn
_FACETS = 8


@dataclass(frozen=True)
class MotionLimits:
    """What a motion must not exceed.

    Attributes:
        velocity, acceleration, jerk: shape (3,), of the joints; rad/s, rad/s², rad/s³.
        tool_speed, tool_acceleration: of the tool point; m/s, m/s².
    """

    velocity: Array
    acceleration: Array
    jerk: Array
    tool_speed: float = np.inf
    tool_acceleration: float = np.inf

    @classmethod
    def of_joints(
        cls, arm: ArmModel, share: float = 1.0, tool_speed: float = np.inf, tool_acceleration: float = np.inf
    ) -> "MotionLimits":
        """Give a share of the arm's limits, above 0 to 1, with limits of the tool."""
        return cls(share * arm.velocity, share * arm.acceleration, share * arm.jerk, tool_speed, tool_acceleration)


def quickest_law(arm: ArmModel, path: Path, limits: MotionLimits, spacing: float = _SPACING_S) -> PiecewisePolynomial:
    """Find the quickest law along a path from rest to rest.

    Args:
        arm: the arm.
        path: the path, of positive length.
        limits: of joints and tool; all above 0.
        spacing: of the points between which the rate is a cubic, s; finer is a little quicker and takes longer to find.

    Returns:
        The path parameter over time, values of shape (1,); its first break is 0, its last the duration, s.
    """
    course = _Course(arm, path, limits)
    count = max(_FEWEST, len(path.breaks) // _BREAKS_AN_INTERVAL)
    law = course.first_law(count)
    for share, barriers, attempts in _ROUNDS:
        if share is not None:
            wanted = share * law.breaks[-1] / spacing
            count = int(max(_FEWEST, wanted if wanted < _MANY else (_MANY * wanted) ** 0.5))
        law = course.quickened(law, count, barriers, attempts)
    return law


class _Course:
    """A path with the limits that hold on it."""

    def __init__(self, arm: ArmModel, path: Path, limits: MotionLimits) -> None:
        self._arm, self._path, self._limits = arm, path, limits
        self._tool_matters = np.isfinite(limits.tool_speed) or np.isfinite(limits.tool_acceleration)

    def first_law(self, count: int) -> PiecewisePolynomial:
        """A law that starts and ends with a constant jerk, slow enough for all limits."""
        u = np.linspace(0.0, 1.0, count + 1)
        states = self._path.length * np.stack(
            [
                u**3 * (10.0 - 15.0 * u + 6.0 * u**2),
                30.0 * u**2 * (1.0 - u) ** 2,
                60.0 * u * (1.0 - u) * (1.0 - 2.0 * u),
                60.0 * (1.0 - 6.0 * u + 6.0 * u**2),
            ]
        )
        return self._within_limits(_law_through(u, states))[0]

    def quickened(
        self, law: PiecewisePolynomial, count: int, barriers: tuple[float, float], attempts: int
    ) -> PiecewisePolynomial:
        """Run a law at the quickest rate, a spline of `count` intervals.

        The limits are held at points. Where they are exceeded in between, further attempts hold the points beside to
        less; else one such place would slow the whole law.
        """
        spacing = float(law.breaks[-1]) / count
        joints, tool = self._states(law, spacing * rate_points(count))
        limits = self._rate_limits(joints, tool)
        start = _ROOM * min(1.0, 1.0 / float(np.max(self._factors(joints, tool))) ** 2)
        tightened = np.ones(len(limits.linear))
        found: list[PiecewisePolynomial] = []
        for _ in range(attempts):
            squares, cubes = tightened[:, None, None] ** 2, tightened[:, None, None] ** 3
            held = RateLimits(limits.linear * squares, limits.jerk * cubes)
            rate = quickest_rate(held, spacing, start / float(np.max(tightened)) ** 2, barriers)
            quicker, excess = self._within_limits(_at_rate(law, rate, spacing, self._path.length))
            found.append(quicker)
            if np.max(excess) <= _GOOD_ENOUGH:
                break
            too_fast = np.maximum(np.append(excess, excess[-1]), 1.0)
            tightened *= np.repeat(too_fast, POINTS)[: len(tightened)]
            # a break belongs to the interval before it, too
            tightened[POINTS::POINTS] *= np.maximum(too_fast[:-1] / too_fast[1:], 1.0)
        return min(found, key=lambda law: float(law.breaks[-1]))

    def _within_limits(self, law: PiecewisePolynomial) -> tuple[PiecewisePolynomial, Array]:
        """Slow a law down, or speed it up, evenly until it just keeps all limits.

        Returns:
            That law; and for each of its pieces by which factor alone it would have had to be slowed down.
        """
        fractions = np.linspace(0.0, 1.0, _CHECKS_AN_INTERVAL)
        times = (law.breaks[:-1, None] + np.diff(law.breaks)[:, None] * fractions).ravel()
        factors = self._factors(*self._states(law, times)).reshape(-1, _CHECKS_AN_INTERVAL).max(axis=1)
        factor = float(np.max(factors))
        coefficients = law.coefficients / (factor ** np.arange(law.coefficients.shape[1]))[:, None]
        return PiecewisePolynomial(law.breaks * factor, coefficients), factors

    def _states(self, law: PiecewisePolynomial, times: Array) -> tuple[Array, Array | None]:
        """Derivatives of joint angles and tool point by the law's time, each of shape (4, N, 3)."""
        joints = joints_along(self._path, law, times)
        return joints, tool_derivatives(self._arm, joints) if self._tool_matters else None

    def _factors(self, joints: Array, tool: Array | None) -> Array:
        """Factors by which time must pass more slowly for all limits to be kept, shape (N,)."""
        limits = self._limits
        factors = [
            np.max(np.abs(joints[1]) / limits.velocity, axis=1),
            np.max(np.abs(joints[2]) / limits.acceleration, axis=1) ** 0.5,
            np.max(np.abs(joints[3]) / limits.jerk, axis=1) ** (1.0 / 3.0),
        ]
        if tool is not None:
            factors.append(np.linalg.norm(tool[1], axis=1) / limits.tool_speed)
            factors.append((np.linalg.norm(tool[2], axis=1) / limits.tool_acceleration) ** 0.5)
        return np.max(factors, axis=0)

    def _rate_limits(self, joints: Array, tool: Array | None) -> RateLimits:
        limits = self._limits
        _, first, second, third = joints
        fastest = np.max((first / limits.velocity) ** 2, axis=1)
        acceleration = np.stack([second, 0.5 * first], axis=2) / limits.acceleration[:, None]
        rows = [acceleration, -acceleration]
        if tool is not None:
            speed = np.linalg.norm(tool[1], axis=1)
            fastest = np.maximum(fastest, (speed / limits.tool_speed) ** 2)
            rows.append(_tool_rows(tool, speed) / limits.tool_acceleration)
        rows.append(np.stack([fastest, np.zeros(len(fastest))], axis=1)[:, None])
        jerk = np.stack([third, 1.5 * second, 0.5 * first], axis=2) / limits.jerk[:, None]
        return RateLimits(np.concatenate(rows, axis=1), np.concatenate([jerk, -jerk], axis=1))


def _at_rate(law: PiecewisePolynomial, rate: Array, spacing: float, length: float) -> PiecewisePolynomial:
    """Give the law that comes of running a law at a rate, a spline with intervals of `spacing`."""
    windows = np.lib.stride_tricks.sliding_window_view(rate, 4)
    nodes, weights = np.polynomial.legendre.leggauss(5)
    between = windows @ spline_basis(0.5 * (nodes + 1.0))[:, 0].T
    # the time at which each break is passed
    times = np.concatenate([[0.0], np.cumsum(between**-0.5 @ weights * (0.5 * spacing))])
    at_starts, at_end = spline_basis(np.array([0.0, 1.0]))
    b, db, ddb = np.concatenate([windows @ at_starts.T, windows[-1:] @ at_end.T]).T
    db, ddb = db / spacing, ddb / spacing**2
    s, first, second, third = law.derivatives(spacing * np.arange(len(times)), 3)[:, :, 0]
    root = np.sqrt(b)
    states = np.stack(
        [
            s,
            first * root,
            second * b + 0.5 * first * db,
            (third * b + 1.5 * second * db + 0.5 * first * ddb) * root,
        ]
    )
    states[0, [0, -1]] = 0.0, length
    states[1:3, [0, -1]] = 0.0
    return _law_through(times, states)


def joints_along(path: Path, law: PiecewisePolynomial, times: ArrayLike) -> Array:
    """Joint angles and their derivatives by time at times of shape (N,): shape (4, N, 3)."""
    s, v, a, j = law.derivatives(times, 3)
    q, first, second, third = path.derivatives(np.clip(s[:, 0], 0.0, path.length))
    return np.stack([q, first * v, first * a + second * v**2, first * j + 3.0 * second * v * a + third * v**3])


def _tool_rows(tool: Array, speed: Array) -> Array:
    """Rows that keep the tool's acceleration, along and across the path, within a polygon inside the unit circle."""
    direction = tool[1] / np.maximum(speed, _NEARLY_ZERO)[:, None]
    along = np.sum(tool[2] * direction, axis=1)
    across = np.linalg.norm(tool[2] - along[:, None] * direction, axis=1)
    angles = (np.arange(_FACETS) + 0.5) * np.pi / _FACETS
    reach = np.cos(0.5 * np.pi / _FACETS)
    by_b = (np.cos(angles) * along[:, None] + np.sin(angles) * across[:, None]) / reach
    by_slope = np.cos(angles) * (0.5 * speed)[:, None] / reach
    return np.stack([by_b, by_slope], axis=2)


def _law_through(times: Array, states: Array) -> PiecewisePolynomial:
    """The law with given path parameters and three derivatives, shape (4, n + 1), at its breaks."""
    values = states[:, :, None]
    return PiecewisePolynomial(times, hermite_coefficients(np.diff(times), values[:, :-1], values[:, 1:]))
