# SPDX-License-Identifier: Apache-2.0
"""Joint angles for many tool points at once.

The mathematics is that of branches.py, branch after branch for the rows still open.
"""

from dataclasses import dataclass
from math import isinf, pi, tau

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manipulator3d_kinematics.branches import (
    ON_AXIS,
    ON_BOUNDARY,
    ROUNDING,
    STRAIGHT,
    elbow_height,
    lowest_shoulder_sine,
)
from manipulator3d_kinematics.checked_numbers import Array, rows
from manipulator3d_kinematics.ik_result import IkStatus
from manipulator3d_kinematics.inverse import ELBOWS
from manipulator3d_kinematics.model import ArmModel

Mask = NDArray[np.bool_]
# so many rows keep all intermediate results in the second-level cache
_CHUNK = 4096


def inverse_kinematics_batch(
    arm: ArmModel, targets: ArrayLike, elbow: str = "down", preferred_elbow: str = "down"
) -> tuple[Array, NDArray[np.int32]]:
    """Find the joint angles for many targets, the same as inverse_kinematics gives without a seed.

    Args:
        arm: the arm.
        targets: shape (N, 3), m, in the base frame.
        elbow: "down", "up", or "auto": the preferred elbow, else the other.
        preferred_elbow: "down" or "up"; for "auto".

    Returns:
        q, shape (N, 3), rad, NaN where a target is not reached; and status, shape (N,), values of IkStatus.

    Raises:
        ValueError: another shape, a number that is not finite, or an unknown elbow.
    """
    points = rows(targets, "targets")
    if elbow not in ELBOWS or preferred_elbow not in ("down", "up"):
        raise ValueError(f"elbow: {elbow!r} with {preferred_elbow!r} preferred is unknown; known: {', '.join(ELBOWS)}")
    first = (preferred_elbow if elbow == "auto" else elbow) == "up"
    ups = (first, not first) if elbow == "auto" else (first,)
    q = np.empty(points.shape)
    status = np.empty(len(points), dtype=np.int32)
    for start in range(0, len(points), _CHUNK):
        part = slice(start, start + _CHUNK)
        q[part], status[part] = _solve(arm, points[part], ups)
    return q, status


