# SPDX-License-Identifier: Apache-2.0
"""The topic arm_controller/joint_trajectory: trajectories without an answer."""

from typing import Any

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from manipulator3d_control.nodes.follow_joint_trajectory_action import Tolerances, follow, hold
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.refusal import Refusal
from manipulator3d_node.error_code import ErrorCode

NAME = "arm_controller/joint_trajectory"


class JointTrajectoryTopic:
    """Follows what arrives; refusals are logged.

    A trajectory replaces one that came by this topic before: the arm comes to rest on the old path first. Goals of
    actions are not replaced.

    Args:
        node: the motion server.
        desk: gives the arm.
        markers: shows the path.
    """

    def __init__(self, node: Node, desk: GoalDesk, markers: PathMarkers) -> None:
        self._node = node
        self._desk = desk
        self._markers = markers
        self._run: GoalRun | None = None
        self._next: JointTrajectory | None = None
        self._serving = False
        node.create_subscription(JointTrajectory, NAME, self._on_trajectory, 10)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        self._next = message
        if self._serving:
            if self._run is not None:
                self._desk.interrupt(Refusal(ErrorCode.STOPPED, f"{NAME}: replaced by a newer trajectory"))
            return
        self._serving = True
        executor: Any = self._node.executor
        executor.create_task(self._serve)

    async def _serve(self) -> None:
        try:
            while self._next is not None:
                trajectory, self._next = self._next, None
                try:
                    await self._take(trajectory)
                except Refusal as refusal:
                    self._node.get_logger().error(f"{NAME}: {refusal}")
        finally:
            self._serving = False

    async def _take(self, trajectory: JointTrajectory) -> None:
        if not trajectory.points:
            await hold(self._desk)
            return
        self._run = self._desk.begin(None)
        self._run.name = f"a trajectory from {NAME} is running"
        try:
            await follow(self._node, self._desk, self._run, trajectory, Tolerances(np.full(3, np.inf)), self._markers)
        finally:
            self._run = None
            self._desk.finish()
