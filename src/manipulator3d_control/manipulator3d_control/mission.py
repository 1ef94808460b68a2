# SPDX-License-Identifier: Apache-2.0
"""Plans a pick-and-place: every path of it is checked before anything moves."""

from dataclasses import dataclass

import numpy as np

from manipulator3d_control.joint_path import plan_joint_motion
from manipulator3d_control.motion import Motion
from manipulator3d_control.path import PathError
from manipulator3d_control.path_motion import motion_along
from manipulator3d_control.phase import Phase
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.tool_path import plan_tool_line
from manipulator3d_kinematics import ArmModel, IkStatus, forward_kinematics, inverse_kinematics
from manipulator3d_node.error_code import ErrorCode

# an arm this close to a position need not move there, rad
_THERE_RAD = 1e-4


@dataclass(frozen=True)
class Move:
    """One motion of a mission.

    Attributes:
        motion: from rest to rest.
        phases: what it is for, and from which time of the motion on, s; the first from 0.
    """

    motion: Motion
    phases: tuple[tuple[Phase, float], ...]


@dataclass(frozen=True)
class PickPlaceRequest:
    """What is to be picked and placed.

    Attributes:
        pick, place: shape (3,), m, in the base frame.
        approach_height: m above both points; 0 goes straight from point to point.
        elbow: "auto" (the branch that the arm is in, else the other), "down" or "up".
        preferred_elbow: "down" or "up"; for "auto" where the arm is stretched and in neither.
    """

    pick: Array
    place: Array
    approach_height: float
    elbow: str = "auto"
    preferred_elbow: str = "down"


@dataclass(frozen=True)
class Mission:
    """The moves of one cycle, in order; all start and end at rest.

    Attributes:
        to_home: from where the arm is to the home position; empty when it is there.
        before_grasp: to the pick point.
        before_release: from the pick point to the place point.
        after_release: from the place point to the home position.
        retreat: from the pick point to the approach point, for a failed grasp; None without approach height.
    """

    to_home: tuple[Move, ...]
    before_grasp: tuple[Move, ...]
    before_release: tuple[Move, ...]
    after_release: tuple[Move, ...]
    retreat: Move | None

    @property
    def moves(self) -> tuple[Move, ...]:
        """All moves of a first cycle in order."""
        return self.to_home + self.before_grasp + self.before_release + self.after_release


def plan_pick_place(arm: ArmModel, request: PickPlaceRequest, start: Array) -> Mission:
    """Plan the moves of a pick-and-place.

    The arm goes to its home position in joint space, and along straight tool lines otherwise. Where the line from home
    to the pick side, or from the pick side to the place side, cannot be followed (it may lead through the arm's own
    column), that move is made in joint space if limits and floor allow it; descending, lifting and retreating are
    straight always.

    Args:
        arm: the arm.
        request: the points.
        start: shape (3,), rad; where the arm is.

    Raises:
        Refusal: a point or a path cannot be reached; names it and tells why.
    """
    first_refusal: Refusal | None = None
    for elbow in _elbows_to_try(arm, request, start):
        try:
            return _plan_with_elbow(arm, request, start, elbow)
        except Refusal as refusal:
            first_refusal = first_refusal or refusal
    assert first_refusal is not None
    raise first_refusal


def _elbows_to_try(arm: ArmModel, request: PickPlaceRequest, start: Array) -> tuple[str, ...]:
    if request.elbow != "auto":
        return (request.elbow,)
    angle = float(arm.sign[2] * start[2] + arm.offset[2])
    first_up = request.preferred_elbow == "up" if abs(angle) < _THERE_RAD else angle < 0.0
    return ("up", "down") if first_up else ("down", "up")


def _plan_with_elbow(arm: ArmModel, request: PickPlaceRequest, start: Array, elbow: str) -> Mission:
    up = np.array([0.0, 0.0, request.approach_height])
    pick_joints = _solve(arm, request.pick, "pick point", elbow, arm.home)
    place_joints = _solve(arm, request.place, "place point", elbow, arm.home)
    descends = request.approach_height > 0.0
    above_pick, above_place = request.pick + up, request.place + up
    if descends:
        above_pick_joints = _solve(arm, above_pick, "point above the pick point", elbow, pick_joints)
        above_place_joints = _solve(arm, above_place, "point above the place point", elbow, place_joints)
    else:
        above_pick_joints, above_place_joints = pick_joints, place_joints
    to_home: tuple[Move, ...] = ()
    if np.max(np.abs(start - arm.home)) > _THERE_RAD:
        to_home = (_joint_move(arm, Phase.HOME, start, arm.home),)
    home_point = forward_kinematics(arm, arm.home)
    approach = _transfer(arm, Phase.TO_PICK, (home_point, arm.home), (above_pick, above_pick_joints))
    transfer = _transfer(arm, Phase.TO_PLACE, (above_pick, above_pick_joints), (above_place, above_place_joints))
    leave = _joint_move(arm, Phase.TO_HOME, above_place_joints, arm.home)
    if not descends:
        return Mission(to_home, (approach,), (transfer,), (leave,), None)
    descend_pick = _line(arm, Phase.DESCEND_PICK, above_pick, request.pick, above_pick_joints)
    lift = _line(arm, Phase.LIFT, request.pick, above_pick, pick_joints)
    descend_place = _line(arm, Phase.DESCEND_PLACE, above_place, request.place, above_place_joints)
    retreat = _line(arm, Phase.RETREAT, request.place, above_place, place_joints)
    return Mission(to_home, (approach, descend_pick), (lift, transfer, descend_place), (retreat, leave), lift)


def _solve(arm: ArmModel, point: Array, name: str, elbow: str, seed: Array) -> Array:
    result = inverse_kinematics(arm, point, elbow=elbow, seed=seed)
    if result.status is not IkStatus.REACHED or result.q is None:
        raise Refusal(ErrorCode(int(result.status)), f"{name}: {result.message}")
    return result.q


def _transfer(arm: ArmModel, phase: Phase, start: tuple[Array, Array], end: tuple[Array, Array]) -> Move:
    """A straight line if it can be followed and ends in the wanted joints, else a joint-space move."""
    try:
        line = plan_tool_line(arm, start[0], end[0], start[1])
    except PathError as straight:
        reason = str(straight)
    else:
        if np.max(np.abs(line.end - end[1])) < _THERE_RAD:
            return Move(motion_along(arm, line), ((phase, 0.0),))
        reason = "the straight line ends in another branch"
    try:
        return Move(plan_joint_motion(arm, start[1], end[1]), ((phase, 0.0),))
    except PathError as around:
        raise Refusal(
            ErrorCode.PATH_UNREACHABLE,
            f"{phase.name}: the straight line cannot be followed ({reason}), nor a joint-space move ({around})",
        ) from around


def _line(arm: ArmModel, phase: Phase, start: Array, end: Array, start_joints: Array) -> Move:
    try:
        return Move(motion_along(arm, plan_tool_line(arm, start, end, start_joints)), ((phase, 0.0),))
    except PathError as error:
        raise Refusal(ErrorCode.PATH_UNREACHABLE, f"{phase.name}: {error}") from error


def _joint_move(arm: ArmModel, phase: Phase, start: Array, end: Array) -> Move:
    try:
        return Move(plan_joint_motion(arm, start, end), ((phase, 0.0),))
    except PathError as error:
        raise Refusal(ErrorCode.PATH_UNREACHABLE, f"{phase.name}: {error}") from error
