# SPDX-License-Identifier: Apache-2.0
"""Motions along paths, interrupted at random: on the path, within limits, without a step."""

import functools
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from manipulator3d_control.motion import Motion, Setpoint, Standing
from manipulator3d_control.motion_player import MotionPlayer
from manipulator3d_control.path_motion import motion_along
from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_control.tool_path import plan_tool_line
from manipulator3d_kinematics import ArmModel, forward_kinematics, inverse_kinematics

ARM = ArmModel.profile("capstone")
DT = 0.01
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Course:
    motion: Motion
    ends: tuple[Array, Array]
    straight: bool


@functools.cache
def courses() -> tuple[Course, ...]:
    points = [(0.25, -0.15, 0.16), (0.25, -0.15, 0.06), (0.20, 0.20, 0.20), (0.10, -0.30, 0.15), (0.30, 0.05, 0.30)]
    made = []
    for a, b in ((0, 1), (1, 2), (2, 3), (3, 4)):
        start, end = np.array(points[a]), np.array(points[b])
        q = inverse_kinematics(ARM, start, elbow="up").q
        assert q is not None
        line = plan_tool_line(ARM, start, end, q)
        made.append(Course(motion_along(ARM, line), (start, end), True))
    for target in ([1.5, 0.9, -1.2], [-2.0, 1.6, -0.3]):
        motion = point_to_point(ARM, ARM.home, np.array(target))
        made.append(Course(motion, (ARM.home, np.array(target)), False))
    return tuple(made)


def assert_good(course: Course, setpoints: list[Setpoint], dt: float = DT) -> None:
    """Check setpoints against the path and the limits, by finite differences of what is commanded."""
    q = np.array([setpoint.position for setpoint in setpoints])
    start, end = course.ends
    points = forward_kinematics(ARM, q) if course.straight else q
    direction = (end - start) / np.linalg.norm(end - start)
    beside = (points - start) - np.outer((points - start) @ direction, direction)
    assert np.max(np.linalg.norm(beside, axis=1)) < 1e-4
    qd = np.diff(q, axis=0) / dt
    assert np.all(np.abs(qd) <= ARM.velocity * (1.0 + 1e-6))
    assert np.all(np.abs(np.diff(qd, axis=0)) / dt <= ARM.acceleration * (1.0 + 1e-6))
    # a law that is replaced between two samples changes the jerk in between, within the limits on both sides
    assert np.all(np.abs(np.diff(qd, n=2, axis=0)) / dt**2 <= ARM.jerk * (1.0 + 1e-3))
    for before, after in pairwise(setpoints):
        mean = 0.5 * (before.velocity + after.velocity)
        assert (after.position - before.position) / dt == pytest.approx(mean, abs=float(np.max(ARM.jerk)) * dt**2)


def finish(player: MotionPlayer, limit_s: float = 60.0) -> list[Setpoint]:
    setpoints = []
    for _ in range(round(limit_s / DT)):
        setpoints.append(player.advance(DT))
        if player.finished:
            return setpoints
    raise AssertionError(f"not at the end after {limit_s:g} s, at {player.progress:.1%}")


@pytest.mark.parametrize("number", range(6))
def test_a_motion_ends_at_the_end_in_the_planned_time(number: int) -> None:
    course = courses()[number]
    player = MotionPlayer(ARM, course.motion)
    setpoints = [player.setpoint(), *finish(player)]
    assert_good(course, setpoints)
    assert len(setpoints) * DT == pytest.approx(course.motion.duration, abs=2 * DT)
    reached = setpoints[-1].position
    assert (forward_kinematics(ARM, reached) if course.straight else reached) == pytest.approx(course.ends[1], abs=1e-7)
    assert not setpoints[-1].velocity.any()


ACTIONS = st.one_of(
    st.just(("stop", 0.0)),
    st.just(("resume", 0.0)),
    st.tuples(st.just("speed"), st.floats(0.05, 1.0)),
)


