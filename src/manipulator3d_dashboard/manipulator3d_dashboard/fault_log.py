# SPDX-License-Identifier: Apache-2.0
"""The last faults and refusals with their remedy, newest first."""

import threading
from collections import deque

from manipulator3d_dashboard.markdown import escape
from manipulator3d_dashboard.state_text import code_name

_LENGTH = 20


class FaultLog:
    """Remembers what went wrong; a fault that is reported over and over stands in it once. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[str] = deque(maxlen=_LENGTH)
        self._standing: dict[str, tuple[int, str]] = {}

    def report(self, source: str, code: int, message: str, clock: str) -> bool:
        """Take a source's present fault, 0 for none.

        Returns:
            Whether the log has a new entry.
        """
        fault = (code, message)
        if fault == self._standing.get(source):
            return False
        self._standing[source] = fault
        if code == 0:
            return False
        self.add(f"{code_name(code)}: {message}", clock)
        return True

    def add(self, text: str, clock: str) -> None:
        """Enter something that happened once."""
        with self._lock:
            self._entries.appendleft(f"`{clock}` {escape(text)}")

    def text(self) -> str:
        """All entries as a Markdown list."""
        with self._lock:
            return "\n".join(f"- {entry}" for entry in self._entries) or "Nothing so far."