@dataclass
class _Planar:
    """What a row of targets comes to in the arm's plane."""

    azimuth: Array
    swing: Array
    radius: Array
    width: Array
    height: Array
    in_cylinder: Mask

    def take(self, index: NDArray[np.intp]) -> "_Planar":
        return _Planar(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


def _solve(arm: ArmModel, points: Array, ups: tuple[bool, ...]) -> tuple[Array, NDArray[np.int32]]:
    local = points if arm.is_plain else (points - arm.mount[:3, 3]) @ arm.mount[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        planar = _planar(arm, local)
        q = np.full(points.shape, np.nan)
        above = points[:, 2] >= arm.floor_z - ON_BOUNDARY
        left = np.flatnonzero(above & ~planar.in_cylinder)
        # limits kept but for the elbow, which is below the floor
        low = np.zeros(len(points), dtype=bool)
        for up in ups:
            for over in (False, True):
                if not len(left):
                    break
                whole = len(left) == len(points)
                theta, solved, elbow_low = _branch(arm, planar if whole else planar.take(left), up, over)
                low[left[elbow_low]] = True
                index = left[solved]
                q[index] = _joint_angles(arm, theta[solved])
                left = left[~solved]
        status = np.zeros(len(points), dtype=np.int32)
        failed = np.flatnonzero(np.isnan(q[:, 0]))
        if len(failed):
            status[failed] = _reasons(arm, planar.take(failed), above[failed], low[failed])
    return q, status


def _planar(arm: ArmModel, local: Array) -> _Planar:
    x, y, z = local.T
    d = abs(arm.lateral_offset)
    width = np.hypot(x, y)
    margin = width - d
    radius = np.sqrt(np.maximum(margin, 0.0) * (width + d))
    swing = np.arctan2(arm.lateral_offset, radius) if d else np.zeros(len(local))
    return _Planar(np.arctan2(y, x), swing, radius, width, z - arm.base_height, margin < -ON_BOUNDARY)


def _branch(arm: ArmModel, planar: _Planar, up: bool, over: bool) -> tuple[Array, Mask, Mask]:
    """Angles of one branch, where it keeps limits and floor, and where the elbow's height alone stands against it."""
    lower, upper = arm.theta_limits
    inward = (-planar.radius if over else planar.radius) - arm.shoulder_offset
    distance = np.hypot(inward, planar.height)
    a = arm.upper_arm + arm.forearm - distance
    b = arm.upper_arm + arm.forearm + distance
    c = distance + (arm.upper_arm - arm.forearm)
    e = distance - (arm.upper_arm - arm.forearm)
    allowed = (a >= -ON_BOUNDARY) & (c >= -ON_BOUNDARY) & (e >= -ON_BOUNDARY)
    a, c, e = (np.where(side < ROUNDING * arm.reach, 0.0, side) for side in (a, c, e))
    elbow = 2.0 * np.arctan2(np.sqrt(a * b), np.sqrt(c * e))
    beta = 2.0 * np.arctan2(np.sqrt(a * e), np.sqrt(b * c))
    toward = np.arctan2(planar.height, inward)
    theta = np.empty((len(distance), 3))
    theta[:, 0] = planar.azimuth + (pi - planar.swing if over else planar.swing)
    if over:
        # on the inner boundary facing and reaching over are the same
        allowed &= planar.radius > ON_AXIS
    else:
        theta[planar.width <= ON_AXIS, 0] = min(max(0.0, lower[0]), upper[0])
    if up:
        theta[:, 1], theta[:, 2] = toward + beta, -elbow
        allowed &= (elbow >= STRAIGHT) & (elbow <= pi - STRAIGHT)
    else:
        theta[:, 1], theta[:, 2] = toward - beta, elbow
        theta[(planar.height == 0.0) & (inward == 0.0), 1] = min(max(0.0, lower[1]), upper[1])
    for joint in range(3):
        allowed &= _fit(theta[:, joint], float(lower[joint]), float(upper[joint]))
    elbow_low = allowed & ~_elbow_kept(arm, theta)
    return theta, allowed & ~elbow_low, elbow_low


def _fit(angle: Array, lower: float, upper: float) -> Mask:
    """Turn angles in place by whole revolutions into the limits; tells where that can be."""
    outside = np.flatnonzero((angle < lower) | (angle > upper))
    fits = np.ones(len(angle), dtype=bool)
    if len(outside):
        away = angle[outside]
        if isinf(lower):
            away += tau * np.floor((upper - away + ON_BOUNDARY) / tau)
        else:
            away -= tau * np.floor((away - lower + ON_BOUNDARY) / tau)
        fits[outside] = away <= upper + ON_BOUNDARY
        angle[outside] = np.clip(away, lower, upper)
    return fits


def _elbow_kept(arm: ArmModel, theta: Array) -> Mask:
    if isinf(arm.floor_z):
        return np.ones(len(theta), dtype=bool)
    if not arm.is_upright:
        return elbow_height(arm, theta[:, 0], theta[:, 1]) >= arm.floor_z - ON_BOUNDARY
    sine = lowest_shoulder_sine(arm)
    return np.ones(len(theta), dtype=bool) if isinf(sine) else np.sin(theta[:, 1]) >= sine


def _joint_angles(arm: ArmModel, theta: Array) -> Array:
    q = theta if arm.is_plain else np.clip(arm.joint_angles(theta), arm.lower, arm.upper)
    if arm.widest_turn <= tau + ON_BOUNDARY:
        return q
    # where several equals are within the limits, the one nearest zero
    turned = q + tau * np.floor((pi - q) / tau)
    turned -= tau * np.maximum(np.ceil((turned - arm.upper - ON_BOUNDARY) / tau), 0.0)
    turned += tau * np.maximum(np.ceil((arm.lower - ON_BOUNDARY - turned) / tau), 0.0)
    return np.where(turned <= arm.upper + ON_BOUNDARY, np.clip(turned, arm.lower, arm.upper), q)


def _reasons(arm: ArmModel, planar: _Planar, above: Mask, low: Mask) -> NDArray[np.int32]:
    """Status of rows without a solution, in the order of refusal.py."""
    facing = np.hypot(planar.radius - arm.shoulder_offset, planar.height)
    over = np.hypot(-planar.radius - arm.shoulder_offset, planar.height)
    too_far = np.minimum(facing, over) - arm.reach > ON_BOUNDARY
    too_close = arm.inner_reach - np.maximum(facing, over) > ON_BOUNDARY
    codes = np.select(
        [~above, planar.in_cylinder, too_far, too_close, low],
        [
            IkStatus.BELOW_FLOOR,
            IkStatus.TOO_CLOSE,
            IkStatus.TOO_FAR,
            IkStatus.TOO_CLOSE,
            IkStatus.BELOW_FLOOR,
        ],
        IkStatus.JOINT_LIMIT,
    )
    return np.asarray(codes, dtype=np.int32)
