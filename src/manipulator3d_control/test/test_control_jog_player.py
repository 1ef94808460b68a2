# SPDX-License-Identifier: Apache-2.0
"""Jogging: the limits of the joints in every tick, sliding along them, and rest when the wishes stop."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from manipulator3d_control.jog_player import JogPlayer, JogWish
from manipulator3d_kinematics import ArmModel, forward_kinematics

Array = NDArray[np.float64]
ARM = ArmModel.profile("capstone")
DT, TIMEOUT = 0.01, 0.25


def tool(x: float, y: float, z: float) -> JogWish:
    return JogWish(np.array([x, y, z]), of_tool=True)


def joints(a: float, b: float, c: float) -> JogWish:
    return JogWish(np.array([a, b, c]), of_tool=False)


def jogged(player: JogPlayer, ticks: int, wish: Callable[[int], JogWish | None]) -> Array:
    """Commanded angles, shape (ticks + 1, 3), rad."""
    commanded = [player.setpoint().position]
    for tick in range(ticks):
        wanted = wish(tick)
        if wanted is not None:
            player.wish(wanted)
        commanded.append(player.advance(DT).position)
    return np.array(commanded)


def assert_within_limits(angles: Array) -> None:
    velocity = np.diff(angles, axis=0) / DT
    acceleration = np.diff(velocity, axis=0) / DT
    jerk = np.diff(acceleration, axis=0) / DT
    assert np.all(angles >= ARM.lower - 1e-8)
    assert np.all(angles <= ARM.upper + 1e-8)
    assert np.all(np.abs(velocity) <= ARM.velocity * 1.0001)
    assert np.all(np.abs(acceleration) <= ARM.acceleration * 1.0001)
    assert np.all(np.abs(jerk) <= ARM.jerk * 1.0001)
    assert np.min(forward_kinematics(ARM, angles)[:, 2]) >= ARM.floor_z


def test_joints_turn_at_the_wished_speed_and_rest_when_the_wishes_stop() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    angles = jogged(player, 100, lambda _tick: joints(0.5, 0.0, -0.25))
    assert np.diff(angles, axis=0)[-1] / DT == pytest.approx([0.5, 0.0, -0.25])
    after = jogged(player, 100, lambda _tick: None)
    assert player.finished
    # the wish counts until its time is over, and braking from 0.5 rad/s takes little
    assert after[-1, 0] - angles[-1, 0] < 0.5 * TIMEOUT + 0.08
    assert_within_limits(np.vstack([angles, after[1:]]))


def test_the_tool_moves_straight_at_the_wished_velocity() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    angles = jogged(player, 120, lambda _tick: tool(0.0, 0.06, 0.02))
    points = forward_kinematics(ARM, angles)
    assert np.diff(points, axis=0)[60:] / DT == pytest.approx(np.tile([0.0, 0.06, 0.02], (60, 1)), abs=1e-3)


def test_a_joint_stops_at_its_limit_and_the_others_go_on() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    angles = jogged(player, 600, lambda _tick: joints(2.0, 0.3, 0.0))
    assert angles[-1, 0] == pytest.approx(ARM.upper[0], abs=0.02)
    assert angles[-1, 1] == pytest.approx(ARM.upper[1], abs=0.02)
    assert_within_limits(angles)


def test_the_tool_slides_along_the_floor() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    angles = jogged(player, 400, lambda _tick: tool(0.02, 0.04, -0.15))
    points = forward_kinematics(ARM, angles)
    assert points[-1, 2] < 0.03
    assert points[-1, 1] - points[200, 1] == pytest.approx(0.04 * 2.0, abs=0.02)
    assert_within_limits(angles)


def test_the_tool_comes_to_rest_at_the_edge_of_its_reach_without_a_fault() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    angles = jogged(player, 300, lambda _tick: tool(0.3, 0.0, 0.0))
    shoulder = np.array([0.0, 0.0, ARM.base_height])
    reached = np.linalg.norm(forward_kinematics(ARM, angles[-1]) - shoulder)
    assert reached > 0.97 * ARM.reach
    assert_within_limits(angles)


@pytest.mark.parametrize(
    "wish",
    [tool(0.4, 0.0, 0.0), tool(0.0, 0.0, 0.3), tool(-0.44, -0.03, -0.13)],
)
def test_a_jog_held_against_the_edge_of_reach_comes_to_rest_without_swinging(wish: JogWish) -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    jogged(player, 800, lambda _tick: wish)
    held = jogged(player, 100, lambda _tick: wish)
    assert np.max(np.abs(np.diff(held, axis=0))) / DT < 0.06
    assert not player.finished


def test_a_tool_slides_along_the_edge_of_its_reach() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    jogged(player, 250, lambda _tick: tool(0.3, 0.0, 0.0))
    before = forward_kinematics(ARM, player.setpoint().position)
    angles = jogged(player, 200, lambda _tick: tool(0.1, 0.1, 0.0))
    after = forward_kinematics(ARM, angles[-1])
    assert after[1] - before[1] > 0.06
    assert_within_limits(angles)


def test_a_wish_for_rest_is_letting_go() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT, hold=0.1)
    jogged(player, 50, lambda _tick: joints(0.5, 0.0, 0.0))
    assert not player.finished
    ticks = 0
    while not player.finished:
        player.wish(joints(0.0, 0.0, 0.0))
        player.advance(DT)
        ticks += 1
        assert ticks < 100
    # it has held still for as long as was asked
    assert ticks * DT > 0.1


def test_the_speed_scale_counts_for_wishes() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    player.change_speed(0.5)
    angles = jogged(player, 100, lambda _tick: joints(0.6, 0.0, 0.0))
    assert np.diff(angles, axis=0)[-1, 0] / DT == pytest.approx(0.3)


def test_what_is_in_the_way_is_not_entered_but_slid_along() -> None:
    wall = 0.12
    player = JogPlayer(
        ARM, ARM.home, TIMEOUT, lambda places: bool(np.all(forward_kinematics(ARM, places)[:, 1] <= wall))
    )
    angles = jogged(player, 400, lambda _tick: tool(0.0, 0.15, 0.03))
    points = forward_kinematics(ARM, angles)
    assert wall - 0.03 < points[-1, 1] <= wall + 1e-3
    assert np.max(points[:, 1]) <= wall + 1e-3
    # it slides up along the wall, no faster than was asked for
    assert 0.02 < points[-1, 2] - points[200, 2] < 0.03 * 2.0
    assert_within_limits(angles)


def test_a_stop_ends_it_for_good() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    jogged(player, 50, lambda _tick: joints(1.0, 0.0, 0.0))
    player.stop()
    jogged(player, 100, lambda _tick: joints(1.0, 0.0, 0.0))
    player.resume()
    rested = jogged(player, 50, lambda _tick: joints(1.0, 0.0, 0.0))
    assert player.finished
    assert np.all(rested == rested[0])


def test_an_arm_beyond_a_limit_comes_back_and_goes_no_further() -> None:
    beyond = np.array([0.0, ARM.upper[1] + 0.05, -1.6])
    outward = jogged(JogPlayer(ARM, beyond, TIMEOUT), 100, lambda _tick: joints(0.0, 0.5, 0.0))
    assert np.max(outward[:, 1]) <= beyond[1] + 1e-8
    inward = jogged(JogPlayer(ARM, beyond, TIMEOUT), 100, lambda _tick: joints(0.0, -0.5, 0.0))
    assert inward[-1, 1] < ARM.upper[1]


def test_after_a_hold_up_it_goes_on_from_rest() -> None:
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    before = jogged(player, 80, lambda _tick: joints(1.0, 0.0, 0.0))
    player.restart()
    after = jogged(player, 50, lambda _tick: joints(1.0, 0.0, 0.0))
    assert np.all(np.abs(after[1] - after[0]) < 1e-3)
    assert 0.0 <= after[0, 0] - before[-1, 0] < 0.2
    assert_within_limits(after)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_wish_breaks_a_limit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    player = JogPlayer(ARM, ARM.home, TIMEOUT)
    wish: list[JogWish | None] = [None]

    def wanted(tick: int) -> JogWish | None:
        if tick % int(rng.integers(5, 60)) == 0:
            of_tool = bool(rng.random() < 0.5)
            wish[0] = JogWish(rng.normal(size=3) * (0.3 if of_tool else 2.0), of_tool)
        return wish[0] if rng.random() < 0.9 else None

    angles = jogged(player, 200, wanted)
    rested = jogged(player, 100, lambda _tick: None)
    assert player.finished
    assert_within_limits(np.vstack([angles, rested[1:]]))
