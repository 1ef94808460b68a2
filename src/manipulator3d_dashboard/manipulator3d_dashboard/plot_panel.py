# SPDX-License-Identifier: Apache-2.0
"""Plots of tracking error, joint velocity and line load; drawn only while someone wants them."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import viser
from viser import uplot

from manipulator3d_dashboard.plot_data import History

_DURATION = 15.0
_COLOURS = ("#339af0", "#ff922b", "#51cf66")
_GREY = "#868e96"


class PlotPanel:
    """What stands in the tab Plots.

    Args:
        gui: of viser, in the tab.
    """

    def __init__(self, gui: viser.GuiApi) -> None:
        self._wanted = gui.add_checkbox("plots", False, hint="costs processor time and network while it is on")
        self._names: tuple[str, ...] = ("joint 1", "joint 2", "joint 3")
        self._histories = [History(_DURATION) for _ in range(3)]
        self._last_error: dict[str, float] = {}
        titles = ("tracking error, mrad", "joint velocity, rad/s", "line load, % of its rate")
        self._plots = [
            gui.add_uplot(
                _empty(3 if number < 2 else 1),
                self._series(3 if number < 2 else 1),
                title=title,
                scales={"x": uplot.Scale(time=False)},
                axes=(_axis(), _axis()),
                legend=uplot.Legend(show=number < 2),
                height=150,
                visible=False,
            )
            for number, title in enumerate(titles)
        ]

    @property
    def wanted(self) -> bool:
        """Whether someone looks at the plots."""
        return bool(self._wanted.value)

    def name_joints(self, names: Sequence[str]) -> None:
        """Say which joints there are."""
        self._names = tuple(names)
        for plot in self._plots[:2]:
            plot.series = self._series(len(names))

    def add(self, now: float, errors: Mapping[str, float], velocities: Mapping[str, float]) -> None:
        """Take the joints' figures in: rad and rad/s by name; `now` in s."""
        if errors:
            self._histories[0].add(now, [1e3 * errors.get(name, math.nan) for name in self._names])
        if velocities:
            self._histories[1].add(now, [velocities.get(name, math.nan) for name in self._names])

    def add_load(self, now: float, load: float) -> None:
        """Take the load of the serial line in, % of its rate; `now` in s."""
        self._histories[2].add(now, [load])

    def show(self, now: float) -> None:
        """Bring the plots up to date."""
        for number, (plot, history) in enumerate(zip(self._plots, self._histories, strict=True)):
            if plot.visible is not self.wanted:
                plot.visible = self.wanted
            if not self.wanted:
                continue
            columns = history.columns(len(self._names) if number < 2 else 1, now)
            if len(columns[0]):
                plot.data = columns

    def _series(self, count: int) -> tuple[uplot.Series, ...]:
        names = self._names if count > 1 else ("load",)
        lines = (
            uplot.Series(label=name, stroke=colour, width=1.5) for name, colour in zip(names, _COLOURS, strict=False)
        )
        return (uplot.Series(label="s"), *lines)


def _axis() -> uplot.Axis:
    # a grey that is read on dark and on light ground
    return uplot.Axis(stroke=_GREY, grid={"stroke": f"{_GREY}40", "width": 1}, size=40)


def _empty(count: int) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(1) for _ in range(count + 1))
