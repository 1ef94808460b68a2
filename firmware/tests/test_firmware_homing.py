# SPDX-License-Identifier: Apache-2.0
import math

import pytest
from firmware_paths import rest_to_rest
from virtual_board import HOME, LOWER, UPPER, joint_configuration

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Fault, HomeStep, Mode, Reason

COUNT = 2 * math.pi / 8384
START = (-1.9, 0.3, -1.9)


@pytest.fixture
def unhomed(make_host):
    host = make_host(start=START, homed=False)
    host.configure()
    return host


def run_until_homed(host, limit_ms=60000):
    """Let time pass until the mode is no longer HOMING."""
    host.run_alive(40)
    for _ in range(0, limit_ms, 40):
        if host.state.mode != Mode.HOMING:
            return
        host.run_alive(40)
    raise AssertionError(f"still homing after {limit_ms} ms")


def known(host):
    return host.state.flags & 7


def test_homing_finds_the_positions_within_two_counts(unhomed):
    unhomed.do(messages.Home(joints=7))
    run_until_homed(unhomed)
    assert (unhomed.state.mode, known(unhomed)) == (Mode.HOLD, 7)
    unhomed.run_alive(100)
    assert unhomed.state.position == pytest.approx(tuple(unhomed.port.observe().position), abs=2.5 * COUNT)
    for position, lower, upper in zip(unhomed.state.position, LOWER, UPPER, strict=True):
        assert lower < position < upper


def test_each_joint_goes_through_all_steps_in_order(unhomed):
    unhomed.do(messages.Home(joints=7))
    run_until_homed(unhomed)
    steps = []
    for message in unhomed.received:
        if isinstance(message, messages.HomeProgress) and (message.joint, message.step) not in steps:
            steps.append((message.joint, message.step))
    assert steps == [(joint, step) for joint in range(3) for step in HomeStep]


def test_a_joint_that_stands_on_its_switch_backs_off_first(make_host):
    host = make_host(start=(LOWER[0] - 0.05, 1.2, -1.6), homed=False)
    host.configure()
    host.do(messages.Home(joints=1))
    host.run_alive(40)
    assert host.last(messages.HomeProgress).step == HomeStep.BACK_OFF
    run_until_homed(host)
    assert known(host) == 1
    assert host.state.position[0] == pytest.approx(host.port.observe().position[0], abs=2.5 * COUNT)


def test_a_dead_switch_ends_in_a_clear_failure(unhomed):
    unhomed.port.command("dead_switch 1 1")
    unhomed.do(messages.Home(joints=2))
    run_until_homed(unhomed)
    state = unhomed.state
    assert (state.mode, state.fault, state.fault_joint) == (Mode.FAULT, Fault.HOMING_FAILED, 1)
    assert known(unhomed) == 0
    unhomed.run_alive(500)
    assert max(abs(v) for v in unhomed.port.observe().velocity) < 1e-6


def test_a_travel_bound_ends_the_search(make_host):
    host = make_host(start=HOME, homed=False)
    host.configure(home_travel=0.2)
    host.do(messages.Home(joints=1))
    run_until_homed(host)
    assert host.state.fault == Fault.HOMING_FAILED
    assert abs(host.port.observe().position[0] - HOME[0]) < 0.3


def test_a_time_bound_ends_the_search(make_host):
    host = make_host(start=HOME, homed=False)
    host.configure(home_time=1000)
    host.do(messages.Home(joints=1))
    run_until_homed(host, 3000)
    assert host.state.fault == Fault.HOMING_FAILED


def test_homing_is_cancelled_by_hold_and_leaves_the_joint_unknown(unhomed):
    unhomed.do(messages.Home(joints=7))
    unhomed.run_alive(400)
    unhomed.do(messages.SetMode(mode=Mode.HOLD))
    unhomed.run_alive(400)
    assert (unhomed.state.mode, known(unhomed)) == (Mode.HOLD, 0)
    assert max(abs(v) for v in unhomed.port.observe().velocity) < 1e-6
    unhomed.do(messages.Home(joints=7))
    run_until_homed(unhomed)
    assert known(unhomed) == 7


def test_silence_of_the_host_stops_homing(unhomed):
    unhomed.do(messages.Home(joints=1))
    unhomed.run_alive(400)
    unhomed.run(300)
    assert unhomed.state.fault == Fault.COMMAND_SILENCE
    assert max(abs(v) for v in unhomed.port.observe().velocity) < 1e-6


def test_a_joint_without_a_switch_is_refused(make_host):
    host = make_host(homed=False)
    host.configure(home_direction=0)
    assert host.refused(messages.Home(joints=1)) == Reason.NO_SWITCH


def test_set_here_makes_positions_known_without_moving(unhomed):
    before = unhomed.port.observe()
    unhomed.do(messages.SetHere(joints=5, position=(0.5, 7.0, -0.25)))
    unhomed.run(30)
    assert known(unhomed) == 5
    assert unhomed.state.position[0] == pytest.approx(0.5, abs=COUNT)
    assert unhomed.state.position[2] == pytest.approx(-0.25, abs=COUNT)
    after = unhomed.port.observe()
    assert (after.position[0], after.position[2]) == (before.position[0], before.position[2])
    assert not after.powered
    assert unhomed.refused(messages.SetHere(joints=1, position=(3.0, 0.0, 0.0))) == Reason.JOINT_LIMIT


def test_a_restart_makes_the_positions_unknown(host):
    host.run(20)
    assert known(host) == 7
    host.port.command("reset")
    host.rejoin()
    host.run(100)
    host.configure()
    host.run(20)
    assert known(host) == 0


def test_another_scale_makes_the_position_unknown(host):
    host.do(joint_configuration(1))
    host.run(20)
    assert known(host) == 7


def test_positions_of_several_turns_do_not_wrap(make_host):
    # 8 rad at 20 000 counts a turn is far beyond a 16-bit number
    host = make_host(start=(0.0, 1.2, -1.6), arm="counts_per_revolution=40000,40000,40000\nupper=8,8,8\n")
    host.configure(counts_per_radian=40000 / (2 * math.pi), upper=8.0)
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(50)
    host.do(messages.SetMode(mode=Mode.TRACK))
    host.follow(rest_to_rest(HOME, (7.5, 1.2, -1.6), 8.0), 8.0)
    host.run_alive(200)
    assert host.state.position[0] == pytest.approx(7.5, abs=1e-3)
