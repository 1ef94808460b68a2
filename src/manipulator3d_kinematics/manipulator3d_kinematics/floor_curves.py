# SPDX-License-Identifier: Apache-2.0
"""Where the nearest point above a tilted floor can be, as curves of one parameter.

With the tool point on the floor and the target's foot on it out of reach, the nearest point is on the edge of what is
reached of the floor: the arm stretched or folded, a joint at a limit, the tool on the inner cylinder, or the elbow on
the floor, too. With the elbow on the floor, the elbow angle is at its best: the forearm toward the target, at a limit,
or with the tool on the floor. Each of these leaves one angle free. Where the floor holds two angles together, both
serve as the parameter, as either may run off steeply.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import isfinite, pi, tau

import numpy as np

from manipulator3d_kinematics.branches import ON_BOUNDARY, fitted
from manipulator3d_kinematics.checked_numbers import Array, Triple
from manipulator3d_kinematics.floor_plane import FloorPlane
from manipulator3d_kinematics.model import ArmModel

Angles = tuple[Array, Array, Array]
_SIDES = (1, -1)


@dataclass(frozen=True)
class Curve:
    """The three angles of the DH table over one parameter; NaN where there is no such position."""

    angles: Callable[[Array], Angles]
    start: float
    end: float


@dataclass(frozen=True)
class JointRange:
    """Finite limits of the angles of the DH table, rad; a turn for a joint without limits."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @staticmethod
    def of(arm: ArmModel) -> "JointRange":
        lower, upper = (limits.tolist() for limits in arm.theta_limits)
        endless = [not isfinite(low + high) for low, high in zip(lower, upper, strict=True)]
        return JointRange(
            tuple(-pi if free else low for free, low in zip(endless, lower, strict=True)),
            tuple(pi if free else high for free, high in zip(endless, upper, strict=True)),
        )

    @property
    def elbows(self) -> list[float]:
        """Elbow angles at a limit, stretched, folded."""
        low, high = self.lower[2], self.upper[2]
        return [low, high, *(t for t in (fitted(a, low, high) for a in (0.0, pi, -pi)) if t is not None)]

    def fitted(self, joint: int, angle: Array) -> Array:
        """Angles turned by whole revolutions into the limits where that can be."""
        low, high = self.lower[joint], self.upper[joint]
        turned = angle - tau * np.floor((angle - low + ON_BOUNDARY) / tau)
        return np.where(turned <= high + ON_BOUNDARY, np.clip(turned, low, high), turned)


def floor_curves(tool: FloorPlane, elbow: FloorPlane, limits: JointRange, target: Triple) -> Iterator[Curve]:
    """Give the curves.

    Args:
        tool, elbow: the floor as the tool point and as the elbow meets it.
        limits: of the joints.
        target: m, in the arm's frame.
    """
    low, high = limits.lower, limits.upper
    for side in _SIDES:
        for t2 in limits.elbows:
            yield Curve(partial(_tool_with_elbow_by_yaw, tool, limits, t2, side), low[0], high[0])
            yield Curve(partial(_tool_with_elbow_by_shoulder, tool, limits, t2, side), low[1], high[1])
        for t1 in (low[1], high[1]):
            yield Curve(partial(_tool_with_shoulder_by_yaw, tool, limits, t1, side), low[0], high[0])
            yield Curve(partial(_tool_with_shoulder_by_elbow, tool, limits, t1, side), low[2], high[2])
        for t0 in (low[0], high[0]):
            yield Curve(partial(_tool_with_yaw_by_shoulder, tool, limits, t0, side), low[1], high[1])
            yield Curve(partial(_tool_with_yaw_by_elbow, tool, limits, t0, side), low[2], high[2])
        yield from _on_cylinder(tool, limits, side)
        for bend in _bends(tool, limits, target):
            yield Curve(partial(_elbow_by_yaw, elbow, limits, bend, side), low[0], high[0])
            yield Curve(partial(_elbow_by_shoulder, elbow, limits, bend, side), low[1], high[1])


def _tool_with_elbow_by_yaw(tool: FloorPlane, limits: JointRange, t2: float, side: int, t0: Array) -> Angles:
    bent = np.full_like(t0, t2)
    return t0, limits.fitted(1, tool.shoulder(t0, bent, side)), bent


