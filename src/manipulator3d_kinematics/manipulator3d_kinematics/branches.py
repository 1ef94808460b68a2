# SPDX-License-Identifier: Apache-2.0
"""All joint positions that put the tool point at a target, in plain mathematics.

The target fixes the radius in the arm's plane, r = ±sqrt(x² + y² − d²): + faces the target, − reaches over. The yaw
angle is atan2(y, x) + atan2(d, r). What is left is a triangle with the sides upper_arm, forearm and D, the distance
from the shoulder. Half-angle formulas give its angles without loss where the arm is stretched or folded (Kahan,
Miscalculating Area and Angles of a Needle-like Triangle):

    elbow:    tan(theta2 / 2) = sqrt(a b / (c e))
    shoulder: tan(beta / 2)   = sqrt(a e / (b c))
    a = L1 + L2 − D, b = L1 + L2 + D, c = D + L1 − L2, e = D − L1 + L2
"""

from collections.abc import Callable
from math import asin, atan2, copysign, floor, hypot, inf, isinf, pi, sin, sqrt, tau

import numpy as np

from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.model import ArmModel

# m and rad; what is this near to a boundary counts as on it
ON_BOUNDARY = 1e-9
# of the reach; what rounding may leave of a distance of zero, and the square root would turn into 1e-7 rad
ROUNDING = 4e-15
# m; nearer to the yaw axis than this, any yaw angle serves
ON_AXIS = 1e-12
# rad; elbow up and elbow down are one solution below
STRAIGHT = 1e-7

# one solution: three joint angles and the branch (bit 0: elbow up, bit 1: reaching over)
Solution = tuple[float, float, float, int]
BranchSolver = Callable[[float, float, float, float | None, float | None], list[Solution]]


def fitted(angle: float, lower: float, upper: float) -> float | None:
    """Turn an angle by whole revolutions into its limits; None when that cannot be.

    An angle within rounding of a limit becomes the limit.
    """
    if lower <= angle <= upper:
        return angle
    if isinf(lower):
        return min(angle + tau * floor((upper - angle + ON_BOUNDARY) / tau), upper)
    turned = angle - tau * floor((angle - lower + ON_BOUNDARY) / tau)
    if turned <= upper:
        return turned if turned >= lower else lower
    return upper if turned <= upper + ON_BOUNDARY else None


def triangle(total: float, difference: float, distance: float) -> tuple[float, float] | None:
    """Angles of the elbow (theta2, from 0 stretched to pi folded) and at the shoulder (beta) for a distance between
    shoulder and tool.

    None when the distance is beyond what the links reach by more than rounding.
    """
    a, b = total - distance, total + distance
    c, e = distance + difference, distance - difference
    rounding = ROUNDING * total
    if a < rounding:
        if a < -ON_BOUNDARY:
            return None
        a = 0.0
    if c < rounding:
        if c < -ON_BOUNDARY:
            return None
        c = 0.0
    if e < rounding:
        if e < -ON_BOUNDARY:
            return None
        e = 0.0
    return 2.0 * atan2(sqrt(a * b), sqrt(c * e)), 2.0 * atan2(sqrt(a * e), sqrt(b * c))


def branch_solver(arm: ArmModel) -> BranchSolver:
    """Make the function that solves for one arm.

    The function takes the target's x, y, z (m, base frame) and the yaw and shoulder angle to use where the target
    leaves them free (rad, or None for the one nearest 0), and returns the solutions within limits with the elbow above
    the floor: facing down, facing up, over down, over up. Whether the target is above the floor is not looked at.
    """
    solve = _arm_frame_solver(arm)
    if arm.is_plain:
        return solve
    inverse = arm.mount[:3, :3].T
    turn = [tuple(row) for row in inverse.tolist()]
    shift = (-inverse @ arm.mount[:3, 3]).tolist()
    sign, offset = arm.sign.tolist(), arm.offset.tolist()
    lower, upper = arm.lower.tolist(), arm.upper.tolist()
    check_elbow = not arm.is_upright and not isinf(arm.floor_z)

    def solve_in_base(
        x: float, y: float, z: float, free_yaw: float | None = None, free_shoulder: float | None = None
    ) -> list[Solution]:
        px, py, pz = (r[0] * x + r[1] * y + r[2] * z + t for r, t in zip(turn, shift, strict=True))
        yaw = None if free_yaw is None else sign[0] * free_yaw + offset[0]
        shoulder = None if free_shoulder is None else sign[1] * free_shoulder + offset[1]
        found: list[Solution] = []
        for *theta, branch in solve(px, py, pz, yaw, shoulder):
            if check_elbow and elbow_height(arm, np.array(theta[0]), np.array(theta[1])) < arm.floor_z - ON_BOUNDARY:
                continue
            q = [min(max(sign[i] * (theta[i] - offset[i]), lower[i]), upper[i]) for i in range(3)]
            found.append((q[0], q[1], q[2], branch))
        return found

    return solve_in_base


