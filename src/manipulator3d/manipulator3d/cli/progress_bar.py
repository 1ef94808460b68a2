# SPDX-License-Identifier: Apache-2.0
"""A bar that shows how much of a motion is done."""

import sys
from typing import TextIO

_WIDTH = 30
# where the output is no terminal, a line is written for each of so many parts
_LINES = 10


class ProgressBar:
    """Shows a fraction on stderr: as one line that changes on a terminal, else as a line for each tenth.

    Args:
        name: of what is in progress.
        output: where to write.
    """

    def __init__(self, name: str, output: TextIO | None = None) -> None:
        self._name = name
        self._output = sys.stderr if output is None else output
        self._shown = -1
        self._open = False

    def show(self, fraction: float, text: str = "") -> None:
        """Show a fraction, 0 to 1, and a text beside it; a smaller fraction than before is not shown."""
        terminal = self._output.isatty()
        step = int(min(max(fraction, 0.0), 1.0) * (_WIDTH if terminal else _LINES))
        if step <= self._shown and not (terminal and step == self._shown):
            return
        self._shown = step
        if terminal:
            bar = "#" * step + "." * (_WIDTH - step)
            self._output.write(f"\r{self._name} [{bar}] {fraction:4.0%}  {text}\x1b[K")
            self._open = True
        else:
            self._output.write(f"{self._name} {fraction:4.0%}  {text}".rstrip() + "\n")
        self._output.flush()

    def close(self) -> None:
        """Leave the line."""
        if self._open:
            self._output.write("\n")
            self._output.flush()
            self._open = False
