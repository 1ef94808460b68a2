# SPDX-License-Identifier: Apache-2.0
"""The surface of the reachable set as triangles, for a marker."""

from math import pi

import numpy as np

from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.workspace import swing, workspace

# m; cells of the outline, and steps of a whole turn
_CELL = 0.03
_STEPS = 40


def workspace_shell(arm: ArmModel) -> Array:
    """Turn the outlines of the cross-section about the yaw axis through the yaw range.

    Returns:
        Shape (3 T, 3), m, in the base frame: the corners of T triangles in turn.

    Raises:
        ValueError: the yaw axis is not perpendicular to the floor.
    """
    found = workspace(arm, _CELL)
    lower, upper = (float(limits[0]) for limits in arm.theta_limits)
    if upper - lower > 2.0 * pi or np.isinf(upper - lower):
        lower, upper = -pi, pi
    yaw = np.linspace(lower, upper, max(2, round(_STEPS * (upper - lower) / (2.0 * pi)) + 1))
    pieces = [_swept(arm, outline, yaw - swing(arm, outline[:, :1])) for outline in found.facing]
    pieces += [_swept(arm, outline, yaw + swing(arm, outline[:, :1]) - pi) for outline in found.over]
    return np.concatenate(pieces) if pieces else np.zeros((0, 3))


def _swept(arm: ArmModel, outline: Array, azimuth: Array) -> Array:
    """Triangles between the outline at successive azimuths, shape (points, steps)."""
    width, height = outline[:, :1], np.broadcast_to(outline[:, 1:] - arm.mount[2, 3], azimuth.shape)
    ring = np.stack((width * np.cos(azimuth), width * np.sin(azimuth), height), axis=-1)
    ring = ring @ arm.mount[:3, :3].T + arm.mount[:3, 3]
    here, across = ring, np.roll(ring, -1, axis=0)
    a, b, c, d = here[:, :-1], across[:, :-1], across[:, 1:], here[:, 1:]
    return np.stack((a, b, c, a, c, d), axis=2).reshape(-1, 3)
