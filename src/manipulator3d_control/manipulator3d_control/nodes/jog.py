# SPDX-License-Identifier: Apache-2.0
"""Jogging: the topics jog_twist and jog_joints move the arm as long as velocities arrive."""

import math
import time
from typing import Any

import numpy as np
from geometry_msgs.msg import PointStamped, TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from manipulator3d_control.jog_player import JogPlayer, JogWish
from manipulator3d_control.nodes.goal_fields import point_in_base
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.target_frame import TargetFrame


class Jog:
    """Takes velocities; refusals are logged, once until the stream of velocities has paused.

    While it moves, goals are refused as busy. What ends it (a stop, a pause, a fault) ends it for good: further
    velocities count only after a pause of `jog_timeout` in their stream.

    Args:
        node: the motion server.
        desk: gives the arm.
        frames: transforms.
    """

    def __init__(self, node: Node, desk: GoalDesk, frames: TargetFrame) -> None:
        self._node = node
        self._desk = desk
        self._frames = frames
        self._player: JogPlayer | None = None
        self._heard = -math.inf
        self._ignoring = False
        node.create_subscription(TwistStamped, "jog_twist", self._on_twist, 10)
        node.create_subscription(JointState, "jog_joints", self._on_joints, 10)

    def _on_twist(self, message: TwistStamped) -> None:
        self._take("jog_twist", lambda arm: JogWish(_tool_velocity(message, arm, self._frames), of_tool=True))

    def _on_joints(self, message: JointState) -> None:
        self._take("jog_joints", lambda arm: JogWish(_joint_velocities(message, arm), of_tool=False))

    def _take(self, topic: str, read: Any) -> None:
        now = time.monotonic()
        paused = now - self._heard > self._desk.parameters.jog_timeout
        self._heard = now
        if self._ignoring and not paused:
            return
        self._ignoring = False
        try:
            arm = self._desk.monitor.arm
            if arm is None:
                raise Refusal(ErrorCode.NO_STATE, "no robot_description has arrived")
            wish = read(arm)
            if self._player is None:
                self._begin(arm)
            assert self._player is not None
            self._player.wish(wish)
        except Refusal as refusal:
            self._ignoring = True
            self._node.get_logger().error(f"{topic}: {refusal}")

    def _begin(self, arm: ArmModel) -> None:
        run = self._desk.begin(None)
        run.name = "the arm is being jogged"
        start = self._desk.start_position()
        player = self._player = JogPlayer(arm, start, self._desk.parameters.jog_timeout, self._desk.keeps_clear)
        self._desk.start_stream(start, 1.0)
        executor: Any = self._node.executor
        executor.create_task(self._serve, run, player)

    async def _serve(self, run: GoalRun, player: JogPlayer) -> None:
        try:
            await run.play(player)
        except Refusal as refusal:
            self._node.get_logger().warning(f"jogging ends: {refusal}")
        finally:
            self._ignoring = player.stopped or run.interruption is not None
            self._player = None
            self._desk.finish()


def _tool_velocity(message: TwistStamped, arm: ArmModel, frames: TargetFrame) -> Array:
    linear, angular = message.twist.linear, message.twist.angular
    if any(value != 0.0 for value in (angular.x, angular.y, angular.z)):
        raise Refusal(
            ErrorCode.INVALID_INPUT,
            "twist.angular is not zero; three joints move the tool point and cannot turn the tool as well; "
            "leave it zero",
        )
    tip, origin = PointStamped(header=message.header), PointStamped(header=message.header)
    tip.point.x, tip.point.y, tip.point.z = linear.x, linear.y, linear.z
    return point_in_base(tip, "twist.linear", arm, frames) - point_in_base(origin, "twist.linear", arm, frames)


def _joint_velocities(message: JointState, arm: ArmModel) -> Array:
    names = list(message.name) or list(arm.joint_names)
    if len(names) != len(message.velocity):
        raise Refusal(
            ErrorCode.INVALID_INPUT,
            f"there are {len(message.velocity)} velocities for {len(names)} joints; give one for each",
        )
    velocities = np.zeros(3)
    for name, velocity in zip(names, message.velocity, strict=True):
        if name not in arm.joint_names or names.count(name) > 1:
            raise Refusal(
                ErrorCode.INVALID_INPUT,
                f"joint '{name}' is not one of {', '.join(arm.joint_names)}, each named once at most",
            )
        if not math.isfinite(velocity):
            raise Refusal(ErrorCode.INVALID_INPUT, f"{name}: {velocity} is no velocity; give a finite number of rad/s")
        velocities[arm.joint_names.index(name)] = velocity
    return velocities
