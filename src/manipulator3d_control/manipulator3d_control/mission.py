# SPDX-License-Identifier: Apache-2.0
"""Plans a pick-and-place: every path of it is checked before anything moves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from manipulator3d_control.joint_path import plan_joint_motion, plan_joint_path
from manipulator3d_control.motion import Motion
from manipulator3d_control.path import Path, PathError
from manipulator3d_control.path_motion import PathMotion, motion_along
from manipulator3d_control.phase import Phase
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.surroundings import Surroundings
from manipulator3d_control.tool_path import plan_tool_line
from manipulator3d_control.way_around import clear_motions, clear_paths, rounded_clear
from manipulator3d_kinematics import ArmModel, IkStatus, forward_kinematics, inverse_kinematics
from manipulator3d_node.error_code import ErrorCode

T = TypeVar("T")
# what a path is for, and the path
Leg = tuple[Phase, Path]

# an arm this close to a position need not move there, rad
_THERE_RAD = 1e-4


@dataclass(frozen=True)
class Move:
    """One motion of a mission.

    Attributes:
        motion: from rest to rest.
        phases: what it is for, and from which time of the motion on, s; the first from 0.
        deviation: largest distance of the tool from the paths between the points, through rounded corners, m.
    """

    motion: Motion
    phases: tuple[tuple[Phase, float], ...]
    deviation: float = 0.0


@dataclass(frozen=True)
class PickPlaceRequest:
    """What is to be picked and placed.

    Attributes:
        pick, place: shape (3,), m, in the base frame.
        approach_height: m above both points; 0 goes straight from point to point.
        elbow: "auto" (the branch that the arm is in, else the other), "down" or "up".
        preferred_elbow: "down" or "up"; for "auto" where the arm is stretched and in neither.
        blend_radius: m; corners above pick and place are rounded within it, 0: the arm stops in them.
        tool_speed, tool_acceleration: limits of the tool, but for the way home at the start; m/s, m/s².
    """

    pick: Array
    place: Array
    approach_height: float
    elbow: str = "auto"
    preferred_elbow: str = "down"
    blend_radius: float = 0.0
    tool_speed: float = np.inf
    tool_acceleration: float = np.inf


@dataclass(frozen=True)
class Mission:
    """The moves of one cycle, in order; all start and end at rest.

    Attributes:
        to_home: from where the arm is to the home position; empty when it is there.
        before_grasp: to the pick point.
        before_release: from the pick point to the place point.
        after_release: from the place point to the home position.
        retreat: from the pick point to the approach point, for a failed grasp; None without approach height.
        again: from there to the pick point for another try; None without approach height.
    """

    to_home: tuple[Move, ...]
    before_grasp: tuple[Move, ...]
    before_release: tuple[Move, ...]
    after_release: tuple[Move, ...]
    retreat: Move | None
    again: Move | None

    @property
    def moves(self) -> tuple[Move, ...]:
        """All moves of a first cycle in order."""
        return self.to_home + self.before_grasp + self.before_release + self.after_release

    @property
    def from_home(self) -> "Mission":
        """The same for an arm at its home position."""
        return replace(self, to_home=())


def plan_pick_place(
    arm: ArmModel, request: PickPlaceRequest, start: Array, around: Surroundings | None = None
) -> Mission:
    """Plan the moves of a pick-and-place.

    The arm goes to its home position in joint space, and along straight tool lines otherwise. Where the line from home
    to the pick side, or from the pick side to the place side, cannot be followed (it may lead through the arm's own
    column), that move is made in joint space if limits and floor allow it; descending, lifting and retreating are
    straight but for the rounded corners at their upper ends. The arm stops at pick, place and home, and in corners that
    cannot be rounded because a limit, the floor or an obstacle is near. Where an obstacle is in the way of a move other
    than these short straight ones, via points lead around it.

    Args:
        arm: the arm.
        request: the points.
        start: shape (3,), rad; where the arm is.
        around: the obstacles; None for none.

    Raises:
        Refusal: a point or a path cannot be reached or is blocked; names it and tells why.
    """
    first_refusal: Refusal | None = None
    for elbow in _elbows_to_try(arm, request, start):
        try:
            return _plan_with_elbow(arm, request, start, elbow, around)
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


def _plan_with_elbow(
    arm: ArmModel, request: PickPlaceRequest, start: Array, elbow: str, around: Surroundings | None
) -> Mission:
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
        to_home = _to_home(arm, start, around, request.blend_radius)
    home_point = forward_kinematics(arm, arm.home)
    approach = _transfer(arm, Phase.TO_PICK, (home_point, arm.home), (above_pick, above_pick_joints))
    transfer = _transfer(arm, Phase.TO_PLACE, (above_pick, above_pick_joints), (above_place, above_place_joints))
    leave = _planned(Phase.TO_HOME, lambda: plan_joint_path(arm, above_place_joints, arm.home))
    tool = request.tool_speed, request.tool_acceleration
    before: list[Leg] = []
    lifting: list[Leg] = []
    lowering: list[Leg] = []
    rising: list[Leg] = []
    again: Move | None = None
    retreat: Move | None = None
    if descends:
        before = [_line(arm, around, Phase.DESCEND_PICK, above_pick, request.pick, above_pick_joints)]
        lifting = [_line(arm, around, Phase.LIFT, request.pick, above_pick, pick_joints, True)]
        lowering = [_line(arm, around, Phase.DESCEND_PLACE, above_place, request.place, above_place_joints, True)]
        rising = [_line(arm, around, Phase.RETREAT, request.place, above_place, place_joints)]
        retreat = Move(motion_along(arm, lifting[0][1], *tool), ((Phase.LIFT, 0.0),))
        again = Move(motion_along(arm, before[0][1], *tool), ((Phase.DESCEND_PICK, 0.0),))
    to_pick = _clear_legs(Phase.TO_PICK, approach, around, False) + before
    to_place = lifting + _clear_legs(Phase.TO_PLACE, transfer, around, True) + lowering
    from_place = rising + _clear_legs(Phase.TO_HOME, leave, around, False)
    return Mission(
        to_home,
        _moves(arm, to_pick, request, around),
        _moves(arm, to_place, request, around, holding=True),
        _moves(arm, from_place, request, around),
        retreat,
        again,
    )


def _solve(arm: ArmModel, point: Array, name: str, elbow: str, seed: Array) -> Array:
    result = inverse_kinematics(arm, point, elbow=elbow, seed=seed)
    if result.status is not IkStatus.REACHED or result.q is None:
        raise Refusal(ErrorCode(int(result.status)), f"{name}: {result.message}")
    return result.q


def _moves(
    arm: ArmModel, chain: Sequence[Leg], request: PickPlaceRequest, around: Surroundings | None, holding: bool = False
) -> tuple[Move, ...]:
    """One motion through the chain with rounded corners, or one for each path of it."""
    chain = [leg for leg in chain if leg[1].length > 0.0] or chain[:1]
    tool = request.tool_speed, request.tool_acceleration
    rounded = rounded_clear(arm, [path for _, path in chain], request.blend_radius, around, holding)
    if rounded is None:
        return tuple(Move(motion_along(arm, path, *tool), ((phase, 0.0),)) for phase, path in chain)
    motion = motion_along(arm, rounded.path, *tool)
    assert isinstance(motion, PathMotion)
    starts = [0.0, *map(motion.time_at, rounded.corners)]
    phases = [(phase, start) for (phase, _), start in zip(chain, starts, strict=True)]
    changes = [phases[0], *(after for before, after in pairwise(phases) if after[0] != before[0])]
    return (Move(motion, tuple(changes), rounded.deviation),)


def _to_home(arm: ArmModel, start: Array, around: Surroundings | None, radius: float) -> tuple[Move, ...]:
    direct = _planned(Phase.HOME, lambda: plan_joint_motion(arm, start, arm.home))
    motions = _unblocked(Phase.HOME, lambda: clear_motions(arm, direct, around, radius))
    return tuple(Move(motion, ((Phase.HOME, 0.0),)) for motion in motions)


def _clear_legs(phase: Phase, path: Path, around: Surroundings | None, holding: bool) -> list[Leg]:
    return [(phase, leg) for leg in _unblocked(phase, lambda: clear_paths(path, around, holding))]


def _transfer(arm: ArmModel, phase: Phase, start: tuple[Array, Array], end: tuple[Array, Array]) -> Path:
    """A straight line if it can be followed and ends in the wanted joints, else a joint-space path."""
    try:
        line = plan_tool_line(arm, start[0], end[0], start[1])
    except PathError as straight:
        reason = str(straight)
    else:
        if np.max(np.abs(line.end - end[1])) < _THERE_RAD:
            return line
        reason = "the straight line ends in another branch"
    try:
        return plan_joint_path(arm, start[1], end[1])
    except PathError as around:
        raise Refusal(
            ErrorCode.PATH_UNREACHABLE,
            f"{phase.name}: the straight line cannot be followed ({reason}), nor a joint-space move ({around})",
        ) from around


def _line(
    arm: ArmModel,
    around: Surroundings | None,
    phase: Phase,
    start: Array,
    end: Array,
    start_joints: Array,
    holding: bool = False,
) -> Leg:
    path = _planned(phase, lambda: plan_tool_line(arm, start, end, start_joints))
    if around is not None:
        _unblocked(phase, lambda: around.check_path(path, holding))
    return phase, path


def _unblocked(phase: Phase, plan: Callable[[], T]) -> T:
    try:
        return plan()
    except Refusal as blocked:
        raise Refusal(blocked.code, f"{phase.name}: {blocked}") from blocked


def _planned(phase: Phase, plan: Callable[[], T]) -> T:
    try:
        return plan()
    except PathError as error:
        raise Refusal(ErrorCode.PATH_UNREACHABLE, f"{phase.name}: {error}") from error
