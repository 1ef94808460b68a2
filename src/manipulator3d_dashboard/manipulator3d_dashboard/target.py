# SPDX-License-Identifier: Apache-2.0
"""Whether the arm reaches START and GOAL, and why not."""

import math
from dataclasses import dataclass

from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.state_text import point_text
from manipulator3d_kinematics import ArmModel, IkStatus, inverse_kinematics

TARGETS = ("START", "GOAL")
# Points of the documented mission, for a reach of 0.40 m.
_START: Vector = (0.25, -0.15, 0.06)
_GOAL: Vector = (0.20, 0.20, 0.08)
_CENTRE: Vector = (0.25, 0.0, 0.12)
_REACH = 0.40


@dataclass(frozen=True)
class Verdict:
    """Whether a target can be used, and what there is to say of it."""

    reachable: bool
    text: str


def default_targets(arm: ArmModel) -> tuple[Vector, Vector]:
    """Give START and GOAL that suit the size of an arm, in m."""
    scale = (arm.upper_arm + arm.forearm) / _REACH
    return _scaled(_START, scale), _scaled(_GOAL, scale)


def default_centre(arm: ArmModel) -> Vector:
    """Give a place to draw at that suits the size of an arm, in m."""
    return _scaled(_CENTRE, (arm.upper_arm + arm.forearm) / _REACH)


def check_target(arm: ArmModel, point: Vector) -> Verdict:
    """Ask the kinematics for a target in m, in the arm's base."""
    if not all(math.isfinite(number) for number in point):
        return Verdict(False, "not a number; give x, y and z in m")
    result = inverse_kinematics(arm, point)
    norm = f"norm {math.hypot(*point):.3f} m"
    if result.status != IkStatus.REACHED:
        return Verdict(False, f"{norm}: {result.message}")
    return Verdict(True, f"{norm}, reachable")


def refusal(arm: ArmModel | None, start: Vector, goal: Vector) -> str:
    """Say why PLAY cannot be obeyed; empty when it can."""
    if arm is None:
        return "no arm is known yet; publish a URDF on robot_description"
    for name, point in (("START", start), ("GOAL", goal)):
        verdict = check_target(arm, point)
        if not verdict.reachable:
            return f"{name} {point_text(point)}: {verdict.text}"
    return ""


def _scaled(point: Vector, scale: float) -> Vector:
    x, y, z = (round(number * scale, 3) for number in point)
    return (x, y, z)