def lowest_shoulder_sine(arm: ArmModel) -> float:
    """The least sin theta1 with the elbow on or above the floor.

    −inf where it always is, or where the yaw angle matters too.
    """
    if not arm.is_upright or isinf(arm.floor_z):
        return -inf
    sine = (arm.floor_z - ON_BOUNDARY - float(arm.mount[2, 3]) - arm.base_height) / arm.upper_arm
    return sine if sine > -1.0 else -inf


def elbow_height(arm: ArmModel, t0: Array, t1: Array) -> Array:
    """Height of the elbow in the base frame from angles of the DH table."""
    to_x, to_y, to_z, origin = arm.mount[2]
    radial, d = arm.shoulder_offset + arm.upper_arm * np.cos(t1), arm.lateral_offset
    c0, s0 = np.cos(t0), np.sin(t0)
    up = arm.base_height + arm.upper_arm * np.sin(t1)
    return np.asarray(to_x * (radial * c0 + d * s0) + to_y * (radial * s0 - d * c0) + to_z * up + origin)


def _arm_frame_solver(arm: ArmModel) -> BranchSolver:
    """The solver in the arm's frame and the angles of the DH table; its constants are local, which makes it quick."""
    base_height, d, shoulder_offset = arm.base_height, arm.lateral_offset, arm.shoulder_offset
    total, difference, offset = arm.reach, arm.upper_arm - arm.forearm, abs(arm.lateral_offset)
    (lower0, lower1, lower2), (upper0, upper1, upper2) = (limits.tolist() for limits in arm.theta_limits)
    # between these no whole turn brings the shoulder within its limits, which is so for most angles beyond them
    above, next_below = upper1 + ON_BOUNDARY, lower1 - ON_BOUNDARY + tau
    lowest_sine = lowest_shoulder_sine(arm)
    lowest = asin(lowest_sine) if -1.0 < lowest_sine <= 1.0 else copysign(inf, lowest_sine)
    # where the limits alone keep the elbow above the floor there is nothing to check
    check_elbow = lowest_sine > -1.0 and not (lowest <= lower1 and upper1 <= pi - lowest)

    def solve(
        x: float, y: float, z: float, free_yaw: float | None = None, free_shoulder: float | None = None
    ) -> list[Solution]:
        found: list[Solution] = []
        width = hypot(x, y)
        margin = width - offset
        if margin < 0.0:
            if margin < -ON_BOUNDARY:
                return found
            margin = 0.0
        radius = sqrt(margin * (width + offset))
        azimuth, swing = atan2(y, x), atan2(d, radius)
        height = z - base_height
        angles = triangle(total, difference, hypot(radius - shoulder_offset, height))
        for over in (0, 2):
            if over:
                # on the inner boundary facing and reaching over are the same
                if radius <= ON_AXIS:
                    break
                inward = -radius - shoulder_offset
                if shoulder_offset != 0.0:
                    angles = triangle(total, difference, hypot(inward, height))
                t0 = azimuth + pi - swing
            else:
                inward = radius - shoulder_offset
                t0 = azimuth + swing
                if width <= ON_AXIS:
                    t0 = min(max(0.0, lower0), upper0) if free_yaw is None else free_yaw
            if angles is None:
                continue
            if not lower0 <= t0 <= upper0:
                turned = fitted(t0, lower0, upper0)
                if turned is None:
                    continue
                t0 = turned
            elbow, beta = angles
            toward = atan2(height, inward)
            for up in (0, 1):
                if up:
                    if elbow < STRAIGHT or elbow > pi - STRAIGHT:
                        break
                    t1, t2 = toward + beta, -elbow
                else:
                    t1, t2 = toward - beta, elbow
                    if height == 0.0 == inward:
                        t1 = min(max(0.0, lower1), upper1) if free_shoulder is None else free_shoulder
                if not lower2 <= t2 <= upper2:
                    turned = fitted(t2, lower2, upper2)
                    if turned is None:
                        continue
                    t2 = turned
                if not lower1 <= t1 <= upper1:
                    if above < t1 < next_below:
                        continue
                    turned = fitted(t1, lower1, upper1)
                    if turned is None:
                        continue
                    t1 = turned
                if check_elbow and sin(t1) < lowest_sine:
                    continue
                found.append((t0, t1, t2, over + up))
        return found

    return solve
