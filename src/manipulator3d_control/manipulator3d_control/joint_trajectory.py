# SPDX-License-Identifier: Apache-2.0
"""Trajectories planned elsewhere: checked, interpolated and made a motion of this arm.

Between two points the joints follow the polynomial that meets what the points give: a cubic for positions and
velocities, a quintic for accelerations as well. Where only positions are given, a cubic spline through them with
continuous acceleration, at rest at both ends, gives the velocities and accelerations; straight pieces would ask for a
step of the velocity at each point.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_control.joint_path import check_positions
from manipulator3d_control.motion import Motion, MotionState, PolynomialMotion, Standing
from manipulator3d_control.path import PathError
from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial, hermite_coefficients
from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_control.refusal import Refusal
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode

_CHECK_SPACING_S = 0.005
_FEWEST_CHECKS, _MOST_CHECKS = 8, 400
# what rounding may add
_LIMIT_ROUNDING = 1e-6
_POSITION_ROUNDING_RAD = 1e-9
# rad/s that count as standing at the first and the last point
_STANDING = 1e-3
_FULL_TURN = 2.0 * np.pi


class TrajectoryFault(IntEnum):
    """Names and numbers are those of control_msgs/action/FollowJointTrajectory."""

    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class TrajectoryRefusal(Refusal):
    """A trajectory that cannot be followed, or was not.

    Attributes:
        fault: the reason as the action tells it.
    """

    def __init__(
        self, message: str, fault: TrajectoryFault = TrajectoryFault.INVALID_GOAL, code: ErrorCode | None = None
    ) -> None:
        super().__init__(ErrorCode.INVALID_TRAJECTORY if code is None else code, message)
        self.fault = fault


class TrajectoryPoint(NamedTuple):
    """One point; each sequence has one number for each named joint, or is empty where nothing is asked.

    Attributes:
        time: s, from the start of the trajectory.
        positions, velocities, accelerations: rad, rad/s, rad/s².
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


@dataclass(frozen=True)
class TrajectoryPlan:
    """How the arm follows a trajectory.

    Attributes:
        motion: of all joints, from the present position.
        times: shape (N,), s; when the motion passes the points.
        stretch: how many times longer than asked it takes; 1 when the times are kept.
    """

    motion: Motion
    times: Array
    stretch: float

    def next_point(self, time: float) -> int:
        """The number of the point that is being approached at a time of the motion."""
        return min(int(np.searchsorted(self.times, time, side="right")), len(self.times) - 1)


def plan_trajectory(
    arm: ArmModel,
    names: Sequence[str],
    points: Sequence[TrajectoryPoint],
    start: Array,
    start_tolerance: float,
    max_stretch: float,
) -> TrajectoryPlan:
    """Check a trajectory and make it a motion.

    Joints that are not named hold their position. The arm goes from where it stands to the first point in the time that
    this point gives; a first point at time 0 must be where the arm stands, but for a tolerance, and what is missing is
    moved before the trajectory begins. Angles may be whole turns away from those within the limits. Where velocity or
    acceleration of the interpolation would exceed a joint's limit, the whole is run slower by up to `max_stretch`. The
    jerk is the trajectory's own.

    Args:
        arm: the arm; its limits and floor.
        names: joints that the points speak of, in any order.
        points: at least one.
        start: shape (3,), rad; where the arm stands.
        start_tolerance: rad.
        max_stretch: at least 1.

    Raises:
        TrajectoryRefusal: names the joint, the time, the value, the bound and the remedy.
    """
    columns, times, given = check_trajectory(arm, names, points)
    wanted = np.full((3, len(points), 3), np.nan)
    for order, rows in enumerate(given):
        if rows is not None:
            wanted[order] = 0.0
            wanted[order][:, columns] = rows
    held = np.setdiff1d(np.arange(3), columns)
    wanted[0][:, held] = start[held]
    for joint in columns:
        wanted[0][:, joint] = _near(wanted[0][:, joint], start[joint], arm.lower[joint], arm.upper[joint])
    _check_points(arm, wanted[0], times)
    approach: Motion = Standing(start)
    if times[0] == 0.0:
        _check_start(arm, wanted[0][0], start, start_tolerance)
        approach = point_to_point(arm, start, wanted[0][0])
        times_from_rest, states = times, wanted
    else:
        times_from_rest = np.concatenate([[0.0], times])
        at_start = np.stack([start, np.zeros(3), np.zeros(3)])
        states = np.concatenate([at_start[:, None], wanted], axis=1)
    if len(times_from_rest) == 1:
        return TrajectoryPlan(approach, np.array([approach.duration]), 1.0)
    angles = _interpolation(times_from_rest, states, given[1] is not None, given[2] is not None)
    stretch = _needed_stretch(arm, angles, max_stretch)
    angles = _stretched(angles, stretch)
    motion = PolynomialMotion(angles)
    _check_way(arm, motion)
    return TrajectoryPlan(_Following(approach, motion), approach.duration + times * stretch, stretch)


