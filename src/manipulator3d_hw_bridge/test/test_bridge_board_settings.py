# SPDX-License-Identifier: Apache-2.0
import math

import pytest

from manipulator3d_hw_bridge.board_settings import Wiring, arm_file, board_settings
from manipulator3d_hw_bridge.bridge_parameters import BridgeParameters


def test_the_board_is_told_the_numbers_of_the_arm(capstone):
    settings = board_settings(capstone, Wiring(signs=(1, -1, 1), home_directions=(-1, 0, 1)), 200.0, 0.25)
    first, second, third = settings.joints
    assert first.counts_per_radian == pytest.approx(8384 / (2 * math.pi))
    assert (second.lower, second.upper, second.velocity, second.acceleration) == (-0.5, 2.6, 1.5, 6.0)
    assert (second.sign, second.home_direction) == (-1, 0)
    assert (first.home_position, third.home_position) == (-2.9, 2.6)
    assert first.home_travel > 5.8
    assert (settings.board.command_silence, settings.board.state_period) == (250, 5)
    assert settings.command_silence == 0.25
    assert settings.bounds.names == ("base_yaw", "shoulder_pitch", "elbow_pitch")


def test_an_arm_that_the_firmware_cannot_take_is_refused_by_joint_value_and_bound(capstone):
    capstone.velocity = (2.0, 70.0, 2.0)
    with pytest.raises(ValueError, match=r"shoulder_pitch: the firmware cannot take this arm: .*velocity: 70 is not"):
        board_settings(capstone, Wiring(), 100.0, 0.1)


def test_a_continuous_joint_is_refused(capstone):
    capstone.lower = (-math.inf, -0.5, -2.6)
    with pytest.raises(ValueError, match=r"base_yaw: its limits are -inf and 2\.9 rad; the firmware needs finite ones"):
        board_settings(capstone, Wiring(), 100.0, 0.1)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"signs": (1, 0, 1)}, r"parameter signs: \[1, 0, 1\] is not allowed; give 3 numbers, each one of \(-1, 1\)"),
        ({"home_directions": (1, 1)}, r"parameter home_directions: \[1, 1\] is not allowed"),
    ],
)
def test_a_wiring_that_there_is_not_is_refused(values, text):
    with pytest.raises(ValueError, match=text):
        _ = BridgeParameters(**values).wiring


def test_the_emulator_is_told_the_arm(capstone):
    lines = dict(line.split("=") for line in arm_file(capstone, Wiring(signs=(1, -1, 1))).splitlines())
    assert lines["lateral_offset"] == "-0.065"
    assert lines["sign"] == "1,-1,1"
    assert lines["upper"] == "2.9,2.6,2.6"
    assert lines["counts_per_revolution"] == "8384,8384,8384"


@pytest.mark.parametrize(
    ("hardware", "given", "silence"), [("serial", 0.0, 0.1), ("emulated", 0.0, 0.5), ("serial", 0.2, 0.2)]
)
def test_the_silence_follows_the_hardware_unless_it_is_given(hardware, given, silence):
    assert BridgeParameters(hardware=hardware, command_silence=given).silence == silence
