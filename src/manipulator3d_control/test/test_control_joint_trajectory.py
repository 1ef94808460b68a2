# SPDX-License-Identifier: Apache-2.0
"""Trajectories from elsewhere: what is joined how, and what is refused with which words."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_control.joint_trajectory import TrajectoryError, TrajectoryPoint, plan_joint_trajectory
from manipulator3d_control.motion_player import MotionPlayer
from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_kinematics import ArmModel

ARM = ArmModel.profile("capstone")
NAMES = list(ARM.joint_names)
HOME = ARM.home
TURN = 2.0 * math.pi
STILL = (0.0, 0.0, 0.0)


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
    motion = plan_joint_trajectory(ARM, NAMES, points, HOME)
    times = np.linspace(0.0, motion.duration, 400)
    expected = truth.sample(times * 0.95).position
    assert np.max(np.abs(motion.sample(times).position - expected)) < bound
    for point in points:
        assert motion.sample(point.time).position == pytest.approx(np.array(point.positions), abs=1e-12)


def test_names_in_another_order_and_missing_ones_move_the_right_joints() -> None:
    points = [TrajectoryPoint(1.0, (-1.4, 0.3)), TrajectoryPoint(2.0, (-1.2, 0.5))]
    motion = plan_joint_trajectory(ARM, ["elbow_pitch", "base_yaw"], points, HOME)
    assert motion.sample(1.0).position == pytest.approx([0.3, HOME[1], -1.4])
    assert motion.sample(2.0).position == pytest.approx([0.5, HOME[1], -1.2])
    assert np.all(motion.sample(np.linspace(0.0, 2.0, 50)).position[:, 1] == HOME[1])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-0.4, 0.4)] * 3), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_positions_alone_are_joined_smoothly_from_rest_to_rest(offsets: list[Any], random: Any) -> None:
    times = np.cumsum([random.uniform(1.5, 3.0) for _ in offsets])
    angles = HOME + np.array(offsets)
    points = [TrajectoryPoint(float(t), row.tolist()) for t, row in zip(times, angles, strict=True)]
    motion = plan_joint_trajectory(ARM, NAMES, points, HOME)
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
    motion = plan_joint_trajectory(ARM, ["base_yaw"], [TrajectoryPoint(2.0, (0.5 - TURN,))], HOME)
    assert motion.sample(2.0).position[0] == pytest.approx(0.5)


def test_a_first_point_at_time_zero_stands_for_where_the_arm_is() -> None:
    points = [TrajectoryPoint(0.0, (0.01,)), TrajectoryPoint(2.0, (0.5,))]
    motion = plan_joint_trajectory(ARM, ["base_yaw"], points, HOME)
    assert motion.sample(0.0).position == pytest.approx(HOME)
    assert motion.sample(2.0).position[0] == pytest.approx(0.5)
    assert plan_joint_trajectory(ARM, ["base_yaw"], points[:1], HOME).duration == 0.0


def point(time: float = 2.0, positions: Any = (0.1, 1.2, -1.6), **derivatives: Any) -> TrajectoryPoint:
    return TrajectoryPoint(time, positions, **derivatives)


@pytest.mark.parametrize(
    ("names", "points", "text"),
    [
        ([], [point()], "joint_names is empty; name some of base_yaw, shoulder_pitch, elbow_pitch"),
        (["wrist"], [point()], "joint 'wrist' is none of the arm's joints base_yaw"),
        (["base_yaw", "base_yaw"], [point()], "joint 'base_yaw' is named twice; name each joint once"),
        (NAMES, [point(-0.5)], "point 0: time_from_start is -0.5 s; give at least 0 s"),
        (NAMES, [point(2.0), point(2.0)], "point 1: time_from_start is 2 s, not after the 2 s of the point before"),
        (NAMES, [point(positions=(0.1, 1.2))], "point 0 has 2 positions for 3 joints; give one for each"),
        (NAMES, [point(positions=(0.1, math.nan, 0.0))], "point 0: positions of shoulder_pitch is nan; give a finite"),
        (NAMES, [point(velocities=(0.0, 0.0, math.inf))], "point 0: velocities of elbow_pitch is inf"),
        (NAMES, [point(1.0, velocities=STILL), point(2.0)], "point 1 has no velocities, others have"),
        (NAMES, [point(accelerations=STILL)], "the points have accelerations and no velocities"),
        (NAMES, [point(velocities=(0.3, 0.0, 0.0))], "base_yaw has 0.300 rad/s in the last point, at 2 s; end at rest"),
        (NAMES, [point(0.0, (0.2, 1.2, -1.6))], "base_yaw stands at 0.000 rad, 0.200 rad from point 0 at time 0"),
        (
            NAMES,
            [point(0.0, (0.0, 1.2, -1.6), velocities=(0.2, 0, 0)), point(2.0, velocities=STILL)],
            "base_yaw stands, and point 0 at time 0 asks for 0.200 rad/s; begin at rest",
        ),
        (NAMES, [point(9.0, (3.0, 1.2, -1.6))], "s: base_yaw: "),
        (NAMES, [point(0.5, (0.9, 1.2, -1.6))], "base_yaw: velocity of 3.375 rad/s at 0.250 s is above its limit of 2"),
        (NAMES, [point(9.0, (0.0, -0.45, -0.2))], "below the floor at 0.000 m"),
    ],
)
def test_a_wrong_trajectory_is_refused_by_name(names: list[str], points: list[TrajectoryPoint], text: str) -> None:
    with pytest.raises(TrajectoryError) as refused:
        plan_joint_trajectory(ARM, names, points, HOME)
    assert text in str(refused.value)
    assert refused.value.names_wrong == str(refused.value).startswith("joint")


def test_the_advised_speed_is_slow_enough() -> None:
    fast = point(0.5, (0.9, 1.2, -1.6))
    with pytest.raises(TrajectoryError, match="plan with at most") as refused:
        plan_joint_trajectory(ARM, NAMES, [fast], HOME)
    percent = int(str(refused.value).split("at most ")[1].split(" %")[0])
    slower = point(0.5 * 100.0 / percent, fast.positions)
    assert plan_joint_trajectory(ARM, NAMES, [slower], HOME).duration == pytest.approx(slower.time)


@settings(max_examples=15, deadline=None)
@given(st.integers(5, 150), st.integers(1, 80), st.booleans())
def test_a_stop_at_any_time_decelerates_on_the_trajectory(stop_at: int, wait: int, resumed: bool) -> None:
    points, _ = planned_elsewhere(np.array([1.2, 0.6, -0.9]), 0.1, 3)
    motion = plan_joint_trajectory(ARM, NAMES, points, HOME)
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
