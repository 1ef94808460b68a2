# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import subprocess
import sys

import pytest
from firmware_build import FIRMWARE
from virtual_board import decode, encode

from manipulator3d_hw_bridge import messages

GOLDEN = json.loads((FIRMWARE / "protocol/golden_frames.json").read_text())


def golden_id(row):
    return f"{row['message']}-{row['sequence']}"


def test_generated_files_are_up_to_date():
    generator = [sys.executable, str(FIRMWARE / "protocol/generate.py"), "--check"]
    done = subprocess.run(generator, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_message_has_golden_frames():
    assert {row["message"] for row in GOLDEN} == {kind.__name__ for kind in messages.MESSAGES.values()}


@pytest.mark.parametrize("row", GOLDEN, ids=golden_id)
def test_python_reads_and_writes_the_golden_frames(row):
    frame = bytes.fromhex(row["frame"])
    [(sequence, message)] = decode(frame)
    assert sequence == row["sequence"]
    assert type(message).__name__ == row["message"]
    for name, wire in row["wire"].items():
        field = type(message).__dataclass_fields__[name]
        steps = field.metadata["steps"] or 1
        value = getattr(message, name)
        if isinstance(wire, list):
            assert value == pytest.approx([w / steps for w in wire], abs=1e-12)
        else:
            assert value == pytest.approx(wire / steps, abs=1e-12)
    assert encode(message, sequence) == frame


@pytest.mark.parametrize("row", GOLDEN, ids=golden_id)
def test_the_firmware_reads_and_writes_the_golden_frames(library, row):
    frame = bytes.fromhex(row["frame"])
    out = ctypes.create_string_buffer(messages.MAX_FRAME_BYTES)
    length = library.codec_round_trip(frame, len(frame), out)
    assert out.raw[: max(length, 0)] == frame


def test_no_frame_is_longer_than_promised():
    assert max(len(bytes.fromhex(row["frame"])) for row in GOLDEN) <= messages.MAX_FRAME_BYTES


def test_a_value_out_of_bounds_is_named():
    with pytest.raises(ValueError, match=r"BoardConfiguration.command_silence: 5 is not within 20 to 2000 ms"):
        messages.BoardConfiguration(command_silence=5).pack()
    with pytest.raises(ValueError, match=r"Setpoint.position: nan is not within -8.38861 to 8.38861 rad"):
        messages.Setpoint(time=0, position=(0.0, float("nan"), 0.0), velocity=(0.0, 0.0, 0.0)).pack()
    with pytest.raises(ValueError, match=r"Setpoint.position: 2 values; give 3"):
        messages.Setpoint(time=0, position=(0.0, 0.0), velocity=(0.0, 0.0, 0.0)).pack()


def test_a_payload_of_the_wrong_length_is_named():
    with pytest.raises(ValueError, match="Clock: 7 bytes of payload instead of 8"):
        messages.Clock.unpack(bytes(7))


def test_both_directions_fit_the_line_at_100_and_at_200_hz():
    # bytes a second of a direction, with ten bits for a byte; a frame has six bytes beside its payload
    def load(state_hz):
        down = (messages.Setpoint.SIZE + 6) * state_hz + (messages.SynchroniseClock.SIZE + 6) * 10
        up = (messages.State.SIZE + 6) * state_hz + (messages.Clock.SIZE + 6) * 10
        up += (messages.Report.SIZE + 6) * 10 + messages.Health.SIZE + 6
        return max(down, up) * 10 / messages.BAUD

    assert load(100) <= 0.30
    assert load(200) <= 0.55
