# SPDX-License-Identifier: Apache-2.0
"""The same vectors through the board's binary, the core on this computer, and Python."""

import binascii
import itertools
import json
import random

import pytest
from cobs import cobs
from firmware_build import FIRMWARE
from virtual_board import HOME, decode, joint_configuration

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Mode

GOLDEN = json.loads((FIRMWARE / "protocol/golden_frames.json").read_text())
# What the board sends by itself, or with its time.
UNASKED = (messages.State, messages.Report, messages.Health, messages.Clock, messages.Identity)
GAIN = 12.0
# Time in s, then position from HOME in rad and velocity in rad/s of each joint; no polynomial passes through all.
KNOTS = [
    (0.00, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    (0.04, (0.004, -0.003, 0.006), (0.31, -0.22, 0.4)),
    (0.11, (0.03, -0.021, 0.03), (0.27, -0.33, 0.11)),
    (0.12, (0.0325, -0.0243, 0.0309), (0.22, -0.31, 0.07)),
    (0.25, (0.018, -0.03, 0.001), (-0.3, 0.2, -0.2)),
    (0.37, (-0.01, -0.005, -0.004), (0.0, 0.0, 0.0)),
]


def at(joint, time):
    """Commanded way of a joint from HOME by the Hermite basis."""
    if time <= 0.0:
        return 0.0
    for (t0, p0, v0), (t1, p1, v1) in itertools.pairwise(KNOTS):
        if time <= t1:
            h, s = t1 - t0, (time - t0) / (t1 - t0)
            first = (1 + 2 * s) * (1 - s) ** 2 * p0[joint] + s * (1 - s) ** 2 * h * v0[joint]
            return first + s * s * (3 - 2 * s) * p1[joint] - s * s * (1 - s) * h * v1[joint]
    return KNOTS[-1][1][joint]


def blocked_drives(host, **gains):
    """Drives each ms of joints that cannot move: these tell the controller nothing, so what it gives is calculated.

    Joint 0 has the proportional gain alone, and shows when the motion begins.
    """
    zero = {"integral": 0.0, "derivative": 0.0, "velocity_feedforward": 0.0, "acceleration_feedforward": 0.0}
    zero |= {"proportional": GAIN, "deadband": 0.0, "tracking_error": 1.0, "stall_time": 10000, "slew": 1000}
    host.configure(**zero)
    for joint in (1, 2):
        host.do(joint_configuration(joint, **(zero | gains)))
    for joint in range(3):
        host.port.command(f"stuck {joint} 1")
    host.run(2)
    host.do(messages.SetHere(joints=7, position=HOME))
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(40)
    host.do(messages.SetMode(mode=Mode.TRACK))
    host.run_alive(20)
    # whole ms of the board's clock, so that no rounding of the time comes in
    begin_us = host.state.time + 80_000
    for time, way, velocity in KNOTS:
        position = tuple(a + b for a, b in zip(HOME, way, strict=True))
        host.send(messages.Setpoint(time=begin_us + round(time * 1e6), position=position, velocity=velocity))
    drives = []
    for ms in range(600):
        if ms % 20 == 0:
            host.send(messages.SynchroniseClock(token=0))
        host.run(1)
        drives.append(tuple(round(drive * 800) for drive in host.port.observe().drive))
    assert host.state.mode == Mode.TRACK
    assert not [m for m in host.received if isinstance(m, messages.Refuse)]
    # from the first change, in the plant's own time, and as long as the knots last
    first = next(index for index, row in enumerate(drives) if abs(row[0]) > 3)
    return drives[first : first + 360]


def test_setpoints_and_controller_give_the_same_drives_in_binary_and_emulated_board(make_host, make_avr_host):
    gains = {"proportional": 23.0, "slew": 300, "drive_limit": 0.7}
    emulated, binary = blocked_drives(make_host(homed=False), **gains), blocked_drives(make_avr_host(), **gains)
    assert max(max(map(abs, row)) for row in emulated) == 560
    assert binary == emulated


def test_feed_forward_and_integral_are_the_same_in_binary_and_emulated_board(make_host, make_avr_host):
    gains = {"proportional": 5.0, "velocity_feedforward": 0.9, "acceleration_feedforward": 0.02, "deadband": 0.06}
    gains["integral"] = 40.0
    emulated, binary = blocked_drives(make_host(homed=False), **gains), blocked_drives(make_avr_host(), **gains)
    assert [row[0] for row in binary] == [row[0] for row in emulated]
    for joint in (1, 2):
        assert max(abs(row[joint]) for row in emulated) > 200
        # the joints take turns of four ticks in looking ahead, and their turn is not the same in both
        differences = []
        for k in range(5, 350):
            near = [row[joint] for row in emulated[k - 4 : k + 5]]
            differences.append(max(min(near) - binary[k][joint], binary[k][joint] - max(near), 0))
        assert sum(differences) / len(differences) < 1.0
        assert max(differences) < 60


def test_the_drives_are_those_of_the_hermite_curve(make_host):
    drives = blocked_drives(make_host(homed=False))
    expected = [[800 * GAIN * at(joint, k * 1e-3) for joint in range(3)] for k in range(400)]
    first = next(index for index, row in enumerate(expected) if abs(row[0]) > 3.5)
    errors = [abs(a - b) for k in range(350 - first) for a, b in zip(drives[k], expected[first + k], strict=True)]
    assert max(max(map(abs, row)) for row in drives) > 250
    # half a count of 0.75 mrad, by which the place held is rounded, is 3.6 steps; a tick at 0.4 rad/s is 3.8
    assert max(errors) < 3.6 + 3.8 + 1.0


def answers(host, frames):
    """Answers of a board to frames, one after the other."""
    seen = []
    for frame in frames:
        host.port.write(frame)
        host.port.advance(12)
        data = host._rest + host.port.read()
        whole, _, host._rest = data.rpartition(b"\0")
        seen += [(sequence, m) for sequence, m in decode(whole) if not isinstance(m, UNASKED)]
    # the boards' own sequence numbers depend on how many states they have sent
    return [message for _, message in seen]


def frame_of(kind, sequence, payload):
    content = bytes([kind, sequence]) + payload
    crc = binascii.crc_hqx(content, messages.CRC_INITIAL)
    return cobs.encode(content + crc.to_bytes(2, "little")) + b"\0"


def test_golden_and_random_requests_have_the_same_answers_from_binary_and_emulated_board(make_host, make_avr_host):
    still = {"SetMode", "Home", "EmergencyStop", "Store"}
    frames = [
        bytes.fromhex(row["frame"])
        for row in GOLDEN
        if messages.MESSAGES[bytes.fromhex(row["frame"])[1]].FROM != "board" and row["message"] not in still
    ]
    numbers = random.Random(5)
    kinds = [messages.JointConfiguration, messages.BoardConfiguration, messages.ReadJoint, messages.ReadBoard]
    kinds += [messages.SetGripper, messages.SetHere, messages.Setpoint, messages.ResetFault]
    for k in range(250):
        kind = numbers.choice(kinds)
        payload = bytearray(numbers.randbytes(kind.SIZE + (numbers.random() < 0.05)))
        if kind is messages.JointConfiguration and numbers.random() < 0.7:
            # near enough to a sensible one to be taken now and then
            payload = bytearray(messages.JointConfiguration(joint=k % 3).pack())
            payload[numbers.randrange(1, kind.SIZE)] ^= 1 << numbers.randrange(8)
        frames.append(frame_of(kind.ID, k % 256, bytes(payload)))
    emulated, binary = answers(make_host(homed=False), frames), answers(make_avr_host(), frames)
    assert len(emulated) > 250
    assert sum(isinstance(m, messages.Acknowledge) for m in emulated) > 60
    assert {m.reason for m in emulated if isinstance(m, messages.Refuse)} >= {2, 3, 7}
    assert binary == emulated


@pytest.mark.parametrize("counts_per_radian", [1334.355, 97.3])
def test_setting_here_and_reading_back_is_rounding_to_the_nearest_count(make_host, counts_per_radian):
    host = make_host(homed=False)
    host.configure(
        counts_per_radian=counts_per_radian, proportional=1.0, integral=1.0, derivative=0.0, velocity_feedforward=0.0
    )
    for k in range(60):
        position = (-2.8 + 0.09 * k, -0.4 + 0.05 * k, 2.5 - 0.08 * k)
        host.do(messages.SetHere(joints=7, position=position))
        host.run(12)
        expected = tuple(round(p * counts_per_radian) / counts_per_radian for p in position)
        assert host.state.position == pytest.approx(expected, abs=2e-6)
