# SPDX-License-Identifier: Apache-2.0
"""Pick-and-place missions against ruckig and TOPP-RA: duration, limits kept, planning time, share of a control tick."""

import importlib
import itertools
import statistics
import time
from typing import Any

import numpy as np
from ruckig import InputParameter, Ruckig, Trajectory

from manipulator3d_control.blend import blended
from manipulator3d_control.joint_path import joint_line
from manipulator3d_control.mission import Mission, PickPlaceRequest, plan_pick_place
from manipulator3d_control.motion_player import MotionPlayer
from manipulator3d_control.path import Path
from manipulator3d_control.path_motion import PathMotion
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.shape import corner_deviation, polyline
from manipulator3d_control.time_law import MotionLimits, quickest_law
from manipulator3d_control.tool_path import plan_tool_line
from manipulator3d_kinematics import ArmModel, forward_kinematics, inverse_kinematics

_PICK, _PLACE = np.array([0.25, -0.15, 0.06]), np.array([0.20, 0.20, 0.08])
_ABOVE_PICK, _ABOVE_PLACE = np.array([0.25, -0.15, 0.16]), np.array([0.20, 0.20, 0.20])
_BLEND_RADIUS_M = 0.05
_MISSIONS, _ROUNDS = 120, 5
_TICK_S = 0.01
# with so many times the jerk, its limit costs next to nothing; TOPP-RA knows none
_JERK_OFF = 30.0
_GRID_POINTS = 1000


def rows() -> list[dict[str, Any]]:
    """Measure the mission of docs/performance.md and 120 random ones (seeded)."""
    arm = ArmModel.profile("capstone")
    stops = "ruckig in joint space, stopping at each point"
    paths, deviation = _mission_paths(arm)
    motions = [PathMotion(path, quickest_law(arm, path, MotionLimits.of_joints(arm, 0.98))) for path in paths]
    ours = sum(motion.duration for motion in motions)
    joints = _stops(arm, [_ABOVE_PICK, _PICK, _ABOVE_PICK, _ABOVE_PLACE, _PLACE, _ABOVE_PLACE])
    ratios, planning = _random_missions(arm)
    return [
        _row("mission, blended via points", ours, "s", stops, ours / _ruckig_duration(arm, joints), 0.85),
        _row("mission, deviation in its corners", deviation * 1e3, "mm", None, None, None),
        _row(
            f"{len(ratios)} random missions, median", statistics.median(ratios), "of ruckig", stops,
            statistics.median(ratios), 0.85,
        ),
        _row("random missions, largest", max(ratios), "of ruckig", stops, max(ratios), None),
        _row("planning of a mission, median", statistics.median(planning) * 1e3, "ms of CPU", None, None, None),
        _row("planning of a mission, longest", max(planning) * 1e3, "ms of CPU", None, None, None),
        _toppra_row(arm, paths),
        _point_to_point_row(arm, joints),
        *_limit_rows(arm, motions),
        _corner_row(),
        *_tick_rows(arm, motions[1]),
    ]  # fmt: skip


def _mission_paths(arm: ArmModel) -> tuple[list[Path], float]:
    """The paths between the stops (home, pick, place, home), and the largest deviation of their rounded corners."""
    home = forward_kinematics(arm, arm.home)
    points = [home, _ABOVE_PICK, _PICK, _ABOVE_PICK, _ABOVE_PLACE, _PLACE, _ABOVE_PLACE]
    lines, joints = [], arm.home
    for start, end in itertools.pairwise(points):
        lines.append(plan_tool_line(arm, start, end, joints))
        joints = lines[-1].end
    lines.append(joint_line(joints, arm.home))
    rounded = [blended(arm, part, _BLEND_RADIUS_M) for part in (lines[:2], lines[2:5], lines[5:])]
    return [part.path for part in rounded], max(part.deviation for part in rounded)


def _random_missions(arm: ArmModel) -> tuple[list[float], list[float]]:
    """Pick and place points in the annulus in front of the arm: durations as shares of ruckig's, and planning times."""
    generator = np.random.default_rng(1)
    ratios: list[float] = []
    planning: list[float] = []
    while len(ratios) < _MISSIONS:
        angle, radius = generator.uniform(-1.2, 1.2, 2), generator.uniform(0.2, 0.3, 2)
        pick, place = np.stack(
            [radius * np.cos(angle), radius * np.sin(angle), generator.uniform(0.04, 0.12, 2)], axis=1
        )
        started = time.process_time()
        try:
            mission = plan_pick_place(arm, PickPlaceRequest(pick, place, 0.08, blend_radius=_BLEND_RADIUS_M), arm.home)
        except Refusal:
            continue  # a mission that cannot be followed has no duration
        planning.append(time.process_time() - started)
        up = np.array([0.0, 0.0, 0.08])
        stops = _stops(arm, [pick + up, pick, pick + up, place + up, place, place + up], _elbow(mission))
        ratios.append(sum(move.motion.duration for move in mission.moves) / _ruckig_duration(arm, stops))
    return ratios, planning


def _elbow(mission: Mission) -> str:
    motion = mission.before_grasp[-1].motion
    return "up" if motion.sample(motion.duration).position[2] < 0.0 else "down"


