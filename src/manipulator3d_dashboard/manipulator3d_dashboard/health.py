# SPDX-License-Identifier: Apache-2.0
"""What the nodes report of their health, and how long ago."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, unique

from manipulator3d_dashboard.markdown import escape, table

# s; nodes report once a second
STALE_AFTER = 5.0
_SIGNS = ("✓", "⚠", "✗", "…")


@unique
class Level(IntEnum):
    """Names and numbers are those of diagnostic_msgs/msg/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass(frozen=True)
class Report:
    """One entry of /diagnostics."""

    name: str
    level: Level
    message: str
    values: Mapping[str, str]


class Health:
    """The latest report of each name."""

    def __init__(self) -> None:
        self._reports: dict[str, tuple[Report, float]] = {}

    def take(self, report: Report, now: float) -> None:
        """Take a report in; `now` in s."""
        self._reports[report.name] = (report, now)

    def level(self, now: float) -> Level | None:
        """The worst level there is; None when nobody has reported yet."""
        return max((self._level(report, at, now) for report, at in self._reports.values()), default=None)

    def number(self, group: str, key: str, now: float) -> float | None:
        """A figure out of the first fresh report whose name ends in `group`; None when there is none."""
        for report, at in self._reports.values():
            if report.name.endswith(f": {group}") and now - at <= STALE_AFTER and key in report.values:
                try:
                    return float(report.values[key])
                except ValueError:
                    return None
        return None

    def text(self, now: float) -> str:
        """All reports as a Markdown table."""
        rows = []
        for name, (report, at) in sorted(self._reports.items()):
            level = self._level(report, at, now)
            message = f"silent for {now - at:.0f} s" if level is Level.STALE else report.message
            rows.append((f"{_SIGNS[level]} {escape(name)}", escape(message)))
        return table(("diagnostics", ""), rows) if rows else "No diagnostics yet."

    @staticmethod
    def _level(report: Report, at: float, now: float) -> Level:
        return Level.STALE if now - at > STALE_AFTER else report.level
