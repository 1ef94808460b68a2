# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from manipulator3d_hw_bridge.step_response import step_response

TIMES = np.arange(0.0, 3.0, 0.001)


def ramp(duration=0.5, begin=0.2):
    return np.clip((TIMES - begin) / duration, 0.0, 1.0)


def test_a_perfect_follower_has_the_commands_own_rise_time_and_no_error():
    command = 0.1 + 0.4 * ramp()
    found = step_response(TIMES, command, command)
    assert found.rise_time == pytest.approx(0.8 * 0.5, abs=1e-9)
    assert found.commanded_rise_time == pytest.approx(0.8 * 0.5, abs=1e-9)
    assert (found.overshoot, found.settling_time, found.rms_error, found.steady_state_error) == (0.0, 0.0, 0.0, 0.0)


def test_a_second_order_answer_to_a_jump_has_the_overshoot_of_its_damping():
    """Textbook: overshoot exp(−πζ/√(1−ζ²)); downwards just as upwards."""
    damping, omega = 0.4, 10.0
    root = math.sqrt(1.0 - damping**2)
    t = np.maximum(TIMES - 0.2, 0.0)
    wave = np.cos(omega * root * t) + damping / root * np.sin(omega * root * t)
    answer = 1.0 - np.exp(-damping * omega * t) * wave
    jump = np.where(TIMES >= 0.2, 1.0, 0.0)
    for step in (0.5, -0.5):
        found = step_response(TIMES, step * jump, step * answer)
        assert found.overshoot == pytest.approx(math.exp(-math.pi * damping / root), rel=1e-3)
        # the envelope is within 2 % after ln(50 / √(1−ζ²)) / (ζω); the wave is somewhat earlier
        assert 0.7 < found.settling_time / (math.log(50.0 / root) / (damping * omega)) <= 1.0


def test_a_lagging_first_order_answer_to_a_jump_has_the_known_times():
    constant = 0.05
    jump = np.where(TIMES >= 0.2, 1.0, 0.0)
    found = step_response(TIMES, jump, np.where(TIMES >= 0.2, 1.0 - np.exp(-(TIMES - 0.2) / constant), 0.0))
    assert found.rise_time == pytest.approx(constant * math.log(9.0), rel=1e-3)
    assert found.settling_time == pytest.approx(constant * math.log(50.0), abs=0.002)


def test_an_offset_in_the_end_is_the_steady_state_error_with_its_sign():
    command = 0.4 * ramp()
    found = step_response(TIMES, command, command - 0.003 * (TIMES > 0.5))
    assert found.steady_state_error == pytest.approx(0.003)
    assert found.settling_time == 0.0
    assert found.largest_error == pytest.approx(0.003)


def test_a_joint_that_never_settles_has_no_settling_time():
    command = 0.4 * ramp()
    found = step_response(TIMES, command, 0.9 * command)
    assert math.isnan(found.settling_time)
    assert math.isnan(step_response(TIMES, command, 0.8 * command).rise_time)


def test_the_error_counts_while_the_command_moves():
    command = ramp(duration=1.0)
    wave = 0.01 * np.sin(2 * np.pi * 10 * (TIMES - 0.2))
    found = step_response(TIMES, command, command - np.where((TIMES >= 0.2) & (TIMES <= 1.2), wave, 0.0))
    assert found.rms_error == pytest.approx(0.01 / math.sqrt(2.0), rel=1e-3)
    assert found.largest_error == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ((TIMES, 0.0 * TIMES + 0.2, TIMES), "the commanded position stays at 0.2 rad; there is no step"),
        ((TIMES[:5], TIMES[:5], TIMES[:5]), "give three rows of 10 or more finite numbers"),
        ((TIMES, TIMES, TIMES[:-1]), "give three rows"),
        ((TIMES, TIMES, np.where(TIMES > 1.0, np.nan, TIMES)), "give three rows"),
    ],
)
def test_a_record_that_tells_nothing_is_refused(rows, text):
    with pytest.raises(ValueError, match=text):
        step_response(*rows)
