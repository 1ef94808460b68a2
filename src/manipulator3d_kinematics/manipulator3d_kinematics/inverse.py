# SPDX-License-Identifier: Apache-2.0
"""Joint angles for a tool point."""

from collections.abc import Sequence
from math import floor, pi, tau

from numpy.typing import ArrayLike

from manipulator3d_kinematics.branches import ON_BOUNDARY, Solution
from manipulator3d_kinematics.checked_numbers import Triple, triple
from manipulator3d_kinematics.closest_point import closest_solution
from manipulator3d_kinematics.ik_result import UP_BIT, IkResult, IkStatus
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.refusal import refusal

ELBOWS = ("auto", "down", "up")
_UP_BITS = {"down": 0, "up": UP_BIT}
_WHOLE_TURN = tau + ON_BOUNDARY
_REACHED = IkStatus.REACHED


def inverse_kinematics(
    arm: ArmModel,
    p: ArrayLike | Sequence[float],
    elbow: str = "auto",
    seed: ArrayLike | Sequence[float] | None = None,
    allow_closest: bool = False,
    preferred_elbow: str = "down",
) -> IkResult:
    """Find the joint angles that put the tool point at a target.

    Closed form; up to four branches (facing or reaching over, elbow down or up), see branches.py. An angle and its
    equal by whole turns are one solution; it is turned into the limits, with a seed as near to the seed as they allow.

    Args:
        arm: the arm.
        p: shape (3,), m, in the base frame.
        elbow: "down" (elbow angle of the DH table at least 0), "up", or "auto": the solution nearest the seed, without
            a seed the preferred elbow, else the other.
        seed: shape (3,), rad; of the solutions allowed the nearest in joint travel time (differences over velocity
            limits) is taken.
        allow_closest: answer a target that cannot be reached with the nearest point that can.
        preferred_elbow: "down" or "up"; for "auto" without a seed.

    Returns:
        IkResult; `q` is None unless `status` is REACHED or CLOSEST.

    Raises:
        ValueError: wrong shape, a number that is not finite, or an unknown elbow.
    """
    x, y, z = triple(p, "target")
    up = _UP_BITS.get(preferred_elbow if elbow == "auto" else elbow)
    if up is None:
        raise ValueError(f"elbow: {elbow!r} with {preferred_elbow!r} preferred is unknown; known: {', '.join(ELBOWS)}")
    start: Triple | None = None if seed is None else triple(seed, "seed")
    if z >= arm.floor_z - ON_BOUNDARY:
        if start is None:
            found = arm.solve_branches(x, y, z, None, None)
        else:
            found = arm.solve_branches(x, y, z, start[0], start[1])
        if found:
            if start is not None:
                found = _by_distance(arm, found, start, None if elbow == "auto" else up)
            else:
                if arm.widest_turn > _WHOLE_TURN:
                    found = [_turned_toward(arm, solution, (0.0, 0.0, 0.0)) for solution in found]
                if len(found) > 2 or (found[0][3] & UP_BIT) != up:
                    found = [s for s in found if s[3] & UP_BIT == up] + [s for s in found if s[3] & UP_BIT != up]
            if elbow == "auto" or (found[0][3] & UP_BIT) == up:
                return IkResult(arm, (x, y, z), _REACHED, found)
    status, message = refusal(arm, (x, y, z), elbow)
    if not allow_closest:
        return IkResult(arm, (x, y, z), status, [], message)
    nearest, distance = closest_solution(arm, (x, y, z), elbow, start)
    reason = message.split(";")[0]
    if nearest is None:
        told = f"{reason}; no joint position keeps limits and floor: lower floor_z, or raise the arm's base"
        return IkResult(arm, (x, y, z), status, [], told)
    told = f"{reason}; the closest point is {distance:.4g} m away"
    return IkResult(arm, (x, y, z), IkStatus.CLOSEST, [nearest], told)


def _by_distance(arm: ArmModel, found: list[Solution], seed: Triple, up: int | None) -> list[Solution]:
    """Solutions in the order of their travel time from the seed, those of the wanted elbow first."""
    if arm.widest_turn > tau - ON_BOUNDARY:
        found = [_turned_toward(arm, solution, seed) for solution in found]
    if len(found) == 1:
        return found
    w0, w1, w2 = arm.travel_weights
    s0, s1, s2 = seed
    keyed = [
        (
            up is not None and (solution[3] & UP_BIT) != up,
            w0 * (solution[0] - s0) ** 2 + w1 * (solution[1] - s1) ** 2 + w2 * (solution[2] - s2) ** 2,
            solution,
        )
        for solution in found
    ]
    keyed.sort()
    return [solution for _, _, solution in keyed]


def _turned_toward(arm: ArmModel, solution: Solution, seed: Triple) -> Solution:
    """The same position with each angle turned by whole revolutions as near to the seed as the limits allow."""
    angles = []
    for angle, near, lower, upper in zip(solution, seed, arm.lower.tolist(), arm.upper.tolist(), strict=False):
        turned = angle + tau * floor((near - angle + pi) / tau)
        while turned > upper + ON_BOUNDARY:
            turned -= tau
        while turned < lower - ON_BOUNDARY:
            turned += tau
        inside = lower - ON_BOUNDARY <= turned <= upper + ON_BOUNDARY
        angles.append(min(max(turned, lower), upper) if inside else angle)
    return angles[0], angles[1], angles[2], solution[3]
