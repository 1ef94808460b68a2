# SPDX-License-Identifier: Apache-2.0
"""Jogging by /jog_twist and /jog_joints: the arm moves as long as messages come, the newest counts."""

import time
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from manipulator3d_control.jog_player import JogPlayer, JogWish
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun
from manipulator3d_control.obstacle import rotation
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_kinematics import ArmModel, named_frames
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.target_frame import FrameRefusal, TargetFrame

# s of rest at the end of a jog beyond the lead of the commands
_EXTRA_HOLD_S = 0.05
_FULL_SPEED = 1.0


class Jog:
    """Follows jog_twist and jog_joints.

    A jog begins with a message that asks for motion while nothing else has the arm, and is over when none has come for
    a while or zero was asked for, and the arm stands. One that was refused or ended by something else begins only
    after its messages have paused.

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
        self._barred = False
        self._arrived = -np.inf
        self._logged = ""
        self._told_of_turns = False
        self._subscriptions = [
            node.create_subscription(TwistStamped, "jog_twist", self._on_twist, 10),
            node.create_subscription(JointState, "jog_joints", self._on_joints, 10),
        ]

    def _on_twist(self, message: TwistStamped) -> None:
        angular = message.twist.angular
        if any((angular.x, angular.y, angular.z)) and not self._told_of_turns:
            self._told_of_turns = True
            self._node.get_logger().warning(
                "jog_twist: twist.angular is left out; three joints move the tool point alone"
            )
        self._take("jog_twist", lambda arm: JogWish(self._tool_velocity(message, arm), True))

    def _on_joints(self, message: JointState) -> None:
        self._take("jog_joints", lambda arm: JogWish(_joint_velocity(message, arm), False))

    def _take(self, topic: str, read: Callable[[ArmModel], JogWish]) -> None:
        now = time.monotonic()
        paused, self._arrived = now - self._arrived > self._desk.parameters.jog_timeout, now
        if paused:
            self._barred = False
        try:
            arm = self._desk.monitor.arm
            if arm is None:
                raise Refusal(ErrorCode.NO_STATE, "no robot_description has arrived; start the stack")
            wish = read(arm)
            if self._player is not None:
                self._player.wish(wish)
            elif wish.is_release:
                self._barred = False
            elif not self._barred:
                self._begin(arm, wish)
        except Refusal as refusal:
            self._barred = True
            self._log(f"{topic}: {refusal}")

    def _begin(self, arm: ArmModel, wish: JogWish) -> None:
        run = self._desk.begin(None)
        run.name = "the arm is being jogged"
        parameters = self._desk.parameters
        start = self._desk.start_position()
        hold = parameters.command_lead + _EXTRA_HOLD_S
        player = JogPlayer(arm, start, parameters.jog_timeout, self._desk.keeps_clear, hold)
        player.wish(wish)
        self._player, self._logged = player, ""
        executor = self._node.executor
        assert executor is not None
        executor.create_task(self._drive, run, player, start)

    async def _drive(self, run: GoalRun, player: JogPlayer, start: Array) -> None:
        try:
            self._desk.start_stream(start, _FULL_SPEED)
            await run.play(player)
        except Refusal as refusal:
            self._log(f"the jog was ended: {refusal}")
        finally:
            # messages that go on after another end than letting go must not begin a jog
            self._barred = player.stopped or run.interruption is not None
            self._player = None
            self._desk.finish()

    def _tool_velocity(self, message: TwistStamped, arm: ArmModel) -> Array:
        linear = message.twist.linear
        velocity = np.array([linear.x, linear.y, linear.z])
        for axis, value in zip("xyz", velocity, strict=True):
            if not np.isfinite(value):
                raise Refusal(
                    ErrorCode.INVALID_INPUT,
                    f"twist.linear.{axis} is {value}; give a finite number of metres per second",
                )
        frame, joints = message.header.frame_id, self._desk.monitor.joints
        if frame in ("", arm.base_frame):
            return velocity
        own = {} if joints is None else named_frames(arm, joints)
        if frame in own:
            return np.asarray(own[frame][:3, :3] @ velocity)
        pose = self._frames.pose_in_base(frame, arm.base_frame)
        if isinstance(pose, FrameRefusal):
            raise Refusal(pose.code, pose.message)
        (w, x, y, z), _ = pose
        return np.asarray(rotation(np.array([x, y, z, w])) @ velocity)

    def _log(self, text: str) -> None:
        """Log once what would come again with each message."""
        if text != self._logged:
            self._logged = text
            self._node.get_logger().error(text)


def _joint_velocity(message: JointState, arm: ArmModel) -> Array:
    names = list(message.name) or list(arm.joint_names)
    expected = ", ".join(arm.joint_names)
    if len(message.velocity) != len(names):
        raise Refusal(
            ErrorCode.INVALID_INPUT,
            f"there are {len(message.velocity)} velocities for {len(names)} joints; give one for each",
        )
    if not set(names) <= set(arm.joint_names) or len(set(names)) != len(names):
        raise Refusal(ErrorCode.INVALID_INPUT, f"joints {', '.join(names)}; give each once, of {expected}")
    velocity = np.zeros(3)
    for name, value in zip(names, message.velocity, strict=True):
        if not np.isfinite(value):
            raise Refusal(
                ErrorCode.INVALID_INPUT, f"{name}: velocity is {value}; give a finite number of radians per second"
            )
        velocity[arm.joint_names.index(name)] = value
    return velocity