def _stops(arm: ArmModel, points: list[Array], elbow: str = "up") -> list[Array]:
    joints = [arm.home]
    for point in points:
        found = inverse_kinematics(arm, point, elbow=elbow, seed=joints[-1]).q
        assert found is not None
        joints.append(found)
    return [*joints, arm.home]


def _ruckig_duration(arm: ArmModel, stops: list[Array]) -> float:
    return sum(_ruckig(arm, start, end) for start, end in itertools.pairwise(stops))


def _ruckig(arm: ArmModel, start: Array, end: Array) -> float:
    request, law = InputParameter(3), Trajectory(3)
    request.current_position, request.target_position = list(start), list(end)
    request.max_velocity, request.max_acceleration = list(arm.velocity), list(arm.acceleration)
    request.max_jerk = list(arm.jerk)
    Ruckig(3).calculate(request, law)
    return float(law.duration)


def _toppra_row(arm: ArmModel, paths: list[Path]) -> dict[str, Any]:
    name = "mission, velocity and acceleration alone"
    try:
        toppra = importlib.import_module("toppra")
        algorithm, constraint = (importlib.import_module(f"toppra.{part}") for part in ("algorithm", "constraint"))
    except ImportError as error:
        return _row(name, None, "s", f"toppra ({error})", None, 1.03)
    toppra.setup_logging("ERROR")

    class Geometry(toppra.interpolator.AbstractGeometricPath):  # type: ignore[misc, name-defined]
        dof, waypoints, path_interval = 3, None, None

        def __init__(self, path: Path) -> None:
            self._path = path
            self.path_interval = np.array([0.0, path.length])

        def __call__(self, s: Any, order: int = 0) -> Array:
            values = self._path.derivatives(np.atleast_1d(s), order)[order]
            return values[0] if np.ndim(s) == 0 else values

    limits = [
        constraint.JointVelocityConstraint(np.stack([-arm.velocity, arm.velocity], axis=1)),
        constraint.JointAccelerationConstraint(np.stack([-arm.acceleration, arm.acceleration], axis=1)),
    ]
    bound = 0.0
    for path in paths:
        grid = np.linspace(0.0, path.length, _GRID_POINTS + 1)
        solver = algorithm.TOPPRA(limits, Geometry(path), gridpoints=grid, parametrizer="ParametrizeConstAccel")
        bound += float(solver.compute_trajectory(0.0, 0.0).duration)
    free = MotionLimits(arm.velocity, arm.acceleration, _JERK_OFF * arm.jerk)
    ours = sum(float(quickest_law(arm, path, free).breaks[-1]) for path in paths)
    return _row(name, ours, "s", "TOPP-RA's lower bound", ours / bound, 1.03)


def _point_to_point_row(arm: ArmModel, stops: list[Array]) -> dict[str, Any]:
    off = max(
        abs(point_to_point(arm, start, end).duration - _ruckig(arm, start, end))
        for start, end in itertools.pairwise(stops)
    )
    return _row("point to point, difference from ruckig", off, "s", "1e-9 s", off / 1e-9, 1.0)


def _limit_rows(arm: ArmModel, motions: list[PathMotion]) -> list[dict[str, Any]]:
    """Derivatives by finite differences of positions each millisecond."""
    dt, largest = 0.001, np.zeros(3)
    for motion in motions:
        derivative = motion.sample(np.arange(-3.0 * dt, motion.duration + 4.0 * dt, dt)).position
        for order, limit in enumerate((arm.velocity, arm.acceleration, arm.jerk)):
            derivative = np.diff(derivative, axis=0) / dt
            largest[order] = max(largest[order], float(np.max(np.abs(derivative) / limit)))
    return [
        _row(f"mission, largest joint {name}", value, "of its limit", "the limit", value, 1.0)
        for name, value in zip(("velocity", "acceleration", "jerk"), largest, strict=True)
    ]


def _corner_row() -> dict[str, Any]:
    corners = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.1, 0.1, 0.0]])
    deviation = corner_deviation(polyline(corners, closed=False, corner_radius=0.01))
    return _row("right angle drawn with a corner radius of 10 mm, deviation", deviation * 1e3, "mm", None, None, None)


def _tick_rows(arm: ArmModel, motion: PathMotion) -> list[dict[str, Any]]:
    sampling, steering = [], []
    for _ in range(_ROUNDS):
        player = MotionPlayer(arm, motion)
        while not player.finished:
            sampling.append(_advance_time(player))
        player = MotionPlayer(arm, motion)
        for _ in range(int(0.4 * motion.duration / _TICK_S)):
            player.advance(_TICK_S)
        player.stop()
        while not player.at_rest:
            steering.append(_advance_time(player))
    return [
        _row("sampling a setpoint", statistics.median(sampling) / _TICK_S, "of a tick", None, None, None),
        _row("the same while a stop is sought", statistics.median(steering) / _TICK_S, "of a tick", None, None, None),
    ]


def _advance_time(player: MotionPlayer) -> float:
    started = time.perf_counter()
    player.advance(_TICK_S)
    return time.perf_counter() - started


def _row(
    name: str, value: float | None, unit: str, reference: str | None, ratio: float | None, goal: float | None
) -> dict[str, Any]:
    met = None if ratio is None or goal is None else bool(ratio <= goal)
    return {
        "name": name,
        "value": None if value is None else float(value),
        "unit": unit,
        "reference": reference,
        "ratio": ratio,
        "goal": goal,
        "met": met,
    }
