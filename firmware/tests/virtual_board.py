# SPDX-License-Identifier: Apache-2.0
"""The emulated board in virtual time, and a host that speaks with it: for tests and benchmarks."""

import binascii
import ctypes
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cobs import cobs

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Message

HOME = (0.0, 1.2, -1.6)
LOWER, UPPER = (-2.9, -0.5, -2.6), (2.9, 2.6, 2.6)
VELOCITY, ACCELERATION = (2.0, 1.5, 2.0), (8.0, 6.0, 8.0)

M = TypeVar("M", bound=Message)


class Observation(ctypes.Structure):
    """What only the plant knows; SI units."""

    _fields_ = [
        ("time", ctypes.c_double),
        ("position", ctypes.c_double * 3),
        ("velocity", ctypes.c_double * 3),
        ("drive", ctypes.c_double * 3),
        ("current", ctypes.c_double * 3),
        ("mode", ctypes.c_int32),
        ("fault", ctypes.c_int32),
        ("fault_joint", ctypes.c_int32),
        ("known", ctypes.c_int32),
        ("gripper_pulse_us", ctypes.c_int32),
        ("powered", ctypes.c_int32),
    ]


def encode(message: Message, sequence: int) -> bytes:
    """Return a frame."""
    content = bytes([message.ID, sequence]) + message.pack()
    crc = binascii.crc_hqx(content, messages.CRC_INITIAL)
    return cobs.encode(content + crc.to_bytes(2, "little")) + b"\0"


def decode(data: bytes) -> Iterator[tuple[int, Message]]:
    """Give sequence number and message of each frame; anything invalid raises."""
    for part in data.split(b"\0"):
        if part:
            content = cobs.decode(part)
            assert binascii.crc_hqx(content[:-2], messages.CRC_INITIAL) == int.from_bytes(content[-2:], "little")
            yield content[1], messages.MESSAGES[content[0]].unpack(content[2:-2])


def load(folder: Path) -> ctypes.CDLL:
    """Load the emulated board from a build folder."""
    library = ctypes.CDLL(str(folder / "libmanipulator3d_virtual_board.so"))
    library.emulator_create.restype = ctypes.c_void_p
    library.emulator_read.restype = ctypes.c_size_t
    for name in ("destroy", "write", "read", "advance", "command", "observe"):
        getattr(library, f"emulator_{name}").argtypes = {
            "destroy": [ctypes.c_void_p],
            "write": [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t],
            "read": [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t],
            "advance": [ctypes.c_void_p, ctypes.c_uint32],
            "command": [ctypes.c_void_p, ctypes.c_char_p],
            "observe": [ctypes.c_void_p, ctypes.POINTER(Observation)],
        }[name]
    return library


class EmulatedPort:
    """Bytes and milliseconds of an emulated board."""

    def __init__(self, library: ctypes.CDLL, start: Sequence[float] = HOME, homed: bool = True, arm: str = "") -> None:
        self._library = library
        self._board = library.emulator_create(arm.encode(), (ctypes.c_double * 3)(*start), int(homed))
        assert self._board, "the emulator refused the arm"

    def close(self) -> None:
        """Free the board."""
        self._library.emulator_destroy(self._board)

    def write(self, data: bytes) -> None:
        """Send bytes to the board."""
        self._library.emulator_write(self._board, data, len(data))

    def read(self) -> bytes:
        """Return the bytes that have come."""
        buffer = ctypes.create_string_buffer(4096)
        count = self._library.emulator_read(self._board, buffer, 4096)
        return buffer.raw[:count]

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self._library.emulator_advance(self._board, ms)

    def command(self, text: str) -> None:
        """Inject a fault."""
        assert self._library.emulator_command(self._board, text.encode()), text

    def observe(self) -> Observation:
        """Look at the plant."""
        seen = Observation()
        self._library.emulator_observe(self._board, ctypes.byref(seen))
        return seen


