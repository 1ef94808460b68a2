# SPDX-License-Identifier: Apache-2.0
"""What the plots show: the last seconds of tracking error, joint velocity and line load."""

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

# s; the slowest stream that the motion server sends has a period of 0.1
_LONGEST_STEP = 0.15


class CommandTrack:
    """The commanded positions of the last seconds, to compare measurements with.

    Args:
        duration: s that are kept.
    """

    def __init__(self, duration: float = 2.0) -> None:
        self._duration = duration
        self._commands: deque[tuple[float, dict[str, float]]] = deque()

    def add(self, stamp: float, positions: Mapping[str, float]) -> None:
        """Take a command in: `stamp` s, the time at which it applies; positions rad by joint name."""
        if self._commands and stamp <= self._commands[-1][0]:
            # the stream has begun anew, perhaps in another clock
            self._commands.clear()
        self._commands.append((stamp, dict(positions)))
        while stamp - self._commands[0][0] > self._duration:
            self._commands.popleft()

    def clear(self) -> None:
        """Forget all."""
        self._commands.clear()

    def errors(self, stamp: float, measured: Mapping[str, float]) -> dict[str, float]:
        """Give measured less commanded position, rad, for the time of a measurement.

        Between two commands the straight line counts; outside of what is known, and where commands are missing,
        nothing is given.
        """
        if len(self._commands) < 2 or not self._commands[0][0] <= stamp <= self._commands[-1][0]:
            return {}
        (t0, before), (t1, after) = next(
            pair for pair in zip(self._commands, list(self._commands)[1:], strict=False) if stamp <= pair[1][0]
        )
        if t1 - t0 > _LONGEST_STEP:
            return {}
        share = (stamp - t0) / (t1 - t0)
        return {
            name: position - (before[name] + share * (after[name] - before[name]))
            for name, position in measured.items()
            if name in before and name in after
        }


class History:
    """The last seconds of some figures that belong together.

    Args:
        duration: s that are kept.
    """

    def __init__(self, duration: float) -> None:
        self._duration = duration
        self._rows: deque[tuple[float, tuple[float, ...]]] = deque()

    def add(self, time: float, row: Sequence[float]) -> None:
        """Take figures in; NaN leaves a gap; `time` in s."""
        self._rows.append((time, tuple(row)))
        while time - self._rows[0][0] > self._duration:
            self._rows.popleft()

    def columns(self, count: int, now: float) -> tuple[np.ndarray, ...]:
        """Give times before `now`, s, then the columns; rows of another length than `count` are left out."""
        rows = [(time - now, *row) for time, row in self._rows if len(row) == count]
        table = np.array(rows, dtype=np.float64).reshape(-1, count + 1)
        return tuple(np.ascontiguousarray(column) for column in table.T)
