# SPDX-License-Identifier: Apache-2.0
"""A board of the protocol's rules alone, in virtual time, with a line that can lose and spoil bytes."""

import pytest

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.board_settings import Wiring, board_settings
from manipulator3d_hw_bridge.board_status import Notice
from manipulator3d_hw_bridge.frame_codec import FrameDecoder, encode_frame
from manipulator3d_hw_bridge.messages import Fault, Flag, Mode, Reason
from manipulator3d_hw_bridge.session import Session

HOMED = Flag.HOMED_0 | Flag.HOMED_1 | Flag.HOMED_2
HOME = (0.0, 1.2, -1.6)
PORT = "/dev/ttyACM0"


class Capstone:
    """The numbers of the default arm."""

    name = "capstone"
    joint_names = ("base_yaw", "shoulder_pitch", "elbow_pitch")
    base_height, upper_arm, lateral_offset, forearm = 0.150, 0.220, -0.065, 0.180
    lower, upper = (-2.9, -0.5, -2.6), (2.9, 2.6, 2.6)
    velocity, acceleration = (2.0, 1.5, 2.0), (8.0, 6.0, 8.0)
    counts_per_revolution = (8384.0,) * 3
    home = HOME


def settings(command_silence=0.1):
    return board_settings(Capstone(), Wiring(), 100.0, command_silence)


class FakeBoard:
    """Answers as docs/protocol.md says; moves at once to each setpoint whose time has come."""

    def __init__(self):
        self.boot_count = 7
        self.protocol = messages.PROTOCOL_HASH
        self.stored = {}
        self.mute = False
        self.deaf_to = ()
        self.received = []
        self.start_of_clock = 0.0
        self.boot(0.0, homed=True)

    def boot(self, now, homed=False):
        """Start anew: everything but the EEPROM is forgotten."""
        self.start_of_clock = now
        self.configuration = dict(self.stored)
        self.decoder = FrameDecoder()
        self.mode, self.fault, self.fault_joint = Mode.IDLE, Fault.NONE, messages.NO_JOINT
        self.homed = HOMED if homed else Flag(0)
        self.position, self.velocity = HOME, (0.0, 0.0, 0.0)
        self.setpoints = []
        self.gripper = 0
        self.acknowledged = {}
        self.sequence = 0
        self.next_state = now
        self.output = bytearray()
        self.moving = self.driven = False
        self.last_heard = now

    def restart(self, now):
        """As after a reset of the board."""
        self.boot_count += 1
        self.boot(now)
        self._send(self._identity(now))

    def latch(self, fault, joint=messages.NO_JOINT):
        self.mode, self.fault, self.fault_joint = Mode.FAULT, fault, joint
        self.setpoints.clear()
        self.moving = False

    def ticks(self, now):
        return round((now - self.start_of_clock) * 1e6) % 2**32

    def receive(self, now, data):
        for frame in self.decoder.feed(data):
            self.last_heard = now
            if type(frame.message) not in self.deaf_to:
                self.received.append(frame.message)
                self._answer(now, frame)

    def advance(self, now):
        if now - self.last_heard > 0.1 and self.mode in (Mode.TRACK, Mode.HOMING):
            self.latch(Fault.COMMAND_SILENCE)
        while self.setpoints and self.setpoints[0][0] <= now:
            _, self.position, self.velocity = self.setpoints.pop(0)
        self.moving = bool(self.setpoints)
        while self.next_state <= now:
            self._send(self._state(self.next_state))
            self.next_state += 0.01

    def take_output(self):
        data = b"" if self.mute else bytes(self.output)
        self.output.clear()
        return data

    def _send(self, message):
        self.sequence = (self.sequence + 1) % 256
        self.output += encode_frame(message, self.sequence)

    def _identity(self, now):
        return messages.Identity(
            protocol=self.protocol, version_major=1, version_minor=2, version_patch=3, boot_count=self.boot_count,
            time=self.ticks(now), reset_cause=2, stored=int(bool(self.stored)),
        )  # fmt: skip

    def _state(self, now):
        flags = self.homed
        if len(self.configuration) == 4:
            flags |= Flag.CONFIGURED
        if self.moving:
            flags |= Flag.MOVING
        if self.gripper:
            flags |= Flag.GRIPPER_CLOSED
        return messages.State(
            time=self.ticks(now), position=self.position, velocity=self.velocity, mode=self.mode, fault=self.fault,
            fault_joint=self.fault_joint, flags=int(flags),
        )  # fmt: skip

    def _answer(self, now, frame):
        message = frame.message
        match message:
            case messages.Identify():
                self._send(self._identity(now))
            case messages.SynchroniseClock(token=token):
                self._send(messages.Clock(token=token, time=self.ticks(now)))
            case messages.ReadJoint(joint=joint) if joint not in self.configuration:
                self._refuse(message, frame.sequence, Reason.NOT_CONFIGURED, joint)
            case messages.ReadJoint(joint=joint):
                self._send(self.configuration[joint])
            case messages.ReadBoard():
                self._send(self.configuration.get("board", messages.BoardConfiguration()))
            case messages.Setpoint():
                self._setpoint(now, frame.sequence, message)
            case _:
                known, time = self.acknowledged.get(frame.sequence, (None, -10.0))
                reason = 0 if known == message and now - time < 1.1 else self._carry_out(message)
                if reason:
                    self._refuse(message, frame.sequence, reason)
                else:
                    self.acknowledged[frame.sequence] = (message, now)
                    self._send(messages.Acknowledge(message=message.ID, sequence=frame.sequence))

    def _refuse(self, message, sequence, reason, joint=messages.NO_JOINT):
        self._send(messages.Refuse(message=message.ID, sequence=sequence, reason=reason, joint=joint))

    def _setpoint(self, now, sequence, message):
        if self.mode is not Mode.TRACK:
            self._refuse(message, sequence, Reason.WRONG_MODE)
            return
        ahead = (message.time - self.ticks(now)) * 1e-6
        if ahead <= 0.0:
            self._refuse(message, sequence, Reason.LATE)
        else:
            self.setpoints.append((now + ahead, message.position, message.velocity))

    def _carry_out(self, message):
        """Do what is asked; return a Reason, 0 when it is done."""
        match message:
            case messages.JointConfiguration(joint=joint):
                if self.driven:
                    return Reason.WRONG_MODE
                self.configuration[joint] = message
            case messages.BoardConfiguration():
                self.configuration["board"] = message
            case messages.SetMode(mode=mode):
                if self.fault:
                    return Reason.FAULTED
                if mode == Mode.IDLE and self.moving:
                    return Reason.MOVING
                if mode == Mode.TRACK and self.homed != HOMED:
                    return Reason.NOT_HOMED
                self.mode = Mode(mode)
                self.driven = mode != Mode.IDLE
                self.setpoints.clear()
            case messages.SetGripper(closed=closed):
                self.gripper = closed
            case messages.EmergencyStop():
                self.latch(Fault.EMERGENCY_STOP)
            case messages.ResetFault():
                if self.moving:
                    return Reason.MOVING
                self.fault, self.mode = Fault.NONE, Mode.HOLD if self.driven else Mode.IDLE
            case messages.Home():
                if self.fault:
                    return Reason.FAULTED
                self.mode, self.homed = Mode.HOMING, Flag(0)
            case messages.SetHere():
                self.homed = HOMED
                self.position = message.position
            case _:
                return Reason.UNKNOWN_MESSAGE
        return 0


