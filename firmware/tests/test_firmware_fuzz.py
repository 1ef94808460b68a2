# SPDX-License-Identifier: Apache-2.0
import ctypes

import hypothesis.strategies as st
from cobs import cobs
from firmware_build import FIRMWARE, run
from hypothesis import given, settings
from virtual_board import decode, encode

from manipulator3d_hw_bridge import messages

BYTES = 10_000_000


def test_random_and_mutated_bytes_do_the_firmware_no_harm(tmp_path):
    core = FIRMWARE / "manipulator3d_firmware/src"
    sources = [FIRMWARE / "tests/fuzz.cpp", *sorted((core / "core").glob("*.cpp"))]
    program = tmp_path / "fuzz"
    flags = ["-std=c++17", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{core}"]
    run(["g++", *flags, *map(str, sources), "-o", str(program)])
    assert int(run([str(program), str(BYTES)]).split()[0]) >= BYTES


@given(st.binary(max_size=80), st.integers(0, 255))
@settings(max_examples=200, deadline=None)
def test_python_and_the_firmware_decode_alike(library, noise, sequence):
    frame = encode(messages.SetGripper(closed=1), sequence)
    out = ctypes.create_string_buffer(messages.MAX_FRAME_BYTES)
    assert library.codec_round_trip(noise + b"\0" + frame, len(noise) + 1 + len(frame), out) == len(frame)
    assert next(decode(out.raw[: len(frame)])) == (sequence, messages.SetGripper(closed=1))


@given(st.binary(min_size=4, max_size=61))
@settings(max_examples=200, deadline=None)
def test_the_firmwares_encoder_is_cobs(library, content):
    out = ctypes.create_string_buffer(messages.MAX_FRAME_BYTES + 2)
    payload = content[4:]
    length = library.codec_encode(content[0], content[1], payload, len(payload), out)
    assert cobs.decode(out.raw[: length - 1])[2:-2] == payload
