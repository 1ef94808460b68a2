# SPDX-License-Identifier: Apache-2.0
"""Steps one joint of the running arm there and back, and records how it follows."""

from dataclasses import dataclass

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState

from manipulator3d.cli.motion import run_goal
from manipulator3d.cli.options import check_success, show_progress
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d.stack_error import StackError
from manipulator3d_hw_bridge.board_settings import GAINS
from manipulator3d_hw_bridge.link_traffic import Direction, TrafficReader
from manipulator3d_hw_bridge.messages import Refuse, Setpoint
from manipulator3d_hw_bridge.tuning_record import TuningRecord, commanded_motion
from manipulator3d_interfaces.action import MoveTo
from manipulator3d_interfaces.msg import ArmStatus, ErrorCode, LinkTraffic

# fractions of the limits: what speed takes and what acceleration takes are told apart by motions that differ in both
SPEED_SCALES = (1.0, 0.6, 0.35)
_REST_S = 0.6
_BEFORE_S = 0.1
_TIMEOUT_S = 10.0
_QUEUE = 500
# after these the other direction may still be possible
_NO_WAY = (
    ErrorCode.JOINT_LIMIT,
    ErrorCode.BELOW_FLOOR,
    ErrorCode.PATH_BLOCKED,
    ErrorCode.PATH_UNREACHABLE,
    ErrorCode.INVALID_INPUT,
)


@dataclass(frozen=True)
class Step:
    """One motion of the joint from rest to rest, in the time of its first sample.

    Attributes:
        times: shape (N,), s.
        commanded, measured: shape (N,), rad.
    """

    times: np.ndarray
    commanded: np.ndarray
    measured: np.ndarray


