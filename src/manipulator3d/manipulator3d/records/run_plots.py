# SPDX-License-Identifier: Apache-2.0
"""Plots of a run as SVG, by matplotlib without a display."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from manipulator3d.records.measured_run import Array, MeasuredRun

_MOST_POINTS = 1500
_COLOURS = ("#1f6fb4", "#d1731f", "#2f8f4e")
_MEASURED, _COMMANDED = "#1f6fb4", "#b9b9b9"
# text stays text, so that the page can be searched; the same record gives the same file
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "manipulator3d",
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


def path_plot(run: MeasuredRun) -> str:
    """The tool's path from above and from the side, commanded and measured."""

    def draw(figure: Figure) -> None:
        views = figure.subplots(1, 2)
        for axes, (first, second) in zip(views, ((0, 1), (0, 2)), strict=True):
            for motion, colour, width, label in (
                (run.commanded, _COMMANDED, 3.0, "commanded"),
                (run.measured, _MEASURED, 1.0, "measured"),
            ):
                points = motion.tool[:: _stride(len(motion.tool))]
                axes.plot(points[:, first], points[:, second], color=colour, linewidth=width, label=label)
            axes.set_xlabel("x [m]")
            axes.set_ylabel(f"{'xyz'[second]} [m]")
            axes.set_aspect("equal", adjustable="datalim")
        views[0].set_title("from above")
        views[1].set_title("from the side")
        views[0].legend()

    return _svg(draw, 3.6)


def error_plot(run: MeasuredRun) -> str:
    """Joint and tool error over time; of the points that one pixel covers, the largest is shown."""

    def draw(figure: Figure) -> None:
        joints, tool = figure.subplots(2, 1, sharex=True)
        for column, name in enumerate(run.joint_names):
            _line(joints, run.measured.times, run.error[:, column] * 1e3, _COLOURS[column], name)
        joints.set_ylabel("joint error [mrad]")
        joints.legend(loc="upper right")
        _line(tool, run.measured.times, run.tool_error * 1e3, _MEASURED, "tool")
        tool.set_ylabel("tool error [mm]")
        tool.set_xlabel("time [s]")

    return _svg(draw, 4.2)


def joint_plot(run: MeasuredRun) -> str:
    """Joint angles and velocities over time."""

    def draw(figure: Figure) -> None:
        angles, speeds = figure.subplots(2, 1, sharex=True)
        for column, name in enumerate(run.joint_names):
            _line(angles, run.measured.times, run.measured.joints[:, column], _COLOURS[column], name)
            _line(speeds, run.measured.times, run.measured.velocities[:, column], _COLOURS[column], name)
        angles.set_ylabel("angle [rad]")
        angles.legend(loc="upper right")
        speeds.set_ylabel("velocity [rad/s]")
        speeds.set_xlabel("time [s]")

    return _svg(draw, 4.2)


def phase_plot(run: MeasuredRun) -> str:
    """When which phase was."""
    names = list(dict.fromkeys(phase.name for phase in run.phases))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for row, name in enumerate(names):
            bars = [(phase.start, phase.duration) for phase in run.phases if phase.name == name]
            axes.broken_barh(bars, (row - 0.35, 0.7), color=_COLOURS[row % len(_COLOURS)])
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlabel("time [s]")

    return _svg(draw, 1.0 + 0.25 * len(names))


def _line(axes: Axes, times: Array, values: Array, colour: str, label: str) -> None:
    shown_times, shown = peaks(times, values, _MOST_POINTS)
    axes.plot(shown_times, shown, color=colour, linewidth=0.9, label=label)


def peaks(times: Array, values: Array, most: int) -> tuple[Array, Array]:
    """Thin a curve out to at most `most` points; of each group the value of largest magnitude stays, NaN where all are.

    Args:
        times, values: shape (N,).
        most: number of points.

    Returns:
        Times and values, shape (M,) with M at most `most`.
    """
    size = -(-len(values) // most)
    if size <= 1:
        return times, values
    padding = -len(values) % size
    padded = np.append(values, np.full(padding, np.nan)).reshape(-1, size)
    magnitude = np.where(np.isfinite(padded), np.abs(padded), -1.0)
    chosen = np.argmax(magnitude, axis=1)
    rows = np.arange(len(padded))
    index = np.minimum(rows * size + chosen, len(values) - 1)
    return times[index], padded[rows, chosen]


def _stride(number: int) -> int:
    return max(1, -(-number // (2 * _MOST_POINTS)))


def _svg(draw: Callable[[Figure], None], height: float) -> str:
    text = io.StringIO()
    with rc_context(_STYLE):
        figure = Figure(figsize=(9.0, height), layout="constrained")
        draw(figure)
        figure.savefig(text, format="svg", metadata={"Date": None})
    # within a page, the declarations before the element have no place
    return text.getvalue()[text.getvalue().index("<svg") :]
