# SPDX-License-Identifier: Apache-2.0
"""Makes a motion of a trajectory that was planned elsewhere, such as MoveIt, after a check of every number of it.

The points are joined as ros2_controllers' joint_trajectory_controller joins them: by cubics where velocities are given,
by quintics where accelerations are given, too. Where there are positions alone it would join them by straight lines,
which no arm can follow; here velocities and accelerations are taken from the cubic spline through the points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manipulator3d_control.joint_path import check_positions
from manipulator3d_control.motion import Motion, PolynomialMotion, Standing
from manipulator3d_control.path import PathError
from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial, hermite_coefficients
from manipulator3d_kinematics import ArmModel

_SAMPLES_PER_PIECE = 17
# above a limit by less is rounding of the planner
_SLACK = 1e-3
_STANDS_RAD_PER_S = 1e-4
# a first point at time 0 may be so far from where the arm stands
_START_TOLERANCE_RAD = 0.05
_TURN = 2.0 * math.pi


class TrajectoryError(Exception):
    """A trajectory that is not followed.

    Attributes:
        names_wrong: whether it is for its joint names, rather than its numbers.
    """

    def __init__(self, message: str, names_wrong: bool = False) -> None:
        super().__init__(message)
        self.names_wrong = names_wrong


@dataclass(frozen=True)
class TrajectoryPoint:
    """One point as it was sent, in the order of the trajectory's names.

    Attributes:
        time: from the start, s.
        positions: rad.
        velocities, accelerations: rad/s, rad/s²; empty where they are not given.
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


def plan_joint_trajectory(
    arm: ArmModel, names: Sequence[str], points: Sequence[TrajectoryPoint], start: Array
) -> Motion:
    """Make the motion through points from where the arm stands.

    Joints that are not named hold their position. All angles of a joint are shifted by the same whole number of turns,
    so that the first lies nearest to where the joint is, within the limits. A first point at time 0 stands for where
    the arm is, and the motion begins there. Jerk is the planner's affair; position, velocity and acceleration are
    checked between the points, too.

    Args:
        arm: the arm; its limits.
        names: joints of the points, in any order, some or all.
        points: at least one.
        start: shape (3,), rad; where the arm stands.

    Raises:
        TrajectoryError: names, times or numbers are wrong, or the motion would exceed a limit; names the joint, the
            time, the value, the bound and the remedy.
    """
    columns = _columns(arm, names)
    times = _times(points)
    orders = _given_orders(points)
    start = np.asarray(start, dtype=np.float64)
    given = np.zeros((3, len(points), 3))
    given[0] = start
    for order in range(orders):
        given[order][:, columns] = _numbers(names, points, order)
    for joint in columns:
        given[0, :, joint] += _whole_turns(arm, joint, given[0, :, joint], float(start[joint]))
    if times[0] == 0.0:
        _check_first(arm, given, start)
        given[0, 0] = start
    else:
        times = np.concatenate([[0.0], times])
        given = np.concatenate([np.stack([start, np.zeros(3), np.zeros(3)])[:, None], given], axis=1)
    _check_last(arm, given, float(times[-1]))
    if len(times) == 1:
        return Standing(start)
    if orders == 1:
        given[1], given[2] = _spline_derivatives(times, given[0])
        orders = 3
    motion = PolynomialMotion(
        PiecewisePolynomial(
            times, hermite_coefficients(np.diff(times), given[: max(orders, 2), :-1], given[: max(orders, 2), 1:])
        )
    )
    _check_limits(arm, motion, times)
    return motion


def _columns(arm: ArmModel, names: Sequence[str]) -> list[int]:
    expected = ", ".join(arm.joint_names)
    if not names:
        raise TrajectoryError(f"joint_names is empty; name some of {expected}", names_wrong=True)
    for name in names:
        if name not in arm.joint_names:
            raise TrajectoryError(f"joint '{name}' is none of the arm's joints {expected}", names_wrong=True)
        if list(names).count(name) > 1:
            raise TrajectoryError(f"joint '{name}' is named twice; name each joint once", names_wrong=True)
    return [arm.joint_names.index(name) for name in names]


def _times(points: Sequence[TrajectoryPoint]) -> Array:
    before = -math.inf
    for index, point in enumerate(points):
        if index == 0 and point.time < 0.0:
            raise TrajectoryError(f"point 0: time_from_start is {point.time:g} s; give at least 0 s")
        if point.time <= before:
            raise TrajectoryError(
                f"point {index}: time_from_start is {point.time:g} s, not after the {before:g} s of the point before; "
                "give growing times"
            )
        before = point.time
    return np.array([point.time for point in points])


def _given_orders(points: Sequence[TrajectoryPoint]) -> int:
    """How many of positions, velocities and accelerations all points give; 1 to 3."""
    velocities = [len(point.velocities) > 0 for point in points]
    accelerations = [len(point.accelerations) > 0 for point in points]
    for name, there in (("velocities", velocities), ("accelerations", accelerations)):
        if any(there) and not all(there):
            raise TrajectoryError(f"point {there.index(False)} has no {name}, others have; give them for all or none")
    if any(accelerations) and not any(velocities):
        raise TrajectoryError("the points have accelerations and no velocities; give both, or positions alone")
    return 1 + any(velocities) + any(accelerations)