def check_trajectory(
    arm: ArmModel, names: Sequence[str], points: Sequence[TrajectoryPoint]
) -> tuple[list[int], Array, list[Array | None]]:
    """Check what can be checked without knowing where the arm is.

    Returns:
        Which joints are named; times of the points, shape (N,), s; positions, velocities and accelerations of the named
        joints, each of shape (N, names), or None where they are not given.

    Raises:
        TrajectoryRefusal: as plan_trajectory.
    """
    columns = _columns(arm, names)
    times = _checked_times(points)
    given = [_field(points, order, names, times) for order in range(3)]
    if given[2] is not None and given[1] is None:
        raise TrajectoryRefusal("accelerations are given without velocities; give both, or positions alone")
    _check_standing(given[1], -1, names, times)
    if times[0] == 0.0:
        _check_standing(given[1], 0, names, times)
    return columns, times, given


def _columns(arm: ArmModel, names: Sequence[str]) -> list[int]:
    expected = ", ".join(arm.joint_names)
    if not names:
        raise TrajectoryRefusal(f"no joint is named; the arm's joints are {expected}", TrajectoryFault.INVALID_JOINTS)
    for name in names:
        if name not in arm.joint_names:
            raise TrajectoryRefusal(
                f"'{name}' is not a joint of the arm; its joints are {expected}", TrajectoryFault.INVALID_JOINTS
            )
    if len(set(names)) != len(names):
        raise TrajectoryRefusal(f"joints {', '.join(names)}: name each joint once", TrajectoryFault.INVALID_JOINTS)
    return [arm.joint_names.index(name) for name in names]


def _checked_times(points: Sequence[TrajectoryPoint]) -> Array:
    times = np.array([point.time for point in points], dtype=np.float64)
    if not np.all(np.isfinite(times)):
        raise TrajectoryRefusal("a time_from_start is not finite; give seconds from the start of the trajectory")
    if times[0] < 0.0:
        raise TrajectoryRefusal(f"point 0 has time_from_start {times[0]:g} s; it must not be negative")
    not_later = np.flatnonzero(np.diff(times) <= 0.0)
    if not_later.size:
        at = int(not_later[0])
        raise TrajectoryRefusal(
            f"point {at + 1} has time_from_start {times[at + 1]:g} s, not above the {times[at]:g} s of the point "
            "before it; give each point a later time"
        )
    return times


_FIELDS = (("positions", "rad"), ("velocities", "rad/s"), ("accelerations", "rad/s²"))


def _field(points: Sequence[TrajectoryPoint], order: int, names: Sequence[str], times: Array) -> Array | None:
    """Positions, velocities or accelerations of all points, shape (N, names); None where none are given."""
    field, unit = _FIELDS[order]
    rows = [(point.positions, point.velocities, point.accelerations)[order] for point in points]
    if order > 0 and not any(len(row) for row in rows):
        return None
    for at, row in enumerate(rows):
        if len(row) != len(names):
            remedy = "" if order == 0 else ", or none at any point"
            raise TrajectoryRefusal(
                f"point {at} at {times[at]:g} s has {len(row)} {field} for {len(names)} joints; give one for each "
                f"joint{remedy}"
            )
    values = np.array(rows, dtype=np.float64)
    if not np.all(np.isfinite(values)):
        at, joint = np.argwhere(~np.isfinite(values))[0]
        raise TrajectoryRefusal(
            f"{names[joint]}: {field} of point {at} at {times[at]:g} s is {values[at, joint]}; give a finite number of "
            f"{unit}"
        )
    return values


