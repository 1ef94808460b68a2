# SPDX-License-Identifier: Apache-2.0
"""The topic /arm_controller/joint_trajectory: trajectories without an answer; what is wrong is logged."""

from collections.abc import Coroutine
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from manipulator3d_control.joint_trajectory import check_trajectory
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun, Replaced
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.nodes.trajectory_run import Tolerances, TrajectoryRun, hold, points_of
from manipulator3d_control.refusal import Refusal
from manipulator3d_node.error_code import ErrorCode

_TOPIC = "arm_controller/joint_trajectory"


class JointTrajectoryTopic:
    """Follows what comes by arm_controller/joint_trajectory; the newest replaces the one before from rest.

    Args:
        node: the motion server.
        desk: gives the arm.
        markers: shows the path.
    """

    def __init__(self, node: Node, desk: GoalDesk, markers: PathMarkers) -> None:
        self._node = node
        self._desk = desk
        self._follower = TrajectoryRun(node, desk, markers)
        self._run: GoalRun | None = None
        self._next: JointTrajectory | None = None
        self._subscription = node.create_subscription(JointTrajectory, _TOPIC, self._on_trajectory, 10)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            if not message.points:
                self._next = None
                self._start(hold(self._desk))
                return
            arm = self._desk.monitor.arm
            if arm is None:
                raise Refusal(ErrorCode.NO_STATE, "no robot_description has arrived; start the stack")
            # a bad one must not end the one that is being followed
            check_trajectory(arm, message.joint_names, points_of(message))
            if self._run is not None:
                self._replace(message)
                return
            self._run = self._begin()
            self._start(self._drive(message))
        except Refusal as refusal:
            self._node.get_logger().error(f"{_TOPIC}: {refusal}")

    def _begin(self) -> GoalRun:
        run = self._desk.begin(None)
        run.name = f"a trajectory from {_TOPIC} is running"
        return run

    def _start(self, task: Coroutine[Any, Any, None]) -> None:
        executor: Any = self._node.executor
        executor.create_task(task)

    def _replace(self, message: JointTrajectory) -> None:
        assert self._run is not None
        ending = self._run.interruption
        if ending is not None and not isinstance(ending, Replaced):
            self._node.get_logger().error(f"{_TOPIC}: the trajectory before is just ending ({ending}); send it again")
            return
        self._next = message
        if ending is None:
            self._desk.interrupt(Replaced("replaced by a newer trajectory"))

    async def _drive(self, message: JointTrajectory) -> None:
        """Follow a trajectory, and those that replace it."""
        while True:
            run = self._run
            assert run is not None
            try:
                await self._follower.follow(run, message, Tolerances())
            except Replaced as replaced:
                self._node.get_logger().info(f"{_TOPIC}: {replaced}")
            except Refusal as refusal:
                self._node.get_logger().error(f"{_TOPIC}: {refusal}")
            finally:
                self._desk.finish()
                self._run = None
            newer, self._next = self._next, None
            # none moves after a stop
            if newer is None or not isinstance(run.interruption, Replaced):
                return
            message = newer
            try:
                self._run = self._begin()
            except Refusal as refusal:
                self._node.get_logger().error(f"{_TOPIC}: {refusal}")
                return
