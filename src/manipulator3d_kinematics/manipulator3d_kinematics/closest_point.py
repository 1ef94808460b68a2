# SPDX-License-Identifier: Apache-2.0
"""The reachable point nearest to a target, under limits and floor.

With the yaw angle at its best, the squared distance is a function of shoulder and elbow angle alone. A smallest value
lies where the arm is singular (stretched, folded, tool on the inner cylinder), on a limit, on the floor, or where the
yaw angle is at a limit and the rest of the target is met in the arm's plane. The last two kinds are single points in
closed form, all others lie on curves of one parameter. The curves are sampled and the best samples refined, so no local
minimum is taken for the global one as long as it is wider than a sample.

A floor that is tilted against the yaw axis adds curves of its own, see floor_curves.py.
"""

from collections.abc import Iterator
from functools import partial
from math import asin, atan2, cos, dist, hypot, inf, isinf, pi, sin

import numpy as np

from manipulator3d_kinematics.branches import ON_BOUNDARY, Solution, fitted, lowest_shoulder_sine, triangle
from manipulator3d_kinematics.checked_numbers import Array, Triple
from manipulator3d_kinematics.floor_curves import Angles, Curve, JointRange, floor_curves
from manipulator3d_kinematics.floor_plane import FloorPlane
from manipulator3d_kinematics.forward import tool_point
from manipulator3d_kinematics.model import ArmModel

_SAMPLES = 721
# of the reach; beyond, differences of squared distances drown in rounding
_FAR = 1e3
_REFINED = 12
_POINTS = 33
# each round narrows the interval to two of its steps: 16^-11 of a sample is below rounding
_ROUNDS = 11


