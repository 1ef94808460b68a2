# SPDX-License-Identifier: Apache-2.0
"""The serial line: load, length of frames, time of the codec, and the round trip to an emulated board."""

import binascii
import importlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cobs import cobs

from benchmarks.kinematics import row
from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.board_settings import Wiring, board_settings
from manipulator3d_hw_bridge.board_status import LinkState
from manipulator3d_hw_bridge.emulator_process import find_emulator
from manipulator3d_hw_bridge.frame_codec import FrameDecoder, encode_frame
from manipulator3d_hw_bridge.messages import BAUD, CRC_INITIAL, MAX_FRAME_BYTES, MESSAGES
from manipulator3d_hw_bridge.serial_link import SerialLink
from manipulator3d_hw_bridge.session import Session
from manipulator3d_kinematics import ArmModel

_BITS_PER_BYTE = 10  # start, eight, stop
_HEAD_BYTES = 6  # id, sequence, CRC, COBS code and delimiter; a payload below 254 bytes takes no further code
_HOME = (0.0, 1.2, -1.6)
_MOTION_S = 4.0
_ROUNDS, _FRAMES, _TRIPS = 51, 200, 300
# A frame in 2 µs on a computer where COBS and CRC alone, the peer, take 0.4.
_CODEC_GOAL = 5.0


def rows() -> list[dict[str, Any]]:
    """Count what goes over the line, and measure the codec and the round trip."""
    return [*_load_rows(), *_codec_rows(), *_round_trip_rows()]


def _load_rows() -> list[dict[str, Any]]:
    longest = max(_frame_bytes(message) for message in MESSAGES.values())
    made = [row("longest frame", longest, "bytes", f"{MAX_FRAME_BYTES} bytes", longest / MAX_FRAME_BYTES, 1.0)]
    for rate, limit in ((100, 0.30), (200, 0.55)):
        for name, count in zip(("host to board", "board to host"), _bytes_per_second(rate), strict=True):
            load = count * _BITS_PER_BYTE / BAUD
            made.append(
                row(f"load {name} at {rate} Hz", 100 * load, "% of line", f"{100 * limit:g} %", load / limit, 1.0)
            )
    return made


def _bytes_per_second(rate: int) -> tuple[float, float]:
    """Return what goes each way between the bridge's session and the emulated board in motion, in virtual time."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "firmware/tests"))
    board = importlib.import_module("virtual_board")
    path = importlib.import_module("firmware_paths").rest_to_rest(_HOME, (0.6, 0.9, -1.2), _MOTION_S)
    port = board.EmulatedPort(board.load(find_emulator().parent))
    session = Session(board_settings(ArmModel.profile("capstone"), Wiring(), float(rate), 0.1))
    now, sent, received = 0.0, 0, 0

    def step() -> None:
        nonlocal now, sent, received
        session.advance(now)
        output = session.take_output()
        port.write(output)
        port.advance(1)
        now += 1e-3
        data = port.read()
        session.receive(now, data)
        sent, received = sent + len(output), received + len(data)

    session.link_opened(now, "virtual", 0.0)
    session.arm(now)
    while session.status.link is not LinkState.ARMED:
        step()
    for _ in range(100):
        step()
    began, start = now, now + 0.1
    sent = received = 0
    for number in range(round(_MOTION_S * rate)):
        refusal = session.motion.command(now, start + number / rate, *path(number / rate))
        if refusal:
            raise RuntimeError(f"the session refused a command: {refusal}")
        while now < began + (number + 1) / rate - 1e-9:
            step()
    port.close()
    return sent / _MOTION_S, received / _MOTION_S


def _frame_bytes(message: type[messages.Message]) -> int:
    return message.SIZE + _HEAD_BYTES


def _codec_rows() -> list[dict[str, Any]]:
    setpoint = messages.Setpoint(time=123456789, position=(0.1, 1.2, -1.6), velocity=(0.5, -0.25, 1.0))
    state = messages.State(
        time=123456789, position=(0.1, 1.2, -1.6), velocity=(0.5, -0.25, 1.0),
        mode=2, fault=0, fault_joint=255, flags=15,
    )  # fmt: skip
    body = bytes((setpoint.ID, 7)) + setpoint.pack()
    received = encode_frame(state, 7)
    decoder = FrameDecoder()
    work: dict[str, Callable[[], object]] = {
        "encode Setpoint": lambda: encode_frame(setpoint, 7),
        "decode State": lambda: decoder.feed(received),
        "encode, COBS and CRC alone": lambda: _bare_encode(body),
        "decode, COBS and CRC alone": lambda: _bare_decode(received),
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(_ROUNDS):
        for name, once in work.items():
            started = time.perf_counter()
            for _ in range(_FRAMES):
                once()
            times[name].append((time.perf_counter() - started) / _FRAMES * 1e6)
    median = {name: statistics.median(taken) for name, taken in times.items()}
    made = []
    for ours, bare in (
        ("encode Setpoint", "encode, COBS and CRC alone"),
        ("decode State", "decode, COBS and CRC alone"),
    ):
        # round by round, since both are slowed down alike when the computer is busy with something else
        ratio = statistics.median(a / b for a, b in zip(times[ours], times[bare], strict=True))
        made.append(row(ours, median[ours], "µs", "COBS and CRC alone", ratio, _CODEC_GOAL))
        made.append(row(bare, median[bare], "µs", "itself", 1.0, None))
    return made


def _bare_encode(body: bytes) -> bytes:
    return bytes(cobs.encode(body + binascii.crc_hqx(body, CRC_INITIAL).to_bytes(2, "little"))) + b"\0"


def _bare_decode(frame: bytes) -> bool:
    body = cobs.decode(frame[:-1])
    return binascii.crc_hqx(body[:-2], CRC_INITIAL) == int.from_bytes(body[-2:], "little")


def _round_trip_rows() -> list[dict[str, Any]]:
    """Clock exchanges with the emulated board, which takes and gives bytes as slowly as the line, once a ms."""
    with tempfile.TemporaryDirectory(prefix="manipulator3d-") as folder:
        port = str(Path(folder, "board"))
        process = subprocess.Popen(
            [find_emulator(), "--link", port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            process.stdout.readline()  # the port is there
            with SerialLink(port) as link:
                trips = sorted(_round_trip(link, token) for token in range(_TRIPS))
        finally:
            process.terminate()
            process.communicate()
    wire = 1e3 * (_frame_bytes(messages.SynchroniseClock) + _frame_bytes(messages.Clock)) * _BITS_PER_BYTE / BAUD
    return [
        row(f"round trip, p{percent}", trips[_TRIPS * percent // 100 - 1], "ms", "its bytes on the line",
            trips[_TRIPS * percent // 100 - 1] / wire, None)
        for percent in (50, 99)
    ]  # fmt: skip


def _round_trip(link: SerialLink, token: int) -> float:
    """Return the ms from a question to its answer."""
    decoder = FrameDecoder()
    decoder.restart()
    started = time.perf_counter()
    link.write(encode_frame(messages.SynchroniseClock(token=token), token))
    while True:
        for frame in decoder.feed(link.read(1.0)):
            if isinstance(frame.message, messages.Clock) and frame.message.token == token:
                return 1e3 * (time.perf_counter() - started)
        if time.perf_counter() > started + 5.0:
            raise RuntimeError(f"{link.port}: no answer to a clock exchange within 5 s")
