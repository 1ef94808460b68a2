# SPDX-License-Identifier: Apache-2.0
"""The conversation with the board as a state machine: bytes and times in, bytes and events out, no thread, no port."""

from collections.abc import Callable

from manipulator3d_hw_bridge import messages, sequences
from manipulator3d_hw_bridge.arm_motion import ArmMotion, Done
from manipulator3d_hw_bridge.board_health import HealthReport, reset_cause
from manipulator3d_hw_bridge.board_settings import BoardSettings
from manipulator3d_hw_bridge.board_status import (
    CONNECTED,
    BoardStatus,
    Event,
    HomeProgress,
    LinkState,
    Measurement,
    Notice,
    StatusChanged,
)
from manipulator3d_hw_bridge.clock_sync import WRAP_US, BoardTime, ClockSync
from manipulator3d_hw_bridge.fault_text import refusal
from manipulator3d_hw_bridge.frame_codec import FrameDecoder, encode_frame
from manipulator3d_hw_bridge.messages import Fault, Flag, Message, Mode, SetMode
from manipulator3d_hw_bridge.request_queue import Outcome, Request, RequestQueue
from manipulator3d_hw_bridge.state_reading import fault_outcome, is_homed, is_plausible, status_of
from manipulator3d_node.error_code import ErrorCode

# s
_EXCHANGE_PERIOD = 0.5
_IDENTIFY_PERIOD = 1.0
_RETRY_PERIOD = 1.0
_ARM_PERIOD = 0.5
# between warnings of refused setpoints, of which a board may send a hundred in a second
_REFUSAL_PERIOD = 1.0
# A measurement that seems this old when it arrives calls for a look at the clock.
_SUSPICIOUS_AGE = 0.015
# Frames that the system still had from before the opening of the port are not of a board that has just been reset.
_LEFTOVERS = 0.1
# The link is silent only if so many reads in a row brought nothing: a starved bridge has not listened.
_SILENT_TURNS = 3


