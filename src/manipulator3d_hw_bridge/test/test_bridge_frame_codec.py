# SPDX-License-Identifier: Apache-2.0
import dataclasses
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.frame_codec import Frame, FrameDecoder, encode_frame
from manipulator3d_hw_bridge.messages import MAX_FRAME_BYTES, MESSAGES, Clock, State

GOLDEN = json.loads((Path(__file__).parents[3] / "firmware/protocol/golden_frames.json").read_text())


def message_of(row):
    """Make the message of a golden row from its wire values."""
    kind = getattr(messages, row["message"])
    values = {}
    for field in dataclasses.fields(kind):
        wire, steps = row["wire"][field.name], field.metadata["steps"]
        scaled = [item if steps is None else item / steps for item in (wire if isinstance(wire, list) else [wire])]
        values[field.name] = tuple(scaled) if isinstance(wire, list) else scaled[0]
    return kind(**values)


def state(number):
    zeros = (0.0, 0.0, 0.0)
    return State(time=number, position=(0.1, -0.2, 0.3), velocity=zeros, mode=1, fault=0, fault_joint=255, flags=15)


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row['message']}-{row['sequence']}")
def test_frames_are_those_that_both_sides_share(row):
    frame = bytes.fromhex(row["frame"])
    assert encode_frame(message_of(row), row["sequence"]) == frame
    (decoded,) = FrameDecoder().feed(frame)
    assert decoded.sequence == row["sequence"]
    assert decoded.message.pack() == message_of(row).pack()
    assert len(frame) <= MAX_FRAME_BYTES


@settings(max_examples=100, deadline=None, derandomize=True)
@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=200), noise=st.binary(max_size=80))
def test_frames_arrive_whole_however_the_bytes_are_cut(sizes, noise):
    stream = noise.replace(b"\0", b"") + b"\0" + b"".join(encode_frame(state(i), i) for i in range(20))
    decoder, found, position = FrameDecoder(), [], 0
    while position < len(stream):
        size = sizes[position % len(sizes)]
        found += decoder.feed(stream[position : position + size])
        position += size
    assert [frame.message.time for frame in found[-20:]] == list(range(20))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(place=st.integers(0, 10_000), change=st.integers(1, 255))
def test_one_bad_byte_costs_one_frame_at_most_two_when_it_hits_the_delimiter(place, change):
    frames = [encode_frame(state(1000 + i), i) for i in range(8)]
    stream = bytearray(b"".join(frames))
    place %= len(stream) - len(frames[-1]) - 1  # the last frame stays whole, and so does the delimiter before it
    delimiter_hit = stream[place] == 0
    stream[place] ^= change
    decoder = FrameDecoder()
    found = [frame.message.time for frame in decoder.feed(bytes(stream))]
    assert len(found) >= 8 - (2 if delimiter_hit else 1)
    assert set(found) <= {1000 + i for i in range(8)}
    assert found[-1] == 1007
    assert decoder.bad >= 1


def test_lost_frames_are_counted_across_the_wrap_of_the_sequence_number():
    decoder = FrameDecoder()
    for sequence in (253, 254, 1, 2):
        decoder.feed(encode_frame(state(0), sequence))
    assert decoder.lost == 2
    assert decoder.received == 4
    decoder.restart()
    decoder.feed(encode_frame(state(0), 77))
    assert decoder.lost == 2


@pytest.mark.parametrize(
    "piece",
    [b"\x01", b"\x02\x41", b"\x05abcd", b"\xff" * 62, b"a" * 5000, b"\x03\x99\x01\x03\x12\x34"],
)
def test_an_odd_piece_is_counted_and_skipped(piece):
    decoder = FrameDecoder()
    assert decoder.feed(piece + b"\0") == []
    assert decoder.bad == 1
    assert decoder.feed(encode_frame(Clock(token=7, time=8), 9)) == [Frame(Clock(token=7, time=8), 9)]


def test_the_end_of_a_frame_on_joining_a_line_is_no_bad_frame():
    decoder = FrameDecoder()
    decoder.restart()
    assert decoder.feed(encode_frame(state(1), 1)[5:] + encode_frame(state(2), 2))[0].message.time == 2
    assert decoder.bad == 0
    decoder.restart()
    assert decoder.feed(encode_frame(state(3), 3))[0].message.time == 3


def test_empty_pieces_are_nothing():
    decoder = FrameDecoder()
    assert decoder.feed(b"\0\0\0") == []
    assert decoder.bad == 0


def test_ten_million_random_bytes_give_no_more_frames_than_the_checksum_lets_through():
    generator, decoder = random.Random(1), FrameDecoder()
    for _ in range(2500):
        decoder.feed(generator.randbytes(4000))
    # 4e4 pieces, few of them with a known id and its length: chance lets 2^-16 of those through
    assert decoder.received <= 1
    assert decoder.feed(b"\0" + encode_frame(Clock(token=1, time=2), 3))[-1].message == Clock(token=1, time=2)


def test_mutated_frames_are_never_taken_for_others():
    generator, decoder = random.Random(2), FrameDecoder()
    wrong = 0
    for i in range(40_000):
        frame = bytearray(encode_frame(state(i), i))
        for _ in range(generator.randint(1, 3)):
            frame[generator.randrange(len(frame) - 1)] = generator.randint(1, 255)
        for found in decoder.feed(bytes(frame)):
            wrong += not (isinstance(found.message, State) and found.message == state(i))
    assert wrong <= 3  # CRC chance: 40 000 / 65 536
    assert decoder.feed(encode_frame(Clock(token=1, time=2), 3))[-1].message == Clock(token=1, time=2)


def test_every_message_has_room_in_a_frame():
    for kind in MESSAGES.values():
        assert kind.SIZE + 4 + 1 + 1 <= MAX_FRAME_BYTES


def test_a_field_out_of_bounds_is_not_sent():
    with pytest.raises(ValueError, match=r"State.position: nan is not within .* rad"):
        encode_frame(dataclasses.replace(state(0), position=(float("nan"), 0.0, 0.0)), 0)
