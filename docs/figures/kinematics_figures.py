# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of docs/kinematics.md: `./manipulator3d shell -- python docs/figures/kinematics_figures.py`."""

from math import cos, sin
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc

from manipulator3d_kinematics import ArmModel, inverse_kinematics, workspace

FOLDER = Path(__file__).parent
INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb4", "#d9731a", "#888888"


def main() -> None:
    """Write the figures next to this script."""
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "manipulator3d", "font.size": 9})
    arm = ArmModel.profile("capstone")
    _save(_side_view(arm), "kinematics_side.svg")
    _save(_top_view(arm), "kinematics_top.svg")
    _save(_branches(arm), "kinematics_branches.svg")
    _save(_cross_section(arm), "kinematics_workspace.svg")


def _save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / name, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.axis("off")
    return figure, axes


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "<->", "color": GREY, "lw": 0.8})
    axes.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, text, color=GREY, ha="center", va="center",
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip


def _angle(axes: Axes, at: tuple[float, float], start: float, end: float, radius: float, text: str) -> None:
    axes.add_patch(Arc(at, 2 * radius, 2 * radius, theta1=np.degrees(start), theta2=np.degrees(end), color=BLUE, lw=1))
    middle = (start + end) / 2
    axes.text(at[0] + 1.35 * radius * cos(middle), at[1] + 1.35 * radius * sin(middle), text, color=BLUE, ha="center",
              va="center")  # fmt: skip


def _side_view(arm: ArmModel) -> Figure:
    figure, axes = _axes(5.2, 3.6)
    q1, q2 = 1.05, -0.75
    shoulder = (0.0, arm.base_height)
    elbow = (arm.upper_arm * cos(q1), arm.base_height + arm.upper_arm * sin(q1))
    tool = (elbow[0] + arm.forearm * cos(q1 + q2), elbow[1] + arm.forearm * sin(q1 + q2))
    axes.plot([-0.08, 0.36], [0, 0], color=GREY, lw=1)
    axes.plot(*zip((0.0, 0.0), shoulder, elbow, tool, strict=True), "o-", color=INK, lw=3, ms=6)
    axes.plot(*zip(shoulder, tool, strict=True), color=ORANGE, lw=1.2, ls="--")
    axes.plot([0.0, 0.12], [shoulder[1]] * 2, color=GREY, lw=0.8, ls=":")
    beyond = (elbow[0] + 0.1 * cos(q1), elbow[1] + 0.1 * sin(q1))
    axes.plot(*zip(elbow, beyond, strict=True), color=GREY, lw=0.8, ls=":")
    toward = float(np.arctan2(tool[1] - shoulder[1], tool[0]))
    _angle(axes, shoulder, 0.0, q1, 0.085, "q1")
    _angle(axes, elbow, q1 + q2, q1, 0.06, "-q2")
    _angle(axes, shoulder, toward, q1, 0.135, "beta")
    _arrow(axes, (-0.03, 0.0), (-0.03, arm.base_height), "base_height")
    _arrow(axes, (0.0, -0.03), (tool[0], -0.03), "r")
    for start, end, text, offset in ((shoulder, elbow, "upper_arm", 0.012), (elbow, tool, "forearm", -0.03)):
        turn = np.degrees(np.arctan2(end[1] - start[1], end[0] - start[0]))
        axes.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + offset, text, rotation=turn, ha="center",
                  va="bottom", rotation_mode="anchor", color=INK)  # fmt: skip
    axes.set(xlim=(-0.1, 0.4), ylim=(-0.06, 0.46))
    axes.text(0.17, 0.245, "D", color=ORANGE, ha="center", va="top")
    axes.text(tool[0] + 0.01, tool[1], "tool point", va="center", color=INK)
    return figure