def load_avr(folder: Path) -> ctypes.CDLL:
    """Load the simulator of the board's binary from a build folder."""
    library = ctypes.CDLL(str(folder / "libmanipulator3d_avr_board.so"))
    library.avr_board_create.restype = ctypes.c_void_p
    library.avr_board_read.restype = ctypes.c_size_t
    library.avr_board_encoder_counts.restype = ctypes.c_int64
    board = ctypes.c_void_p
    for name, arguments in {
        "destroy": [board], "clear_costs": [board],
        "write": [board, ctypes.c_char_p, ctypes.c_size_t], "read": [board, ctypes.c_char_p, ctypes.c_size_t],
        "advance": [board, ctypes.c_uint32], "advance_us": [board, ctypes.c_uint32],
        "command": [board, ctypes.c_char_p],
        "observe": [board, ctypes.POINTER(Observation)], "spin": [board, ctypes.POINTER(ctypes.c_double)],
        "encoder_counts": [board, ctypes.c_int], "cost": [board, ctypes.c_int, ctypes.POINTER(ctypes.c_uint64)],
        "watch_function": [board, ctypes.c_uint32], "function_cost": [board, ctypes.POINTER(ctypes.c_uint64)],
    }.items():  # fmt: skip
        getattr(library, f"avr_board_{name}").argtypes = arguments
    return library


class AvrPort:
    """Bytes and milliseconds of the board's own binary in simavr."""

    # Interrupt vectors of the ATmega2560.
    ENCODERS, CONTROL, RECEIVE, TRANSMIT = range(1, 7), 17, 25, 26

    def __init__(self, library: ctypes.CDLL, elf: Path, start: Sequence[float] = HOME, arm: str = "") -> None:
        self._library = library
        self._board = library.avr_board_create(str(elf).encode(), arm.encode(), (ctypes.c_double * 3)(*start))
        assert self._board, f"simavr refused {elf}"

    def close(self) -> None:
        """Free the board."""
        self._library.avr_board_destroy(self._board)

    def write(self, data: bytes) -> None:
        """Send bytes to the board."""
        self._library.avr_board_write(self._board, data, len(data))

    def read(self) -> bytes:
        """Return the bytes that have come."""
        buffer = ctypes.create_string_buffer(4096)
        count = self._library.avr_board_read(self._board, buffer, 4096)
        return buffer.raw[:count]

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self._library.avr_board_advance(self._board, ms)

    def advance_us(self, us: int) -> None:
        """Let microseconds pass."""
        self._library.avr_board_advance_us(self._board, us)

    def command(self, text: str) -> None:
        """Inject a fault."""
        assert self._library.avr_board_command(self._board, text.encode()), text

    def observe(self) -> Observation:
        """Look at the plant."""
        seen = Observation()
        self._library.avr_board_observe(self._board, ctypes.byref(seen))
        return seen

    def spin(self, rates: Sequence[float]) -> None:
        """Turn the encoders at rates in counts a second, from now on whatever the plant does."""
        self._library.avr_board_spin(self._board, (ctypes.c_double * 3)(*rates))

    def encoder_counts(self, joint: int) -> int:
        """Return how far an encoder has turned since the start."""
        return int(self._library.avr_board_encoder_counts(self._board, joint))

    def cost(self, vector: int) -> tuple[int, int, int, int]:
        """Return number, total, least and most cycles of an interrupt since clear_costs()."""
        out = (ctypes.c_uint64 * 4)()
        self._library.avr_board_cost(self._board, vector, out)
        return (out[0], out[1], out[2], out[3])

    def watch_function(self, address: int) -> None:
        """Count what the function at an address of the flash costs; slow; 0 ends that."""
        self._library.avr_board_watch_function(self._board, address)

    def function_cost(self) -> tuple[int, int, int, int]:
        """Return number, total, least and most cycles of the watched function, without interrupts."""
        out = (ctypes.c_uint64 * 4)()
        self._library.avr_board_function_cost(self._board, out)
        return (out[0], out[1], out[2], out[3])

    def clear_costs(self) -> None:
        """Begin to count cycles anew."""
        self._library.avr_board_clear_costs(self._board)


