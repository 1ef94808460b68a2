# SPDX-License-Identifier: Apache-2.0
"""The action /move_to."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point

from manipulator3d_control.joint_path import plan_joint_motion
from manipulator3d_control.motion import Motion
from manipulator3d_control.nodes.goal_fields import elbow_name, joint_angles, point_in_base, speed_scale
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun, end_goal
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.path import PathError
from manipulator3d_control.path_motion import motion_along
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.tool_path import plan_tool_line
from manipulator3d_control.way_around import clear_motions
from manipulator3d_interfaces.action import MoveTo
from manipulator3d_kinematics import ArmModel, IkStatus, forward_kinematics, inverse_kinematics
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.target_frame import TargetFrame


class MoveToAction:
    """Serves move_to; the arguments are as for PickPlaceAction."""

    def __init__(self, desk: GoalDesk, frames: TargetFrame, markers: PathMarkers) -> None:
        self._desk = desk
        self._frames = frames
        self._markers = markers
        self._server = desk.serve(MoveTo, "move_to", self._execute)

    async def _execute(self, handle: Any) -> MoveTo.Result:
        started = time.monotonic()
        result = MoveTo.Result(position_error=np.nan)
        try:
            run = self._desk.begin(handle)
            try:
                run.check()
                arm = self._desk.monitor.arm
                assert arm is not None
                scale = speed_scale(handle.request.speed_scale, self._desk.parameters.default_speed_scale)
                start = self._desk.start_position()
                plan, around = self._plan(handle.request, arm, start), self._desk.surroundings
                radius, holding = self._desk.parameters.blend_radius, self._desk.is_holding()
                motions = await self._desk.planned(lambda: clear_motions(arm, plan(), around, radius, holding))
                self._desk.start_stream(start, scale)
                self._markers.show_motions(motions)
                await self._run_through(run, motions)
                await run.settle()
                target = forward_kinematics(arm, motions[-1].sample(motions[-1].duration).position)
            finally:
                self._desk.finish()
            assert self._desk.monitor.tool is not None
            result.position_error = float(np.linalg.norm(self._desk.monitor.tool - target))
        except Refusal as refusal:
            result.error_code, result.message = int(refusal.code), str(refusal)
        if self._desk.monitor.tool is not None:
            result.tool = _point(self._desk.monitor.tool)
        result.duration = time.monotonic() - started
        result.success = result.error_code == ErrorCode.SUCCESS
        end_goal(handle, result)
        return result

    async def _run_through(self, run: GoalRun, motions: Sequence[Motion]) -> None:
        total, behind = sum(motion.duration for motion in motions) or 1.0, 0.0
        run.publish_feedback = lambda: self._publish_feedback(
            run.handle, (behind + self._desk.stream.motion_time) / total
        )
        for motion in motions:
            await run.move(motion)
            behind += motion.duration

    def _plan(self, goal: MoveTo.Goal, arm: ArmModel, start: Array) -> Callable[[], Motion]:
        """Check the goal and give what plans it."""
        elbow = elbow_name(goal.elbow)
        if goal.target_type not in (MoveTo.Goal.TARGET_POINT, MoveTo.Goal.TARGET_JOINTS):
            raise Refusal(ErrorCode.INVALID_INPUT, f"target_type is {goal.target_type}; give 0 (point) or 1 (joints)")
        if goal.path_type not in (MoveTo.Goal.STRAIGHT, MoveTo.Goal.JOINT_SPACE):
            raise Refusal(
                ErrorCode.INVALID_INPUT, f"path_type is {goal.path_type}; give 0 (straight) or 1 (joint space)"
            )
        if goal.target_type == MoveTo.Goal.TARGET_JOINTS:
            angles = joint_angles(goal.joints, "joints", arm)
            return lambda: _checked(lambda: plan_joint_motion(arm, start, angles), joints=True)
        point = point_in_base(goal.point, "point", arm, self._frames)
        # a straight line keeps the branch that the arm is in
        straight = goal.path_type == MoveTo.Goal.STRAIGHT
        found = inverse_kinematics(arm, point, elbow="auto" if straight else elbow, seed=start)
        if found.status is not IkStatus.REACHED or found.q is None:
            raise Refusal(ErrorCode(int(found.status)), f"point: {found.message}")
        if straight:
            tool = forward_kinematics(arm, start)
            return lambda: _checked(
                lambda: motion_along(arm, plan_tool_line(arm, tool, point, start), *self._desk.tool_limits)
            )
        target = found.q
        return lambda: _checked(lambda: plan_joint_motion(arm, start, target))

    def _publish_feedback(self, handle: Any, progress: float) -> None:
        tool = self._desk.monitor.tool
        if tool is not None:
            handle.publish_feedback(MoveTo.Feedback(progress=min(progress, 1.0), tool=_point(tool)))


def _checked(plan: Callable[[], Motion], joints: bool = False) -> Motion:
    try:
        return plan()
    except PathError as error:
        # a joint target beyond a limit is the target's fault, all else the path's
        is_target = joints and error.status == IkStatus.JOINT_LIMIT
        raise Refusal(ErrorCode(error.status) if is_target else ErrorCode.PATH_UNREACHABLE, str(error)) from error


def _point(tool: Array) -> Point:
    return Point(x=float(tool[0]), y=float(tool[1]), z=float(tool[2]))
