# SPDX-License-Identifier: Apache-2.0
"""The action arm_controller/follow_joint_trajectory, as MoveIt and others drive an arm."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.node import Node
from rclpy.time import Time
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipulator3d_control.joint_trajectory import TrajectoryError, TrajectoryPoint, plan_joint_trajectory
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode

NAME = "arm_controller/follow_joint_trajectory"
# a stamp this old still counts as now: a message takes its time
_LATE_S = 1.0
_Result = FollowJointTrajectory.Result


class TrajectoryRefusal(Refusal):
    """A refusal for which FollowJointTrajectory has a code of its own.

    Attributes:
        follow_code: that code, below 0.
    """

    def __init__(self, follow_code: int, code: ErrorCode, message: str) -> None:
        super().__init__(code, message)
        self.follow_code = follow_code


@dataclass(frozen=True)
class Tolerances:
    """What the measured arm may be off.

    Attributes:
        path: shape (3,), rad; on the way, infinite where the server's own bounds are enough.
        goal: shape (3,), rad; at the end, None for the server's own.
        goal_time: s after the end of the motion until it must be within `goal`; None for the server's own.
    """

    path: Array
    goal: Array | None = None
    goal_time: float | None = None


class FollowJointTrajectoryAction:
    """Serves the action.

    Args:
        node: the motion server.
        desk: gives the arm.
        markers: shows the path.
    """

    def __init__(self, node: Node, desk: GoalDesk, markers: PathMarkers) -> None:
        self._node = node
        self._desk = desk
        self._markers = markers
        self._server = desk.serve(FollowJointTrajectory, NAME, self._execute)

    async def _execute(self, handle: Any) -> Any:
        result = _Result(error_code=_Result.SUCCESSFUL)
        try:
            if handle.request.trajectory.points:
                await self._follow(handle)
            else:
                await hold(self._desk)
        except Refusal as refusal:
            result.error_code = getattr(refusal, "follow_code", int(refusal.code))
            result.error_string = str(refusal)
            if refusal.code == ErrorCode.CANCELED and handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result
        handle.succeed()
        return result

    async def _follow(self, handle: Any) -> None:
        run = self._desk.begin(handle)
        try:
            run.check()
            arm = self._desk.monitor.arm
            assert arm is not None
            tolerances = _tolerances(handle.request, arm, self._desk)
            run.publish_feedback = lambda: self._publish_feedback(handle, arm)
            await follow(self._node, self._desk, run, handle.request.trajectory, tolerances, self._markers)
        finally:
            self._desk.finish()

    def _publish_feedback(self, handle: Any, arm: ArmModel) -> None:
        measured, deviation = self._desk.monitor.joints, self._desk.monitor.deviation
        assert measured is not None
        feedback = FollowJointTrajectory.Feedback(joint_names=list(arm.joint_names))
        feedback.header.stamp = self._node.get_clock().now().to_msg()
        feedback.desired, feedback.actual, feedback.error = (
            _point(angles, self._desk.stream.motion_time) for angles in (measured - deviation, measured, -deviation)
        )
        times = [_seconds(point.time_from_start) for point in handle.request.trajectory.points]
        feedback.index = min(int(np.searchsorted(times, self._desk.stream.motion_time)), len(times) - 1)
        handle.publish_feedback(feedback)


async def hold(desk: GoalDesk) -> None:
    """End what is running, on its path, as an empty trajectory asks for; wait until the arm is at rest."""
    if desk.interrupt(Refusal(ErrorCode.STOPPED, "ended by an empty trajectory; the arm has come to rest on its path")):
        await desk.vacated()


async def follow(
    node: Node, desk: GoalDesk, run: GoalRun, trajectory: JointTrajectory, tolerances: Tolerances, markers: PathMarkers
) -> None:
    """Check a trajectory, wait for its start, and run through it.

    Raises:
        Refusal: it cannot be followed, or was interrupted.
    """
    arm = desk.monitor.arm
    assert arm is not None
    wait = _time_to_start(node, trajectory)
    start = desk.start_position()
    points = [
        TrajectoryPoint(_seconds(point.time_from_start), point.positions, point.velocities, point.accelerations)
        for point in trajectory.points
    ]

    def plan() -> Any:
        try:
            return plan_joint_trajectory(arm, trajectory.joint_names, points, start)
        except TrajectoryError as error:
            code = _Result.INVALID_JOINTS if error.names_wrong else _Result.INVALID_GOAL
            raise TrajectoryRefusal(code, ErrorCode.INVALID_TRAJECTORY, str(error)) from error

    motion = await desk.planned(plan)
    desk.start_stream(start, 1.0)
    markers.show_motions([motion])
    if wait > 0.0:
        await run.rest(wait)
    run.watch = lambda: _off_the_path(arm, desk, tolerances.path)
    await run.move(motion)
    run.watch = lambda: None
    try:
        await run.settle(tolerances.goal, tolerances.goal_time)
    except Refusal as refusal:
        if run.interruption is not None or refusal.code != ErrorCode.TRACKING_ERROR:
            raise
        raise TrajectoryRefusal(_Result.GOAL_TOLERANCE_VIOLATED, refusal.code, str(refusal)) from refusal


def _off_the_path(arm: ArmModel, desk: GoalDesk, allowed: Array) -> Refusal | None:
    off = np.abs(desk.monitor.deviation)
    worst = int(np.argmax(off - allowed))
    if off[worst] <= allowed[worst]:
        return None
    return TrajectoryRefusal(
        _Result.PATH_TOLERANCE_VIOLATED,
        ErrorCode.TRACKING_ERROR,
        f"{arm.joint_names[worst]} is {off[worst]:.4f} rad from the trajectory, above the path tolerance of "
        f"{allowed[worst]:g} rad; plan slower, or allow more",
    )


def _time_to_start(node: Node, trajectory: JointTrajectory) -> float:
    stamp = Time.from_msg(trajectory.header.stamp)
    if stamp.nanoseconds == 0:
        return 0.0
    wait = (stamp.nanoseconds - node.get_clock().now().nanoseconds) * 1e-9
    if wait < -_LATE_S:
        raise TrajectoryRefusal(
            _Result.OLD_HEADER_TIMESTAMP,
            ErrorCode.INVALID_TRAJECTORY,
            f"header.stamp lies {-wait:.3f} s in the past, more than the {_LATE_S:g} s allowed; give the time of the "
            "start, or 0 for at once",
        )
    return wait


def _tolerances(goal: FollowJointTrajectory.Goal, arm: ArmModel, desk: GoalDesk) -> Tolerances:
    if goal.multi_dof_trajectory.points or goal.component_path_tolerance or goal.component_goal_tolerance:
        raise _invalid("the arm has no joints with several degrees of freedom; leave multi_dof_trajectory and the "
                       "component tolerances empty")  # fmt: skip
    time = _seconds(goal.goal_time_tolerance)
    if time < 0.0:
        raise _invalid(f"goal_time_tolerance is {time:g} s; give at least 0 s, 0 for the server's own")
    return Tolerances(
        _bounds(goal.path_tolerance, "path_tolerance", arm, math.inf),
        _bounds(goal.goal_tolerance, "goal_tolerance", arm, desk.parameters.goal_tolerance),
        time or None,
    )


def _bounds(tolerances: Sequence[JointTolerance], field: str, arm: ArmModel, default: float) -> Array:
    bounds = np.full(3, default)
    for tolerance in tolerances:
        if tolerance.name not in arm.joint_names:
            raise TrajectoryRefusal(
                _Result.INVALID_JOINTS,
                ErrorCode.INVALID_TRAJECTORY,
                f"{field}: joint '{tolerance.name}' is none of the arm's joints {', '.join(arm.joint_names)}",
            )
        if tolerance.velocity > 0.0 or tolerance.acceleration > 0.0:
            raise _invalid(
                f"{field} of {tolerance.name}: positions alone are bounded; leave velocity and acceleration 0"
            )
        value = tolerance.position
        if not (value >= 0.0 or value == -1.0) or math.isinf(value):
            raise _invalid(
                f"{field} of {tolerance.name} is {value:g} rad; give a positive bound, 0 for the server's own or "
                "-1 for none"
            )
        if value != 0.0:
            bounds[arm.joint_names.index(tolerance.name)] = math.inf if value == -1.0 else value
    return bounds


def _invalid(message: str) -> TrajectoryRefusal:
    return TrajectoryRefusal(_Result.INVALID_GOAL, ErrorCode.INVALID_TRAJECTORY, message)


def _seconds(duration: Any) -> float:
    return float(duration.sec + duration.nanosec * 1e-9)


def _point(angles: Array, time: float) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(positions=angles.tolist())
    point.time_from_start.sec = int(time)
    point.time_from_start.nanosec = int((time - int(time)) * 1e9)
    return point
