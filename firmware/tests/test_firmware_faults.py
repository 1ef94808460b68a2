# SPDX-License-Identifier: Apache-2.0
import pytest
from firmware_paths import rest_to_rest, steady
from virtual_board import ACCELERATION, HOME, LOWER

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Fault, Flag, Mode, Reason


def track(host):
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(100)
    host.do(messages.SetMode(mode=Mode.TRACK))


def fast(host, joint=0, speed=1.2):
    """Bring one joint to a speed."""
    track(host)
    velocity = [0.0, 0.0, 0.0]
    velocity[joint] = speed
    host.follow(steady(HOME, velocity), 0.5, lead=0.02)


def fault_of(host):
    """Return fault and joint of the newest state; the mode must be FAULT."""
    state = host.state
    assert state.mode == Mode.FAULT
    return state.fault, state.fault_joint


def still(host):
    return max(abs(v) for v in host.port.observe().velocity) < 1e-6


def test_an_emergency_stop_brakes_and_holds_until_reset(host):
    fast(host)
    before = host.port.observe().position[0]
    host.do(messages.EmergencyStop())
    host.run_alive(400)
    assert fault_of(host) == (Fault.EMERGENCY_STOP, 255)
    seen = host.port.observe()
    assert still(host)
    assert seen.powered
    assert 0.0 < seen.position[0] - before < 1.2**2 / (2 * ACCELERATION[0]) + 0.1
    assert host.refused(messages.SetMode(mode=Mode.TRACK)) == Reason.FAULTED
    host.do(messages.ResetFault())
    host.run_alive(200)
    assert host.state.mode == Mode.HOLD
    assert host.port.observe().position[0] == pytest.approx(seen.position[0], abs=1e-3)


def test_a_fault_is_not_reset_while_the_arm_moves(host):
    fast(host)
    host.send(messages.EmergencyStop())
    assert host.refused(messages.ResetFault()) == Reason.MOVING


def test_the_emergency_stop_input_switches_the_motors_off(make_host):
    host = make_host()
    host.configure(messages.BoardConfiguration(has_emergency_stop=1))
    fast(host)
    host.port.command("emergency_stop 1")
    host.run_alive(60)
    assert fault_of(host) == (Fault.EMERGENCY_STOP_INPUT, 255)
    assert not host.port.observe().powered
    assert host.state.flags & Flag.EMERGENCY_STOP_INPUT
    host.run_alive(1000)
    assert host.refused(messages.ResetFault()) == Reason.INPUT_ACTIVE
    host.port.command("emergency_stop 0")
    host.run_alive(60)
    host.do(messages.ResetFault())
    host.run_alive(20)
    assert host.state.mode == Mode.IDLE


def test_an_emergency_stop_input_that_is_not_wired_is_ignored(host):
    fast(host)
    host.port.command("emergency_stop 1")
    host.run_alive(60)
    assert host.state.mode == Mode.TRACK


def test_a_stuck_joint_is_a_tracking_error(make_host):
    host = make_host()
    host.configure(stall_time=5000)
    track(host)
    host.port.command("stuck 1 1")
    host.follow(rest_to_rest(HOME, (0.0, 0.6, -1.6), 1.0), 1.0)
    assert fault_of(host) == (Fault.TRACKING_ERROR, 1)


def test_a_joint_that_cannot_move_under_drive_is_a_stall(make_host):
    host = make_host()
    host.configure(tracking_error=1.0, stall_time=100)
    track(host)
    host.port.command("stuck 2 1")
    host.follow(rest_to_rest(HOME, (0.0, 1.2, -1.2), 1.0), 1.0)
    assert fault_of(host) == (Fault.STALL, 2)
    assert not host.port.observe().powered


def test_illegal_encoder_transitions_are_counted_and_above_their_rate_a_fault(host):
    track(host)
    host.port.command("noise 0 20")
    host.run_alive(3000)
    assert host.state.mode == Mode.TRACK
    assert 30 < host.last(messages.Health).illegal_transitions[0] < 90
    assert host.last(messages.Health).illegal_transitions[1:] == (0, 0)
    host.port.command("noise 0 500")
    host.run_alive(400)
    assert fault_of(host) == (Fault.ENCODER, 0)
    assert not host.port.observe().powered