def closest_solution(
    arm: ArmModel, target: Triple, elbow: str = "auto", seed: Triple | None = None
) -> tuple[Solution | None, float]:
    """Find the joint angles whose tool point is nearest to the target.

    Args:
        arm: the arm.
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
        self._target = target
        x, y, z = (arm.mount[:3, :3].T @ (np.array(target) - arm.mount[:3, 3])).tolist()
        self._local = x, y, z
        self._width, self._azimuth, self._z = hypot(x, y), atan2(y, x), z
        self._away = hypot(self._width, z - arm.base_height)
        self._range = JointRange.of(arm)
        self._tilted = not (arm.is_upright or isinf(arm.floor_z))
        self._tool_floor, self._elbow_floor = FloorPlane(arm, arm.forearm), FloorPlane(arm, 0.0)
        self._lowest_sine = lowest_shoulder_sine(arm)

    def nearest(self, seed: Triple | None) -> Solution | None:
        found: list[tuple[float, Triple]] = []
        for angles in self._points():
            t0, t1, t2 = (np.array([angle]) for angle in angles)
            found.append((float(self._cost(t0, t1, t2)[0]), angles))
        starts: list[tuple[float, Curve, float, float]] = []
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
        near = [self._solution(*angles) for value, angles in found if value <= best + 1e-13 * self._arm.reach**2]
        start = self._arm.home.tolist() if seed is None else seed
        weights = self._arm.travel_weights
        near.sort(key=lambda s: sum(w * (a - b) ** 2 for w, a, b in zip(weights, s, start, strict=False)))
        return near[0]

    def _refined(self, curve: Curve, middle: float, step: float) -> tuple[float, Triple]:
        for _ in range(_ROUNDS):
            parameter = np.linspace(max(middle - step, curve.start), min(middle + step, curve.end), _POINTS)
            angles = curve.angles(parameter)
            values = self._cost(*angles)
            index = int(np.argmin(values))
            middle, step = float(parameter[index]), float(parameter[1] - parameter[0])
        t0, t1, t2 = (float(angle[index]) for angle in angles)
        return float(values[index]), (t0, t1, t2)

    def _cost(self, t0: Array, t1: Array, t2: Array) -> Array:
        """The squared distance to the target, infinite where limits, floor or elbow are not kept.

        For a far target its large constant part is left out and the rest divided by twice the distance.
        """
        arm = self._arm
        radial, up = self._in_plane(t1, t2)
        turned = t0 + np.arctan2(-arm.lateral_offset, radial) - self._azimuth
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
        allowed = np.ones(cost.shape, dtype=bool)
        for angle, low, high in zip((t0, t1, t2), self._range.lower, self._range.upper, strict=True):
            allowed &= (angle >= low - ON_BOUNDARY) & (angle <= high + ON_BOUNDARY)
        if self._tilted:
            allowed &= self._elbow_floor.height(t0, t1, t2) >= -ON_BOUNDARY
            allowed &= self._tool_floor.height(t0, t1, t2) >= -ON_BOUNDARY
        else:
            allowed &= np.sin(t1) >= self._lowest_sine
            allowed &= up >= arm.floor_z - arm.mount[2, 3] - ON_BOUNDARY
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
        lower, upper = self._range.lower[0], self._range.upper[0]
        middle, half = (lower + upper) / 2.0, (upper - lower) / 2.0
        aligned = self._azimuth - np.arctan2(-self._arm.lateral_offset, radial)
        away = np.remainder(aligned - middle + pi, 2.0 * pi) - pi
        return middle + np.clip(away, -half, half)

    def _curves(self) -> Iterator[Curve]:
        (low0, low1, low2), (high0, high1, high2) = self._range.lower, self._range.upper
        shoulders = [low1, high1]
        if -1.0 < self._lowest_sine <= 1.0:
            level = asin(min(self._lowest_sine + ON_BOUNDARY / self._arm.upper_arm, 1.0))
            shoulders += [t for t in (fitted(a, low1, high1) for a in (level, pi - level)) if t is not None]
        # a tilted floor may forbid the best yaw angle, or the limit next to it
        yaws = (None, low0, high0) if self._tilted else (None,)
        for yaw in yaws:
            for shoulder in shoulders:
                yield Curve(partial(self._with_shoulder, yaw, shoulder), low2, high2)
            for elbow in self._range.elbows:
                yield Curve(partial(self._with_elbow, yaw, elbow), low1, high1)
        if self._tilted:
            yield from floor_curves(self._tool_floor, self._elbow_floor, self._range, self._local)
        elif not isinf(self._arm.floor_z):
            for side in (1, -1):
                yield Curve(partial(self._on_level_floor, side), low2, high2)

    def _with_shoulder(self, yaw: float | None, t1: float, t2: Array) -> Angles:
        return self._with_yaw(yaw, np.full_like(t2, t1), t2)

    def _with_elbow(self, yaw: float | None, t2: float, t1: Array) -> Angles:
        return self._with_yaw(yaw, t1, np.full_like(t1, t2))

    def _on_level_floor(self, side: int, t2: Array) -> Angles:
        """Where the tool point is on the floor at whatever yaw angle."""
        t1 = self._range.fitted(1, self._tool_floor.shoulder(np.zeros_like(t2), t2, side))
        return self._with_yaw(None, t1, t2)

    def _with_yaw(self, yaw: float | None, t1: Array, t2: Array) -> Angles:
        """With a yaw angle, or the best one."""
        return self._yaw(self._in_plane(t1, t2)[0]) if yaw is None else np.full_like(t1, yaw), t1, t2

    def _points(self) -> Iterator[Triple]:
        """Positions that meet the target in the arm's plane: yaw angle at a limit, or tool on the inner cylinder.

        Above a tilted floor also those that meet the point of the floor below the target.
        """
        arm, (low0, low1, low2), (high0, high1, high2) = self._arm, self._range.lower, self._range.upper
        inward = [0.0]
        inward += [self._width * cos(self._azimuth - yaw) for yaw in (low0, high0)]
        for radial in inward:
            r, h = radial - arm.shoulder_offset, self._z - arm.base_height
            angles = triangle(arm.reach, arm.upper_arm - arm.forearm, hypot(r, h))
            if angles is None:
                continue
            for side in (1.0, -1.0):
                t1 = fitted(atan2(h, r) - side * angles[1], low1, high1)
                t2 = fitted(side * angles[0], low2, high2)
                if t1 is not None and t2 is not None:
                    best = float(self._yaw(self._in_plane(np.array([t1]), np.array([t2]))[0])[0])
                    for yaw in (best, low0, high0) if self._tilted else (best,):
                        yield yaw, t1, t2
        if self._tilted:
            x, y, _ = self._target
            for q in arm.solve_branches(x, y, arm.floor_z, None, None):
                yield arm.plain_theta(q[:3])

    def _solution(self, t0: float, t1: float, t2: float) -> Solution:
        arm = self._arm
        radial = arm.shoulder_offset + arm.upper_arm * cos(t1) + arm.forearm * cos(t1 + t2)
        q = np.clip(arm.joint_angles(np.array([t0, t1, t2])), arm.lower, arm.upper).tolist()
        return q[0], q[1], q[2], (1 if sin(t2) < 0.0 else 0) + (2 if radial < 0.0 else 0)
