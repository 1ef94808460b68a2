# SPDX-License-Identifier: Apache-2.0
"""The board's own binary, instruction by instruction."""

import contextlib
import math
import os
import subprocess
import threading
import time
import tty

import pytest
import serial
from firmware_paths import rest_to_rest, steady
from virtual_board import ACCELERATION, HOME, LOWER, AvrPort, Host

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Fault, Flag, Mode

PICK = (-0.7653, 0.3376, -1.4687)
COUNT = 2 * math.pi / 8384


@pytest.fixture
def avr(make_avr_host):
    """A configured board whose positions are known."""
    host = make_avr_host()
    host.configure()
    host.do(messages.SetHere(joints=7, position=HOME))
    return host


def track(host):
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(60)
    host.do(messages.SetMode(mode=Mode.TRACK))


def test_the_binary_says_who_it_is(make_avr_host):
    identity = make_avr_host().last(messages.Identity)
    assert identity.protocol == messages.PROTOCOL_HASH
    assert identity.reset_cause == messages.ResetCause.POWER_ON


def test_the_binary_follows_a_motion(avr):
    track(avr)
    avr.follow(rest_to_rest(HOME, PICK, 1.3), 1.3)
    avr.run_alive(200)
    assert not [m for m in avr.received if isinstance(m, messages.Refuse)]
    assert avr.state.position == pytest.approx(PICK, abs=2 * COUNT)
    assert avr.port.observe().position == pytest.approx(PICK, abs=3 * COUNT)
    health = avr.last(messages.Health)
    assert (health.overruns, health.frames_bad, health.frames_lost, health.bytes_lost) == (0, 0, 0, 0)
    assert health.loop_worst < 1000


def test_the_binary_and_the_emulated_board_convert_alike(make_host, make_avr_host):
    positions = [(2.9 - 0.37 * k, 2.6 - 0.2 * k, -2.6 + 0.31 * k) for k in range(15)]

    def seen(host, scale):
        host.configure(counts_per_radian=scale)
        states = []
        for position in positions:
            host.do(messages.SetHere(joints=7, position=position))
            host.run(20)
            states.append(host.state.position)
        return states

    for scale in (1334.355, 812.3):
        binary, emulated = seen(make_avr_host(), scale), seen(make_host(homed=False), scale)
        assert binary == emulated
        # by another route: the nearest count, and back
        expected = [tuple(round(p * scale) / scale for p in position) for position in positions]
        assert [p for row in binary for p in row] == pytest.approx([p for row in expected for p in row], abs=2e-6)


def test_configuration_reads_back_from_the_binary(avr):
    for joint in range(3):
        avr.send(messages.ReadJoint(joint=joint))
        avr.run(30)
        configuration = avr.last(messages.JointConfiguration)
        assert (configuration.joint, configuration.lower) == (joint, LOWER[joint])


def test_silence_of_the_host_stops_the_binary(avr):
    track(avr)
    avr.follow(steady(HOME, (1.4, 0.0, 0.0)), 0.6, lead=0.03)
    assert avr.port.observe().velocity[0] > 1.2
    avr.port.advance(30 + round(1e3 * 1.4 / ACCELERATION[0]) + 60)
    assert avr.port.observe().velocity[0] == pytest.approx(0.0, abs=1e-6)
    avr.run(150)
    assert (avr.state.mode, avr.state.fault) == (Mode.FAULT, Fault.COMMAND_SILENCE)


def test_the_binary_homes_a_joint(make_avr_host):
    host = make_avr_host(start=(LOWER[0] + 0.15, 1.2, -1.6))
    host.configure()
    host.do(messages.Home(joints=1))
    while host.state.mode == Mode.HOMING or host.state.mode == Mode.IDLE:
        host.run_alive(100)
        assert host.port.observe().time < 20.0
    assert (host.state.mode, host.state.flags & 7) == (Mode.HOLD, 1)
    host.run_alive(60)
    assert host.state.position[0] == pytest.approx(host.port.observe().position[0], abs=2.5 * COUNT)


def test_inputs_gripper_and_reset_of_the_binary(avr):
    avr.do(messages.SetGripper(closed=1))
    avr.run(30)
    assert avr.port.observe().gripper_pulse_us == 2000
    avr.port.command("button 1")
    avr.run(60)
    assert avr.port.observe().gripper_pulse_us == 1000
    avr.do(messages.BoardConfiguration(has_emergency_stop=1, has_grasp_sensor=1))
    avr.port.command("grasp 1")
    avr.run(30)
    assert avr.state.flags & Flag.OBJECT_DETECTED
    avr.port.command("emergency_stop 1")
    avr.run(30)
    assert avr.state.fault == Fault.EMERGENCY_STOP_INPUT
    avr.port.command("emergency_stop 0")
    avr.run(30)
    avr.do(messages.ResetFault())
    avr.do(messages.Store())
    avr.port.command("reset")
    avr.rejoin()
    avr.run(100)
    identity = avr.last(messages.Identity)
    assert (identity.boot_count, identity.stored) == (1, 1)
    assert avr.state.flags & 7 == 0


@pytest.mark.parametrize("rate", [10_000, 33_000])
def test_no_count_is_lost_on_three_axes_at_once(make_avr_host, rate):
    host = make_avr_host()
    host.configure(counts_per_radian=10000.0, velocity=1.0)
    host.do(messages.SetHere(joints=7, position=(0.0, 0.0, 0.0)))
    before = [host.port.encoder_counts(joint) for joint in range(3)]
    host.port.spin((rate, -rate, 0.97 * rate))
    host.run_alive(400)
    host.port.spin((0.0, 0.0, 0.0))
    host.run_alive(40)
    made = [host.port.encoder_counts(joint) - b for joint, b in zip(range(3), before, strict=True)]
    assert abs(made[0]) > 0.3 * rate
    assert [round(p * 10000) for p in host.state.position] == made
    host.run_alive(1000)
    assert host.last(messages.Health).illegal_transitions == (0, 0, 0)


