# SPDX-License-Identifier: Apache-2.0
"""The reachable point nearest to a target, under limits and floor.

With the yaw angle at its best, the squared distance is a function of shoulder and elbow angle alone. A smallest value
lies where the arm is singular (stretched, folded, tool on the inner cylinder), on a limit, on the floor, or where the
yaw angle is at a limit and the rest of the target is met in the arm's plane. The last two kinds are single points in
closed form, all others lie on curves of one parameter. The curves are sampled and the best samples refined, so no local
minimum is taken for the global one as long as it is wider than a sample.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import asin, atan2, cos, dist, hypot, inf, isinf, pi, sin
from typing import NamedTuple

import numpy as np

from manipulator3d_kinematics.branches import ON_BOUNDARY, Solution, fitted, lowest_shoulder_sine, triangle
from manipulator3d_kinematics.checked_numbers import Array, Triple
from manipulator3d_kinematics.forward import tool_point
from manipulator3d_kinematics.model import ArmModel

_SAMPLES = 721
NOT_UPRIGHT = "the closest point above a floor is found for an upright yaw axis alone"
# of the reach; beyond, differences of squared distances drown in rounding
_FAR = 1e3
_REFINED = 12
_POINTS = 33
# each round narrows the interval to two of its steps: 16^-11 of a sample is below rounding
_ROUNDS = 11


class _Curve(NamedTuple):
    """Shoulder and elbow angles over one parameter."""

    angles: Callable[[Array], tuple[Array, Array]]
    start: float
    end: float


def is_known(arm: ArmModel) -> bool:
    """Tell whether the closest point can be found: with a floor, for an upright yaw axis alone."""
    return arm.is_upright or isinf(arm.floor_z)


def closest_solution(
    arm: ArmModel, target: Triple, elbow: str = "auto", seed: Triple | None = None
) -> tuple[Solution | None, float]:
    """Find the joint angles whose tool point is nearest to the target.

    Args:
        arm: the arm; one that `is_known`.
        target: m, in the base frame.
        elbow: "auto", "down" or "up".
        seed: rad; of equally near solutions the one with the least travel from here, or from the home position, is
            taken.

    Returns:
        The solution and its distance in m; None where no position keeps limits and floor.
    """
    solution = _Search(arm, target, elbow).nearest(seed)
    return solution, inf if solution is None else dist(target, tool_point(arm, solution[:3]))


class _Search:
    def __init__(self, arm: ArmModel, target: Triple, elbow: str) -> None:
        self._arm = arm
        self._elbow = elbow
        x, y, z = (arm.mount[:3, :3].T @ (np.array(target) - arm.mount[:3, 3])).tolist()
        self._width, self._azimuth, self._z = hypot(x, y), atan2(y, x), z
        self._away = hypot(self._width, z - arm.base_height)
        lower, upper = (limits.tolist() for limits in arm.theta_limits)
        self._lower = [-pi if isinf(low + up) else low for low, up in zip(lower, upper, strict=True)]
        self._upper = [pi if isinf(low + up) else up for low, up in zip(lower, upper, strict=True)]
        self._floor = arm.floor_z - float(arm.mount[2, 3])
        self._lowest_sine = lowest_shoulder_sine(arm)

    def nearest(self, seed: Triple | None) -> Solution | None:
        found: list[tuple[float, float, float]] = []
        for t1, t2 in self._points():
            value = float(self._cost(np.array([t1]), np.array([t2]))[0])
            found.append((value, t1, t2))
        starts: list[tuple[float, _Curve, float, float]] = []
        for curve in self._curves():
            parameter = np.linspace(curve.start, curve.end, _SAMPLES)
            values = self._cost(*curve.angles(parameter))
            padded = np.concatenate(([np.inf], values, [np.inf]))
            lowest = (values <= padded[:-2]) & (values <= padded[2:]) & np.isfinite(values)
            step = (curve.end - curve.start) / (_SAMPLES - 1)
            starts += [(float(values[i]), curve, float(parameter[i]), step) for i in np.flatnonzero(lowest)]
        starts.sort(key=lambda start: start[0])
        found += [self._refined(*start[1:]) for start in starts[:_REFINED]]
        found = [entry for entry in found if np.isfinite(entry[0])]
        if not found:
            return None
        best = min(entry[0] for entry in found)
        # among equally near ones the least travel, as between mirror images
        near = [self._solution(t1, t2) for value, t1, t2 in found if value <= best + 1e-13 * self._arm.reach**2]
        start = self._arm.home.tolist() if seed is None else seed
        weights = self._arm.travel_weights
        near.sort(key=lambda s: sum(w * (a - b) ** 2 for w, a, b in zip(weights, s, start, strict=False)))
        return near[0]

    def _refined(self, curve: _Curve, middle: float, step: float) -> tuple[float, float, float]:
        for _ in range(_ROUNDS):
            parameter = np.linspace(max(middle - step, curve.start), min(middle + step, curve.end), _POINTS)
            t1, t2 = curve.angles(parameter)
            values = self._cost(t1, t2)
            index = int(np.argmin(values))
            middle, step = float(parameter[index]), float(parameter[1] - parameter[0])
        return float(values[index]), float(t1[index]), float(t2[index])

    def _cost(self, t1: Array, t2: Array) -> Array:
        """The squared distance to the target, infinite where limits, floor or elbow are not kept.

        For a far target its large constant part is left out and the rest divided by twice the distance.
        """
        arm = self._arm
        radial, up = self._in_plane(t1, t2)
        turned = self._yaw(radial) + np.arctan2(-arm.lateral_offset, radial) - self._azimuth
        width = np.hypot(radial, arm.lateral_offset)
        if self._away > _FAR * arm.reach:
            rise = up - arm.base_height
            along = width * np.cos(turned) * (self._width / self._away)
            along += rise * ((self._z - arm.base_height) / self._away)
            cost = (width**2 + rise**2) / (2.0 * self._away) - along
        else:
            # the cosine rule as a sum of squares does not cancel
            cost = (width - self._width) ** 2 + 4.0 * width * self._width * np.sin(turned / 2.0) ** 2
            cost += (up - self._z) ** 2
        allowed = (t1 >= self._lower[1] - ON_BOUNDARY) & (t1 <= self._upper[1] + ON_BOUNDARY)
        allowed &= (t2 >= self._lower[2] - ON_BOUNDARY) & (t2 <= self._upper[2] + ON_BOUNDARY)
        allowed &= (np.sin(t1) >= self._lowest_sine) & (up >= self._floor - ON_BOUNDARY)
        if self._elbow != "auto":
            side = np.sin(t2) if self._elbow == "down" else -np.sin(t2)
            allowed &= side >= -ON_BOUNDARY
        return np.where(allowed, cost, np.inf)

    def _in_plane(self, t1: Array, t2: Array) -> tuple[Array, Array]:
        arm = self._arm
        radial = arm.shoulder_offset + arm.upper_arm * np.cos(t1) + arm.forearm * np.cos(t1 + t2)
        return radial, arm.base_height + arm.upper_arm * np.sin(t1) + arm.forearm * np.sin(t1 + t2)

    def _yaw(self, radial: Array) -> Array:
        """The yaw angle within limits that turns the tool nearest to the target."""
        middle, half = (self._lower[0] + self._upper[0]) / 2.0, (self._upper[0] - self._lower[0]) / 2.0
        aligned = self._azimuth - np.arctan2(-self._arm.lateral_offset, radial)
        away = np.remainder(aligned - middle + pi, 2.0 * pi) - pi
        return middle + np.clip(away, -half, half)

    def _curves(self) -> Iterator[_Curve]:
        lower, upper = self._lower, self._upper
        shoulders = [lower[1], upper[1]]
        if -1.0 < self._lowest_sine <= 1.0:
            level = asin(min(self._lowest_sine + ON_BOUNDARY / self._arm.upper_arm, 1.0))
            shoulders += [t for t in (fitted(a, lower[1], upper[1]) for a in (level, pi - level)) if t is not None]
        elbows = [lower[2], upper[2]]
        elbows += [t for t in (fitted(a, lower[2], upper[2]) for a in (0.0, pi, -pi)) if t is not None]
        for shoulder in shoulders:
            yield _Curve(partial(_with_shoulder, shoulder), lower[2], upper[2])
        for elbow in elbows:
            yield _Curve(partial(_with_elbow, elbow), lower[1], upper[1])
        if not isinf(self._floor):
            for side in (False, True):
                yield _Curve(partial(self._floor_curve, side), lower[2], upper[2])

    def _floor_curve(self, over: bool, t2: Array) -> tuple[Array, Array]:
        return self._on_floor(t2, over), t2

    def _on_floor(self, t2: Array, over: bool) -> Array:
        """Shoulder angle that puts the tool point on the floor, NaN where none does."""
        arm = self._arm
        across, along = arm.forearm * np.sin(t2), arm.upper_arm + arm.forearm * np.cos(t2)
        length = np.hypot(across, along)
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = np.arcsin((self._floor - arm.base_height) / length)
        t1 = (pi - rise if over else rise) - np.arctan2(across, along)
        low, high = self._lower[1], self._upper[1]
        turned = t1 - 2.0 * pi * np.floor((t1 - low + ON_BOUNDARY) / (2.0 * pi))
        return np.asarray(np.where(turned <= high + ON_BOUNDARY, np.clip(turned, low, high), turned))

    def _points(self) -> Iterator[tuple[float, float]]:
        """Positions that meet the target in the arm's plane: yaw angle at a limit, or tool on the inner cylinder."""
        arm = self._arm
        inward = [0.0]
        inward += [self._width * cos(self._azimuth - yaw) for yaw in (self._lower[0], self._upper[0])]
        for radial in inward:
            r, h = radial - arm.shoulder_offset, self._z - arm.base_height
            angles = triangle(arm.reach, arm.upper_arm - arm.forearm, hypot(r, h))
            if angles is None:
                continue
            for side in (1.0, -1.0):
                t1 = fitted(atan2(h, r) - side * angles[1], self._lower[1], self._upper[1])
                t2 = fitted(side * angles[0], self._lower[2], self._upper[2])
                if t1 is not None and t2 is not None:
                    yield t1, t2

    def _solution(self, t1: float, t2: float) -> Solution:
        arm = self._arm
        radial = arm.shoulder_offset + arm.upper_arm * cos(t1) + arm.forearm * cos(t1 + t2)
        t0 = float(self._yaw(np.array([radial]))[0])
        q = np.clip(arm.joint_angles(np.array([t0, t1, t2])), arm.lower, arm.upper).tolist()
        return q[0], q[1], q[2], (1 if sin(t2) < 0.0 else 0) + (2 if radial < 0.0 else 0)


def _with_shoulder(t1: float, t2: Array) -> tuple[Array, Array]:
    return np.full_like(t2, t1), t2


def _with_elbow(t2: float, t1: Array) -> tuple[Array, Array]:
    return t1, np.full_like(t1, t2)
