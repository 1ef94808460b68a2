# SPDX-License-Identifier: Apache-2.0
import binascii
import json
from pathlib import Path

import pytest
from cobs import cobs

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.link_traffic import (
    Direction,
    Passage,
    TrafficReader,
    field_units,
    field_values,
    passage_text,
)
from manipulator3d_hw_bridge.messages import Fault, Flag, HomeStep, Mode, Reason

TO, FROM = Direction.TO_BOARD, Direction.FROM_BOARD
GOLDEN = Path(__file__).resolve().parents[3] / "firmware" / "protocol" / "golden_frames.json"


def frame(message, sequence):
    body = bytes((message.ID, sequence)) + message.pack()
    return cobs.encode(body + binascii.crc_hqx(body, 0xFFFF).to_bytes(2, "little")) + b"\0"


CLOCK = messages.Clock(token=7, time=1_234_567)
GRIP = messages.SetGripper(closed=1)


def test_both_directions_are_decoded_apart_however_the_bytes_are_cut():
    reader = TrafficReader()
    up, down = frame(CLOCK, 3) + frame(CLOCK, 4), frame(GRIP, 200) + frame(GRIP, 201)
    seen = []
    for index in range(max(len(up), len(down))):
        seen += reader.feed(FROM, up[index : index + 1])
        seen += reader.feed(TO, down[index : index + 1])
    assert [one for one in seen if one.direction is FROM] == [Passage(FROM, CLOCK, 3), Passage(FROM, CLOCK, 4)]
    assert [one for one in seen if one.direction is TO] == [Passage(TO, GRIP, 200), Passage(TO, GRIP, 201)]


def test_a_bad_frame_is_shown_with_its_bytes_in_its_place():
    reader = TrafficReader()
    spoiled = bytearray(frame(CLOCK, 4))
    spoiled[5] ^= 0x10
    data = frame(CLOCK, 3) + bytes(spoiled) + frame(CLOCK, 5)
    seen = reader.feed(FROM, data[:20]) + reader.feed(FROM, data[20:])
    assert [one.message for one in seen] == [CLOCK, None, CLOCK]
    assert seen[1].data == bytes(spoiled[:-1])
    assert passage_text(seen[1]) == f"board → host   bad frame: {bytes(spoiled[:-1]).hex(' ')}"
    assert reader.decoders[FROM].bad == 1
    assert reader.decoders[FROM].lost == 1


def test_a_flood_without_an_end_is_one_bad_frame_of_bounded_length():
    reader = TrafficReader()
    reader.feed(FROM, frame(CLOCK, 3))
    for _ in range(1000):
        assert reader.feed(FROM, b"\x55" * 100) == []
    (seen,) = reader.feed(FROM, b"\0")
    assert seen.message is None
    assert seen.data == b"\x55" * 64
    assert passage_text(seen).endswith(" 55 …")


def test_the_rest_of_a_frame_whose_beginning_was_missed_is_no_bad_frame():
    reader = TrafficReader()
    assert reader.feed(FROM, frame(CLOCK, 3)[4:]) == []
    assert reader.feed(FROM, frame(CLOCK, 4)) == [Passage(FROM, CLOCK, 4)]
    assert reader.decoders[FROM].bad == 0


STATE = messages.State(
    time=5_000_001, position=(0.5, 1.2, -1.6), velocity=(0.25, 0.0, -2.0), mode=Mode.FAULT, fault=Fault.STALL,
    fault_joint=1, flags=int(Flag.HOMED_0 | Flag.DRIVEN),
)  # fmt: skip


@pytest.mark.parametrize(
    ("passage", "text"),
    [
        (
            Passage(FROM, STATE, 9),
            "board → host   State                9  time 5000001 µs  position 0.500000 1.200000 -1.600000 rad  "
            "velocity 0.250 0.000 -2.000 rad/s  mode FAULT  fault STALL  fault_joint 1  flags HOMED_0 DRIVEN",
        ),
        (Passage(TO, messages.SetMode(mode=Mode.TRACK), 17), "host  → board  SetMode             17  mode TRACK"),
        (
            Passage(FROM, messages.Refuse(message=8, sequence=17, reason=Reason.NOT_HOMED, joint=255), 255),
            "board → host   Refuse             255  message SetMode  sequence 17  reason NOT_HOMED  joint 255",
        ),
        (
            Passage(FROM, messages.HomeProgress(joint=2, step=HomeStep.BACK_OFF, position=0.1), 0),
            "board → host   HomeProgress         0  joint 2  step BACK_OFF  position 0.100000 rad",
        ),
        (
            Passage(FROM, messages.Report(drive=(0.5, -0.25, 0.0), queue_depth=15, gripper_pulse=1500), 1),
            "board → host   Report               1  drive 0.500 -0.250 0.000  queue_depth 15  gripper_pulse 1500 µs",
        ),
    ],
)
def test_a_line_names_message_number_fields_and_units(passage, text):
    assert passage_text(passage) == text


def test_numbers_that_stand_for_nothing_are_shown_as_they_are():
    odd = messages.Refuse(message=99, sequence=1, reason=77, joint=0)
    assert field_values(odd) == {"message": 99, "sequence": 1, "reason": 77, "joint": 0}
    identity = messages.Identity(
        protocol=0x0BCD1234, version_major=0, version_minor=1, version_patch=0, boot_count=3, time=1, reset_cause=9,
        stored=0,
    )  # fmt: skip
    assert (field_values(identity)["protocol"], field_values(identity)["reset_cause"]) == ("0bcd1234", 9)
    assert field_values(STATE)["flags"] == ["HOMED_0", "DRIVEN"]
    assert field_units(STATE) == {"time": "µs", "position": "rad", "velocity": "rad/s"}


def test_every_golden_frame_makes_a_line_with_all_its_fields():
    if not GOLDEN.is_file():
        pytest.skip("the golden frames are in the checkout alone")
    reader, shown = TrafficReader(), set()
    for entry in json.loads(GOLDEN.read_text()):
        (seen,) = reader.feed(FROM, bytes.fromhex(entry["frame"]))
        text = passage_text(seen)
        assert entry["message"] in text
        assert all(name in text for name in entry["wire"])
        shown.add(entry["message"])
    assert shown == {kind.__name__ for kind in messages.MESSAGES.values()}
