# SPDX-License-Identifier: Apache-2.0
"""Trajectories from elsewhere: what is joined how, and what is refused with which words."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_control.joint_trajectory import (
    TrajectoryFault,
    TrajectoryPlan,
    TrajectoryPoint,
    TrajectoryRefusal,
    plan_trajectory,
)
from manipulator3d_control.motion_player import MotionPlayer
from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_kinematics import ArmModel

ARM = ArmModel.profile("capstone")
NAMES = list(ARM.joint_names)
HOME = ARM.home
TURN = 2.0 * math.pi
STILL = (0.0, 0.0, 0.0)


def plan(names: list[str], points: list[TrajectoryPoint], max_stretch: float = 1.0) -> TrajectoryPlan:
    return plan_trajectory(ARM, names, points, HOME, 0.05, max_stretch)


def planned_elsewhere(end: np.ndarray, period: float, orders: int) -> tuple[list[TrajectoryPoint], Any]:
    """A motion by ruckig at 95 % of the limits, sampled as a planner would send it."""
    motion = point_to_point(ARM, HOME, end)
    times = np.append(np.arange(period, motion.duration - 0.25 * period, period), motion.duration)
    states = motion.sample(times)
    stretch = 1.0 / 0.95
    return [
        TrajectoryPoint(
            float(time) * stretch,
            states.position[i].tolist(),
            (states.velocity[i] / stretch).tolist() if orders > 1 else (),
            (states.acceleration[i] / stretch**2).tolist() if orders > 2 else (),
        )
        for i, time in enumerate(times)
    ], motion


@pytest.mark.parametrize(("orders", "bound"), [(1, 4e-3), (2, 1e-3), (3, 2e-4)])
def test_a_planned_trajectory_is_followed_between_its_points(orders: int, bound: float) -> None:
    points, truth = planned_elsewhere(np.array([1.2, 0.6, -0.9]), 0.05, orders)
    motion = plan(NAMES, points).motion
    times = np.linspace(0.0, motion.duration, 400)
    expected = truth.sample(times * 0.95).position
    assert np.max(np.abs(motion.sample(times).position - expected)) < bound
    for point in points:
        assert motion.sample(point.time).position == pytest.approx(np.array(point.positions), abs=1e-12)


def test_names_in_another_order_and_missing_ones_move_the_right_joints() -> None:
    points = [TrajectoryPoint(1.0, (-1.4, 0.3)), TrajectoryPoint(2.0, (-1.2, 0.5))]
    motion = plan(["elbow_pitch", "base_yaw"], points).motion
    assert motion.sample(1.0).position == pytest.approx([0.3, HOME[1], -1.4])
    assert motion.sample(2.0).position == pytest.approx([0.5, HOME[1], -1.2])
    assert np.all(motion.sample(np.linspace(0.0, 2.0, 50)).position[:, 1] == HOME[1])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-0.4, 0.4)] * 3), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_positions_alone_are_joined_smoothly_from_rest_to_rest(offsets: list[Any], random: Any) -> None:
    times = np.cumsum([random.uniform(1.5, 3.0) for _ in offsets])
    angles = HOME + np.array(offsets)
    points = [TrajectoryPoint(float(t), row.tolist()) for t, row in zip(times, angles, strict=True)]
    motion = plan(NAMES, points).motion
    grid = np.arange(0.0, motion.duration + 0.002, 0.001)
    position = motion.sample(grid).position
    velocity = np.diff(position, axis=0) / 0.001
    acceleration = np.diff(velocity, axis=0) / 0.001
    assert np.all(np.abs(velocity) <= ARM.velocity * 1.001)
    assert np.all(np.abs(acceleration) <= ARM.acceleration * 1.001)
    # no step of the acceleration: it changes by a bounded jerk from tick to tick, from zero at the start
    assert np.max(np.abs(np.diff(acceleration, axis=0, prepend=np.zeros((1, 3))))) < 0.05
    assert motion.sample(times).position == pytest.approx(angles, abs=1e-9)


def test_angles_that_are_a_turn_away_are_taken_near_the_arm() -> None:
    motion = plan(["base_yaw"], [TrajectoryPoint(2.0, (0.5 - TURN,))]).motion
    assert motion.sample(2.0).position[0] == pytest.approx(0.5)
    # each by itself where no shift of all of them will do
    motion = plan(["base_yaw"], [TrajectoryPoint(2.0, (0.5 + TURN,)), TrajectoryPoint(4.0, (-0.2 - TURN,))]).motion
    assert motion.sample(np.array([2.0, 4.0])).position[:, 0] == pytest.approx([0.5, -0.2])
    both = dataclasses.replace(ARM, lower=-math.pi * np.ones(3), upper=math.pi * np.ones(3))
    near = plan_trajectory(
        both, ["base_yaw"], [TrajectoryPoint(2.0, (math.pi,))], np.array([-3.0, 1.2, -1.6]), 0.05, 1.0
    )
    assert near.motion.sample(2.0).position[0] == pytest.approx(-math.pi)


def test_what_the_arm_is_beside_the_first_point_is_moved_before_the_trajectory_begins() -> None:
    points = [TrajectoryPoint(0.0, (0.03,)), TrajectoryPoint(0.5, (0.05,)), TrajectoryPoint(2.0, (0.5,))]
    planned = plan(["base_yaw"], points)
    assert planned.motion.sample(0.0).position == pytest.approx(HOME)
    assert planned.times == pytest.approx(planned.times[0] + np.array([0.0, 0.5, 2.0]))
    assert planned.motion.sample(planned.times).position[:, 0] == pytest.approx([0.03, 0.05, 0.5])
    assert planned.motion.duration == pytest.approx(planned.times[-1])
    assert [planned.next_point(t) for t in (0.0, planned.times[0] + 0.1, planned.times[1] + 0.1, 9.0)] == [0, 1, 2, 2]
    grid = planned.motion.sample(np.linspace(0.0, planned.motion.duration, 2000))
    assert np.all(np.abs(grid.acceleration) <= ARM.acceleration * 1.001)
    alone = plan(["base_yaw"], points[:1])
    assert alone.motion.sample(alone.motion.duration).position[0] == pytest.approx(0.03)


def trapezoid(period: float, duration: float = 1.6) -> list[TrajectoryPoint]:
    """A trapezoid of the velocity at the limits of the first joint, as time-optimal planners send it."""
    speed, rise = float(ARM.velocity[0]), float(ARM.velocity[0] / ARM.acceleration[0])
    points = []
    for t in np.append(np.arange(0.0, duration - 0.5 * period, period), duration):
        left = min(t, duration - t)
        velocity = speed * min(left / rise, 1.0)
        way = 0.5 * speed * left**2 / rise if left < rise else 0.5 * speed * rise + speed * (left - rise)
        half = 0.5 * speed * rise + speed * (0.5 * duration - rise)
        position = way if t <= 0.5 * duration else 2.0 * half - way
        slope = 0.0 if left > rise else math.copysign(float(ARM.acceleration[0]), 0.5 * duration - t)
        points.append(TrajectoryPoint(float(t), (position - 1.0,), (velocity,), (slope,)))
    return points


@pytest.mark.parametrize("period", [0.1, 0.07, 0.013])
def test_a_time_optimal_trajectory_at_the_very_limits_is_run_a_little_slower(period: float) -> None:
    start = np.array([-1.0, 1.2, -1.6])
    planned = plan_trajectory(ARM, ["base_yaw"], trapezoid(period), start, 0.05, 1.2)
    assert 1.0 <= planned.stretch < 1.2
    grid = np.arange(0.0, planned.motion.duration, 0.0005)
    position = planned.motion.sample(grid).position
    velocity = np.diff(position, axis=0) / 0.0005
    assert np.max(np.abs(velocity) / ARM.velocity) < 1.002
    assert np.max(np.abs(np.diff(velocity, axis=0)) / 0.0005 / ARM.acceleration) < 1.003
    expected = [point.positions[0] for point in trapezoid(period)]
    assert planned.motion.sample(planned.times).position[:, 0] == pytest.approx(expected)


def point(time: float = 2.0, positions: Any = (0.1, 1.2, -1.6), **derivatives: Any) -> TrajectoryPoint:
    return TrajectoryPoint(time, positions, **derivatives)


@pytest.mark.parametrize(
    ("names", "points", "text"),
    [
        ([], [point()], "no joint is named; the arm's joints are base_yaw, shoulder_pitch, elbow_pitch"),
        (["wrist"], [point()], "'wrist' is not a joint of the arm; its joints are base_yaw"),
        (["base_yaw", "base_yaw"], [point()], "joints base_yaw, base_yaw: name each joint once"),
        (NAMES, [point(-0.5)], "point 0 has time_from_start -0.5 s; it must not be negative"),
        (NAMES, [point(math.nan)], "a time_from_start is not finite"),
        (NAMES, [point(2.0), point(2.0)], "point 1 has time_from_start 2 s, not above the 2 s of the point before it"),
        (NAMES, [point(positions=(0.1, 1.2))], "point 0 at 2 s has 2 positions for 3 joints; give one for each"),
        (NAMES, [point(positions=(0.1, math.nan, 0.0))], "shoulder_pitch: positions of point 0 at 2 s is nan; give a"),
        (NAMES, [point(velocities=(0.0, 0.0, math.inf))], "elbow_pitch: velocities of point 0 at 2 s is inf"),
        (NAMES, [point(1.0, velocities=STILL), point(2.0)], "point 1 at 2 s has 0 velocities for 3 joints; give one"),
        (NAMES, [point(accelerations=STILL)], "accelerations are given without velocities; give both"),
        (NAMES, [point(velocities=(0.3, 0.0, 0.0))], "base_yaw: the last point, at 2 s, has a velocity of 0.3 rad/s"),
        (NAMES, [point(0.0, (0.2, 1.2, -1.6))], "base_yaw: the trajectory begins at 0.2 rad, 0.2 rad from the present"),
        (
            NAMES,
            [point(0.0, (0.0, 1.2, -1.6), velocities=(0.2, 0, 0)), point(2.0, velocities=STILL)],
            "base_yaw: the first point, at 0 s, has a velocity of 0.2 rad/s; the arm stands at both ends",
        ),
        (
            NAMES,
            [point(9.0, (3.0, 1.2, -1.6))],
            "base_yaw: 3 rad at point 0 at 9 s is above its upper limit of 2.9 rad",
        ),
        (
            NAMES,
            [
                point(2.5, (2.85, 1.2, -1.6), velocities=(0.6, 0.0, 0.0)),
                point(3.5, (2.85, 1.2, -1.6), velocities=STILL),
            ],
            "between two points, is above its upper limit of 2.9 rad",
        ),
        (NAMES, [point(0.5, (0.9, 1.2, -1.6))], "base_yaw: a velocity of 3.375 rad/s at 0.250 s is above its limit of"),
        (NAMES, [point(9.0, (0.0, -0.45, -0.2))], "below the floor at 0.000 m"),
    ],
)
def test_a_wrong_trajectory_is_refused_by_name(names: list[str], points: list[TrajectoryPoint], text: str) -> None:
    with pytest.raises(TrajectoryRefusal) as refused:
        plan(names, points)
    assert text in str(refused.value)
    is_for_names = refused.value.fault is TrajectoryFault.INVALID_JOINTS
    assert is_for_names == any(words in text for words in ("is named", "not a joint", "once"))


def test_the_advised_times_are_long_enough() -> None:
    fast = point(0.5, (0.9, 1.2, -1.6))
    with pytest.raises(TrajectoryRefusal, match="make all times") as refused:
        plan(NAMES, [fast])
    factor = float(str(refused.value).split("make all times ")[1].split(" times")[0])
    slower = point(0.5 * factor * 1.001, fast.positions)
    assert plan(NAMES, [slower]).motion.duration == pytest.approx(slower.time)


@settings(max_examples=30, deadline=None)
@given(st.integers(5, 150), st.integers(1, 80), st.booleans())
def test_a_stop_at_any_time_decelerates_on_the_trajectory(stop_at: int, wait: int, resumed: bool) -> None:
    points, _ = planned_elsewhere(np.array([1.2, 0.6, -0.9]), 0.1, 3)
    motion = plan(NAMES, points).motion
    player = MotionPlayer(ARM, motion)
    commanded = [player.setpoint().position]
    for tick in range(stop_at + 150 + wait + 350):
        if tick == stop_at:
            player.stop()
        if resumed and tick == stop_at + 150 + wait:
            player.resume()
        commanded.append(player.advance(0.01).position)
    angles = np.array(commanded)
    assert player.at_rest
    assert player.finished or not resumed
    velocity = np.diff(angles, axis=0) / 0.01
    assert np.all(np.abs(velocity) <= ARM.velocity * 1.001)
    assert np.all(np.abs(np.diff(velocity, axis=0)) / 0.01 <= ARM.acceleration * 1.02)
    path = motion.sample(np.linspace(0.0, motion.duration, 1500)).position
    off = np.min(np.max(np.abs(angles[:, None] - path[None]), axis=2), axis=1)
    assert np.max(off) < 3e-3
