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


def test_each_joint_gets_its_own_gains_and_the_default_motors_where_none_are_given(capstone):
    given = BridgeParameters(proportional=(10.0, 20.0, 30.0), deadband=(0.0, 0.05, 0.1)).gains
    joints = board_settings(capstone, Wiring(), 100.0, 0.1, given).joints
    assert [joint.proportional for joint in joints] == [10.0, 20.0, 30.0]
    assert [joint.deadband for joint in joints] == [0.0, 0.05, 0.1]
    assert [joint.integral for joint in joints] == [800.0] * 3
    assert board_settings(capstone, Wiring(), 100.0, 0.1, BridgeParameters().gains) == board_settings(
        capstone, Wiring(), 100.0, 0.1
    )


def test_gains_for_too_few_joints_are_refused():
    with pytest.raises(ValueError, match=r"parameter integral: 2 numbers; give 3, one for each joint"):
        _ = BridgeParameters(integral=(1.0, 2.0)).gains


@pytest.mark.parametrize(("name", "largest"), [("derivative", 1.667), ("velocity_feedforward", 1.667)])
def test_a_gain_beyond_the_firmwares_numbers_is_refused_before_it_is_sent(capstone, name, largest):
    board_settings(capstone, Wiring(), 100.0, 0.1, {name: (largest,) * 3})
    text = (
        rf"shoulder_pitch: the firmware cannot take this arm: {name}: 1.67 is above 1.66794, the most at 1334.36 counts"
    )
    with pytest.raises(ValueError, match=text):
        board_settings(capstone, Wiring(), 100.0, 0.1, {name: (1.0, 1.67, 1.0)})


def test_a_gain_that_is_not_on_the_wire_is_refused_by_its_bound(capstone):
    with pytest.raises(ValueError, match=r"base_yaw: .*JointConfiguration.deadband: 0.3 is not within 0 to 0.255"):
        board_settings(capstone, Wiring(), 100.0, 0.1, {"deadband": (0.3, 0.0, 0.0)})
