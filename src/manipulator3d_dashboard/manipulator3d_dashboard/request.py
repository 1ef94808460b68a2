# SPDX-License-Identifier: Apache-2.0
"""What someone at a browser can ask for."""

from dataclasses import dataclass

from manipulator3d_dashboard.arm_state import Command
from manipulator3d_dashboard.jog import JogBeat, JogRelease
from manipulator3d_dashboard.pose import Vector


@dataclass(frozen=True)
class SpeedChange:
    """The running motion, and later ones, at a fraction of their planned speed."""

    fraction: float


Request = Command | JogBeat | JogRelease | SpeedChange


@dataclass(frozen=True)
class Task:
    """What PLAY asks for: points in m, fraction of the planned speed, number of cycles (0 for no end)."""

    start: Vector
    goal: Vector
    speed: float
    cycles: int