class Session:
    """Protocol with one board.

    Every method takes `now`, the host's monotonic time in s. The caller moves bytes, calls `advance` at the latest at
    `next_deadline()`, and closes the port when `failure` says why.

    Args:
        settings: what the board is told.
    """

    def __init__(self, settings: BoardSettings) -> None:
        self._settings = settings
        self._names = settings.bounds.names
        self._now = 0.0
        self._events: list[Event] = []
        self._output = bytearray()
        self._decoder = FrameDecoder()
        self._report = HealthReport(self._names)
        self._sequence_number = 0
        self._wants_armed = False
        self._boot_count: int | None = None
        self._latest_measurement = float("-inf")
        self._down_reason = "no board has been found yet"
        self._status = BoardStatus(fault=ErrorCode.LINK_DOWN, fault_message=self._down_reason)
        self._begin("", LinkState.CLOSED)

    def _begin(self, port: str, link: LinkState) -> None:
        """Forget everything that belongs to one start of the board."""
        self._port = port
        self._link = link
        self.failure: str | None = None
        self._queue = RequestQueue(self.send, port)
        self._sync = ClockSync()
        self._board_time = BoardTime()
        self._exchanges: dict[int, float] = {}
        self.motion = ArmMotion(self, self._settings, self._sync)
        self._identity: messages.Identity | None = None
        self._held: tuple[messages.JointConfiguration, ...] = ()
        self._state: messages.State | None = None
        self._conversation: sequences.Sequence | None = None
        self._conversation_done: Callable[[Outcome], None] = lambda _outcome: None
        self._pause_until = float("inf")
        self._mismatch = ""
        self._last_heard = self._last_sent = self._now
        self._silent_turns = 0
        self._quiet_until = self._retry_at = float("inf")
        self._listen_from = self._next_exchange = self._next_identify = self._next_arm = self._now
        self._token = 1 << 16
        self._setpoints_refused = 0
        self._refusal_told = float("-inf")

    # The port

    @property
    def connected(self) -> bool:
        """True when the handshake is done."""
        return self._link in CONNECTED

    @property
    def status(self) -> BoardStatus:
        """Present status."""
        return self._status

    @property
    def at_rest(self) -> bool:
        """True when nothing is left to do for `disarm`."""
        return not self._wants_armed and self._conversation is None

    def link_opened(self, now: float, port: str, quiet: float) -> None:
        """Begin with a port that has just been opened.

        Args:
            port: its name.
            quiet: s that a board, which the opening has reset, may boot without being spoken to: the Mega's boot
                loader stays for longer when it hears something. It ends with the first frame from the board.
        """
        self._now = now
        self._decoder.restart()
        self._begin(port, LinkState.OPENING)
        self._quiet_until = now + quiet
        self._listen_from = now + (_LEFTOVERS if quiet > 0.0 else 0.0)
        self._update_status()

    def link_lost(self, now: float, reason: str) -> None:
        """End with the port; every request ends with LINK_DOWN and `reason`."""
        self._now = now
        self._down_reason = reason
        was_open = self._link is not LinkState.CLOSED
        self._end_all(Outcome(ErrorCode.LINK_DOWN, reason))
        self._begin("", LinkState.CLOSED)
        self._output.clear()
        if was_open or reason != self._status.fault_message:
            self._events.append(Notice(reason, warning=True))
        self._update_status()

    def receive(self, now: float, data: bytes) -> None:
        """Take bytes that have arrived."""
        self._now = now
        for frame in self._decoder.feed(data):
            self._last_heard = now
            self._silent_turns = 0
            if self._link is LinkState.OPENING and now >= self._listen_from:
                self._shake_hands()
            self._handle(frame.message)

    def advance(self, now: float) -> None:
        """Do what is due."""
        self._now = now
        if self._link is LinkState.CLOSED or self.failure is not None:
            return
        if self._link is LinkState.OPENING:
            if now >= self._quiet_until:
                self._shake_hands()
            return
        self._silent_turns += 1
        silence = now - self._last_heard
        if self._identity is not None and silence > self._settings.link_silence and self._silent_turns > _SILENT_TURNS:
            self.failure = f"{self._port}: no word from the board for {silence:.1f} s; check cable and power"
            return
        self._queue.advance(now)
        if now >= self._pause_until:
            self._pause_until = float("inf")
            self._converse(Outcome())
        if now >= self._retry_at:
            self._shake_hands()
        if self.connected and not self._mismatch:
            self._advance_connected(now)

    def next_deadline(self) -> float:
        """Return when `advance` has something to do."""
        if self._link in (LinkState.CLOSED, LinkState.OPENING):
            return self._quiet_until
        due = [self._queue.deadline, self._pause_until, self._retry_at]
        if self.connected:
            due += [self._next_exchange, self._next_identify, self._last_sent + self._keep_alive]
            due.append(self.motion.next_deadline(self._now))
        return min(due)

    def take_output(self) -> bytes:
        """Return and forget the bytes to be sent."""
        data = bytes(self._output)
        self._output.clear()
        return data

    def take_events(self) -> list[Event]:
        """Return and forget the events."""
        events, self._events = self._events, []
        return events

    # Requests

    def arm(self, now: float) -> None:
        """Hold the arm from now on, whenever the board is ready for it."""
        self._now = now
        self._wants_armed = True
        self._next_arm = now

    def disarm(self, now: float, done: Done = lambda _outcome: None) -> None:
        """Brake, hold, then let go of the motors; `at_rest` tells when."""
        self._now = now
        self._wants_armed = False
        self.motion.stop(Outcome(ErrorCode.STOPPED, "the bridge was deactivated"))
        if not self.connected or self._mismatch or self._state is None:
            self._stop_conversation()
            done(Outcome())
            return

        def finished(outcome: Outcome) -> None:
            if not outcome.ok:
                self._events.append(Notice(f"the motors stay driven: {outcome.message}", warning=True))
            self._update_status()
            done(outcome)

        self._start(sequences.let_go(Mode(self._state.mode)), finished)

    def set_gripper(self, now: float, closed: bool, done: Done) -> None:
        """Open or close the gripper."""
        self.request(now, messages.SetGripper(closed=int(closed)), done)

    def emergency_stop(self, now: float, done: Done) -> None:
        """Brake at once and latch."""
        self.motion.stop(Outcome(ErrorCode.ESTOP, "the emergency stop was called"))
        self.request(now, messages.EmergencyStop(), done, urgent=True)

    def reset_fault(self, now: float, done: Done) -> None:
        """Clear the board's fault; nothing moves."""
        self.motion.stop(Outcome(ErrorCode.STOPPED, "the fault was reset"))
        self.request(now, messages.ResetFault(), done)

    # Conversations

    def _shake_hands(self) -> None:
        self._retry_at = self._quiet_until = float("inf")
        if self._link is LinkState.OPENING:
            self._output += b"\0"  # ends what the board may have half received
        if not self._mismatch:
            self._link = LinkState.HANDSHAKE
        self._start(self._handshake(), self._handshaken)
        self._update_status()

    def _handshake(self) -> sequences.Sequence:
        yield from sequences.identify(self._port, self._take_identity)
        self._mismatch = ""
        self._link = LinkState.HANDSHAKE
        yield from sequences.configure(self._port, self._settings, lambda: self._state)

    def _take_identity(self, identity: messages.Identity) -> None:
        if self._boot_count is not None and identity.boot_count != self._boot_count:
            cause = reset_cause(identity.reset_cause)
            self._events.append(Notice(f"the board has restarted ({cause}); its positions are not known", warning=True))
        self._boot_count = identity.boot_count
        self._identity = identity
        self._last_heard = self._now

    def _handshaken(self, outcome: Outcome) -> None:
        if outcome.ok:
            self._link = LinkState.CONFIGURED
            # As read back: the handshake has compared them.
            self._held = tuple(type(joint).unpack(joint.pack()) for joint in self._settings.joints)
            self._next_exchange = self._next_identify = self._next_arm = self._now
            self._events.append(Notice(f"{self._port}: board connected and configured"))
        elif outcome.code is ErrorCode.PROTOCOL_MISMATCH:
            if outcome.message != self._mismatch:
                self._events.append(Notice(outcome.message, warning=True))
            self._mismatch = outcome.message
            self._link = LinkState.FAULT
            self._retry_at = self._now + _RETRY_PERIOD
        elif outcome.code is ErrorCode.FIRMWARE_FAULT:
            # Another configuration has to wait for reset_fault, which must be possible.
            self._link = LinkState.FAULT
            self._retry_at = self._now + _RETRY_PERIOD
        else:
            self.failure = outcome.message
        self._update_status()

    def _start(self, conversation: sequences.Sequence, done: Done) -> None:
        self._stop_conversation()
        self._conversation = conversation
        self._conversation_done = done
        self._converse(None)

    def _stop_conversation(self) -> None:
        self._conversation = None
        self._pause_until = float("inf")

    def _converse(self, outcome: Outcome | None) -> None:
        """Give an outcome to the conversation and do what it yields."""
        conversation = self._conversation
        if conversation is None:
            return
        try:
            step = conversation.send(outcome)  # type: ignore[arg-type]
        except StopIteration:
            self._conversation = None
            self._conversation_done(Outcome())
        except sequences.SequenceFailed as failed:
            self._conversation = None
            self._conversation_done(failed.outcome)
        else:
            if isinstance(step, sequences.Pause):
                self._pause_until = self._now + step.duration
                return

            def answered(result: Outcome) -> None:
                if self._conversation is conversation:
                    self._converse(result)

            self._queue.add(self._now, Request(step.message, answered, step.answers, step.attempts))

    # Messages

    def _handle(self, message: Message) -> None:
        match message:
            case messages.Identity():
                if self._identity is not None and message.boot_count != self._identity.boot_count:
                    self._restarted("the board has restarted")
                else:
                    self._queue.answer(self._now, message)
            case _ if self._identity is None or self._mismatch:
                return  # of an unknown board only the identity can be read
            case messages.State() | messages.HomeProgress() if not is_plausible(message):
                self._decoder.bad += 1  # one spoiled frame in 65536 has a good checksum
            case messages.State():
                self._on_state(message)
            case messages.Clock():
                sent = self._exchanges.pop(message.token, None)
                if sent is not None:
                    self._sync.add(sent, self._board_time.seconds(message.time), self._now)
                self._queue.answer(self._now, message)
            case messages.Acknowledge():
                self._queue.acknowledge(self._now, message.sequence, Outcome())
            case messages.Refuse():
                self._on_refusal(message)
            case messages.Health():
                repeated, held = self._queue.repeated, self._held
                self._events.append(
                    self._report.make(self._now, self._decoder, self._sync, self._identity, message, repeated, held)
                )
            case messages.HomeProgress():
                step = messages.HomeStep(message.step).name.lower().replace("_", " ")
                self._events.append(HomeProgress(self._names[message.joint], step, message.position))
            case messages.JointConfiguration() | messages.BoardConfiguration():
                self._queue.answer(self._now, message)

    def _on_refusal(self, message: messages.Refuse) -> None:
        kind = messages.MESSAGES.get(message.message)
        name = kind.__name__ if kind is not None else f"message {message.message}"
        code, text = refusal(message.reason, message.joint, self._names, name)
        if kind is messages.Setpoint:
            self._setpoints_refused += 1
            if self._now - self._refusal_told >= _REFUSAL_PERIOD:
                self._refusal_told = self._now
                refused = f"{text} ({self._setpoints_refused} setpoints refused so far)"
                self._events.append(Notice(refused, warning=True))
        else:
            self._queue.acknowledge(self._now, message.sequence, Outcome(code, text, message.reason))

    def _on_state(self, state: messages.State) -> None:
        self._state = state
        if self.connected and self._retry_at == float("inf") and not state.flags & Flag.CONFIGURED:
            self._restarted("the board has lost its configuration")
            return
        self._measure(state)
        if self.connected and self._retry_at == float("inf"):
            if state.fault != Fault.NONE:
                self._link = LinkState.FAULT
            else:
                armed = self._wants_armed and state.mode != Mode.IDLE
                self._link = LinkState.ARMED if armed else LinkState.CONFIGURED
        self.motion.on_state(self._now, state, fault_outcome(state, self._names))
        self._update_status()

    def _measure(self, state: messages.State) -> None:
        time = self._board_time.seconds(state.time)
        if not self._sync.synchronised or not self.connected:
            return
        measured_at = min(self._sync.to_host(time), self._now)
        if self._now - measured_at > _SUSPICIOUS_AGE:
            self._next_exchange = min(self._next_exchange, self._last_exchange + _EXCHANGE_PERIOD / 10.0)
        self.motion.measured = state.position
        if measured_at > self._latest_measurement:
            self._latest_measurement = measured_at
            self._events.append(Measurement(measured_at, state.position, state.velocity))

    def _restarted(self, what: str) -> None:
        """Begin anew with a board that has started again."""
        self._end_all(Outcome(ErrorCode.LINK_DOWN, f"{self._port}: {what}; its positions are not known until homed"))
        port = self._port
        self._decoder.restart()
        self._begin(port, LinkState.HANDSHAKE)
        self._shake_hands()

    # What is due while connected

    @property
    def _keep_alive(self) -> float:
        """s without a frame to the board after which it is told that the bridge lives."""
        return self._settings.command_silence / 4.0

    def _advance_connected(self, now: float) -> None:
        state = self._state
        if now >= self._next_identify:
            self._next_identify = now + _IDENTIFY_PERIOD
            self.send(messages.Identify())
        if now >= self._next_exchange or now >= self._last_sent + self._keep_alive:
            self._exchange(now)
        if state is None or state.fault != Fault.NONE or self._conversation is not None or not self._queue.idle:
            return
        if self._wants_armed and state.mode == Mode.IDLE and now >= self._next_arm:
            self._next_arm = now + _ARM_PERIOD
            self.request(now, SetMode(mode=Mode.HOLD), self.warn_of("the arm cannot be armed"))
        self.motion.advance(now)

    def _exchange(self, now: float) -> None:
        """Compare the clocks; the answer may get lost."""
        self._next_exchange = now + _EXCHANGE_PERIOD
        self._token = (self._token + 1) % WRAP_US
        self._exchanges = {token: sent for token, sent in self._exchanges.items() if now - sent < _EXCHANGE_PERIOD}
        self.send(messages.SynchroniseClock(token=self._token))

    @property
    def _last_exchange(self) -> float:
        return self._next_exchange - _EXCHANGE_PERIOD

    # Parts

    @property
    def homed(self) -> bool:
        return self._state is not None and is_homed(self._state)

    def not_usable(self) -> Outcome | None:
        """Say why the arm cannot move."""
        if not self.connected or self._mismatch or self._state is None:
            return Outcome(self._status.fault or ErrorCode.LINK_DOWN, self._status.fault_message or "no link yet")
        if self._state.fault != Fault.NONE:
            return fault_outcome(self._state, self._names)
        if not self._wants_armed:
            return Outcome(ErrorCode.LINK_DOWN, "the bridge is not active; activate it first")
        return None

    def request(self, now: float, message: Message, done: Done, urgent: bool = False) -> None:
        self._now = now
        if self._identity is None or self._mismatch:
            code = ErrorCode.PROTOCOL_MISMATCH if self._mismatch else ErrorCode.LINK_DOWN
            text = self._mismatch or f"no link to the board ({self._down_reason})"
            if urgent:
                text += "; to stop the arm, cut the motors' supply"
            done(Outcome(code, text))
            return
        self._queue.add(now, Request(message, done), urgent)

    def warn_of(self, what: str) -> Done:
        """Return what warns in the log when a request is not carried out."""

        def warn(outcome: Outcome) -> None:
            if not outcome.ok:
                self._events.append(Notice(f"{what}: {outcome.message}", warning=True))

        return warn

    def send(self, message: Message, sequence: int | None = None) -> int:
        """Put a message on the line; returns its sequence number."""
        if isinstance(message, messages.SynchroniseClock):
            if sequence is None:
                self._exchanges[message.token] = self._now
            else:
                # The answer may be to either attempt, so that it says nothing about the clock.
                self._exchanges.pop(message.token, None)
        if sequence is None:
            self._sequence_number = (self._sequence_number + 1) % 256
            sequence = self._sequence_number
        self._output += encode_frame(message, sequence)
        self._last_sent = self._now
        return sequence

    def _end_all(self, outcome: Outcome) -> None:
        """End whatever is under way."""
        conversation_done = self._conversation_done if self._conversation is not None else None
        self._stop_conversation()
        self._queue.abandon(outcome)
        self.motion.end(outcome)
        if conversation_done not in (None, self._handshaken):
            conversation_done(outcome)  # type: ignore[misc]

    def _update_status(self) -> None:
        status = self._present_status()
        if status != self._status:
            self._status = status
            self._events.append(StatusChanged(status))

    def _present_status(self) -> BoardStatus:
        if not self.connected or self._state is None or self._mismatch:
            code = ErrorCode.PROTOCOL_MISMATCH if self._mismatch else ErrorCode.LINK_DOWN
            return BoardStatus(self._link, self._port, fault=code, fault_message=self._mismatch or self._down_reason)
        has_grasp_sensor = bool(self._settings.board.has_grasp_sensor)
        return status_of(self._state, self._link, self._port, self._names, has_grasp_sensor)
