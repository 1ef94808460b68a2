# SPDX-License-Identifier: Apache-2.0
"""The verb `jog`: move the arm by the keyboard while a key is held, or by a velocity for some seconds."""

import argparse
import math
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import JointState

from manipulator3d.cli.jog_keys import HELP, HeldKeys, KeyWish
from manipulator3d.cli.options import negative_numbers_allowed, print_json, show_progress, verb_parser
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d.stack_error import StackError
from manipulator3d_interfaces.msg import ArmStatus

_JOINTS = ("base_yaw", "shoulder_pitch", "elbow_pitch")
_PERIOD_S = 0.05
_LONGEST_S = 600.0
_REST_TIMEOUT_S = 10.0
# s within which a jog that is taken shows in arm_status
_BEGIN_S = 3.0


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Jog; returns the exit code."""
    parser = verb_parser("jog", "Move the arm while a key is held, or by a velocity for some seconds. Ctrl-C ends.")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--twist", type=float, nargs=3, metavar="V", help="velocity of the tool, m/s along x y z")
    how.add_argument("--joints", type=float, nargs=3, metavar="V", help="velocities of the joints, rad/s")
    parser.add_argument("--seconds", type=float, default=1.0, help="for how long (default: 1)")
    parser.add_argument("--frame", default="", help="frame of --twist (default: the arm's base)")
    options = parser.parse_args(negative_numbers_allowed(arguments))
    velocity = options.twist or options.joints
    if velocity is not None and not all(map(math.isfinite, velocity)):
        parser.error(f"velocities {' '.join(f'{value:g}' for value in velocity)}: give finite numbers")
    if velocity is not None and not any(velocity):
        parser.error("all velocities are 0, so nothing would move; to end a motion use ./manipulator3d stop")
    if not 0.0 < options.seconds <= _LONGEST_S:
        parser.error(f"--seconds {options.seconds:g}: give more than 0 s, at most {_LONGEST_S:g} s")
    if velocity is None and not sys.stdin.isatty():
        parser.error("jogging by keys needs a terminal; give --twist VX VY VZ or --joints V0 V1 V2")
    with StackClient(options.namespace) as client:
        hand = _Hand(client, options.frame)
        hand.check_ready()
        if velocity is None:
            return _by_keys(hand)
        wish = KeyWish(options.twist is not None, tuple(velocity))
        return _for_seconds(hand, wish, options)


class _Hand:
    """Sends velocities and watches what the arm makes of them."""

    def __init__(self, client: StackClient, frame: str) -> None:
        self._client = client
        self._frame = frame
        self._status: ArmStatus | None = None
        self._joints: dict[str, float] = {}
        client.node.create_subscription(ArmStatus, "arm_status", self._on_status, 10)
        client.node.create_subscription(JointState, "joint_states", self._on_joints, 10)

    def _on_status(self, status: ArmStatus) -> None:
        self._status = status

    def _on_joints(self, message: JointState) -> None:
        self._joints = dict(zip(message.name, message.position, strict=False))

    @property
    def joints(self) -> dict[str, float]:
        """Measured joint angles by name, rad."""
        return dict(self._joints)

    def check_ready(self) -> None:
        """Wait for the arm's state.

        Raises:
            StackError: none arrives, or the arm cannot be jogged now.
        """
        if not self._client.spin_until(lambda: self._status is not None and bool(self._joints), _REST_TIMEOUT_S):
            raise self._client.not_found("arm_status or joint_states", _REST_TIMEOUT_S)
        assert self._status is not None
        if self._status.mode != ArmStatus.MODE_IDLE or not self._status.homed:
            raise StackError(self._why(), self._status.fault or None)

    def send(self, wish: KeyWish | None) -> None:
        """Ask for a velocity; None asks for rest."""
        stamp = self._client.node.get_clock().now().to_msg()
        if wish is None or not wish.of_tool:
            message: Any = JointState(name=self._names(), velocity=list(wish.velocity) if wish else [0.0] * 3)
            message.header.stamp = stamp
            self._client.submit(self._client.publish, JointState, "jog_joints", message).result()
            return
        message = TwistStamped()
        message.header.stamp, message.header.frame_id = stamp, self._frame
        message.twist.linear.x, message.twist.linear.y, message.twist.linear.z = wish.velocity
        self._client.submit(self._client.publish, TwistStamped, "jog_twist", message).result()

    def hold(self, wish: KeyWish, seconds: float, show: Callable[[float], None]) -> None:
        """Ask for a velocity for so long after the arm has begun to follow it.

        Raises:
            StackError: it does not begin, or something ends it.
        """
        deadline, begun = time.monotonic() + _BEGIN_S, math.inf
        while time.monotonic() < begun + seconds:
            self.send(wish)
            assert self._status is not None
            moving = self._status.mode == ArmStatus.MODE_MOVING
            if moving and begun == math.inf:
                begun = time.monotonic()
            elif not moving and (begun < math.inf or time.monotonic() > deadline):
                raise StackError(self._why(), self._status.fault or None)
            show(max(time.monotonic() - begun, 0.0))
            self._client.spin_until(lambda: False, _PERIOD_S)

    def rest(self) -> None:
        """Let go and wait until the arm is at rest."""
        self.send(None)
        self._client.spin_until(
            lambda: self._status is not None and self._status.mode != ArmStatus.MODE_MOVING, _REST_TIMEOUT_S
        )

    def state(self) -> str:
        """Mode and joint angles in one line."""
        angles = "  ".join(f"{name} {angle:+.3f}" for name, angle in self._joints.items())
        return f"{self._status.mode_name if self._status else '':9s} {angles} rad"

    def _names(self) -> list[str]:
        return list(self._joints) if len(self._joints) == len(_JOINTS) else list(_JOINTS)

    def _why(self) -> str:
        assert self._status is not None
        told = f": {self._status.fault_message}" if self._status.fault_message else ""
        if not self._status.homed and not told:
            told = ": the joint positions are not known; home the arm first (./manipulator3d home)"
        return (
            f"the arm does not follow the jog, its mode is {self._status.mode_name}{told}; the motion server's log "
            "tells why a jog is refused"
        )


def _for_seconds(hand: _Hand, wish: KeyWish, options: argparse.Namespace) -> int:
    before = hand.joints
    shown = -1

    def show(passed: float) -> None:
        nonlocal shown
        if int(passed) > shown:
            shown = int(passed)
            show_progress(f"{passed:4.0f} s of {options.seconds:g} s  {hand.state()}")

    try:
        hand.hold(wish, options.seconds, show)
    finally:
        hand.rest()
    after = hand.joints
    if options.json:
        print_json({"success": True, "error_code": 0, "message": "", "joints": after})
        return 0
    for name, angle in after.items():
        print(f"{name:14s} {before[name]:+.4f} → {angle:+.4f} rad")
    return 0


def _by_keys(hand: _Hand) -> int:
    keys = HeldKeys()
    print(HELP, flush=True)
    was_held = False
    try:
        with _single_keys() as read:
            while not keys.quits:
                for key in read(_PERIOD_S):
                    keys.press(key, time.monotonic())
                wish = keys.wish(time.monotonic())
                if wish is not None or was_held:
                    hand.send(wish)
                was_held = wish is not None
                print(f"\r{keys.fraction:4.0%}  {hand.state()}\x1b[K", end="", flush=True)
    finally:
        print()
        hand.rest()
    return 0


@contextmanager
def _single_keys() -> Iterator[Callable[[float], str]]:
    """Read keys as they are pressed; the terminal is as before afterwards."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read(timeout_s: float) -> str:
        ready, _, _ = select.select([terminal], [], [], timeout_s)
        pressed = os.read(terminal, 64) if ready else b""
        # an end of input quits, as the key for it does
        return "\x04" if ready and not pressed else pressed.decode(errors="ignore")

    try:
        tty.setcbreak(terminal)
        yield read
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
