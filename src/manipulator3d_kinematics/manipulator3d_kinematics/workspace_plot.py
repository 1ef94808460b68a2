# SPDX-License-Identifier: Apache-2.0
"""Draws the cross-section of the reachable set.

`python -m manipulator3d_kinematics.workspace_plot capstone workspace.png`
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from manipulator3d_kinematics.forward import link_frames, tool_point
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.workspace import axis_origin, workspace


def plot_workspace(arm: ArmModel, path: str | Path) -> None:
    """Write a picture of the cross-section with the arm in its home position.

    Args:
        arm: the arm; its yaw axis is perpendicular to the floor, or there is no floor.
        path: file to write; its ending chooses the format.

    Raises:
        ValueError: the yaw axis is not perpendicular to the floor.
        ModuleNotFoundError: matplotlib is not installed; says how to install it.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the picture of the workspace needs matplotlib; install it (python3-matplotlib, or pip install matplotlib)"
        ) from error
    found = workspace(arm, 0.005)
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.subplots()
    for outlines, colour, label in ((found.facing, "tab:blue", "facing"), (found.over, "tab:orange", "reaching over")):
        side = -1.0 if label == "reaching over" else 1.0
        for number, outline in enumerate(outlines):
            closed = np.vstack((outline, outline[:1]))
            axes.fill(side * closed[:, 0], closed[:, 1], color=colour, alpha=0.25, lw=0)
            axes.plot(side * closed[:, 0], closed[:, 1], color=colour, lw=1.2, label=label if number == 0 else None)
    _, shoulder, elbow = (frame[:3, 3] for frame in link_frames(arm, arm.home))
    tool = np.array(tool_point(arm, tuple(arm.home.tolist())))
    local = [arm.mount[:3, :3].T @ (point - arm.mount[:3, 3]) for point in (shoulder, elbow, tool)]
    points = np.array([(np.hypot(x, y), z + axis_origin(arm)) for x, y, z in local])
    axes.plot(points[:, 0], points[:, 1], "o-", color="black", lw=2.5, label="home position")
    if np.isfinite(arm.floor_z):
        axes.axhline(arm.floor_z, color="tab:gray", lw=1.0)
    axes.axvline(0.0, color="tab:gray", lw=0.8, ls="--")
    axes.set(aspect="equal", xlabel="distance from the yaw axis [m] (reaching over: to the left)", ylabel="z [m]")
    axes.set_title(f"{arm.name}: {found.volume * 1e3:.1f} litres within reach")
    axes.legend(loc="upper right")
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the workspace of a profile (by name or path); returns 2 on wrong usage."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) != 2:
        print("usage: python -m manipulator3d_kinematics.workspace_plot PROFILE FILE.png", file=sys.stderr)
        return 2
    arm = ArmModel.from_yaml(given[0]) if given[0].endswith((".yaml", ".yml")) else ArmModel.profile(given[0])
    plot_workspace(arm, given[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
