# SPDX-License-Identifier: Apache-2.0
"""What the Python interface asks of a stack: each function makes one call, `Arm` and `AsyncArm` carry it out."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from manipulator3d.arm_answers import (
    FkSolution,
    HomeProgress,
    IkSolution,
    MoveResult,
    PickPlaceResult,
    Progress,
)
from manipulator3d.nodes.arm_call import (
    Joints,
    Motion,
    OnProgress,
    Request,
    Vector,
    elbow_number,
    joint_message,
    service,
    set_point,
    xyz,
)
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.action import Home, MoveTo, PickPlace
from manipulator3d_interfaces.srv import SolveFK, SolveIK


def solve_ik(
    point: Vector, *, elbow: str = "auto", seed: Joints | None = None, allow_closest: bool = False, frame: str = ""
) -> Request[IkSolution]:
    """Find the joint angles that put the tool point at a target; nothing moves.

    Args:
        point: shape (3,), m, in `frame`.
        elbow: "auto" takes the solution nearest to the seed, or else to the present joints; "down" or "up".
        seed: shape (3,), rad, or angles by name.
        allow_closest: answer an unreachable target with the nearest reachable point.
        frame: empty for the arm's base.

    Raises:
        ArmError: the target is not reachable (TOO_FAR, TOO_CLOSE, BELOW_FLOOR, JOINT_LIMIT, …).
        ValueError: not three numbers, or another elbow.
    """
    request = SolveIK.Request(elbow=elbow_number(elbow), allow_closest=allow_closest)
    set_point(request.target, point, "point", frame)
    if seed is not None:
        request.seed = joint_message(seed, "seed")

    def read(response: Any) -> IkSolution:
        return IkSolution(
            joints=np.array(response.solution.position),
            names=tuple(response.solution.name),
            alternatives=np.array([list(entry.position) for entry in response.alternatives]).reshape(-1, 3),
            achieved=xyz(response.achieved),
            position_error=response.position_error,
            manipulability=response.manipulability,
            elbow="down" if response.elbow == SolveIK.Request.DOWN else "up",
            message=response.message,
        )

    return service(SolveIK, "solve_ik", request, read)


def solve_fk(joints: Joints) -> Request[FkSolution]:
    """Find where joint angles put the arm, and the Jacobian there; nothing moves.

    Args:
        joints: shape (3,), rad, or angles by name.

    Raises:
        ArmError: refused.
        ValueError: not three numbers.
    """

    def read(response: Any) -> FkSolution:
        elbow, tool = (frame.pose for frame in response.frames)
        turn = tool.orientation
        return FkSolution(
            tool=xyz(tool.position),
            elbow=xyz(elbow.position),
            tool_orientation=np.array([turn.x, turn.y, turn.z, turn.w]),
            jacobian=np.array(response.jacobian).reshape(6, 3),
        )

    return service(SolveFK, "solve_fk", SolveFK.Request(joints=joint_message(joints, "joints")), read)


def move_to(
    point: Vector,
    *,
    straight: bool = True,
    elbow: str = "auto",
    speed_scale: float = 0.0,
    frame: str = "",
    timeout: float | None = None,
    on_progress: OnProgress = None,
) -> Motion[MoveResult]:
    """Move the tool to a point and return when it is there.

    Args:
        point: shape (3,), m, in `frame`.
        straight: on a straight line; otherwise all joints start and end together.
        elbow: branch of the target, for a motion that is not straight: "auto", "down" or "up".
        speed_scale: fraction of the limits, above 0 to 1; 0 for the server's default.
        frame: empty for the arm's base.
        timeout: s; the motion is cancelled then, and the arm decelerates.
        on_progress: called with a Progress some ten times a second.

    Raises:
        ArmError: refused, failed, cancelled, or not finished in time.
        ValueError: not three numbers, or another elbow.
    """
    goal = MoveTo.Goal(target_type=MoveTo.Goal.TARGET_POINT, elbow=elbow_number(elbow), speed_scale=float(speed_scale))
    goal.path_type = MoveTo.Goal.STRAIGHT if straight else MoveTo.Goal.JOINT_SPACE
    set_point(goal.point, point, "point", frame)
    return Motion(MoveTo, "move_to", goal, _move_result, timeout, on_progress)


def move_joints(
    joints: Joints,
    *,
    speed_scale: float = 0.0,
    timeout: float | None = None,
    on_progress: OnProgress = None,
) -> Motion[MoveResult]:
    """Move the joints to a position and return when they are there; all start and end together.

    Args:
        joints: shape (3,), rad, or angles by name.
        speed_scale, timeout, on_progress: see move_to.

    Raises:
        ArmError: refused, failed, cancelled, or not finished in time.
        ValueError: not three numbers.
    """
    goal = MoveTo.Goal(target_type=MoveTo.Goal.TARGET_JOINTS, path_type=MoveTo.Goal.JOINT_SPACE)
    goal.joints, goal.speed_scale = joint_message(joints, "joints"), float(speed_scale)
    return Motion(MoveTo, "move_to", goal, _move_result, timeout, on_progress)


def pick_place(
    pick: Vector,
    place: Vector,
    *,
    cycles: int = 1,
    approach_height: float | None = None,
    dwell: float = 0.0,
    elbow: str = "auto",
    speed_scale: float = 0.0,
    frame: str = "",
    timeout: float | None = None,
    on_progress: OnProgress = None,
) -> Motion[PickPlaceResult]:
    """Pick an object at one point and place it at another; return when all cycles are done.

    Args:
        pick, place: shape (3,), m, in `frame`.
        cycles: number of cycles; 0: until cancelled.
        approach_height: m above both points; None for the server's default.
        dwell: s of rest at grasp, release and between cycles.
        elbow, speed_scale, frame, timeout, on_progress: see move_to.

    Raises:
        ArmError: refused, failed, cancelled, or not finished in time; its `result` tells the cycles completed.
        ValueError: not three numbers, another elbow, or a negative number of cycles.
    """
    if cycles < 0:
        raise ValueError(f"cycles: {cycles} is negative; give 0 for an endless loop, or more")
    goal = PickPlace.Goal(elbow=elbow_number(elbow), speed_scale=float(speed_scale), cycles=cycles, dwell=float(dwell))
    goal.approach_height = math.nan if approach_height is None else float(approach_height)
    set_point(goal.pick, pick, "pick", frame)
    set_point(goal.place, place, "place", frame)

    def read(result: Any) -> PickPlaceResult:
        return PickPlaceResult(result.cycles_completed, result.duration)

    def progress(message: Any) -> Progress:
        tool = xyz(message.tool)
        return Progress(message.progress, tool, message.phase_name, message.cycle, message.holding)

    return Motion(PickPlace, "pick_place", goal, read, timeout, on_progress, progress)


def home(
    joints: Sequence[str] = (),
    *,
    set_here: Sequence[float] | None = None,
    timeout: float | None = None,
    on_progress: Callable[[HomeProgress], None] | None = None,
) -> Motion[dict[str, float]]:
    """Find the joints' zero positions by their switches, and return the measured angles in rad by name.

    Args:
        joints: names; none for all, in the firmware's order.
        set_here: rad, one for each joint; take the present position as these angles instead of searching.
        timeout: s; the search is cancelled then.
        on_progress: called with a HomeProgress.

    Raises:
        ArmError: refused, failed (HOMING_FAILED names the joint), cancelled, or not finished in time.
    """
    goal = Home.Goal(joints=list(joints), set_here=set_here is not None)
    goal.positions = [float(angle) for angle in (set_here if set_here is not None else ())]

    def read(result: Any) -> dict[str, float]:
        return dict(zip(result.joints.name, result.joints.position, strict=True))

    def progress(message: Any) -> HomeProgress:
        return HomeProgress(message.joint, message.step, message.position)

    return Motion(Home, "home", goal, read, timeout, on_progress, progress)


def open_gripper() -> Request[str]:
    """Open the gripper.

    Raises:
        ArmError: refused.
    """
    return service(SetBool, "set_gripper", SetBool.Request(data=False), _message)


def close_gripper() -> Request[str]:
    """Close the gripper.

    Raises:
        ArmError: refused.
    """
    return service(SetBool, "set_gripper", SetBool.Request(data=True), _message)


def pause() -> Request[str]:
    """Bring the running motion to rest on its path; `resume` goes on.

    Raises:
        ArmError: nothing is moving, or it is paused already.
    """
    return _trigger("pause")


def resume() -> Request[str]:
    """Go on with the paused motion.

    Raises:
        ArmError: no motion is paused.
    """
    return _trigger("resume")


def stop() -> Request[str]:
    """End the running motion within the limits; nothing moves until a new one is asked for.

    Raises:
        ArmError: refused.
    """
    return _trigger("stop")


def emergency_stop() -> Request[str]:
    """Brake at once and latch until `reset_fault`. By software: it is not safety-rated.

    Raises:
        ArmError: refused.
    """
    return _trigger("emergency_stop")


def reset_fault() -> Request[str]:
    """Clear a latched fault. Nothing moves.

    Raises:
        ArmError: there is none, or its cause persists.
    """
    return _trigger("reset_fault")


def set_speed(fraction: float) -> Request[None]:
    """Run the present and all later motions at a fraction of their planned speed, without leaving the path.

    Args:
        fraction: above 0 to 1.

    Raises:
        ArmError: no stack.
        ValueError: a fraction outside its bounds.
    """
    if not 0.0 < fraction <= 1.0:
        raise ValueError(f"speed: {fraction:g} is not above 0 to 1; to stand still call pause")

    async def perform(client: StackClient) -> None:
        await client.publish(Float64, "speed_scale", Float64(data=float(fraction)))

    return Request(perform)


def _trigger(name: str) -> Request[str]:
    return service(Trigger, name, Trigger.Request(), _message)


def _message(response: Any) -> str:
    return response.message


def _move_result(result: Any) -> MoveResult:
    return MoveResult(xyz(result.tool), result.position_error, result.duration)
