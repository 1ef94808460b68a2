# SPDX-License-Identifier: Apache-2.0
"""Time-optimal laws along paths: within all limits at every instant, exact at the ends, and hard to beat."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from ruckig import InputParameter, Ruckig, Trajectory

from manipulator3d_control.blend import blended
from manipulator3d_control.joint_path import joint_line, plan_joint_motion
from manipulator3d_control.path import PathError
from manipulator3d_control.path_motion import PathMotion, motion_along
from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_control.time_law import MotionLimits, quickest_law
from manipulator3d_control.tool_path import plan_tool_line
from manipulator3d_kinematics import ArmModel, forward_kinematics, inverse_kinematics

ARM = ArmModel.profile("capstone")
VELOCITY, ACCELERATION, JERK = np.array([2.0, 1.5, 2.0]), np.array([8.0, 6.0, 8.0]), np.array([60.0, 50.0, 60.0])
Array = NDArray[np.float64]


def largest_shares(positions: Array, dt: float) -> list[float]:
    """Largest share of the velocity, acceleration and jerk limits, by finite differences of positions in time."""
    shares = []
    for limit in (VELOCITY, ACCELERATION, JERK):
        positions = np.diff(positions, axis=0) / dt
        shares.append(float(np.max(np.abs(positions) / limit)))
    return shares


def sampled(motion: PathMotion, dt: float = 0.002) -> Array:
    return motion.sample(np.arange(-3.0 * dt, motion.duration + 4.0 * dt, dt)).position


def ruckig_duration(start: Array, end: Array, share: float = 1.0) -> float:
    request, trajectory = InputParameter(3), Trajectory(3)
    request.current_position, request.target_position = list(start), list(end)
    request.max_velocity, request.max_acceleration = list(share * VELOCITY), list(share * ACCELERATION)
    request.max_jerk = list(share * JERK)
    Ruckig(3).calculate(request, trajectory)
    return float(trajectory.duration)


POSITIONS = st.tuples(st.floats(-1.5, 1.5), st.floats(0.4, 1.6), st.floats(-2.0, -0.8)).map(np.array)


@settings(max_examples=60, deadline=None)
@given(start=POSITIONS, end=POSITIONS)
def test_a_motion_between_two_positions_takes_as_long_as_ruckig_says(start: Array, end: Array) -> None:
    motion = point_to_point(ARM, start, end)
    if np.max(np.abs(end - start)) > 1e-6:
        assert motion.duration == pytest.approx(ruckig_duration(start, end), abs=1e-9)
    assert motion.sample(motion.duration).position == pytest.approx(end, abs=1e-9)
    dt = 0.002
    positions = motion.sample(np.arange(-3.0 * dt, motion.duration + 4.0 * dt, dt)).position
    assert max(largest_shares(positions, dt)) <= 1.0 + 1e-6


@pytest.mark.parametrize("angle", [0.001, 0.05, 0.4, 1.5])
def test_one_joint_alone_is_as_quick_as_ruckig_but_for_the_reserve(angle: float) -> None:
    start = np.array([0.0, 1.2, -1.6])
    end = start + np.array([0.0, -angle, 0.0])
    motion = motion_along(ARM, joint_line(start, end))
    # with all of the limits shrunk to 98 %; a law of cubic pieces cannot switch its jerk at once
    fastest = ruckig_duration(start, end, share=0.98)
    assert fastest <= motion.duration <= 1.02 * fastest


@functools.cache
def chain(numbers: tuple[float, ...], radius: float) -> PathMotion | None:
    """A chain of two tool lines and a joint-space line through random points, None where the arm cannot follow."""
    generator = np.random.default_rng([int(1e6 * number) for number in numbers])
    points = np.stack(
        [
            generator.uniform([0.15, -0.2, 0.05], [0.28, 0.2, 0.3]),
            generator.uniform([0.15, -0.2, 0.05], [0.28, 0.2, 0.3]),
            generator.uniform([0.15, -0.2, 0.05], [0.28, 0.2, 0.3]),
        ]
    )
    first = inverse_kinematics(ARM, points[0], elbow="up").q
    if first is None:
        return None
    try:
        one = plan_tool_line(ARM, points[0], points[1], first)
        two = plan_tool_line(ARM, points[1], points[2], one.end)
        rounded = blended(ARM, [one, two, joint_line(two.end, ARM.home)], radius)
    except PathError:
        return None
    motion = motion_along(ARM, rounded.path)
    assert isinstance(motion, PathMotion)
    return motion


@settings(max_examples=30, deadline=None)
@given(number=st.floats(0.0, 1.0), radius=st.sampled_from([0.005, 0.02, 0.05]))
def test_a_rounded_chain_keeps_all_limits_and_ends_exactly(number: float, radius: float) -> None:
    motion = chain((number,), radius)
    if motion is None:
        return
    shares = largest_shares(sampled(motion), 0.002)
    assert max(shares) <= 0.98 * (1.0 + 2e-3)
    # it is limited by something, all but everywhere: by the jerk at the start at the latest
    assert shares[2] > 0.9
    assert motion.sample(0.0).position == pytest.approx(motion.path.start, abs=1e-12)
    assert motion.sample(motion.duration).position == pytest.approx(ARM.home, abs=1e-9)
    progress = motion.parameter_at(np.linspace(0.0, motion.duration, 500))
    assert np.all(np.diff(progress) > 0.0)


def test_via_points_are_passed_without_a_stop() -> None:
    motion = next(motion for i in range(20) if (motion := chain((0.01 * i,), 0.02)) is not None)
    speeds = np.max(np.abs(motion.sample(np.linspace(0.1, motion.duration - 0.1, 400)).velocity), axis=1)
    assert np.min(speeds) > 0.1


@pytest.mark.parametrize(("speed", "acceleration"), [(0.1, np.inf), (np.inf, 0.5), (0.15, 1.0)])
def test_limits_of_the_tool_are_kept_and_used(speed: float, acceleration: float) -> None:
    start, end = np.array([0.25, -0.15, 0.16]), np.array([0.20, 0.20, 0.20])
    joints = inverse_kinematics(ARM, start, elbow="up").q
    assert joints is not None
    motion = motion_along(ARM, plan_tool_line(ARM, start, end, joints), speed, acceleration)
    dt = 0.001
    points = forward_kinematics(ARM, motion.sample(np.arange(0.0, motion.duration, dt)).position)
    velocity = np.diff(points, axis=0) / dt
    largest = np.max(np.linalg.norm(velocity, axis=1)), np.max(np.linalg.norm(np.diff(velocity, axis=0), axis=1)) / dt
    assert largest[0] <= speed * (1.0 + 1e-6)
    assert largest[1] <= acceleration * (1.0 + 1e-3)
    assert largest[0] >= 0.95 * speed or largest[1] >= 0.9 * acceleration


def test_without_jerk_limit_the_law_comes_near_the_bang_bang_optimum() -> None:
    # one joint over 1 rad at 8 rad/s² and 2 rad/s: 1/2 + 2/8 s
    path = joint_line(np.array([0.0, 1.2, -1.6]), np.array([1.0, 1.2, -1.6]))
    law = quickest_law(ARM, path, MotionLimits(VELOCITY, ACCELERATION, 30.0 * JERK), spacing=0.006)
    assert 0.75 <= law.breaks[-1] <= 0.75 * 1.02


def test_half_of_every_limit_is_a_law_of_its_own() -> None:
    path = joint_line(np.array([0.0, 1.2, -1.6]), np.array([1.0, 0.8, -1.0]))
    law = quickest_law(ARM, path, MotionLimits.of_joints(ARM, 0.5))
    motion = PathMotion(path, law)
    assert max(largest_shares(sampled(motion), 0.002)) == pytest.approx(0.5, abs=0.02)


def test_a_joint_motion_below_the_floor_is_refused() -> None:
    with pytest.raises(PathError, match=r"joint-space path goes down to -0\.\d+ m, below the floor at 0\.000 m"):
        plan_joint_motion(ARM, ARM.home, np.array([0.0, -0.5, -0.9]))


def test_a_rounded_corner_stays_within_its_radius_and_says_how_far_it_deviates() -> None:
    corner = np.array([0.25, -0.15, 0.16])
    start, end = corner - np.array([0.0, 0.0, 0.1]), corner + np.array([-0.05, 0.35, 0.04])
    joints = inverse_kinematics(ARM, start, elbow="up").q
    assert joints is not None
    one = plan_tool_line(ARM, start, corner, joints)
    two = plan_tool_line(ARM, corner, end, one.end)
    rounded = blended(ARM, [one, two], 0.02)
    points = forward_kinematics(ARM, rounded.path.joints(np.linspace(0.0, rounded.path.length, 4001)))
    away = np.min([distance_to_line(points, start, corner), distance_to_line(points, corner, end)], axis=0)
    from_corner = np.linalg.norm(points - corner, axis=1)
    assert np.max(away[from_corner > 0.02]) < 1e-6
    assert rounded.deviation == pytest.approx(np.max(away), rel=0.02)
    assert np.min(from_corner) < 0.01
    middle = forward_kinematics(ARM, rounded.path.joints(rounded.corners)[0])
    assert np.linalg.norm(middle - corner) == pytest.approx(np.min(from_corner), rel=0.05)


def distance_to_line(points: Array, start: Array, end: Array) -> Array:
    side = end - start
    shares = np.clip((points - start) @ side / (side @ side), 0.0, 1.0)
    return np.linalg.norm(points - start - shares[:, None] * side, axis=1)
