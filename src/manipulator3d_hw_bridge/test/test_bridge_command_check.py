# SPDX-License-Identifier: Apache-2.0
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_hw_bridge.command_check import CommandRefused, JointBounds, check_command

NAMES = ("base_yaw", "shoulder_pitch", "elbow_pitch")
BOUNDS = JointBounds(NAMES, (-2.9, -0.5, -2.6), (2.9, 2.6, 2.6), (2.0, 1.5, 2.0))


def test_names_in_any_order_are_sorted_into_the_boards():
    positions, velocities = check_command(BOUNDS, ("elbow_pitch", "base_yaw", "shoulder_pitch"), (0.3, 0.1, 0.2), ())
    assert positions == (0.1, 0.2, 0.3)
    assert velocities == (0.0, 0.0, 0.0)
    _, velocities = check_command(BOUNDS, ("elbow_pitch", "base_yaw", "shoulder_pitch"), (0, 0, 0), (0.3, 0.1, 0.2))
    assert velocities == (0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    ("names", "position", "velocity", "text"),
    [
        (NAMES, (0.0, 0.0), (), "3 names, 2 positions and 0 velocities do not belong together"),
        (NAMES, (0.0,) * 3, (0.0,), "3 names, 3 positions and 1 velocities do not belong together"),
        ((), (), (), "joints none; expected base_yaw, shoulder_pitch, elbow_pitch, each once"),
        (("base_yaw",) * 3, (0.0,) * 3, (), "joints base_yaw, base_yaw, base_yaw; expected"),
        (("a", "b", "c"), (0.0,) * 3, (), "joints a, b, c; expected base_yaw"),
        (NAMES, (0.0, math.nan, 0.0), (), "shoulder_pitch: a position of nan is not a finite number of rad"),
        (NAMES, (-math.inf, 0.0, 0.0), (), "base_yaw: a position of -inf is not a finite number of rad"),
        (NAMES, (0.0, 0.0, 2.7), (), r"elbow_pitch: 2\.7000 rad is above its upper limit of 2\.6000 rad"),
        (NAMES, (0.0, -0.6, 0.0), (), r"shoulder_pitch: -0\.6000 rad is below its lower limit of -0\.5000 rad"),
        (NAMES, (0.0,) * 3, (0.0, 0.0, math.nan), "elbow_pitch: a velocity of nan is not a finite number of rad/s"),
        (NAMES, (0.0,) * 3, (-2.1, 0.0, 0.0), r"base_yaw: -2\.1000 rad/s is above its limit of 2\.0000 rad/s"),
    ],
)
def test_a_wrong_command_is_refused_by_name_value_and_bound(names, position, velocity, text):
    with pytest.raises(CommandRefused, match=text):
        check_command(BOUNDS, names, position, velocity)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(position=st.lists(st.floats(), min_size=3, max_size=3), velocity=st.lists(st.floats(), min_size=3, max_size=3))
def test_whatever_passes_is_finite_and_within_the_bounds(position, velocity):
    try:
        positions, velocities = check_command(BOUNDS, NAMES, position, velocity)
    except CommandRefused:
        return
    for q, qd, lower, upper, limit in zip(
        positions, velocities, BOUNDS.lower, BOUNDS.upper, BOUNDS.velocity, strict=True
    ):
        assert lower <= q <= upper
        assert -limit <= qd <= limit


def test_a_command_on_the_limit_but_for_rounding_is_clipped():
    positions, velocities = check_command(BOUNDS, NAMES, (2.9 + 5e-7, 0.0, 0.0), (2.0005, 0.0, 0.0))
    assert positions[0] == 2.9
    assert velocities[0] == 2.0
