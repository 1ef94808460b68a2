# SPDX-License-Identifier: Apache-2.0
"""The bridge's own session with the emulated board and with the board's binary, in lockstep virtual time."""

import hashlib
import itertools
import math

import pytest
from firmware_paths import rest_to_rest
from virtual_board import HOME, AvrPort, EmulatedPort

from manipulator3d_hw_bridge.board_settings import Wiring, board_settings
from manipulator3d_hw_bridge.board_status import DriveMode, LinkState, Measurement
from manipulator3d_hw_bridge.home_goal import HomeGoal
from manipulator3d_hw_bridge.session import Session
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode

PICK = (-0.7653, 0.3376, -1.4687)
COUNT = 2 * math.pi / 8384


class Rig:
    """A session on one of the two boards; a step is a millisecond."""

    def __init__(self, port, rate_hz=100.0):
        self.port = port
        self.sent = self.received = 0
        self.now = 100.0
        self.measurements = []
        self.bytes = hashlib.sha256()
        self.session = Session(board_settings(ArmModel.profile("capstone"), Wiring(), rate_hz, 0.1))
        self.session.link_opened(self.now, "virtual", 0.0)
        self.session.arm(self.now)

    def step(self):
        self.session.advance(self.now)
        output = self.session.take_output()
        self.sent += len(output)
        self.port.write(output)
        self.port.advance(1)
        self.now += 0.001
        data = self.port.read()
        self.received += len(data)
        self.bytes.update(data)
        if data:
            self.session.receive(self.now, data)
        self.measurements += [event for event in self.session.take_events() if isinstance(event, Measurement)]

    def run_until(self, condition, limit):
        end = self.now + limit
        while not condition():
            assert self.now < end, f"not after {limit} s: {self.session.status}"
            self.step()

    def run(self, seconds):
        end = self.now + seconds
        while self.now < end:
            self.step()

    def ask(self, request, limit=30.0):
        """Make a request that calls back, and return its outcome."""
        outcomes = []
        request(outcomes.append)
        self.run_until(lambda: outcomes, limit)
        return outcomes[0]

    def follow(self, path, duration):
        start = self.now + 0.1
        for k in range(round(duration * 100) + 1):
            position, velocity = path(k / 100)
            refusal = self.session.motion.command(self.now, start + k / 100, position, velocity)
            assert not refusal
            self.run(0.01)
        self.run(0.3)


@pytest.fixture(params=["emulated", "binary"])
def rig(request):
    if request.param == "emulated":
        port = EmulatedPort(request.getfixturevalue("library"), homed=False)
    else:
        port = AvrPort(request.getfixturevalue("avr_library"), request.getfixturevalue("elf"))
    made = Rig(port)
    made.run_until(lambda: made.session.status.link is LinkState.ARMED, 10.0)
    yield made
    port.close()


def set_here(rig):
    assert rig.ask(lambda done: rig.session.motion.home(rig.now, HomeGoal((0, 1, 2), HOME), done)).ok
    rig.run_until(lambda: rig.session.status.homed, 1.0)


def test_the_bridge_arms_the_board_and_moves_it(rig):
    assert not rig.session.status.homed
    set_here(rig)
    assert rig.session.status.homed
    rig.follow(rest_to_rest(HOME, PICK, 1.4), 1.4)
    assert rig.port.observe().position == pytest.approx(PICK, abs=3 * COUNT)
    newest = rig.measurements[-1]
    assert newest.position == pytest.approx(PICK, abs=3 * COUNT)
    assert rig.session.status.fault is ErrorCode.SUCCESS


def test_measurements_carry_the_time_at_which_they_were_made(rig):
    set_here(rig)
    path = rest_to_rest(HOME, PICK, 1.4)
    start = rig.now + 0.1
    rig.follow(path, 1.4)
    moving = [m for m in rig.measurements if start + 0.3 < m.time < start + 1.1]
    assert len(moving) > 70
    # a joint at 1 rad/s shows a wrong time stamp of 5 ms as 5 mrad
    for measurement in moving:
        expected, _ = path(measurement.time - start)
        assert measurement.position == pytest.approx(expected, abs=6 * COUNT)


def test_the_bridge_stops_and_resets_the_board(rig):
    set_here(rig)
    assert rig.ask(lambda done: rig.session.emergency_stop(rig.now, done)).ok
    rig.run(0.1)
    assert rig.session.status.fault is ErrorCode.ESTOP
    assert rig.ask(lambda done: rig.session.reset_fault(rig.now, done)).ok
    rig.run(0.1)
    assert rig.session.status.mode is DriveMode.HOLD


def test_the_bridge_notices_a_restart_of_the_board(rig):
    set_here(rig)
    rig.port.command("reset")
    rig.run_until(lambda: not rig.session.status.homed, 5.0)
    rig.run_until(lambda: rig.session.status.link is LinkState.ARMED, 20.0)
    assert not rig.session.status.homed


def test_a_run_repeats_to_the_byte(avr_library, elf):
    def run():
        port = AvrPort(avr_library, elf)
        made = Rig(port)
        made.run_until(lambda: made.session.status.link is LinkState.ARMED, 10.0)
        set_here(made)
        made.follow(rest_to_rest(HOME, PICK, 1.4), 1.4)
        port.close()
        return made.bytes.hexdigest()

    assert run() == run()


@pytest.mark.parametrize(("rate_hz", "share"), [(100, 0.30), (200, 0.55)])
def test_states_and_commands_at_full_rate_both_ways_fit_the_line_and_none_is_lost(library, rate_hz, share):
    rig = Rig(EmulatedPort(library), rate_hz)
    rig.run_until(lambda: rig.session.status.link is LinkState.ARMED and rig.measurements, 10.0)
    path, start = rest_to_rest(HOME, PICK, 2.0), rig.now + 0.1
    rig.sent = rig.received = 0
    rig.measurements.clear()
    began, seconds = rig.now, 2.0
    for k in range(round(seconds * rate_hz)):
        assert not rig.session.motion.command(rig.now, start + k / rate_hz, *path(k / rate_hz))
        while rig.now < began + (k + 1) / rate_hz - 1e-9:
            rig.step()
    # start bit, eight bits, stop bit
    assert 0.1 < rig.sent * 10 / seconds / 115200 <= share
    assert 0.1 < rig.received * 10 / seconds / 115200 <= share
    times = [measurement.time for measurement in rig.measurements]
    assert len(times) == pytest.approx(seconds * rate_hz, abs=1)
    assert [b - a for a, b in itertools.pairwise(times)] == pytest.approx([1 / rate_hz] * (len(times) - 1), abs=1e-4)
    rig.run(0.5)
    assert rig.measurements[-1].position == pytest.approx(PICK, abs=3 * COUNT)
    rig.port.close()