def test_a_joint_that_is_dragged_faster_than_its_limit_is_a_fault(make_host):
    # the supply has failed, so the stretched arm sinks against its motors
    host = make_host(start=(0.0, 0.0, 0.0), arm="supply_voltage=0.01\n")
    host.configure(velocity=0.1, home_velocity=0.1, tracking_error=0.9)
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(1000)
    assert fault_of(host) == (Fault.SPEED_LIMIT, 1)
    assert not host.port.observe().powered


def test_a_joint_that_is_dragged_beyond_its_limit_is_a_fault(make_host):
    host = make_host(start=(0.0, LOWER[1] + 0.05, 0.0), arm="supply_voltage=0.01\n")
    host.configure(tracking_error=0.9)
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(1000)
    assert fault_of(host) == (Fault.JOINT_LIMIT, 1)


def test_a_joint_outside_its_limits_may_rest_there(make_host):
    host = make_host(start=(2.95, 1.2, -1.6))
    host.configure()
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(500)
    assert host.state.mode == Mode.HOLD


def test_a_home_switch_that_closes_away_from_its_place_means_lost_counts(make_host):
    host = make_host(start=(0.0, 1.2, LOWER[2] + 0.2), homed=False)
    host.configure()
    # the position is taken 0.5 rad wrong, so the switch comes too early
    host.do(messages.SetHere(joints=7, position=(0.0, 1.2, LOWER[2] + 0.7)))
    host.run_alive(20)
    track(host)
    start = host.state.position
    host.follow(rest_to_rest(start, (0.0, 1.2, LOWER[2] + 0.3), 1.5), 1.5)
    assert fault_of(host) == (Fault.LIMIT_SWITCH, 2)
    assert still(host)


def test_the_home_switch_at_its_place_is_no_fault(make_host):
    host = make_host(start=(0.0, 1.2, LOWER[2] + 0.2))
    host.configure()
    track(host)
    host.follow(rest_to_rest(host.state.position, (0.0, 1.2, LOWER[2]), 1.0), 1.0)
    host.run_alive(300)
    assert host.state.mode == Mode.TRACK


def test_a_frozen_program_is_reset_by_the_watchdog_and_says_so(host):
    fast(host)
    host.port.command("freeze 1.0")
    host.rejoin()
    host.run(600)
    identity = host.last(messages.Identity)
    assert identity.reset_cause == messages.ResetCause.WATCHDOG
    assert identity.boot_count == 1
    host.run(50)
    assert (host.state.mode, host.state.flags & Flag.HOMED_0) == (Mode.IDLE, 0)
    host.run(1500)
    assert still(host)


def test_the_first_fault_stays(host):
    fast(host)
    host.do(messages.EmergencyStop())
    host.run(2000)
    assert fault_of(host) == (Fault.EMERGENCY_STOP, 255)


def test_no_fault_by_silence_while_holding(host):
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run(3000)
    assert host.state.mode == Mode.HOLD


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.HOLD])
def test_nothing_is_driven_before_the_joints_are_configured(make_host, mode):
    host = make_host()
    if mode == Mode.HOLD:
        assert host.refused(messages.SetMode(mode=mode)) == Reason.NOT_CONFIGURED
    host.run(100)
    assert not host.port.observe().powered


def test_a_control_interrupt_that_misses_its_period_is_counted_and_more_than_five_a_second_a_fault(host):
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.port.command("overrun 5")
    host.run_alive(1100)
    assert host.state.mode == Mode.HOLD
    assert host.last(messages.Health).overruns == 5
    host.port.command("overrun 6")
    host.run_alive(20)
    assert fault_of(host) == (Fault.LOOP_OVERRUN, 255)
    assert not host.port.observe().powered
    before = host.port.observe().position
    host.do(messages.ResetFault())
    host.run_alive(60)
    assert host.state.mode == Mode.IDLE
    assert host.port.observe().position == pytest.approx(before, abs=0.02)
