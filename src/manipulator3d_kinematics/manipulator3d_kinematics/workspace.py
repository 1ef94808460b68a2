# SPDX-License-Identifier: Apache-2.0
"""The set of points that the tool reaches under limits and floor.

It is known from its cross-section: the points (w, z), w the distance from the yaw axis, that some shoulder and elbow
angle reach, facing them or reaching over. A whole turn of the yaw axis makes that a body of revolution; a smaller range
covers a sector, turned by the swing atan2(d, r) of the lateral offset, and facing and reaching over cover sectors of
their own.
"""

from dataclasses import dataclass
from functools import partial
from math import isinf, pi, tau

import numpy as np
from numpy.typing import NDArray

from manipulator3d_kinematics.branches import elbow_height
from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.outline import outlines

Mask = NDArray[np.bool_]
# m; cells of the grid that the volume is summed on
_CELL = 0.002


@dataclass(frozen=True, eq=False)
class Workspace:
    """What the tool reaches.

    Attributes:
        facing: outlines of the cross-section reached facing the target, each of shape (K, 2): m, distance from the yaw
            axis and height in the base frame (for a tilted axis: along it, in the arm's frame). Counter-clockwise
            around the set, clockwise around a hole.
        over: the same for reaching over.
        section: the same for either.
        volume: m³; under the yaw limits.
    """

    facing: tuple[Array, ...]
    over: tuple[Array, ...]
    section: tuple[Array, ...]
    volume: float


def workspace(arm: ArmModel, cell: float = 0.01) -> Workspace:
    """Find the reachable set.

    Args:
        arm: the arm; one that `has_section`.
        cell: m; holes and tongues narrower than this may be missed; the outlines' corners are exact.

    Raises:
        ValueError: the yaw axis is not perpendicular to the floor, or the cell is not above 0.
    """
    if not has_section(arm):
        axis = "({:.3g}, {:.3g}, {:.3g})".format(*arm.mount[:3, 2])
        raise ValueError(
            f"{arm.name}: its yaw axis {axis} is tilted against the floor, so that the reachable set has another "
            "cross-section in each direction; take the surface (workspace_shell), or an arm with floor_z=-inf"
        )
    if not cell > 0.0:
        raise ValueError(f"cell: {cell} m; it must be above 0")
    width, height = _grid(arm, cell)
    sets = (partial(_reached, arm, False), partial(_reached, arm, True), partial(section_reached, arm))
    facing, over, section = (tuple(outlines(inside, width, height)) for inside in sets)
    return Workspace(facing, over, section, _volume(arm))


def has_section(arm: ArmModel) -> bool:
    """Tell whether the set's cross-section is the same in all directions: the floor is level, or there is none."""
    return arm.is_upright or isinf(arm.floor_z)


def axis_origin(arm: ArmModel) -> float:
    """The height at which the cross-section shows the arm's frame, m."""
    return float(arm.mount[2, 3]) if arm.is_upright else 0.0


def section_reached(arm: ArmModel, width: Array, height: Array) -> Mask:
    """Tell which points of the cross-section are reached, facing or reaching over, at some yaw angle.

    Args:
        arm: the arm; one that `has_section`.
        width: m; distances from the yaw axis; nothing is reached at a negative one.
        height: m, as in Workspace; of the same shape.
    """
    return _reached(arm, False, width, height) | _reached(arm, True, width, height)


def swing(arm: ArmModel, width: Array) -> Array:
    """The angle by which the arm's plane is turned away from a point at a distance from the yaw axis."""
    radius = np.sqrt(np.maximum(width**2 - arm.lateral_offset**2, 0.0))
    return np.arctan2(arm.lateral_offset, radius)


def _grid(arm: ArmModel, cell: float) -> tuple[Array, Array]:
    """Nodes from a little outside of everything the links could reach."""
    reach = float(np.hypot(arm.reach + abs(arm.shoulder_offset), arm.lateral_offset))
    centre = arm.base_height + axis_origin(arm)
    columns, rows = int(np.ceil(reach / cell)) + 1, int(np.ceil(arm.reach / cell)) + 1
    return np.arange(-1, columns + 1) * cell, centre + np.arange(-rows, rows + 1) * cell


def _reached(arm: ArmModel, over: bool, width: Array, height: Array) -> Mask:
    squared = width**2 - arm.lateral_offset**2
    radius = np.sqrt(np.maximum(squared, 0.0))
    inward = (-radius if over else radius) - arm.shoulder_offset
    up = height - arm.base_height - axis_origin(arm)
    distance = np.hypot(inward, up)
    cosine = (distance**2 - arm.upper_arm**2 - arm.forearm**2) / (2.0 * arm.upper_arm * arm.forearm)
    possible = (width >= 0.0) & (squared >= 0.0) & (height >= arm.floor_z) & (np.abs(cosine) <= 1.0)
    elbow = np.arccos(np.clip(cosine, -1.0, 1.0))
    toward = np.arctan2(up, inward)
    lower, upper = arm.theta_limits
    reached = np.zeros(inward.shape, dtype=bool)
    for t2 in (elbow, -elbow):
        t1 = toward - np.arctan2(arm.forearm * np.sin(t2), arm.upper_arm + arm.forearm * np.cos(t2))
        kept = _inside(t1, lower[1], upper[1]) & _inside(t2, lower[2], upper[2])
        reached |= kept & (elbow_height(arm, np.zeros_like(t1), t1) >= arm.floor_z)
    return possible & reached


def _inside(angle: Array, lower: float, upper: float) -> Mask:
    """Whether an angle or its equal by whole turns is within limits."""
    if np.isinf(lower) or np.isinf(upper):
        return np.ones(angle.shape, dtype=bool)
    return np.remainder(angle - lower, tau) <= upper - lower


def _volume(arm: ArmModel) -> float:
    width, height = _grid(arm, _CELL)
    w, z = np.meshgrid(width[1:] + _CELL / 2.0, height + _CELL / 2.0)
    facing, over = _reached(arm, False, w, z), _reached(arm, True, w, z)
    lower, upper = (float(limits[0]) for limits in arm.theta_limits)
    span = min(upper - lower, tau)
    # facing, the tool is seen in the direction theta0 − swing; reaching over, in theta0 + swing − pi
    apart = np.abs(np.remainder(2.0 * swing(arm, w), tau) - pi)
    shared = np.maximum(span - apart, 0.0) + np.maximum(span - (tau - apart), 0.0)
    sector = np.where(facing & over, 2.0 * span - shared, np.where(facing | over, span, 0.0))
    return float((np.minimum(sector, tau) * w).sum()) * _CELL**2