def test_pulses_on_one_line_of_an_encoder_neither_shift_the_position_nor_stop_the_motor(avr):
    track(avr)
    before = avr.state.position
    for joint in range(3):
        avr.port.command(f"glitch {joint} 300")
    avr.run_alive(1100)
    assert avr.state.mode == Mode.TRACK
    assert avr.state.position == pytest.approx(before, abs=1.1 * COUNT)
    assert avr.state.position == pytest.approx(tuple(avr.port.observe().position), abs=2 * COUNT)
    assert avr.last(messages.Health).illegal_transitions == (0, 0, 0)


def test_simultaneous_edges_of_both_lines_are_counted_per_joint_and_above_their_rate_a_fault(avr):
    avr.do(messages.SetMode(mode=Mode.HOLD))
    avr.port.command("illegal 1 20")
    avr.run_alive(1100)
    assert avr.last(messages.Health).illegal_transitions == (0, 20, 0)
    assert avr.state.mode == Mode.HOLD
    avr.port.command("illegal 2 100")
    avr.run_alive(100)
    assert (avr.state.fault, avr.state.fault_joint) == (Fault.ENCODER, 2)
    assert list(avr.port.observe().drive) == [0.0, 0.0, 0.0]


def test_a_control_interrupt_that_does_not_get_its_time_is_a_fault_with_the_motors_off(avr):
    avr.do(messages.SetMode(mode=Mode.HOLD))
    # 300 000 interrupts a second leave the control interrupt next to nothing
    for joint in range(3):
        avr.port.command(f"glitch {joint} 20000")
    for _ in range(30):
        avr.run_alive(20)
        if avr.state.mode == Mode.FAULT:
            break
    assert (avr.state.fault, avr.state.fault_joint) == (Fault.LOOP_OVERRUN, 255)
    assert list(avr.port.observe().drive) == [0.0, 0.0, 0.0]
    avr.run_alive(2000)
    assert avr.last(messages.Health).overruns > 5


def test_interrupts_are_as_short_as_they_must_be(avr, elf):
    track(avr)
    avr.port.clear_costs()
    avr.follow(rest_to_rest(HOME, (0.3, 1.0, -1.3), 0.6), 0.6)
    assert max(avr.port.cost(vector)[3] for vector in AvrPort.ENCODERS) <= 81
    symbols = subprocess.run(["avr-nm", "-C", str(elf)], capture_output=True, text=True).stdout
    control = next(line for line in symbols.splitlines() if line.endswith("JointLoop::control()"))
    avr.port.watch_function(int(control.split()[0], 16))
    avr.follow(rest_to_rest((0.3, 1.0, -1.3), (0.35, 1.0, -1.3), 0.2), 0.2)
    count, _, _, most = avr.port.function_cost()
    assert count > 300
    assert 3 * most <= 1102


def test_a_program_that_hangs_is_reset_by_the_watchdog_and_says_so(avr, elf):
    track(avr)
    symbols = subprocess.run(["avr-nm", str(elf)], capture_output=True, text=True).stdout
    stop = next(line for line in symbols.splitlines() if line.endswith(" __stop_program"))
    avr.port.command(f"hang {int(stop.split()[0], 16)}")
    avr.received.clear()
    avr.rejoin()
    avr.run(500)
    assert avr.last(messages.Identity).reset_cause == messages.ResetCause.WATCHDOG
    avr.run(300)
    assert (avr.state.mode, avr.state.flags & 7) == (Mode.IDLE, 0)
    # the second start came of one hang alone
    assert avr.last(messages.Identity).boot_count == 1


def test_encoder_interrupts_call_nothing(elf):
    text = subprocess.run(["avr-objdump", "-d", str(elf)], capture_output=True, text=True).stdout
    for vector in (1, 3, 5):
        body = text.split(f"<__vector_{vector}>:")[1].split("\n\n")[0]
        assert "reti" in body
        assert "call" not in body


def test_a_host_in_real_time_speaks_with_the_binary_through_a_pseudo_terminal(make_avr_host):
    port = make_avr_host().port
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    stop = threading.Event()

    def pace():
        while not stop.is_set():
            time.sleep(0.005)
            with contextlib.suppress(BlockingIOError):
                port.write(os.read(master, 4096))
            port.advance(5)
            os.write(master, port.read())

    class Line:
        def __init__(self):
            self.serial = serial.Serial(os.ttyname(slave), messages.BAUD, timeout=0)

        def write(self, data):
            self.serial.write(data)

        def read(self):
            return self.serial.read(4096)

        def advance(self, ms):
            time.sleep(ms * 1e-3)

    thread = threading.Thread(target=pace, daemon=True)
    thread.start()
    try:
        host = Host(Line(), joins_late=True)
        deadline = time.monotonic() + 30.0
        while not any(isinstance(m, messages.Identity) for m in host.received):
            assert time.monotonic() < deadline, "no answer to Identify"
            host.send(messages.Identify())
            host.run(50)
        while sum(isinstance(m, messages.State) for m in host.received) < 20:
            assert time.monotonic() < deadline, "no states"
            host.run(50)
        assert host.last(messages.Identity).protocol == messages.PROTOCOL_HASH
    finally:
        stop.set()
        thread.join(30.0)
        host.port.serial.close()
        os.close(master)
        os.close(slave)
