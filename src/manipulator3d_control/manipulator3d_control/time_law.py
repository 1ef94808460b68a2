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
from manipulator3d_control.quickest_rate import RateLimits, quickest_rate, rate_points, spline_basis
from manipulator3d_control.tool_derivatives import tool_derivatives
from manipulator3d_kinematics import ArmModel

# intervals of the last round: so long in time, within these numbers
_SPACING_S = 0.018
_FEWEST, _MOST = 40, 1500
# rounds: share of the intervals, and barriers to begin and to end with
_ROUNDS = ((0.5, 0.4, 4e-3), (0.75, 4e-3, 4e-4), (1.0, 4e-4, 4e-5))
# the first round must see each piece of the path; so many of its breaks share an interval
_BREAKS_AN_INTERVAL = 3
# between the points at which the limits are held, they are looked at so much more densely; what is too fast there slows
# the whole law
_CHECKS_AN_INTERVAL = 8
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
    law = course.first_law(max(_FEWEST, len(path.breaks) // _BREAKS_AN_INTERVAL))
    count = len(law.breaks) - 1
    for share, first_barrier, last_barrier in _ROUNDS:
        # the duration is not known before the first round
        if share != _ROUNDS[0][0]:
            count = int(np.clip(share * law.breaks[-1] / spacing, _FEWEST, _MOST))
        law = course.quickened(law, count, (first_barrier, last_barrier))
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
        return self._within_limits(_law_through(u, states))

    def quickened(self, law: PiecewisePolynomial, count: int, barriers: tuple[float, float]) -> PiecewisePolynomial:
        """Run a law at the quickest rate, a spline of `count` intervals."""
        spacing = law.breaks[-1] / count
        joints, tool = self._states(law, spacing * rate_points(count))
        start = _ROOM * min(1.0, 1.0 / self._excess(joints, tool) ** 2)
        c = quickest_rate(self._rate_limits(joints, tool), spacing, start, barriers)
        # the time at which each break is passed
        nodes, weights = np.polynomial.legendre.leggauss(5)
        windows = np.lib.stride_tricks.sliding_window_view(c, 4)
        between = windows @ spline_basis(0.5 * (nodes + 1.0))[:, 0].T
        times = np.concatenate([[0.0], np.cumsum(between**-0.5 @ weights * (0.5 * spacing))])
        at_starts, at_end = spline_basis(np.array([0.0, 1.0]))
        b, db, ddb = np.concatenate([windows @ at_starts.T, windows[-1:] @ at_end.T]).T
        db, ddb = db / spacing, ddb / spacing**2
        s, first, second, third = law.derivatives(spacing * np.arange(count + 1), 3)[:, :, 0]
        root = np.sqrt(b)
        states = np.stack(
            [
                s,
                first * root,
                second * b + 0.5 * first * db,
                (third * b + 1.5 * second * db + 0.5 * first * ddb) * root,
            ]
        )
        states[0, [0, -1]] = 0.0, self._path.length
        states[1:3, [0, -1]] = 0.0
        return self._within_limits(_law_through(times, states))

    def _within_limits(self, law: PiecewisePolynomial) -> PiecewisePolynomial:
        """Slow a law down, or speed it up, evenly until it just keeps all limits."""
        fractions = np.arange(_CHECKS_AN_INTERVAL) / _CHECKS_AN_INTERVAL
        starts, lengths = law.breaks[:-1], np.diff(law.breaks)
        times = np.append((starts[:, None] + lengths[:, None] * fractions).ravel(), law.breaks[-1])
        factor = self._excess(*self._states(law, times))
        coefficients = law.coefficients / (factor ** np.arange(law.coefficients.shape[1]))[:, None]
        return PiecewisePolynomial(law.breaks * factor, coefficients)

    def _states(self, law: PiecewisePolynomial, times: Array) -> tuple[Array, Array | None]:
        """Derivatives of joint angles and tool point by the law's time, each of shape (4, N, 3)."""
        joints = joints_along(self._path, law, times)
        return joints, tool_derivatives(self._arm, joints) if self._tool_matters else None

    def _excess(self, joints: Array, tool: Array | None) -> float:
        """Factor by which time must pass more slowly for all limits to be kept."""
        limits = self._limits
        factors = [
            np.max(np.abs(joints[1]) / limits.velocity),
            np.max(np.abs(joints[2]) / limits.acceleration) ** 0.5,
            np.max(np.abs(joints[3]) / limits.jerk) ** (1.0 / 3.0),
        ]
        if tool is not None:
            factors.append(np.max(np.linalg.norm(tool[1], axis=1)) / limits.tool_speed)
            factors.append((np.max(np.linalg.norm(tool[2], axis=1)) / limits.tool_acceleration) ** 0.5)
        return float(max(factors))

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