def _top_view(arm: ArmModel) -> Figure:
    figure, axes = _axes(5.2, 3.2)
    q0, radius, d = 0.35, 0.3, arm.lateral_offset
    tool = np.array([radius * cos(q0) + d * sin(q0), radius * sin(q0) - d * cos(q0)])
    inward = np.array([radius * cos(q0), radius * sin(q0)])
    axes.annotate("", (0.36, 0), (0, 0), arrowprops={"arrowstyle": "->", "color": GREY})
    axes.annotate("", (0, 0.2), (0, 0), arrowprops={"arrowstyle": "->", "color": GREY})
    axes.text(0.365, 0, "x", color=GREY, va="center")
    axes.text(0, 0.205, "y", color=GREY, ha="center")
    axes.add_patch(Arc((0, 0), 2 * abs(d), 2 * abs(d), color=GREY, lw=0.8, ls="--"))
    axes.text(-0.05, -0.06, "|d|: out of reach", color=GREY, ha="center", va="top")
    axes.plot([0, inward[0]], [0, inward[1]], color=INK, lw=1, ls=":")
    shift = tool - inward
    axes.plot([shift[0], tool[0]], [shift[1], tool[1]], color=INK, lw=3)
    axes.plot([0, shift[0]], [0, shift[1]], color=INK, lw=1.5)
    axes.plot([inward[0], tool[0]], [inward[1], tool[1]], color=GREY, lw=0.8)
    axes.plot([0, tool[0]], [0, tool[1]], color=ORANGE, lw=1.2, ls="--")
    axes.plot(*tool, "o", color=INK)
    azimuth = float(np.arctan2(tool[1], tool[0]))
    _angle(axes, (0, 0), 0.0, q0, 0.17, "q0")
    _angle(axes, (0, 0), q0, azimuth, 0.21, "")
    axes.text(0.12, 0.16, "-atan2(d, r)", color=BLUE, ha="right")
    axes.text(0.75 * inward[0], 0.75 * inward[1] - 0.005, "r", color=INK, va="top")
    axes.text(inward[0] + 0.005, inward[1], "d < 0", color=GREY, va="center")
    axes.text(tool[0], tool[1] + 0.012, "tool point", ha="center", color=INK)
    axes.set(xlim=(-0.12, 0.4), ylim=(-0.1, 0.24))
    return figure


def _branches(arm: ArmModel) -> Figure:
    figure, axes = _axes(5.2, 3.6)
    free = ArmModel("free", arm.base_height, arm.upper_arm, 0.0, arm.forearm)
    target = (0.12, 0.0, 0.38)
    names = ("facing, elbow down", "facing, elbow up", "over, elbow down", "over, elbow up")
    solutions = sorted(inverse_kinematics(free, target).alternatives, key=lambda q: (abs(q[0]) > 1.0, q[2] < 0.0))
    for name, q, colour in zip(names, solutions, (BLUE, ORANGE, INK, GREY), strict=True):
        side = cos(q[0])
        points = [(0.0, free.base_height)]
        for length, pitch in ((free.upper_arm, q[1]), (free.forearm, q[1] + q[2])):
            points.append((points[-1][0] + side * length * cos(pitch), points[-1][1] + length * sin(pitch)))
        over = abs(q[0]) > 1.0
        axes.plot(*zip(*points, strict=True), "o--" if over else "o-", color=colour, lw=1.5 if over else 3, label=name,
                  ms=8 if over else 5, mfc="none" if over else colour)  # fmt: skip
    axes.plot([0, 0], [0, free.base_height], color=INK, lw=3)
    axes.plot([-0.15, 0.3], [0, 0], color=GREY, lw=1)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _cross_section(arm: ArmModel) -> Figure:
    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    found = workspace(arm)
    for outlines, side, colour, name in (
        (found.facing, 1.0, BLUE, "facing"),
        (found.over, -1.0, ORANGE, "reaching over"),
    ):
        for outline in outlines:
            closed = np.vstack((outline, outline[:1]))
            axes.fill(side * closed[:, 0], closed[:, 1], color=colour, alpha=0.25, lw=0)
            axes.plot(side * closed[:, 0], closed[:, 1], color=colour, lw=1.2, label=name)
    axes.axvline(0.0, color=GREY, lw=0.8, ls="--")
    axes.axhline(arm.floor_z, color=GREY, lw=1.0)
    axes.set(aspect="equal", xlabel="distance from the yaw axis [m]", ylabel="z [m]")
    axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    main()
