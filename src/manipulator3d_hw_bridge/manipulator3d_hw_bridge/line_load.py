# SPDX-License-Identifier: Apache-2.0
"""How much of the serial line's rate is used."""

import threading

from manipulator3d_hw_bridge.link_traffic import Direction

# a start bit, eight data bits and a stop bit
_BITS_PER_BYTE = 10


class LineLoad:
    """Counts the bytes of both directions; for several threads.

    Args:
        baud: of the line, 1/s.
        now: s.
    """

    def __init__(self, baud: int, now: float) -> None:
        self._baud = baud
        self._since = now
        self._lock = threading.Lock()
        self._bytes = dict.fromkeys(Direction, 0)

    def add(self, direction: Direction, count: int) -> None:
        """Count bytes that went over the line."""
        with self._lock:
            self._bytes[direction] += count

    def take(self, now: float) -> float:
        """Give the load of the busier direction since the last call, percent; each of both has a wire of its own."""
        with self._lock:
            busier = max(self._bytes.values())
            self._bytes = dict.fromkeys(Direction, 0)
            elapsed, self._since = now - self._since, now
        return 100.0 * _BITS_PER_BYTE * busier / (self._baud * elapsed) if elapsed > 0.0 else 0.0
