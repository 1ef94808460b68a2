# SPDX-License-Identifier: Apache-2.0
"""Why a target is refused, with the figures and the remedy."""

from dataclasses import replace
from math import hypot, inf, sqrt

import numpy as np

from manipulator3d_kinematics.branches import ON_BOUNDARY, branch_solver, elbow_height
from manipulator3d_kinematics.checked_numbers import Triple
from manipulator3d_kinematics.ik_result import UP_BIT, IkStatus
from manipulator3d_kinematics.model import ArmModel


def refusal(arm: ArmModel, target: Triple, elbow: str) -> tuple[IkStatus, str]:
    """Tell why no solution of the wanted elbow reaches the target.

    Args:
        arm: the arm.
        target: m, in the base frame; one that the branches of `elbow` do not reach.
        elbow: "auto", "down" or "up".

    Returns:
        TOO_FAR, TOO_CLOSE, BELOW_FLOOR or JOINT_LIMIT, and the message.
    """
    place = "target ({:.3f}, {:.3f}, {:.3f}) m".format(*target)
    if target[2] < arm.floor_z - ON_BOUNDARY:
        depth = arm.floor_z - target[2]
        return IkStatus.BELOW_FLOOR, (
            f"{place} lies {depth:.4g} m below the floor (z = {arm.floor_z:.3f} m); raise it or allow the closest point"
        )
    return _out_of_reach(arm, target, place) or _blocked(arm, target, elbow, place)


def _out_of_reach(arm: ArmModel, target: Triple, place: str) -> tuple[IkStatus, str] | None:
    x, y, z = (arm.mount[:3, :3].T @ (np.array(target) - arm.mount[:3, 3])).tolist()
    width, offset = hypot(x, y), abs(arm.lateral_offset)
    if width < offset - ON_BOUNDARY:
        return IkStatus.TOO_CLOSE, (
            f"{place} is {offset - width:.4g} m inside the cylinder of radius {offset:.3f} m around the yaw axis, "
            "which the lateral offset keeps out of reach; move it outward or allow the closest point"
        )
    radius = sqrt(max(width * width - offset * offset, 0.0))
    height = z - arm.base_height
    distances = [hypot(r - arm.shoulder_offset, height) for r in (radius, -radius)]
    beyond, within = min(distances) - arm.reach, arm.inner_reach - max(distances)
    if beyond > ON_BOUNDARY:
        return IkStatus.TOO_FAR, (
            f"{place} is {beyond:.4g} m farther from the shoulder than the arm reaches ({arm.reach:.3f} m); "
            "move it closer or allow the closest point"
        )
    if within > ON_BOUNDARY:
        return IkStatus.TOO_CLOSE, (
            f"{place} is {within:.4g} m nearer to the shoulder than the folded arm reaches ({arm.inner_reach:.3f} m); "
            "move it outward or allow the closest point"
        )
    return None


def _blocked(arm: ArmModel, target: Triple, elbow: str, place: str) -> tuple[IkStatus, str]:
    """What is geometrically within reach fails by a joint limit or by the elbow's height."""
    other = (
        f"; elbow {arm_elbow(arm, target)} reaches it"
        if elbow != "auto" and arm.solve_branches(*target, None, None)
        else ""
    )
    free = replace(arm, floor_z=-inf)
    depths = [
        arm.floor_z - float(elbow_height(arm, *arm.theta(np.array(s[:3]))[:2]))
        for s in free.solve_branches(*target, None, None)
        if _is_wanted(s[3], elbow)
    ]
    if depths:
        return IkStatus.BELOW_FLOOR, (
            f"{place}: the elbow would be {min(depths):.4g} m below the floor (z = {arm.floor_z:.3f} m)"
            f"{other or '; raise the target or allow the closest point'}"
        )
    unlimited = branch_solver(replace(free, lower=np.full(3, -inf), upper=np.full(3, inf)))
    candidates = [s for s in unlimited(*target, None, None) if _is_wanted(s[3], elbow)]
    excess, joint, angle, bound, side = min(
        (max(_excess(arm, joint, s[joint]) for joint in range(3)) for s in candidates),
        default=(0.0, 2, 0.0, 0.0, "within"),
    )
    if side == "within":
        return IkStatus.JOINT_LIMIT, f"{place} has no solution with the elbow {elbow}{other or '; ask for elbow auto'}"
    what = "upper" if side == "above" else "lower"
    return IkStatus.JOINT_LIMIT, (
        f"{place} needs {arm.joint_names[joint]} at {angle:.3f} rad, {excess:.4g} rad {side} its {what} limit of "
        f"{bound:.3f} rad{other or '; move the target or allow the closest point'}"
    )


def arm_elbow(arm: ArmModel, target: Triple) -> str:
    """Name the elbow that does reach the target."""
    return "up" if arm.solve_branches(*target, None, None)[0][3] & UP_BIT else "down"


def _is_wanted(branch: int, elbow: str) -> bool:
    return elbow == "auto" or (elbow == "up") == bool(branch & UP_BIT)


def _excess(arm: ArmModel, joint: int, angle: float) -> tuple[float, int, float, float, str]:
    """How far an angle or its equal by whole turns is outside its limits: excess, joint, angle, limit, side."""
    lower, upper = float(arm.lower[joint]), float(arm.upper[joint])
    turn = 2.0 * np.pi
    turns = [0.0] if not np.isfinite(lower + upper) else [turn * round((0.5 * (lower + upper) - angle) / turn)]
    turned = angle + turns[0]
    if turned > upper:
        return turned - upper, joint, turned, upper, "above"
    if turned < lower:
        return lower - turned, joint, turned, lower, "below"
    return 0.0, joint, turned, upper, "within"