class Rig:
    """A session and a fake board on one line, in virtual time; `spoil(data, to_board)` may change bytes on the way."""

    def __init__(self, board=None, quiet=0.0, command_silence=0.1):
        self.board = board or FakeBoard()
        self.session = Session(settings(command_silence))
        self.now = 100.0
        self.events = []
        self.spoil = lambda data, to_board: data
        self.connected = True
        self.board.boot(self.now, homed=True)
        self.session.link_opened(self.now, PORT, quiet)

    def run(self, duration, step=0.002):
        for _ in range(max(1, round(duration / step))):
            self.now += step
            self.turn()
        return self

    def turn(self):
        self.session.advance(self.now)
        self.board.receive(self.now, self.spoil(self.session.take_output(), True) if self.connected else b"")
        self.board.advance(self.now)
        data = self.board.take_output()
        if data and self.connected:
            self.session.receive(self.now, self.spoil(data, False))
        self.events += self.session.take_events()

    def run_until(self, condition, limit=20.0):
        end = self.now + limit
        while not condition():
            assert self.now < end, f"not within {limit} s; status {self.session.status}"
            self.run(0.002)
        return self

    def arm(self):
        self.run_until(lambda: self.session.connected)
        self.session.arm(self.now)
        return self.run_until(lambda: self.session.status.link.value == "armed")

    def ask(self, request):
        """Call request(done) and run until its outcome is there."""
        outcomes = []
        request(outcomes.append)
        self.run_until(lambda: outcomes)
        assert len(outcomes) == 1
        return outcomes[0]

    def stream(self, duration, start=HOME, speed=(0.2, 0.0, 0.0), lead=0.1):
        """Send commands at 100 Hz that move the first joint; return the refusals."""
        refusals = []
        for i in range(round(duration * 100)):
            position = tuple(a + v * 0.01 * i for a, v in zip(start, speed, strict=True))
            refusals.append(self.session.motion.command(self.now, self.now + lead, position, speed))
            self.run(0.01, 0.005)
        return [refusal for refusal in refusals if refusal]

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def notices(self):
        return [event.text for event in self.of(Notice)]


@pytest.fixture
def make_rig():
    """The class Rig: a session and a fake board on one line."""
    return Rig


@pytest.fixture
def capstone():
    """The numbers of the default arm."""
    return Capstone()


@pytest.fixture
def fake_board():
    """A board that answers as docs/protocol.md says."""
    return FakeBoard()


@pytest.fixture
def board_settings_of():
    """Makes the settings of the default arm for a command silence in s."""
    return settings


@pytest.fixture
def rig():
    """A session and a fake board on one line."""
    return Rig()
