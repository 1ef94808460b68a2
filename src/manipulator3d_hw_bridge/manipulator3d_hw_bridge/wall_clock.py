# SPDX-License-Identifier: Apache-2.0
"""The clock of message stamps against the monotonic clock."""

import time
from collections.abc import Callable

# s; both clocks are slewed alike, so that a difference beyond this is a step of the wall clock.
_STEP = 1e-3


class WallClock:
    """Converts stamps to monotonic times and back with one offset, so that even stamps give even times.

    The two clocks cannot be read at once: this thread may be put aside in between. A reading therefore counts only when
    it contradicts the offset by more than the time that it took, which is when the wall clock has been set.

    Args:
        wall: the clock of the stamps, s.
        monotonic: s.
    """

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._monotonic = monotonic
        # Offset and doubt together, as two threads look.
        self._best = self._read()

    def to_monotonic(self, stamp: float) -> float:
        """Return the monotonic time of a stamp, s."""
        return stamp - self._offset()

    def to_stamp(self, monotonic: float) -> float:
        """Return the stamp of a monotonic time, s."""
        return monotonic + self._offset()

    def _offset(self) -> float:
        offset, doubt = self._best
        latest, latest_doubt = self._read()
        if abs(latest - offset) > doubt + latest_doubt + _STEP or latest_doubt < doubt:
            self._best = latest, latest_doubt
            return latest
        return offset

    def _read(self) -> tuple[float, float]:
        """Return the offset, and by how much it may be wrong."""
        before = self._monotonic()
        wall = self._wall()
        after = self._monotonic()
        return wall - (before + after) / 2.0, (after - before) / 2.0