class Experiment:
    """One joint of a running arm.

    Args:
        client: of the stack.
        joint: name of the joint.

    Attributes:
        all_present: the gains that the board holds, for each joint.
        counts_per_radian: of the joint's encoder, as the board holds it.
        record: what the serial line told of the joint.
        refused: setpoints that the board did not take, so that it followed others than were recorded.

    Raises:
        StackError: the arm is not idle or not homed, has no such joint, or no motors that could be tuned.
    """

    def __init__(self, client: StackClient, joint: str) -> None:
        self._client = client
        self._joint = joint
        _check_ready(client.receive(ArmStatus, "arm_status"))
        start = client.receive(JointState, "joint_states")
        self._names = list(start.name)
        if joint not in self._names:
            raise StackError(f"there is no joint '{joint}'; the joints are {', '.join(self._names)}")
        self._start = list(start.position)
        self._index = self._names.index(joint)
        held = self._board_gains()
        self.all_present = [{name: held[f"{one}: {name}"] for name in GAINS} for one in self._names]
        self.counts_per_radian = held[f"{joint}: counts_per_radian"]
        self.record = TuningRecord(self._index)
        self.refused = 0
        self._reader = TrafficReader()
        self._commands: list[tuple[float, float, float]] = []
        self._states: list[tuple[float, float]] = []
        node = client.node
        self._topic = node.create_subscription(LinkTraffic, "link_traffic", self._on_traffic, _QUEUE).topic_name
        node.create_subscription(JointState, "joint_commands", self._on_command, _QUEUE)
        node.create_subscription(JointState, "joint_states", self._on_state, _QUEUE)

    @property
    def present(self) -> dict[str, float]:
        """The gains of the joint that the board holds."""
        return self.all_present[self._index]

    @property
    def index(self) -> int:
        """Number of the joint."""
        return self._index

    def run(self, amplitude: float, repeats: int) -> list[Step]:
        """Move there and back at each speed; return the steps at full speed.

        Args:
            amplitude: rad.
            repeats: how often.

        Raises:
            StackError: a motion is refused or fails; the message is the motion server's.
        """
        if not self._client.spin_until(lambda: bool(self.record.states), _TIMEOUT_S):
            raise StackError(f"nothing was heard on {self._topic} for {_TIMEOUT_S:g} s; is the bridge connected?")
        signed = self._possible(amplitude)
        steps = []
        moves = [scale for _ in range(repeats) for scale in SPEED_SCALES]
        for number, scale in enumerate(moves):
            show_progress(
                f"{self._joint}: step {number + 1} of {len(moves)}, {signed:+.2f} rad and back at {scale:.0%}"
            )
            for offset in (signed, 0.0):
                first = len(self._commands)
                check_success(self._move(offset, scale))
                self._client.spin_until(lambda: False, _REST_S)
                if scale == 1.0:
                    steps.append(self._step(first))
        return steps

    def _possible(self, amplitude: float) -> float:
        """Move slowly there and back; return the amplitude with the sign that the arm has room for."""
        refused = ""
        for signed in (amplitude, -amplitude):
            result = self._move(signed, SPEED_SCALES[-1])
            if result.success:
                check_success(self._move(0.0, SPEED_SCALES[-1]))
                return signed
            if result.error_code not in _NO_WAY:
                check_success(result)
            refused = result.message
        raise StackError(f"{self._joint} has no room for {amplitude:g} rad in either direction: {refused}")

    def _move(self, offset: float, scale: float) -> MoveTo.Result:
        goal = MoveTo.Goal(target_type=MoveTo.Goal.TARGET_JOINTS, path_type=MoveTo.Goal.JOINT_SPACE, speed_scale=scale)
        goal.joints.name = self._names
        goal.joints.position = [angle + offset * (number == self._index) for number, angle in enumerate(self._start)]
        return run_goal(self._client, MoveTo, "move_to", goal)

    def _step(self, first: int) -> Step:
        """Cut the last motion, whose commands begin at `first`, out of the record."""
        commands = np.array(self._commands[first:])
        if len(commands) < 2:
            raise StackError("no joint commands were heard during a motion; is this computer overloaded?")
        moving = np.flatnonzero(np.abs(np.diff(commands[:, 1])) > 1e-9)
        if not len(moving):
            raise StackError("the joint commands did not change during a motion; is this computer overloaded?")
        begin, end = commands[moving[0], 0] - _BEFORE_S, commands[moving[-1] + 1, 0] + _REST_S - _BEFORE_S
        states = np.array([state for state in self._states if begin <= state[0] <= end])
        if len(states) < 10:
            raise StackError(
                f"only {len(states)} joint states were heard during a motion; is this computer overloaded?"
            )
        times = states[:, 0]
        motion = commanded_motion(commands, times)
        held = np.interp(times, commands[:, 0], commands[:, 1])
        return Step(times - times[0], np.where(motion.known, motion.position, held), states[:, 1])

    def _board_gains(self) -> dict[str, float]:
        """Return what the bridge's diagnostics tell of the gains that the board holds."""
        found: dict[str, float] = {}

        def take(message: DiagnosticArray) -> None:
            for status in message.status:
                if status.name.endswith(": gains"):
                    found.update({item.key: float(item.value) for item in status.values})

        subscription = self._client.node.create_subscription(DiagnosticArray, "diagnostics", take, 10)
        heard = self._client.spin_until(lambda: bool(found), _TIMEOUT_S)
        self._client.node.destroy_subscription(subscription)
        if not heard:
            raise StackError(
                f"no bridge tells the gains of the joints within {_TIMEOUT_S:g} s; motors are tuned with "
                "hardware:=emulated or hardware:=serial"
            )
        return found

    def _on_traffic(self, message: LinkTraffic) -> None:
        for passage in self._reader.feed(Direction(message.direction), bytes(message.data)):
            self.record.take(passage)
            self.refused += isinstance(passage.message, Refuse) and passage.message.message == Setpoint.ID

    def _on_command(self, message: JointState) -> None:
        if self._joint in message.name and message.velocity:
            place = list(message.name).index(self._joint)
            time = _seconds(message)
            if not self._commands or time > self._commands[-1][0]:
                self._commands.append((time, message.position[place], message.velocity[place]))

    def _on_state(self, message: JointState) -> None:
        if self._joint in message.name:
            self._states.append((_seconds(message), message.position[list(message.name).index(self._joint)]))


def _check_ready(status: ArmStatus) -> None:
    """Refuse an arm that is not at rest, ready and at a known position.

    Raises:
        StackError: says what is in the way and the remedy.
    """
    if status.fault:
        raise StackError(f"the arm is not ready: {status.fault_message}", status.fault)
    if not status.link:
        raise StackError("the arm is not connected; look at ./manipulator3d status")
    if not status.homed:
        raise StackError("the joint positions are not known; run ./manipulator3d home first", ErrorCode.NOT_HOMED)
    if status.mode != ArmStatus.MODE_IDLE:
        raise StackError(
            f"the arm is {status.mode_name}; wait for its end, or run ./manipulator3d stop", ErrorCode.BUSY
        )


def _seconds(message: JointState) -> float:
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