def _numbers(names: Sequence[str], points: Sequence[TrajectoryPoint], order: int) -> Array:
    field = ("positions", "velocities", "accelerations")[order]
    unit = ("rad", "rad/s", "rad/s²")[order]
    rows = []
    for index, point in enumerate(points):
        row = list(getattr(point, field))
        if len(row) != len(names):
            raise TrajectoryError(f"point {index} has {len(row)} {field} for {len(names)} joints; give one for each")
        for name, value in zip(names, row, strict=True):
            if not math.isfinite(value):
                raise TrajectoryError(f"point {index}: {field} of {name} is {value}; give a finite number of {unit}")
        rows.append(row)
    return np.array(rows)


def _whole_turns(arm: ArmModel, joint: int, angles: Array, now: float) -> float:
    """The shift by whole turns that brings the first angle nearest and keeps all within the limits; 0 if none does."""
    lower, upper = float(arm.lower[joint]), float(arm.upper[joint])
    nearest = round((now - float(angles[0])) / _TURN)
    shifts = [_TURN * turns for turns in (nearest, nearest - 1, nearest + 1)]
    fitting = [s for s in shifts if angles.min() + s >= lower and angles.max() + s <= upper]
    return min(fitting, key=lambda shift: abs(float(angles[0]) + shift - now), default=0.0)


def _check_first(arm: ArmModel, given: Array, start: Array) -> None:
    off = np.abs(given[0, 0] - start)
    joint = int(np.argmax(off))
    if off[joint] > _START_TOLERANCE_RAD:
        raise TrajectoryError(
            f"{arm.joint_names[joint]} stands at {start[joint]:.3f} rad, {off[joint]:.3f} rad from point 0 at time 0, "
            f"more than the {_START_TOLERANCE_RAD:g} rad allowed; plan from the present state, or give point 0 a later "
            "time"
        )
    fastest = int(np.argmax(np.abs(given[1, 0])))
    if abs(given[1, 0, fastest]) > _STANDS_RAD_PER_S:
        raise TrajectoryError(
            f"{arm.joint_names[fastest]} stands, and point 0 at time 0 asks for {given[1, 0, fastest]:.3f} rad/s; "
            "begin at rest"
        )


def _check_last(arm: ArmModel, given: Array, time: float) -> None:
    fastest = int(np.argmax(np.abs(given[1, -1])))
    if abs(given[1, -1, fastest]) > _STANDS_RAD_PER_S:
        raise TrajectoryError(
            f"{arm.joint_names[fastest]} has {given[1, -1, fastest]:.3f} rad/s in the last point, at {time:g} s; "
            "end at rest, with velocity 0"
        )


def _spline_derivatives(times: Array, angles: Array) -> tuple[Array, Array]:
    """Velocities and accelerations of the cubic spline through points, shape (N, 3) each; both zero at the ends.

    The velocities solve the usual tridiagonal system for a continuous second derivative (de Boor, A Practical Guide to
    Splines, chapter IV).
    """
    steps = np.diff(times)[:, None]
    slopes = np.diff(angles, axis=0) / steps
    count = len(times)
    matrix = np.eye(count)
    right = np.zeros((count, 3))
    inner = np.arange(1, count - 1)
    matrix[inner, inner - 1] = 1.0 / steps[:-1, 0]
    matrix[inner, inner + 1] = 1.0 / steps[1:, 0]
    matrix[inner, inner] = 2.0 * (matrix[inner, inner - 1] + matrix[inner, inner + 1])
    right[1:-1] = 3.0 * (slopes[:-1] / steps[:-1] + slopes[1:] / steps[1:])
    velocities = np.linalg.solve(matrix, right)
    accelerations = np.zeros((count, 3))
    accelerations[1:-1] = (6.0 * slopes[1:] - 4.0 * velocities[1:-1] - 2.0 * velocities[2:]) / steps[1:]
    return velocities, accelerations


def _check_limits(arm: ArmModel, motion: Motion, times: Array) -> None:
    inside = np.linspace(0.0, 1.0, _SAMPLES_PER_PIECE)[:-1]
    samples = np.append((times[:-1, None] + np.diff(times)[:, None] * inside).ravel(), np.nextafter(times[-1], 0.0))
    state = motion.sample(samples)
    try:
        check_positions(arm, state.position, "trajectory")
    except PathError as error:
        at = samples[round(error.fraction * (len(samples) - 1))]
        raise TrajectoryError(f"at {at:.3f} s: {error}") from error
    for name, unit, values, limits, power in (
        ("velocity", "rad/s", state.velocity, arm.velocity, 1.0),
        ("acceleration", "rad/s²", state.acceleration, arm.acceleration, 2.0),
    ):
        excess = np.abs(values) / limits
        at, joint = np.unravel_index(int(np.argmax(excess)), excess.shape)
        if excess[at, joint] > 1.0 + _SLACK:
            percent = math.floor(100.0 * float(excess[at, joint]) ** (-1.0 / power))
            raise TrajectoryError(
                f"{arm.joint_names[joint]}: {name} of {values[at, joint]:.3f} {unit} at {samples[at]:.3f} s is "
                f"above its limit of {limits[joint]:g} {unit}; plan with at most {percent} % of the speed"
            )