def _check_standing(velocities: Array | None, at: int, names: Sequence[str], times: Array) -> None:
    if velocities is None:
        return
    joint = int(np.argmax(np.abs(velocities[at])))
    if abs(velocities[at, joint]) > _STANDING:
        which = "first point, at 0 s," if at == 0 else f"last point, at {times[-1]:g} s,"
        raise TrajectoryRefusal(
            f"{names[joint]}: the {which} has a velocity of {velocities[at, joint]:.4g} rad/s; the arm stands at both "
            "ends of a trajectory, give 0"
        )
    velocities[at] = 0.0


def _near(angles: Array, present: float, lower: float, upper: float) -> Array:
    """Turn one joint's angles by whole turns: all together to where the arm is, or else each into the limits."""
    together = angles + _FULL_TURN * np.round((present - angles[0]) / _FULL_TURN)
    if np.all((together >= lower) & (together <= upper)):
        return together
    near, before = angles.copy(), present
    for at, angle in enumerate(angles):
        if not lower <= angle <= upper:
            fewest, most = np.ceil((lower - angle) / _FULL_TURN), np.floor((upper - angle) / _FULL_TURN)
            if fewest <= most:
                near[at] = angle + _FULL_TURN * np.clip(np.round((before - angle) / _FULL_TURN), fewest, most)
        before = near[at]
    return near


def _check_points(arm: ArmModel, positions: Array, times: Array) -> None:
    outside = np.maximum(arm.lower - positions, positions - arm.upper)
    at, joint = np.unravel_index(int(np.argmax(outside)), outside.shape)
    if outside[at, joint] > _POSITION_ROUNDING_RAD:
        raise _beyond(arm, int(joint), positions[at, joint], f"point {at} at {times[at]:g} s")


def _beyond(arm: ArmModel, joint: int, angle: float, where: str) -> TrajectoryRefusal:
    is_below = angle < arm.lower[joint]
    side, bound = ("below its lower", arm.lower[joint]) if is_below else ("above its upper", arm.upper[joint])
    return TrajectoryRefusal(
        f"{arm.joint_names[joint]}: {angle:.4g} rad at {where} is {side} limit of {bound:.4g} rad; plan within the "
        "limits"
    )


def _check_start(arm: ArmModel, first: Array, start: Array, tolerance: float) -> None:
    away = np.abs(first - start)
    joint = int(np.argmax(away))
    if away[joint] > tolerance:
        raise TrajectoryRefusal(
            f"{arm.joint_names[joint]}: the trajectory begins at {first[joint]:.4g} rad, {away[joint]:.4g} rad from "
            f"the present {start[joint]:.4g} rad, above the {tolerance:g} rad allowed; plan from the present state, or "
            "give the first point a time_from_start above 0"
        )


def _interpolation(times: Array, states: Array, with_velocity: bool, with_acceleration: bool) -> PiecewisePolynomial:
    lengths = np.diff(times)
    if not with_velocity:
        states[1], states[2] = _spline_rates(lengths, states[0])
    count = 2 if with_velocity and not with_acceleration else 3
    coefficients = hermite_coefficients(lengths, states[:count, :-1], states[:count, 1:])
    return PiecewisePolynomial(times, coefficients)


