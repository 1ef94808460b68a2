# SPDX-License-Identifier: Apache-2.0
"""A page on a run that needs nothing beside itself: no network, no script."""

import time
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from manipulator3d.records.measured_run import MeasuredRun, phase_table
from manipulator3d.records.run_plots import error_plot, joint_plot, path_plot, phase_plot

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; } .none { color: #777; } .fault { color: #b00020; }
"""


def report_page(run: MeasuredRun, name: str, complete: bool) -> str:
    """Make the page.

    Args:
        run: what was measured.
        name: of the record's file.
        complete: whether the record has its end.

    Returns:
        HTML.
    """
    outline = run.outline
    begun = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(outline.start * 1e-9))
    facts = f"begun {begun}, {outline.seconds:.1f} s, {outline.messages} messages"
    parts = [
        f"<h1>{escape(name)}</h1>",
        f"<p>{escape(facts)}{f', hardware {escape(run.driver)}' if run.driver else ''}</p>",
        "" if complete else "<p class='fault'>The end of the record is missing: its writer did not finish.</p>",
        "<h2>Path</h2>",
        path_plot(run),
        "<h2>Tracking error</h2>",
        "<p>Measured minus commanded, each measurement against the command for its own time.</p>",
        _error_table(run),
        error_plot(run),
        "<h2>Joints</h2>",
        joint_plot(run),
        "<h2>Phases</h2>",
        _phases(run),
        "<h2>Goals</h2>",
        _spans(("action", "start [s]", "duration [s]", "outcome"), run.goals),
        "<h2>Faults</h2>",
        _spans(("fault", "start [s]", "duration [s]", "what it said"), run.faults, "fault"),
        "<h2>Warnings in the diagnostics</h2>",
        _spans(("part", "start [s]", "duration [s]", "what it said"), run.warnings),
        "<h2>Topics</h2>",
        _topics(run),
    ]
    body = "\n".join(part for part in parts if part)
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{escape(name)}</title>"
    return (
        f"<!doctype html>\n<html lang='en'><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def error_figures(run: MeasuredRun) -> list[tuple[str, float, float]]:
    """Give name, RMS and largest magnitude of each joint's error in rad, then of the tool's in m; NaN where unknown."""
    columns = [*zip(run.joint_names, run.error.T, strict=True), ("tool", run.tool_error)]
    figures = []
    for name, column in columns:
        known = column[np.isfinite(column)]
        rms = float(np.sqrt(np.mean(known**2))) if known.size else float("nan")
        figures.append((name, rms, float(np.max(np.abs(known))) if known.size else float("nan")))
    return figures


def _error_table(run: MeasuredRun) -> str:
    figures = error_figures(run)
    if not np.isfinite(figures[-1][1]):
        return "<p class='none'>The arm was not commanded.</p>"
    rows = []
    for name, rms, largest in figures:
        unit = "mm" if name == "tool" else "mrad"
        rows.append((name, f"{rms * 1e3:.3f} {unit}", f"{largest * 1e3:.3f} {unit}"))
    return _table(("", "RMS", "largest"), rows, numbers=(1, 2))


def _phases(run: MeasuredRun) -> str:
    if not run.phases:
        return "<p class='none'>No pick-and-place.</p>"
    rows = [
        (name, number, f"{mean:.3f}", f"{least:.3f}", f"{most:.3f}")
        for name, number, mean, least, most in phase_table(run.phases)
    ]
    heads = ("phase", "number", "mean [s]", "shortest [s]", "longest [s]")
    return phase_plot(run) + _table(heads, rows, numbers=(1, 2, 3, 4))


def _spans(heads: Sequence[str], spans: Sequence[Any], kind: str = "") -> str:
    if not spans:
        return "<p class='none'>None.</p>"
    rows = [(span.name, f"{span.start:.2f}", f"{span.duration:.2f}", span.text) for span in spans]
    return _table(heads, rows, numbers=(1, 2), kind=kind)


def _topics(run: MeasuredRun) -> str:
    outline = run.outline
    seconds = outline.seconds or 1.0
    rows = [
        (topic.name, topic.type_name, count, f"{count / seconds:.1f}")
        for topic, count in sorted(zip(outline.topics, outline.counts, strict=True), key=lambda pair: pair[0].name)
    ]
    return _table(("topic", "type", "messages", "per second"), rows, numbers=(2, 3))


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[int], kind: str = "") -> str:
    def cells(tag: str, row: Sequence[Any]) -> str:
        return "".join(
            f"<{tag}{' class=number' if index in numbers else ''}>{escape(str(cell))}</{tag}>"
            for index, cell in enumerate(row)
        )

    opening = f"<table class='{kind}'>" if kind else "<table>"
    lines = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"{opening}<tr>{cells('th', heads)}</tr>{lines}</table>"
