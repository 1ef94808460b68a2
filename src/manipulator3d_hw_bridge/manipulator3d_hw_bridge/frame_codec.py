# SPDX-License-Identifier: Apache-2.0
"""Frames on the wire: COBS(id, sequence, payload, CRC-16) and a zero byte.

COBS leaves no zero in a frame, so that a zero always ends one: a bad byte costs the frame it is in, never the next.
"""

import binascii
from dataclasses import dataclass

from cobs import cobs

from manipulator3d_hw_bridge.messages import CRC_INITIAL, MAX_FRAME_BYTES, MESSAGES, Message

_DELIMITER = b"\0"
# id, sequence number and CRC.
_OVERHEAD = 4


@dataclass(frozen=True)
class Frame:
    """A received message with its sequence number."""

    message: Message
    sequence: int


def encode_frame(message: Message, sequence: int) -> bytes:
    """Return the bytes of a message on the wire.

    Args:
        message: with fields within their bounds.
        sequence: taken modulo 256.

    Raises:
        ValueError: a field is out of its bounds; names it.
    """
    body = bytes((message.ID, sequence & 0xFF)) + message.pack()
    return cobs.encode(body + binascii.crc_hqx(body, CRC_INITIAL).to_bytes(2, "little")) + _DELIMITER


class FrameDecoder:
    """Finds messages in a stream of bytes.

    Attributes:
        received: messages found.
        bad: pieces between two delimiters that were no message: a wrong checksum or length, an unknown id.
        lost: gaps in the sender's sequence numbers.
    """

    def __init__(self) -> None:
        self.received = 0
        self.bad = 0
        self.lost = 0
        self._piece = bytearray()
        self._too_long = False
        self._sequence: int | None = None
        self._joining = False

    def feed(self, data: bytes) -> list[Frame]:
        """Return the messages that are complete with these bytes."""
        frames = []
        *complete, rest = data.split(_DELIMITER)
        for part in complete:
            self._append(part)
            frame = self._finish()
            if frame is not None:
                frames.append(frame)
        self._append(rest)
        return frames

    def restart(self) -> None:
        """Forget what came before, as when joining a line in mid-frame; the counters stay.

        The first piece may be the end of a frame, and counts only when it is a whole one.
        """
        self._piece.clear()
        self._too_long = False
        self._sequence = None
        self._joining = True

    def _append(self, part: bytes) -> None:
        if self._too_long or len(self._piece) + len(part) >= MAX_FRAME_BYTES:
            self._too_long = self._too_long or bool(part)
            self._piece.clear()
        else:
            self._piece += part

    def _finish(self) -> Frame | None:
        piece, too_long = bytes(self._piece), self._too_long
        self._piece.clear()
        self._too_long = False
        if not piece and not too_long:
            return None  # two delimiters in a row are no frame
        frame = None if too_long else _decode(piece)
        joining, self._joining = self._joining, False
        if frame is None:
            self.bad += not joining
            return None
        if self._sequence is not None:
            self.lost += (frame.sequence - self._sequence - 1) % 256
        self._sequence = frame.sequence
        self.received += 1
        return frame


def _decode(piece: bytes) -> Frame | None:
    try:
        body = cobs.decode(piece)
    except cobs.DecodeError:
        return None
    if len(body) < _OVERHEAD:
        return None
    content, checksum = body[:-2], int.from_bytes(body[-2:], "little")
    kind = MESSAGES.get(content[0])
    if kind is None or len(content) - 2 != kind.SIZE or binascii.crc_hqx(content, CRC_INITIAL) != checksum:
        return None
    return Frame(kind.unpack(content[2:]), content[1])