def _tool_with_elbow_by_shoulder(tool: FloorPlane, limits: JointRange, t2: float, side: int, t1: Array) -> Angles:
    bent = np.full_like(t1, t2)
    return limits.fitted(0, tool.yaw(t1, bent, side)), t1, bent


def _tool_with_shoulder_by_yaw(tool: FloorPlane, limits: JointRange, t1: float, side: int, t0: Array) -> Angles:
    raised = np.full_like(t0, t1)
    return t0, raised, limits.fitted(2, tool.elbow(t0, raised, side))


def _tool_with_shoulder_by_elbow(tool: FloorPlane, limits: JointRange, t1: float, side: int, t2: Array) -> Angles:
    raised = np.full_like(t2, t1)
    return limits.fitted(0, tool.yaw(raised, t2, side)), raised, t2


def _tool_with_yaw_by_shoulder(tool: FloorPlane, limits: JointRange, t0: float, side: int, t1: Array) -> Angles:
    turned = np.full_like(t1, t0)
    return turned, t1, limits.fitted(2, tool.elbow(turned, t1, side))


def _tool_with_yaw_by_elbow(tool: FloorPlane, limits: JointRange, t0: float, side: int, t2: Array) -> Angles:
    turned = np.full_like(t2, t0)
    return turned, limits.fitted(1, tool.shoulder(turned, t2, side)), t2


def _on_cylinder(tool: FloorPlane, limits: JointRange, side: int) -> Iterator[Curve]:
    """The tool where the floor cuts the inner cylinder, by the yaw angle and by the height along the yaw axis."""
    arm = tool.arm

    def pitched(t0: Array, up: Array) -> Angles:
        along, rise = -arm.shoulder_offset, up - arm.base_height
        distance = np.hypot(along, rise)
        cosine = (distance**2 - arm.upper_arm**2 - arm.forearm**2) / (2.0 * arm.upper_arm * arm.forearm)
        t2 = side * np.arccos(np.where(np.abs(cosine) <= 1.0, cosine, np.nan))
        t1 = np.arctan2(rise, along) - np.arctan2(arm.forearm * np.sin(t2), arm.upper_arm + arm.forearm * np.cos(t2))
        return t0, limits.fitted(1, t1), limits.fitted(2, t2)

    yield Curve(lambda t0: pitched(t0, tool.on_cylinder(t0)), limits.lower[0], limits.upper[0])
    for way in _SIDES:
        yield Curve(
            lambda up, way=way: pitched(limits.fitted(0, tool.yaw_on_cylinder(up, way)), up),  # type: ignore[misc]
            arm.base_height - arm.reach,
            arm.base_height + arm.reach,
        )


def _bends(tool: FloorPlane, limits: JointRange, target: Triple) -> Iterator[Callable[[Array, Array], Array]]:
    """Functions that give the elbow angle for a yaw and a shoulder angle."""
    arm, (x, y, z) = tool.arm, target

    def toward(t0: Array, t1: Array) -> Array:
        inward = x * np.cos(t0) + y * np.sin(t0) - arm.shoulder_offset - arm.upper_arm * np.cos(t1)
        return limits.fitted(2, np.arctan2(z - arm.base_height - arm.upper_arm * np.sin(t1), inward) - t1)

    yield toward
    for angle in limits.elbows:
        yield lambda t0, t1, angle=angle: np.full_like(t1, angle)  # type: ignore[misc]
    for side in _SIDES:
        yield lambda t0, t1, side=side: limits.fitted(2, tool.elbow(t0, t1, side))  # type: ignore[misc]


def _elbow_by_yaw(
    elbow: FloorPlane, limits: JointRange, bend: Callable[[Array, Array], Array], side: int, t0: Array
) -> Angles:
    t1 = limits.fitted(1, elbow.shoulder(t0, np.zeros_like(t0), side))
    return t0, t1, bend(t0, t1)


def _elbow_by_shoulder(
    elbow: FloorPlane, limits: JointRange, bend: Callable[[Array, Array], Array], side: int, t1: Array
) -> Angles:
    t0 = limits.fitted(0, elbow.yaw(t1, np.zeros_like(t1), side))
    return t0, t1, bend(t0, t1)