def _spline_rates(lengths: Array, positions: Array) -> tuple[Array, Array]:
    """Velocities and accelerations at the points of a cubic spline that stands at both ends, each of shape (N, 3).

    The velocities solve h₊ v₋ + 2 (h₋ + h₊) v + h₋ v₊ = 3 (h₊ d₋ + h₋ d₊) with the lengths h and the slopes d before
    and after each point (de Boor, A Practical Guide to Splines, chapter IV). The accelerations of the ends are 0 too.
    """
    slopes = np.diff(positions, axis=0) / lengths[:, None]
    velocities, accelerations = np.zeros(positions.shape), np.zeros(positions.shape)
    inner = len(positions) - 2
    if inner > 0:
        before, after = lengths[:-1], lengths[1:]
        diagonal = 2.0 * (before + after)
        right = 3.0 * (after[:, None] * slopes[:-1] + before[:, None] * slopes[1:])
        for k in range(1, inner):
            factor = after[k] / diagonal[k - 1]
            diagonal[k] -= factor * before[k - 1]
            right[k] -= factor * right[k - 1]
        for k in range(inner - 1, -1, -1):
            velocities[k + 1] = (right[k] - before[k] * velocities[k + 2]) / diagonal[k]
        accelerations[1:-1] = 2.0 * (velocities[:-2] + 2.0 * velocities[1:-1] - 3.0 * slopes[:-1]) / before[:, None]
    return velocities, accelerations


def _check_times(motion_times: Array) -> Array:
    lengths = np.diff(motion_times)
    counts = np.clip(np.ceil(lengths / _CHECK_SPACING_S).astype(int), _FEWEST_CHECKS, _MOST_CHECKS)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    fraction = (np.arange(counts.sum()) - np.repeat(first, counts)) / np.repeat(counts, counts)
    inner = np.repeat(motion_times[:-1], counts) + fraction * np.repeat(lengths, counts)
    return np.append(inner, motion_times[-1])


def _needed_stretch(arm: ArmModel, angles: PiecewisePolynomial, max_stretch: float) -> float:
    times = _check_times(angles.breaks)
    _, velocity, acceleration = angles.derivatives(times, 2)
    needed = 1.0
    for values, limits, name, unit, root in (
        (velocity, arm.velocity, "velocity", "rad/s", 1.0),
        (acceleration, arm.acceleration, "acceleration", "rad/s²", 0.5),
    ):
        used = np.abs(values) / limits
        at, joint = np.unravel_index(int(np.argmax(used)), used.shape)
        slower = float(used[at, joint]) ** root
        if slower > max_stretch:
            raise TrajectoryRefusal(
                f"{arm.joint_names[joint]}: a {name} of {abs(values[at, joint]):.4g} {unit} at {times[at]:.3f} s is "
                f"above its limit of {limits[joint]:.4g} {unit}; make all times "
                f"{slower:.3g} times as long"
            )
        needed = max(needed, slower)
    return 1.0 if needed <= 1.0 + _LIMIT_ROUNDING else needed


def _stretched(angles: PiecewisePolynomial, stretch: float) -> PiecewisePolynomial:
    powers = stretch ** -np.arange(angles.coefficients.shape[1], dtype=np.float64)
    return PiecewisePolynomial(angles.breaks * stretch, angles.coefficients * powers[:, None])


def _check_way(arm: ArmModel, motion: PolynomialMotion) -> None:
    times = np.linspace(0.0, motion.duration, max(2, int(motion.duration / _CHECK_SPACING_S)))
    positions = motion.sample(times).position
    outside = np.maximum(arm.lower - positions, positions - arm.upper)
    at, joint = np.unravel_index(int(np.argmax(outside)), outside.shape)
    if outside[at, joint] > _POSITION_ROUNDING_RAD:
        raise _beyond(arm, int(joint), positions[at, joint], f"{times[at]:.3f} s, between two points,")
    try:
        check_positions(arm, positions, "trajectory")
    except PathError as error:
        raise TrajectoryRefusal(str(error)) from error


class _Following:
    """Two motions, one after the other."""

    def __init__(self, first: Motion, second: Motion) -> None:
        self._first, self._second = first, second
        self.duration = first.duration + second.duration

    def sample(self, t: ArrayLike) -> MotionState:
        """Give the state at one time or at several; see Motion."""
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        later = (times >= self._first.duration)[:, None]
        first, second = self._first.sample(times), self._second.sample(times - self._first.duration)
        states = [np.where(later, b, a) for a, b in zip(first, second, strict=True)]
        return MotionState(*(state[0] for state in states)) if np.ndim(t) == 0 else MotionState(*states)
