# SPDX-License-Identifier: Apache-2.0
"""Makes messages, and lines to read, of the bytes that went over the serial line in both directions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import Enum, IntEnum
from typing import Any

from manipulator3d_hw_bridge.frame_codec import FrameDecoder
from manipulator3d_hw_bridge.messages import MESSAGES, Fault, Flag, HomeStep, Message, Mode, Reason, ResetCause

_DELIMITER = b"\0"
# bytes of a bad piece that are kept
_KEPT_BYTES = 64
_NAMES: dict[str, type[IntEnum]] = {
    "mode": Mode,
    "fault": Fault,
    "reason": Reason,
    "step": HomeStep,
    "reset_cause": ResetCause,
}


class Direction(Enum):
    """Way of a frame; the numbers are those of manipulator3d_interfaces/msg/LinkTraffic."""

    TO_BOARD = 0
    FROM_BOARD = 1


@dataclass(frozen=True)
class Passage:
    """One frame, or what should have been one.

    Attributes:
        direction: way of it.
        message: what it says; None for a bad one.
        sequence: its number; of a bad one 0.
        data: bytes of a bad one, at most 64, without the delimiter; else empty.
    """

    direction: Direction
    message: Message | None
    sequence: int = 0
    data: bytes = b""


class TrafficReader:
    """Decodes the bytes of both directions; the first piece of each may be the end of a frame."""

    def __init__(self) -> None:
        self.decoders = {direction: FrameDecoder() for direction in Direction}
        self._pieces = {direction: b"" for direction in Direction}
        for decoder in self.decoders.values():
            decoder.restart()

    def feed(self, direction: Direction, data: bytes) -> list[Passage]:
        """Return the frames that are complete with these bytes, bad ones among them."""
        decoder = self.decoders[direction]
        passages = []
        *complete, rest = data.split(_DELIMITER)
        for part in complete:
            piece = self._pieces[direction] + part
            self._pieces[direction] = b""
            bad = decoder.bad
            passages += [Passage(direction, frame.message, frame.sequence) for frame in decoder.feed(part + _DELIMITER)]
            if decoder.bad > bad:
                passages.append(Passage(direction, None, data=piece[:_KEPT_BYTES]))
        decoder.feed(rest)
        self._pieces[direction] = (self._pieces[direction] + rest)[:_KEPT_BYTES]
        return passages


def field_values(message: Message) -> dict[str, Any]:
    """Return the fields of a message; numbers that stand for a name are the name, flags a list of names."""
    return {one.name: _named(one.name, getattr(message, one.name)) for one in fields(message)}  # type: ignore[arg-type]


def field_units(message: Message) -> dict[str, str]:
    """Return the units of those fields that have one."""
    units = {one.name: one.metadata["unit"] for one in fields(message)}  # type: ignore[arg-type]
    return {name: unit for name, unit in units.items() if unit}


def passage_text(passage: Passage) -> str:
    """Return a frame as one line: direction, message, sequence number, fields with units."""
    arrow = "host  → board" if passage.direction is Direction.TO_BOARD else "board → host "
    message = passage.message
    if message is None:
        shown = passage.data.hex(" ") + (" …" if len(passage.data) == _KEPT_BYTES else "")
        return f"{arrow}  bad frame: {shown}"
    parts = []
    for one in fields(message):  # type: ignore[arg-type]
        value = getattr(message, one.name)
        items = value if isinstance(value, tuple) else (value,)
        named = _named(one.name, value)
        if named != value:
            text = " ".join(named) if isinstance(named, list) else str(named)
        else:
            text = " ".join(_number(item, one.metadata["steps"]) for item in items)
        parts.append(" ".join(word for word in (one.name, text or "-", one.metadata["unit"]) if word))
    return "  ".join([arrow, f"{type(message).__name__:18s} {passage.sequence:3d}", *parts])


def _named(name: str, value: Any) -> Any:
    if name == "flags":
        return [flag.name for flag in Flag if value & flag]
    if name == "protocol":
        return f"{value:08x}"  # as docs/protocol.md writes it
    if name == "message":
        return MESSAGES[value].__name__ if value in MESSAGES else value
    if name in _NAMES and value in list(_NAMES[name]):
        return _NAMES[name](value).name
    return value


def _number(value: float, steps: float | None) -> str:
    """Return a number with the digits that the wire carries."""
    return str(value) if steps is None else f"{value:.{max(0, math.ceil(math.log10(steps)))}f}"


def message_names() -> Iterable[str]:
    """Return the names of all messages."""
    return [kind.__name__ for kind in MESSAGES.values()]
