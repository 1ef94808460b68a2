# SPDX-License-Identifier: Apache-2.0
"""Frames on the wire: COBS(id, sequence, payload, CRC-16) and a zero byte.

COBS leaves no zero in a frame, so that a zero always ends one: a bad byte costs the frame it is in, never the next.
"""

import binascii
from typing import NamedTuple

from cobs import cobs

from manipulator3d_hw_bridge.messages import CRC_INITIAL, MAX_FRAME_BYTES, MESSAGES, Message

# looked up once instead of for each of several hundred frames a second
_unstuff, _crc = cobs.decode, binascii.crc_hqx
_DELIMITER = b"\0"
# id, sequence number and CRC.
_OVERHEAD = 4


class Frame(NamedTuple):
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
        self._piece = b""
        self._expected: int | None = None
        self._joining = False

    def feed(self, data: bytes) -> list[Frame]:
        """Return the messages that are complete with these bytes."""
        *complete, rest = (self._piece + data).split(_DELIMITER)
        # What is too long for a frame need not be kept, only that it is.
        self._piece = rest[:MAX_FRAME_BYTES]
        frames = []
        for piece in complete:
            if not piece:
                continue  # two delimiters in a row are no frame
            frame = _decode(piece) if len(piece) < MAX_FRAME_BYTES else None
            if frame is None:
                self.bad += not self._joining
            else:
                sequence = frame[1]
                if sequence != self._expected and self._expected is not None:
                    self.lost += (sequence - self._expected) & 0xFF
                self._expected = (sequence + 1) & 0xFF
                frames.append(frame)
            self._joining = False
        self.received += len(frames)
        return frames

    def restart(self) -> None:
        """Forget what came before, as when joining a line in mid-frame; the counters stay.

        The first piece may be the end of a frame, and counts only when it is a whole one.
        """
        self._piece = b""
        self._expected = None
        self._joining = True


def _decode(piece: bytes) -> Frame | None:
    try:
        body = _unstuff(piece)
    except cobs.DecodeError:
        return None
    if len(body) < _OVERHEAD:
        return None
    kind = MESSAGES.get(body[0])
    if kind is None or len(body) - _OVERHEAD != kind.SIZE:
        return None
    if _crc(body[:-2], CRC_INITIAL) != body[-2] | body[-1] << 8:
        return None
    # the way of a named tuple around its own, slower constructor
    return tuple.__new__(Frame, (kind.unpack(body[2:-2]), body[1]))
