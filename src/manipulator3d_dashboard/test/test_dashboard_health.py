# SPDX-License-Identifier: Apache-2.0
"""Diagnostics, the arm's data, and what the plots are made of."""

import math

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from manipulator3d_dashboard.arm_text import arm_text
from manipulator3d_dashboard.health import STALE_AFTER, Health, Level, Report
from manipulator3d_dashboard.plot_data import CommandTrack, History
from manipulator3d_kinematics import ArmModel


def report(name: str, level: Level, **values: str) -> Report:
    return Report(name, level, "as it_is", values)


def test_the_levels_are_those_of_the_message() -> None:
    assert {level.name: bytes([level]) for level in Level} == {
        name: getattr(DiagnosticStatus, name) for name in Level.__members__
    }


def test_the_worst_level_counts_and_silence_is_stale() -> None:
    health = Health()
    assert health.level(0.0) is None
    health.take(report("bridge: link", Level.OK), 0.0)
    health.take(report("bridge: serial", Level.WARN), 1.0)
    assert health.level(1.0) is Level.WARN
    health.take(report("bridge: serial", Level.OK), 2.0)
    assert health.level(2.0) is Level.OK
    assert health.level(STALE_AFTER + 0.5) is Level.STALE
    assert "… bridge: link | silent for 6 s |" in health.text(6.0)
    assert "✓ bridge: serial | as it\\_is |" in health.text(6.0)


def test_a_figure_is_found_by_group_and_key_while_it_is_fresh() -> None:
    health = Health()
    health.take(report("left/bridge: serial", Level.OK, load="12.5", port="ttyACM0"), 0.0)
    assert health.number("serial", "load", 1.0) == 12.5
    assert health.number("serial", "port", 1.0) is None
    assert health.number("clock", "load", 1.0) is None
    assert health.number("serial", "load", STALE_AFTER + 1.0) is None


def test_the_arms_data_are_those_of_its_description() -> None:
    text = arm_text(ArmModel.profile("capstone"))
    assert "| upper arm | 0.220 |" in text
    assert "| from the shoulder | 0.040 to 0.400 m |" in text
    assert "| shoulder\\_pitch | -0.50 … 2.60 | 1.5 | 6 | 50 |" in text
    # a rod of 0.45 kg and 0.22 m: m L²/12 = 18.15e-4 kg m² across it
    (row,) = (line for line in text.splitlines() if line.startswith("| upper arm | 0.450"))
    assert row.count("18.15") == 2


def test_the_tracking_error_is_taken_at_the_time_of_the_measurement() -> None:
    track = CommandTrack()
    for stamp in (10.0, 10.1, 10.2):
        track.add(stamp, {"a": 2.0 * stamp, "b": 0.0})
    errors = track.errors(10.13, {"a": 20.3, "b": 0.5, "c": 1.0})
    assert errors == pytest.approx({"a": 20.3 - 20.26, "b": 0.5})
    assert track.errors(10.0, {"a": 20.0}) == pytest.approx({"a": 0.0})


def test_no_error_is_made_up_outside_of_the_commands_or_in_a_gap() -> None:
    track = CommandTrack()
    assert track.errors(10.0, {"a": 0.0}) == {}
    track.add(10.0, {"a": 0.0})
    track.add(10.1, {"a": 0.0})
    track.add(10.5, {"a": 1.0})
    for stamp in (9.9, 10.3, 10.6):
        assert track.errors(stamp, {"a": 0.0}) == {}
    # a stream in an earlier time takes the place of the old one
    track.add(3.0, {"a": 0.0})
    assert track.errors(10.05, {"a": 0.0}) == {}


def test_a_history_forgets_what_is_old_and_counts_time_from_now() -> None:
    history = History(5.0)
    for time in range(10):
        history.add(float(time), (float(time), -1.0))
    history.add(9.5, (1.0,))
    times, first, second = history.columns(2, 10.0)
    np.testing.assert_array_equal(times, [-5.0, -4.0, -3.0, -2.0, -1.0])
    np.testing.assert_array_equal(first, [5.0, 6.0, 7.0, 8.0, 9.0])
    assert set(second.tolist()) == {-1.0}
    assert math.isclose(float(history.columns(1, 10.0)[1][0]), 1.0)
    assert all(len(column) == 0 for column in History(1.0).columns(3, 0.0))
