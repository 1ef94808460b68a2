# SPDX-License-Identifier: Apache-2.0
"""Rigid transforms as position and unit quaternion, on plain numbers."""

import math
from typing import NamedTuple

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

NO_TURN: Quaternion = (1.0, 0.0, 0.0, 0.0)


class Pose(NamedTuple):
    """Where a frame is in its parent: position in m, orientation as (w, x, y, z)."""

    position: Vector = (0.0, 0.0, 0.0)
    wxyz: Quaternion = NO_TURN


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Hamilton product: the turn `b` followed by the turn `a`, both in fixed axes."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotate(wxyz: Quaternion, vector: Vector) -> Vector:
    """Turn a vector."""
    w, x, y, z = wxyz
    _, rx, ry, rz = multiply(multiply(wxyz, (0.0, *vector)), (w, -x, -y, -z))
    return (rx, ry, rz)


def compose(parent: Pose, child: Pose) -> Pose:
    """Express `child`, given in `parent`, in the frame that `parent` is given in."""
    x, y, z = rotate(parent.wxyz, child.position)
    px, py, pz = parent.position
    return Pose((px + x, py + y, pz + z), multiply(parent.wxyz, child.wxyz))


def from_axis_angle(axis: Vector, angle: float) -> Quaternion:
    """Turn by `angle` (rad) around the unit vector `axis`."""
    s = math.sin(0.5 * angle)
    return (math.cos(0.5 * angle), axis[0] * s, axis[1] * s, axis[2] * s)


def from_rpy(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Turn by roll, pitch and yaw (rad) around the fixed axes x, y and z in this order, as URDF has it."""
    about_x = from_axis_angle((1.0, 0.0, 0.0), roll)
    about_y = from_axis_angle((0.0, 1.0, 0.0), pitch)
    about_z = from_axis_angle((0.0, 0.0, 1.0), yaw)
    return multiply(about_z, multiply(about_y, about_x))
