# SPDX-License-Identifier: Apache-2.0
"""Memory and processor time of the processes below one, read from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """What one process has used.

    Attributes:
        name: its program.
        memory_mb: proportional set size, in which shared pages count by their share.
        cpu_s: processor time since its start.
    """

    name: str
    memory_mb: float
    cpu_s: float


def usage_below(pid: int) -> dict[int, Usage]:
    """Give the usage of every descendant of process `pid`, by process id."""
    found: dict[int, Usage] = {}
    for child in _children(pid):
        try:
            found[child] = _usage(child)
        except (FileNotFoundError, ProcessLookupError):
            continue
        found |= usage_below(child)
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        children += [int(text) for text in task.read_text().split()]
    return children


def _usage(pid: int) -> Usage:
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    program = next((text for text in arguments if "/lib/" in text and "python" not in Path(text).name), arguments[0])
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    memory_kb = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return Usage(Path(program).name, memory_kb / 1024, (int(fields[11]) + int(fields[12])) / _TICKS_PER_S)