class Host:
    """Sends messages and keeps what comes back.

    Args:
        port: with `write`, `read` and `advance`, such as EmulatedPort.
        joins_late: the first bytes may belong to a frame whose beginning was missed.
    """

    def __init__(self, port: Any, joins_late: bool = False) -> None:
        self.port = port
        self.sequence = 0
        self.received: list[Message] = []
        self._rest = b""
        self._joining = joins_late

    def rejoin(self) -> None:
        """Expect that a frame is cut off, as by a restart of the board."""
        self._joining = True

    def send(self, message: Message) -> int:
        """Send a message and return its sequence number."""
        used = self.sequence
        self.port.write(encode(message, used))
        self.sequence = (used + 1) % 256
        return used

    def run(self, ms: int) -> list[Message]:
        """Let time pass and return the messages of that time."""
        self.port.advance(ms)
        data = self._rest + self.port.read()
        if self._joining and b"\0" in data:
            data = data.partition(b"\0")[2]
            self._joining = False
        whole, _, self._rest = data.rpartition(b"\0")
        new = [message for _, message in decode(whole)]
        self.received += new
        return new

    def run_alive(self, ms: int) -> list[Message]:
        """Let time pass while the host shows that it is there."""
        new = []
        for _ in range(0, ms, 20):
            self.send(messages.SynchroniseClock(token=0))
            new += self.run(20)
        return new

    def last(self, kind: type[M]) -> M:
        """Return the newest message of a kind."""
        return next(message for message in reversed(self.received) if isinstance(message, kind))

    def request(self, message: Message, ms: int = 60) -> messages.Acknowledge | messages.Refuse:
        """Send a request and return its answer."""
        used = self.send(message)
        for _ in range(ms):
            for new in self.run(1):
                if isinstance(new, messages.Acknowledge | messages.Refuse) and new.sequence == used:
                    return new
        raise AssertionError(f"no answer to {message} after {ms} ms")

    def do(self, message: Message) -> None:
        """Send a request that must be carried out."""
        answer = self.request(message)
        assert isinstance(answer, messages.Acknowledge), (
            f"{message} refused: {messages.Reason(answer.reason).name}, joint {answer.joint}"
        )

    def refused(self, message: Message) -> messages.Reason:
        """Send a request that must be refused; return why."""
        answer = self.request(message)
        assert isinstance(answer, messages.Refuse), f"{message} was carried out"
        return messages.Reason(answer.reason)

    def configure(self, board: messages.BoardConfiguration | None = None, **changes: Any) -> None:
        """Send the configuration of the default arm with some changes for all joints."""
        for joint in range(3):
            self.do(joint_configuration(joint, **changes))
        self.do(board or messages.BoardConfiguration())

    @property
    def state(self) -> messages.State:
        """The newest state."""
        return self.last(messages.State)

    def follow(
        self,
        path: Callable[[float], tuple[Sequence[float], Sequence[float]]],
        duration: float,
        lead: float = 0.1,
        each: Callable[[float, Observation], None] | None = None,
    ) -> None:
        """Send setpoints of a path (time → positions, velocities) at 100 Hz, `lead` s ahead, until it is done."""
        self.run(1)
        start = self.port_time() + lead
        count = round(duration * 100) + 1
        for k in range(count + round(lead * 100)):
            if k < count:
                position, velocity = path(k / 100)
                time = round((start + k / 100) * 1e6) % (1 << 32)
                self.send(messages.Setpoint(time=time, position=tuple(position), velocity=tuple(velocity)))
            else:
                self.send(messages.SynchroniseClock(token=0))
            for _ in range(10):
                self.run(1)
                if each is not None:
                    seen = self.port.observe()
                    each(seen.time - start, seen)

    def port_time(self) -> float:
        """Board time in s, asked over the line."""
        self.send(messages.SynchroniseClock(token=7))
        self.run(5)
        return self.last(messages.Clock).time * 1e-6 + 0.003


def joint_configuration(joint: int, **changes: Any) -> messages.JointConfiguration:
    """Return the configuration of a joint of the default arm."""
    values = {
        "joint": joint, "lower": LOWER[joint], "upper": UPPER[joint], "velocity": VELOCITY[joint],
        "acceleration": ACCELERATION[joint], "home_position": LOWER[joint],
    } | changes  # fmt: skip
    return messages.JointConfiguration(**values)
