# SPDX-License-Identifier: Apache-2.0
"""The surface of the reachable set as triangles, for a marker."""

from math import pi

import numpy as np
from numpy.typing import NDArray

from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.ik_result import IkStatus
from manipulator3d_kinematics.inverse_batch import inverse_kinematics_batch
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.surface import surface
from manipulator3d_kinematics.workspace import axis_origin, has_section, swing, workspace

# m; cells of the outline, and steps of a whole turn
_CELL = 0.03
_STEPS = 40
# of the reach; cells of the grid where the set is no body of revolution
_COARSE = 0.1


def workspace_shell(arm: ArmModel) -> Array:
    """Give the surface of the reachable set.

    The outlines of the cross-section are turned about the yaw axis through the yaw range. Above a floor that is tilted
    against the yaw axis there is no such cross-section; the surface is found on a grid.

    Returns:
        Shape (3 T, 3), m, in the base frame: the corners of T triangles in turn.
    """
    if not has_section(arm):
        return _above_a_tilted_floor(arm)
    found = workspace(arm, _CELL)
    lower, upper = (float(limits[0]) for limits in arm.theta_limits)
    if upper - lower > 2.0 * pi or np.isinf(upper - lower):
        lower, upper = -pi, pi
    yaw = np.linspace(lower, upper, max(2, round(_STEPS * (upper - lower) / (2.0 * pi)) + 1))
    pieces = [_swept(arm, outline, yaw - swing(arm, outline[:, :1])) for outline in found.facing]
    pieces += [_swept(arm, outline, yaw + swing(arm, outline[:, :1]) - pi) for outline in found.over]
    return np.concatenate(pieces) if pieces else np.zeros((0, 3))


def _above_a_tilted_floor(arm: ArmModel) -> Array:
    reach = float(np.hypot(arm.reach + abs(arm.shoulder_offset), arm.lateral_offset))
    shoulder = arm.mount[:3, 3] + arm.base_height * arm.mount[:3, 2]
    cell = _COARSE * reach
    # a node layer more than what the arm reaches; the floor itself lies between two layers
    ticks = np.arange(-reach - 1.5 * cell, reach + 2.0 * cell, cell)

    def reached(points: Array) -> NDArray[np.bool_]:
        return np.asarray(inverse_kinematics_batch(arm, points, "auto")[1] == IkStatus.REACHED)

    return surface(reached, *(coordinate + ticks for coordinate in shoulder))


def _swept(arm: ArmModel, outline: Array, azimuth: Array) -> Array:
    """Triangles between the outline at successive azimuths, shape (points, steps)."""
    width, height = outline[:, :1], np.broadcast_to(outline[:, 1:] - axis_origin(arm), azimuth.shape)
    ring = np.stack((width * np.cos(azimuth), width * np.sin(azimuth), height), axis=-1)
    ring = ring @ arm.mount[:3, :3].T + arm.mount[:3, 3]
    here, across = ring, np.roll(ring, -1, axis=0)
    a, b, c, d = here[:, :-1], across[:, :-1], across[:, 1:], here[:, 1:]
    return np.stack((a, b, c, a, c, d), axis=2).reshape(-1, 3)
