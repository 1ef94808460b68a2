# SPDX-License-Identifier: Apache-2.0
"""The door for homing goals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from manipulator3d_hw_bridge.command_check import JointBounds


@dataclass(frozen=True)
class HomeGoal:
    """A checked goal.

    Attributes:
        joints: indices in the order of the board, without repetition.
        positions: rad, for each of the joints where it stands now; None to search the switches.
    """

    joints: tuple[int, ...]
    positions: tuple[float, ...] | None


class HomeGoalRefused(ValueError):
    """A goal that cannot be followed; the text names the field and the remedy."""


def check_home_goal(bounds: JointBounds, joints: Sequence[str], set_here: bool, positions: Sequence[float]) -> HomeGoal:
    """Return the goal in the board's terms.

    Args:
        bounds: of the arm.
        joints: names; empty means all.
        set_here: take the present position as `positions`.
        positions: rad, one for each joint; empty means zero.

    Raises:
        HomeGoalRefused: an unknown or repeated joint, or positions that do not fit.
    """
    names = tuple(joints) or bounds.names
    unknown = [name for name in names if name not in bounds.names]
    if unknown:
        raise HomeGoalRefused(f"joint {unknown[0]} is unknown; this arm has {', '.join(bounds.names)}")
    if len(set(names)) != len(names):
        raise HomeGoalRefused(f"joints {', '.join(names)}: each may be named once")
    indices = tuple(bounds.names.index(name) for name in names)
    if not set_here:
        if positions:
            raise HomeGoalRefused("positions are given without set_here; set set_here, or leave them out")
        return HomeGoal(tuple(sorted(indices)), None)
    if positions and len(positions) != len(names):
        raise HomeGoalRefused(f"{len(positions)} positions for {len(names)} joints; give one for each, or none")
    values = tuple(positions) or (0.0,) * len(names)
    for index, value in zip(indices, values, strict=True):
        lower, upper = bounds.lower[index], bounds.upper[index]
        if not (math.isfinite(value) and lower <= value <= upper):
            raise HomeGoalRefused(
                f"{bounds.names[index]}: a position of {value:g} rad is not within its limits of "
                f"{lower:g} to {upper:g} rad"
            )
    return HomeGoal(indices, values)
