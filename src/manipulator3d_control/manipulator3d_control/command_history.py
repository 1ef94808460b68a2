# SPDX-License-Identifier: Apache-2.0
"""What was commanded when, to compare with what is measured."""

import threading
from collections import deque

import numpy as np

from manipulator3d_control.piecewise_polynomial import Array

_KEPT_S = 2.0
# commands further apart belong to two streams
_PAUSE_S = 0.2


class CommandHistory:
    """Commanded positions of the last seconds, by the time at which they apply; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._commands: deque[tuple[float, Array]] = deque()

    def add(self, time: float, position: Array) -> None:
        """Note a command; times grow."""
        with self._lock:
            self._commands.append((time, position))
            while self._commands[0][0] < time - _KEPT_S:
                self._commands.popleft()

    def clear(self) -> None:
        """Forget all commands."""
        with self._lock:
            self._commands.clear()

    def at(self, time: float) -> Array | None:
        """Commanded position at `time`, shape (3,), rad; after the last command it stays.

        None before the first, and in a pause between two streams, when the driver brakes the arm as it sees fit.
        """
        later: tuple[float, Array] | None = None
        with self._lock:
            commands = list(self._commands)
        for command in reversed(commands):
            if command[0] <= time:
                if later is None:
                    return command[1]
                if later[0] - command[0] > _PAUSE_S:
                    return None
                share = (time - command[0]) / (later[0] - command[0])
                return command[1] + (later[1] - command[1]) * share
            later = command
        return None

    def deviation(self, time: float, measured: Array) -> Array:
        """Measured minus commanded angles at `time`, shape (3,), rad; zero where nothing was commanded."""
        commanded = self.at(time)
        return np.zeros(3) if commanded is None else measured - commanded
