# SPDX-License-Identifier: Apache-2.0
import csv
import os
import signal
import subprocess
import time

import pytest
import serial
from firmware_paths import steady
from virtual_board import HOME, Host

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Fault, Mode

LIMIT = 30.0


class SerialPort:
    """A pseudo-terminal in real time, with the methods of EmulatedPort that a Host needs."""

    def __init__(self, path):
        self._serial = serial.Serial(path, messages.BAUD, timeout=0, exclusive=True)

    def write(self, data):
        self._serial.write(data)

    def read(self):
        return self._serial.read(4096)

    def advance(self, ms):
        time.sleep(ms * 1e-3)

    def close(self):
        self._serial.close()


def wait_for(condition, what):
    """Wait until a condition holds."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not after {LIMIT} s"
        time.sleep(0.01)


@pytest.fixture
def emulator(build_folder, tmp_path):
    """A running emulator; attributes link and record are paths."""
    link, record = tmp_path / "board", tmp_path / "record.csv"
    command = [str(build_folder / "manipulator3d_emulator"), "--link", str(link), "--record", str(record), "--homed"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.link, process.record = link, record
    wait_for(link.exists, "the link to the pseudo-terminal")
    yield process
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=LIMIT)
    assert not os.path.lexists(link)


def open_host(emulator):
    return Host(SerialPort(str(emulator.link)), joins_late=True)


def request(host, message):
    """Send a request until it is acknowledged."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        used = host.send(message)
        host.run(20)
        for answer in host.received[-50:]:
            if isinstance(answer, messages.Acknowledge) and answer.sequence == used:
                return
    raise AssertionError(f"{message} was not acknowledged")


def rows(emulator):
    """Read the whole lines of the record."""
    text = emulator.record.read_text()
    lines = text[: text.rfind("\n")].splitlines()
    return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(lines)]


def test_it_prints_its_port_and_answers_there(emulator):
    assert emulator.stdout.readline().strip() == os.path.realpath(emulator.link)
    host = open_host(emulator)

    def answered():
        host.send(messages.Identify())
        return any(isinstance(m, messages.Identity) for m in host.run(20))

    wait_for(answered, "an answer to Identify")
    assert host.last(messages.Identity).protocol == messages.PROTOCOL_HASH
    host.port.close()


def test_a_port_that_is_closed_and_opened_again_answers(emulator):
    for _ in range(3):
        host = open_host(emulator)
        wait_for(lambda host=host: any(isinstance(m, messages.State) for m in host.run(10)), "a state")
        host.port.close()


def test_an_unplugged_board_comes_back_under_its_link(emulator):
    before = os.path.realpath(emulator.link)
    host = open_host(emulator)
    # another pseudo-terminal takes the name, so that the board returns under a new one
    emulator.stdin.write("unplug 0.2\n")
    emulator.stdin.flush()
    wait_for(lambda: not os.path.lexists(emulator.link), "the link to go")
    with pytest.raises(serial.SerialException):
        wait_for(lambda: host.port.read() is None, "the port to fail")
    wait_for(emulator.link.exists, f"a link again after {before}")
    host.port.close()
    host = open_host(emulator)
    wait_for(lambda: any(isinstance(m, messages.State) for m in host.run(10)), "a state")
    host.port.close()


@pytest.mark.parametrize("how", ["falls silent", "closes the port"])
def test_the_arm_comes_to_rest_when_its_host_goes(emulator, how):
    host = open_host(emulator)
    host.sequence = 100
    for joint in range(3):
        request(host, messages.JointConfiguration(joint=joint, lower=-2.6, upper=2.6, acceleration=8.0))
    # generous, as the test may be held up; what counts is what comes after the silence
    request(host, messages.BoardConfiguration(command_silence=500))
    request(host, messages.SetMode(mode=Mode.TRACK))

    def clock_came():
        host.send(messages.SynchroniseClock(token=1))
        return any(isinstance(m, messages.Clock) for m in host.run(10))

    wait_for(clock_came, "the board's clock")
    start = host.last(messages.Clock).time * 1e-6 + 0.3
    path = steady(HOME, (1.2, 0.0, 0.0))
    for k in range(32):
        position, velocity = path(k / 20)
        time_us = round((start + k / 20) * 1e6)
        host.send(messages.Setpoint(time=time_us, position=position, velocity=velocity))
    wait_for(lambda: any(abs(row["v0"]) > 0.6 for row in rows(emulator)), "motion")
    if how == "closes the port":
        host.port.close()
    wait_for(lambda: rows(emulator)[-1]["mode"] == Mode.FAULT and rows(emulator)[-1]["v0"] == 0.0, "rest after a fault")
    seen = rows(emulator)
    assert seen[-1]["fault"] == Fault.COMMAND_SILENCE
    # in the plant's own time: from the fault to rest no longer than the brake
    fault = next(row["time"] for row in seen if row["mode"] == Mode.FAULT)
    rest = next(row["time"] for row in seen if row["time"] >= fault and row["v0"] == 0.0)
    assert rest - fault <= 1.2 / 8.0 + 0.1
    if how != "closes the port":
        host.port.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--start", "1,2"], "--start 1,2: expected three angles in rad, separated by commas"),
        (["--colour", "red"], "--colour: unknown option"),
        (["--arm-file", "/nowhere"], "cannot read the arm file /nowhere"),
        (["--link"], "--link: unknown, or its value is missing"),
    ],
)
def test_a_wrong_argument_is_named(build_folder, arguments, message):
    done = subprocess.run([str(build_folder / "manipulator3d_emulator"), *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_wrong_arm_file_is_named(build_folder, tmp_path):
    path = tmp_path / "arm"
    path.write_text("forearm=long\n")
    command = [str(build_folder / "manipulator3d_emulator"), "--arm-file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "forearm=long is not a list of finite numbers" in done.stderr
