# SPDX-License-Identifier: Apache-2.0
"""The action /arm_controller/follow_joint_trajectory, as MoveIt and other planners use it."""

from typing import Any

from control_msgs.action import FollowJointTrajectory
from rclpy.node import Node

from manipulator3d_control.joint_trajectory import TrajectoryFault, TrajectoryRefusal
from manipulator3d_control.nodes.goal_run import GoalDesk
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.nodes.trajectory_run import TrajectoryRun, hold, tolerances_of
from manipulator3d_control.refusal import Refusal
from manipulator3d_node.error_code import ErrorCode


class FollowJointTrajectoryAction:
    """Serves arm_controller/follow_joint_trajectory.

    Args:
        node: the motion server.
        desk: gives the arm.
        markers: shows the path.
    """

    def __init__(self, node: Node, desk: GoalDesk, markers: PathMarkers) -> None:
        self._node = node
        self._desk = desk
        self._run = TrajectoryRun(node, desk, markers)
        self._server = desk.serve(FollowJointTrajectory, "arm_controller/follow_joint_trajectory", self._execute)

    async def _execute(self, handle: Any) -> FollowJointTrajectory.Result:
        result = FollowJointTrajectory.Result()
        try:
            await self._follow(handle)
        except Refusal as refusal:
            result.error_code, result.error_string = _code(refusal), str(refusal)
        if result.error_code == FollowJointTrajectory.Result.SUCCESSFUL:
            handle.succeed()
        elif result.error_code == ErrorCode.CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return result

    async def _follow(self, handle: Any) -> None:
        goal = handle.request
        if goal.multi_dof_trajectory.points or goal.component_path_tolerance or goal.component_goal_tolerance:
            raise TrajectoryRefusal("the arm has no joint of several degrees of freedom; give `trajectory` alone")
        if not goal.trajectory.points:
            await hold(self._desk)
            return
        run = self._desk.begin(handle)
        try:
            arm = self._desk.monitor.arm
            assert arm is not None
            tolerances = tolerances_of(goal, arm.joint_names, self._desk.parameters.goal_tolerance)
            run.publish_feedback = lambda: self._publish_feedback(handle)
            await self._run.follow(run, goal.trajectory, tolerances)
        finally:
            self._desk.finish()

    def _publish_feedback(self, handle: Any) -> None:
        arm, measured, plan = self._desk.monitor.arm, self._desk.monitor.joints, self._run.plan
        if arm is None or measured is None or plan is None:
            return
        time = self._desk.stream.motion_time
        deviation = self._desk.monitor.deviation
        feedback = FollowJointTrajectory.Feedback(joint_names=list(arm.joint_names))
        feedback.header.stamp = self._node.get_clock().now().to_msg()
        feedback.desired.positions = (measured - deviation).tolist()
        feedback.actual.positions = measured.tolist()
        feedback.error.positions = (-deviation).tolist()
        for point in (feedback.desired, feedback.actual, feedback.error):
            point.time_from_start.sec = int(time)
            point.time_from_start.nanosec = int(time % 1.0 * 1e9)
        # older control_msgs do not have it
        if hasattr(feedback, "index"):
            feedback.index = plan.next_point(time)
        handle.publish_feedback(feedback)


def _code(refusal: Refusal) -> int:
    """The action's own code, or that of msg/ErrorCode for what the action has none for."""
    if isinstance(refusal, TrajectoryRefusal):
        return int(refusal.fault)
    if refusal.code is ErrorCode.TRACKING_ERROR:
        return int(TrajectoryFault.PATH_TOLERANCE_VIOLATED)
    return int(refusal.code)