@settings(max_examples=50, deadline=None)
@given(number=st.integers(0, 5), script=st.lists(st.tuples(st.integers(1, 40), ACTIONS), max_size=8))
def test_whatever_interrupts_the_arm_stays_on_the_path_within_limits(
    number: int, script: list[tuple[int, tuple[str, float]]]
) -> None:
    course = courses()[number]
    player = MotionPlayer(ARM, course.motion)
    setpoints = [player.setpoint()]
    progress = player.progress
    for ticks, (action, value) in script:
        for _ in range(ticks):
            setpoints.append(player.advance(DT))
            assert player.progress >= progress - 1e-7
            progress = player.progress
        if action == "stop":
            player.stop()
            assert player.paused
        elif action == "resume":
            player.resume()
        else:
            player.change_speed(value)
    player.resume()
    setpoints += finish(player)
    assert player.progress == pytest.approx(1.0, abs=1e-9)
    assert_good(course, setpoints)


@settings(max_examples=20, deadline=None)
@given(number=st.integers(0, 5), ticks=st.integers(0, 150), scale=st.floats(0.05, 1.0))
def test_a_stop_comes_to_rest_on_the_path_and_stays(number: int, ticks: int, scale: float) -> None:
    course = courses()[number]
    player = MotionPlayer(ARM, course.motion, scale)
    setpoints = [player.setpoint()] + [player.advance(DT) for _ in range(ticks)]
    player.stop()
    # every joint is at rest in less than its speed over its acceleration, and two jerk ramps
    for _ in range(round(1.0 / DT)):
        setpoints.append(player.advance(DT))
    assert player.at_rest
    assert not setpoints[-1].velocity.any()
    rest = player.progress
    setpoints += [player.advance(DT) for _ in range(10)]
    assert player.progress == rest
    assert_good(course, setpoints)


def test_half_the_speed_takes_longer_and_obeys_half_the_velocity() -> None:
    course = courses()[4]
    half = finish(MotionPlayer(ARM, course.motion, 0.5))
    whole = finish(MotionPlayer(ARM, course.motion))
    assert len(half) == pytest.approx(2 * len(whole), abs=2)
    assert np.max(np.abs([setpoint.velocity for setpoint in half]), axis=0) == pytest.approx(
        0.5 * np.max(np.abs([setpoint.velocity for setpoint in whole]), axis=0), rel=0.05
    )


@settings(max_examples=20, deadline=None)
@given(number=st.integers(0, 5), ticks=st.integers(0, 200), paused=st.booleans())
def test_a_restart_goes_on_from_rest_a_little_further_on_the_path(number: int, ticks: int, paused: bool) -> None:
    course = courses()[number]
    player = MotionPlayer(ARM, course.motion)
    for _ in range(ticks):
        player.advance(DT)
    if paused:
        player.stop()
    before, position, velocity = player.time, player.setpoint().position, player.setpoint().velocity
    player.restart()
    assert not player.setpoint().velocity.any()
    # at constant deceleration an arm travels for half its braking time at its speed; all joints brake together
    after, time = player.time, np.max(np.abs(velocity) / ARM.acceleration)
    off = np.max(np.abs(player.setpoint().position - (position + 0.5 * time * velocity)))
    assert before <= after <= before + time + 1e-9
    assert off <= 0.02 + 0.5 * time * float(np.max(np.abs(velocity))) * 0.5
    if not velocity.any():
        assert after == before
    setpoints = [player.setpoint()] + [player.advance(DT) for _ in range(5)]
    assert_good(course, setpoints)
    if paused:
        assert player.time == after
        player.resume()
    assert_good(course, setpoints + finish(player))


@pytest.mark.parametrize("difference", [0.0, 1e-15, 1e-12, 1e-8, 1e-5])
def test_a_motion_to_nearly_the_same_position_ends_there(difference: float) -> None:
    target = ARM.home + np.array([difference, -0.3 * difference, 0.0])
    player = MotionPlayer(ARM, point_to_point(ARM, ARM.home, target))
    assert (player.setpoint() if player.finished else finish(player)[-1]).position == pytest.approx(target, abs=1e-9)


def test_a_motion_without_duration_is_finished_at_once() -> None:
    player = MotionPlayer(ARM, Standing(ARM.home))
    player.stop()
    player.restart()
    player.resume()
    assert player.advance(DT).position == pytest.approx(ARM.home)
    assert player.finished
    assert player.progress == 1.0
