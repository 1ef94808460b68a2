# SPDX-License-Identifier: Apache-2.0
"""Follows a JointTrajectory message for the goal that has the arm."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from manipulator3d_control.joint_trajectory import (
    TrajectoryFault,
    TrajectoryPlan,
    TrajectoryPoint,
    TrajectoryRefusal,
    plan_trajectory,
)
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_node.error_code import ErrorCode

# s; a stamp no older than this means now: what was stamped when it was sent
_STAMP_TOLERANCE_S = 1.0
_TRAJECTORY_SPEED = 1.0


@dataclass(frozen=True)
class Tolerances:
    """How far the measured arm may be from the trajectory.

    Attributes:
        path: on the way, shape (3,), rad; infinite where the goal sets no bound of its own.
        goal: at the end, shape (3,), rad; None: the parameter goal_tolerance.
        goal_time: s after the end to be within `goal`; None: the parameter settle_timeout.
    """

    path: Array = field(default_factory=lambda: np.full(3, np.inf))
    goal: Array | None = None
    goal_time: float | None = None


class TrajectoryRun:
    """Follows trajectories.

    Args:
        node: the motion server; its clock and log.
        desk: gives the arm.
        markers: shows the path.
    """

    def __init__(self, node: Node, desk: GoalDesk, markers: PathMarkers) -> None:
        self._node = node
        self._desk = desk
        self._markers = markers
        self.plan: TrajectoryPlan | None = None

    async def follow(self, run: GoalRun, message: JointTrajectory, tolerances: Tolerances) -> None:
        """Check a trajectory with at least one point and follow it to its end.

        Raises:
            Refusal: it cannot be followed, or was not.
        """
        run.check()
        desk, parameters = self._desk, self._desk.parameters
        arm = desk.monitor.arm
        assert arm is not None
        begin = self._begin_time(message)
        start = desk.start_position()
        points = points_of(message)
        plan = await desk.planned(
            lambda: plan_trajectory(
                arm,
                message.joint_names,
                points,
                start,
                parameters.trajectory_start_tolerance,
                parameters.trajectory_max_stretch,
            )
        )
        if plan.stretch > 1.0:
            self._node.get_logger().warning(
                f"the trajectory is run {plan.stretch:.3f} times slower than asked, to keep the joints' limits"
            )
        desk.start_stream(start, _TRAJECTORY_SPEED)
        self._markers.show_motions([plan.motion])
        wait = begin - self._now() - parameters.command_lead
        if wait > 0.0:
            await run.rest(wait)
        self.plan = plan
        run.watch = lambda: self._violation(tolerances.path)
        try:
            await run.move(plan.motion)
        finally:
            self.plan = None
            run.watch = lambda: None
        await self._settle(run, tolerances)

    async def _settle(self, run: GoalRun, tolerances: Tolerances) -> None:
        try:
            await run.settle(tolerances.goal, tolerances.goal_time)
        except Refusal as refusal:
            if run.interruption is None and refusal.code is ErrorCode.TRACKING_ERROR:
                fault = TrajectoryFault.GOAL_TOLERANCE_VIOLATED
                raise TrajectoryRefusal(str(refusal), fault, refusal.code) from refusal
            raise

    def _begin_time(self, message: JointTrajectory) -> float:
        stamp, now = _seconds(message.header.stamp), self._now()
        if stamp == 0.0:
            return now
        if stamp < now - _STAMP_TOLERANCE_S:
            raise TrajectoryRefusal(
                f"header.stamp is {now - stamp:.3f} s in the past, above the {_STAMP_TOLERANCE_S:g} s allowed; give "
                "the time at which to start, or 0 for now, and compare the clocks of both computers",
                TrajectoryFault.OLD_HEADER_TIMESTAMP,
            )
        return stamp

    def _violation(self, tolerance: Array) -> Refusal | None:
        arm = self._desk.monitor.arm
        assert arm is not None
        beyond = np.abs(self._desk.monitor.deviation) - tolerance
        joint = int(np.argmax(beyond))
        if beyond[joint] <= 0.0:
            return None
        return TrajectoryRefusal(
            f"{arm.joint_names[joint]} is {beyond[joint] + tolerance[joint]:.4g} rad from the trajectory, above its "
            f"path_tolerance of {tolerance[joint]:.4g} rad; the arm has come to rest; look for an obstacle or a load, "
            "plan a slower trajectory, or allow more",
            TrajectoryFault.PATH_TOLERANCE_VIOLATED,
            ErrorCode.TRACKING_ERROR,
        )

    def _now(self) -> float:
        return self._node.get_clock().now().nanoseconds * 1e-9


async def hold(desk: GoalDesk) -> None:
    """End what is running, on its path, as an empty trajectory asks for; wait until the arm is at rest."""
    if desk.interrupt(Refusal(ErrorCode.STOPPED, "ended by an empty trajectory; the arm has come to rest on its path")):
        await desk.vacated()


def points_of(message: JointTrajectory) -> list[TrajectoryPoint]:
    """Give the points of a message."""
    return [
        TrajectoryPoint(_seconds(point.time_from_start), point.positions, point.velocities, point.accelerations)
        for point in message.points
    ]


def tolerances_of(goal: Any, joint_names: Sequence[str], default_goal: float) -> Tolerances:
    """Give the tolerances of a goal of FollowJointTrajectory; in it 0 means the default and -1 no bound.

    Raises:
        TrajectoryRefusal: unknown joint, a number that is not finite, or a tolerance that cannot be watched.
    """
    path, end = np.full(3, np.inf), np.full(3, default_goal)
    for name, tolerances, bounds in (
        ("path_tolerance", goal.path_tolerance, path),
        ("goal_tolerance", goal.goal_tolerance, end),
    ):
        for tolerance in tolerances:
            if tolerance.name not in joint_names:
                raise TrajectoryRefusal(
                    f"{name} names '{tolerance.name}'; the arm's joints are {', '.join(joint_names)}",
                    TrajectoryFault.INVALID_JOINTS,
                )
            position = tolerance.position
            if not np.isfinite(position) or (position < 0.0 and position != -1.0):
                raise TrajectoryRefusal(
                    f"{name} of {tolerance.name} is {position:g} rad; give a number above 0, 0 for the default, or -1 "
                    "for no bound"
                )
            for kind in ("velocity", "acceleration"):
                if getattr(tolerance, kind) not in (0.0, -1.0):
                    raise TrajectoryRefusal(
                        f"{name} of {tolerance.name} bounds the {kind}; positions alone are watched, give 0"
                    )
            if position != 0.0:
                bounds[joint_names.index(tolerance.name)] = np.inf if position == -1.0 else position
    goal_time = _seconds(goal.goal_time_tolerance)
    if goal_time < 0.0:
        raise TrajectoryRefusal(f"goal_time_tolerance is {goal_time:g} s; it must not be negative")
    return Tolerances(path, end, goal_time or None)


def _seconds(time: Time | Duration) -> float:
    return float(time.sec + time.nanosec * 1e-9)
