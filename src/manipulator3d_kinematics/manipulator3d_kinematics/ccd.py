# SPDX-License-Identifier: Apache-2.0
"""Cyclic coordinate descent for any serial chain of revolute joints with limits.

One sweep turns each joint, from the last to the first, to the angle within its limits that brings the tool point
nearest to the target; that angle is known in closed form. Joints before the turned one do not move, so a sweep needs
one pass of forward kinematics.

Plain sweeps crawl where the chain is nearly stretched, and stand still where a turn of any one joint does not help, as
with the target on the line through all joints. Two things help. Where a sweep takes off less than half of the error, a
Newton step of all joints together follows it (with the eigenvalues of the second derivative made positive, so that it
moves away from saddles; kept only if it helps). Where everything stands still short of the target, the search goes on
from other positions, the first along the direction of negative curvature if there is one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import atan2, cos, isinf, pi, sin, sqrt, tau

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, Triple, triple
from manipulator3d_kinematics.dh_chain import DHChain, Vector

# a sweep that leaves more than this part of the error is slow
_SLOW = 0.5
# relative progress of a sweep below which the search stands still
_STILL = 1e-9
# sweeps of one start after which another start promises more
_RUN = 80
# starts from other positions before the nearest point found is believed to be the nearest there is
_STARTS = 24
# rad; longest Newton step, and the first step away from a saddle
_LONGEST, _NUDGE = 1.0, 0.3
# improvements below this part of the error do not count as an escape
_BETTER = 1e-6
# rad; a joint this near to its limit is at it
_AT_LIMIT = 1e-9


@dataclass(frozen=True, eq=False)
class CcdResult:
    """What came of the search.

    Attributes:
        q: shape (N,), rad.
        error: m; distance from the tool point to the target.
        reached: the error is within the tolerance.
        sweeps: number of sweeps, over all starts.
        limits_active: for each joint whether it ends at a limit.
        escaped: the search stood still short of the target, and another start led nearer.
        message: in words.
    """

    q: Array
    error: float
    reached: bool
    sweeps: int
    limits_active: tuple[bool, ...]
    escaped: bool
    message: str


def ccd(chain: DHChain, target: ArrayLike, q0: ArrayLike, tolerance: float = 1e-4, max_sweeps: int = 500) -> CcdResult:
    """Turn the joints until the tool point is at the target, or as near as they get.

    Args:
        chain: the chain.
        target: shape (3,), m, in the frame of `chain.base`'s parent.
        q0: shape (N,), rad; start, brought within the limits first.
        tolerance: m; the search ends within it.
        max_sweeps: limit over all starts.

    Raises:
        ValueError: another shape, a number that is not finite, or a tolerance or number of sweeps that is not above 0.
    """
    goal = triple(target, "target")
    if not tolerance > 0.0 or max_sweeps < 1:
        raise ValueError(f"tolerance {tolerance} m and max_sweeps {max_sweeps}: both must be above 0")
    start = np.clip(chain.angles(q0), chain.lower, chain.upper).tolist()
    search = _Search(chain, goal, tolerance, max_sweeps)
    best, error = search.run(start)
    escaped = False
    if error > tolerance:
        for start in search.other_starts(best):
            if search.sweeps >= max_sweeps:
                break
            q, found = search.run(start)
            if found < error * (1.0 - _BETTER):
                best, error, escaped = q, found, True
            if error <= tolerance:
                break
    at_limit = tuple(
        bool(angle <= low + _AT_LIMIT or angle >= high - _AT_LIMIT)
        for angle, low, high in zip(best, chain.lower, chain.upper, strict=True)
    )
    message = "reached" if error <= tolerance else f"nearest point found is {error:.4g} m from the target"
    message += f" after {search.sweeps} sweeps"
    if escaped:
        message += ", having stood still and gone on from another position"
    if any(at_limit):
        message += f"; at a limit: joint {', '.join(str(joint) for joint, at in enumerate(at_limit) if at)}"
    return CcdResult(np.array(best), error, error <= tolerance, search.sweeps, at_limit, escaped, message)


class _Search:
    def __init__(self, chain: DHChain, target: Triple, tolerance: float, max_sweeps: int) -> None:
        self._chain = chain
        self._target = target
        self._tolerance = tolerance
        self._max_sweeps = max_sweeps
        self._lower, self._upper = chain.lower.tolist(), chain.upper.tolist()
        self.sweeps = 0

    def run(self, start: Sequence[float]) -> tuple[list[float], float]:
        """Sweep from one start until the target is reached, nothing moves, or the sweeps are used up."""
        q = list(start)
        origins, directions, tip = self._chain.axes(q)
        error = _distance(tip, self._target)
        last = min(self.sweeps + _RUN, self._max_sweeps)
        while error > self._tolerance and self.sweeps < last:
            before = error
            error = self._sweep(q, origins, directions, tip)
            self.sweeps += 1
            if error <= self._tolerance:
                break
            origins, directions, tip = self._chain.axes(q)
            if error > _SLOW * before:
                better = self._newton(q, origins, directions, tip, error)
                if better is not None:
                    q, error = better
                    origins, directions, tip = self._chain.axes(q)
                if error > before * (1.0 - _STILL):
                    break
        return q, error

    def _sweep(self, q: list[float], origins: list[Vector], directions: list[Vector], tip: Triple) -> float:
        """Turn each joint once, in place; returns the distance left."""
        tx, ty, tz = self._target
        px, py, pz = tip
        for joint in range(len(q) - 1, -1, -1):
            ox, oy, oz = origins[joint]
            wx, wy, wz = directions[joint]
            ax, ay, az = px - ox, py - oy, pz - oz
            bx, by, bz = tx - ox, ty - oy, tz - oz
            along = ax * wx + ay * wy + az * wz
            # across: the tool's arm about the axis; side: a quarter turn ahead of it
            ux, uy, uz = ax - along * wx, ay - along * wy, az - along * wz
            vx, vy, vz = wy * az - wz * ay, wz * ax - wx * az, wx * ay - wy * ax
            ahead = ux * bx + uy * by + uz * bz
            aside = vx * bx + vy * by + vz * bz
            if ahead == 0.0 == aside:
                continue
            turn = atan2(aside, ahead)
            angle = q[joint] + turn
            lower, upper = self._lower[joint], self._upper[joint]
            if not lower <= angle <= upper:
                angle = _within(angle, lower, upper)
                turn = angle - q[joint]
            c, s = cos(turn), sin(turn)
            px = ox + along * wx + c * ux + s * vx
            py = oy + along * wy + c * uy + s * vy
            pz = oz + along * wz + c * uz + s * vz
            q[joint] = angle
        return sqrt((px - tx) ** 2 + (py - ty) ** 2 + (pz - tz) ** 2)

    def _newton(
        self, q: list[float], origins: list[Vector], directions: list[Vector], tip: Triple, error: float
    ) -> tuple[list[float], float] | None:
        """One Newton step of the joints that limits leave free; None when it does not help."""
        gradient, second = self._derivatives(origins, directions, tip)
        free = [
            joint
            for joint, slope in enumerate(gradient)
            if not (q[joint] <= self._lower[joint] and slope > 0.0)
            and not (q[joint] >= self._upper[joint] and slope < 0.0)
        ]
        if not free:
            return None
        values, vectors = np.linalg.eigh(second[np.ix_(free, free)])
        curvature = np.maximum(np.abs(values), 1e-9 * np.abs(values).max() + 1e-300)
        step = -vectors @ ((gradient[free] @ vectors) / curvature)
        length = float(np.abs(step).max())
        if length > _LONGEST:
            step *= _LONGEST / length
        for scale in (1.0, 0.3):
            moved = list(q)
            for joint, change in zip(free, (scale * step).tolist(), strict=True):
                moved[joint] = min(max(q[joint] + change, self._lower[joint]), self._upper[joint])
            left = _distance(self._chain.axes(moved)[2], self._target)
            if left < error:
                return moved, left
        return None

    def _derivatives(self, origins: list[Vector], directions: list[Vector], tip: Triple) -> tuple[Array, Array]:
        """First and second derivative of half the squared distance."""
        arms = np.array(tip) - np.array(origins)
        axes = np.array(directions)
        columns = _cross(axes, arms)
        residual = np.array(tip) - np.array(self._target)
        # the derivative of column j by joint i before it is axis i × column j
        turned = _cross(np.broadcast_to(residual, axes.shape), axes)
        upper = np.triu(turned @ columns.T)
        second = columns @ columns.T + upper + np.triu(upper, 1).T
        return columns @ residual, second

    def other_starts(self, best: Sequence[float]) -> Iterator[list[float]]:
        """Along the negative curvature at the best position both ways, then positions spread over the joint range."""
        gradient, second = self._derivatives(*self._chain.axes(best))
        values, vectors = np.linalg.eigh(second)
        lower, upper = np.array(self._lower), np.array(self._upper)
        if values[0] < -1e-12 * max(abs(values[-1]), 1e-300) and float(np.abs(gradient).max()) < 1e-6:
            for way in (_NUDGE, -_NUDGE):
                yield np.clip(np.array(best) + way * vectors[:, 0], lower, upper).tolist()
        low = np.where(np.isinf(lower), -pi, lower)
        high = np.where(np.isinf(upper), pi, upper)
        # the additive recurrence of the generalised golden ratio spreads points evenly in any number of dimensions
        ratio = 2.0
        for _ in range(40):
            ratio = (1.0 + ratio) ** (1.0 / (len(best) + 1))
        steps = ratio ** -np.arange(1.0, len(best) + 1)
        for count in range(1, _STARTS + 1):
            yield (low + (high - low) * ((0.5 + count * steps) % 1.0)).tolist()


def _within(angle: float, lower: float, upper: float) -> float:
    """The allowed angle nearest to this one on the circle: an equal by whole turns, else the nearer limit."""
    if isinf(lower) and isinf(upper):
        return angle
    middle = upper - pi if isinf(lower) else lower + pi if isinf(upper) else 0.5 * (lower + upper)
    angle = middle + (angle - middle + pi) % tau - pi
    return min(max(angle, lower), upper)


def _cross(a: Array, b: Array) -> Array:
    """Cross products of rows; numpy's own is slower for few rows."""
    return a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]


def _distance(a: Triple, b: Triple) -> float:
    return sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)
