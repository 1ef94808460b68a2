# SPDX-License-Identifier: Apache-2.0
"""Duration of pick-and-place missions against ruckig, limits kept, planning time, and the share of a control tick."""

import itertools
import statistics
import time
from typing import Any

import numpy as np
from ruckig import InputParameter, Ruckig, Trajectory

from manipulator3d_control.joint_path import plan_joint_motion
from manipulator3d_control.motion import Motion
from manipulator3d_control.motion_player import MotionPlayer
from manipulator3d_control.path import PathError
from manipulator3d_control.path_motion import motion_along
from manipulator3d_control.tool_path import plan_tool_line
from manipulator3d_kinematics import ArmModel, forward_kinematics

_POINTS = (
    (0.25, -0.15, 0.16),
    (0.25, -0.15, 0.06),
    (0.25, -0.15, 0.16),
    (0.20, 0.20, 0.20),
    (0.20, 0.20, 0.08),
    (0.20, 0.20, 0.20),
)
_MISSIONS, _ROUNDS = 120, 5
_TICK_S = 0.01


def rows() -> list[dict[str, Any]]:
    """Measure the mission of docs/performance.md and random ones; the goal compares with blended via points."""
    arm = ArmModel.profile("capstone")
    points = np.array(_POINTS)
    ours, planning = _planned(arm, points)
    ratios = [d / _ruckig_duration(arm, p) for p in _random_missions(arm) for d in (_duration(_planned(arm, p)[0]),)]
    peer = "ruckig in joint space, stopping at each point"
    ratio = _duration(ours) / _ruckig_duration(arm, points)
    return [
        _row("mission, straight tool lines", _duration(ours), "s", peer, ratio, 0.85),
        _row(f"{len(ratios)} random missions, median", statistics.median(ratios), "of ruckig", peer,
             statistics.median(ratios), 0.85),
        _row("mission, planning", planning * 1e3, "ms", None, None, None),
        *_limit_rows(arm, ours),
        _tick_row(ours),
    ]  # fmt: skip


def _planned(arm: ArmModel, points: np.ndarray) -> tuple[list[Motion], float]:
    times = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        moves, joints, tool = [], arm.home, forward_kinematics(arm, arm.home)
        for point in points:
            line = plan_tool_line(arm, tool, point, joints)
            moves.append(motion_along(arm, line))
            joints, tool = line.end, point
        moves.append(plan_joint_motion(arm, joints, arm.home))
        times.append(time.perf_counter() - started)
    return moves, statistics.median(times)


def _random_missions(arm: ArmModel) -> list[np.ndarray]:
    """Pick and place points in the annulus in front of the arm, each with a point above; seeded."""
    generator = np.random.default_rng(1)
    missions: list[np.ndarray] = []
    while len(missions) < _MISSIONS:
        angle, radius = generator.uniform(-1.2, 1.2, 2), generator.uniform(0.2, 0.3, 2)
        low = np.stack([radius * np.cos(angle), radius * np.sin(angle), generator.uniform(0.04, 0.12, 2)], axis=1)
        high = low + np.array([0.0, 0.0, 0.08])
        points = np.array([high[0], low[0], high[0], high[1], low[1], high[1]])
        try:
            _planned(arm, points)
        except PathError:
            continue  # a mission that cannot be followed has no duration
        missions.append(points)
    return missions


def _duration(moves: list[Motion]) -> float:
    return sum(move.duration for move in moves)


def _ruckig_duration(arm: ArmModel, points: np.ndarray) -> float:
    moves, _ = _planned(arm, points)
    stops = [arm.home, *(move.sample(move.duration).position for move in moves)]
    total = 0.0
    for start, end in itertools.pairwise(stops):
        request, law = InputParameter(3), Trajectory(3)
        request.current_position, request.target_position = list(start), list(end)
        request.max_velocity, request.max_acceleration = list(arm.velocity), list(arm.acceleration)
        request.max_jerk = list(arm.jerk)
        Ruckig(3).calculate(request, law)
        total += law.duration
    return total


def _limit_rows(arm: ArmModel, moves: list[Motion]) -> list[dict[str, Any]]:
    dt, largest = 0.001, np.zeros(3)
    for move in moves:
        derivative = move.sample(np.arange(0.0, move.duration, dt)).position
        for order, limit in enumerate((arm.velocity, arm.acceleration, arm.jerk)):
            derivative = np.diff(derivative, axis=0) / dt
            largest[order] = max(largest[order], float(np.max(np.abs(derivative) / limit)))
    return [
        _row(f"mission, largest joint {name}", value, "of its limit", "the limit", value, 1.0)
        for name, value in zip(("velocity", "acceleration", "jerk"), largest, strict=True)
    ]


def _tick_row(moves: list[Motion]) -> dict[str, Any]:
    player = MotionPlayer(ArmModel.profile("capstone"), moves[0])
    times = []
    while not player.finished:
        started = time.perf_counter()
        player.advance(_TICK_S)
        times.append(time.perf_counter() - started)
    share = statistics.median(times) / _TICK_S
    return _row("sampling a setpoint", share, "of a tick at 100 Hz", None, None, None)


def _row(
    name: str, value: float, unit: str, reference: str | None, ratio: float | None, goal: float | None
) -> dict[str, Any]:
    met = None if ratio is None or goal is None else bool(ratio <= goal)
    return {
        "name": name,
        "value": float(value),
        "unit": unit,
        "reference": reference,
        "ratio": ratio,
        "goal": goal,
        "met": met,
    }
