# SPDX-License-Identifier: Apache-2.0
"""What moves the arm: streams of commands, homing, parking; one at a time, and none of them after a stop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.board_settings import BoardSettings
from manipulator3d_hw_bridge.clock_sync import WRAP_US, ClockSync
from manipulator3d_hw_bridge.command_gate import CommandGate
from manipulator3d_hw_bridge.home_goal import HomeGoal
from manipulator3d_hw_bridge.homing import Homing
from manipulator3d_hw_bridge.messages import Flag, Message, Mode, SetMode
from manipulator3d_hw_bridge.park import ParkPath, park_path
from manipulator3d_hw_bridge.request_queue import Outcome
from manipulator3d_node.error_code import ErrorCode

Done = Callable[[Outcome], None]

# s
_PARK_STEP = 0.01
_PARK_LEAD = 0.1
_HOLD_PERIOD = 0.5


class Board(Protocol):
    """What moving the arm needs of the session."""

    @property
    def homed(self) -> bool:
        """True when all joint positions are known."""

    def not_usable(self) -> Outcome | None:
        """Say why the arm cannot move, None when it can."""

    def send(self, message: Message) -> int:
        """Put a message on the line."""

    def request(self, now: float, message: Message, done: Done, urgent: bool = False) -> None:
        """Send a message that must be acknowledged."""

    def warn_of(self, what: str) -> Done:
        """Return what warns in the log when a request is not carried out."""


@dataclass
class _Parking:
    path: ParkPath
    start: float
    done: Done
    steps: int = 0


class ArmMotion:
    """Moves the arm of one board.

    Args:
        board: the session.
        settings: what the board was told.
        sync: its clock.

    Attributes:
        measured: rad, latest measured position; None before the first.
    """

    def __init__(self, board: Board, settings: BoardSettings, sync: ClockSync) -> None:
        self._board = board
        self._settings = settings
        self._gate = CommandGate(settings.bounds, settings.tracking_error, sync)
        self._homing: Homing | None = None
        self._parking: _Parking | None = None
        self._mode = Mode.IDLE
        self._moving = False
        self._next_hold = 0.0
        self.measured: tuple[float, ...] | None = None

    def next_deadline(self, now: float) -> float:
        """Return when `advance` has something to do."""
        return now + _PARK_STEP / 2.0 if self._parking is not None else float("inf")

    def command(self, now: float, apply_at: float, position: Sequence[float], velocity: Sequence[float]) -> str:
        """Forward a joint command; return why it is refused, empty when it is not.

        Args:
            now, apply_at: s; the present, and when the command applies.
            position, velocity: rad and rad/s, within the bounds.
        """
        if self._parking is not None:
            return "the arm is parking"
        return self._command(now, apply_at, position, velocity)

    def home(self, now: float, goal: HomeGoal, done: Done) -> None:
        """Search the switches, or take the present position as known; `done` comes at the end."""
        refused = self._board.not_usable()
        if refused is not None:
            done(refused)
        elif self._homing is not None or self._parking is not None:
            done(Outcome(ErrorCode.BUSY, "the arm is homing or parking; cancel that or wait for its end"))
        elif goal.positions is not None:
            self._gate.bar()
            self._board.request(now, _set_here(goal), done)
        else:
            self._gate.bar()
            self._homing = Homing(self._settings.bounds.names, self._settings.joints, goal, done)
            self._board.request(now, self._homing.message, lambda outcome: self._homing_begun(now, outcome))

    def cancel_home(self, now: float) -> None:
        """End homing where it is."""
        if self._homing is not None:
            self._homing.cancelled = True
            if self._homing.running:
                self._board.request(now, SetMode(mode=Mode.HOLD), self._board.warn_of("homing could not be cancelled"))

    def park(self, now: float, done: Done) -> None:
        """Move to the home position."""
        refused = self._board.not_usable()
        if refused is None and (self.measured is None or not self._board.homed):
            refused = Outcome(ErrorCode.NOT_HOMED, "the joint positions are not known")
        if refused is None and (self._homing is not None or self._parking is not None):
            refused = Outcome(ErrorCode.BUSY, "the arm is homing or parking already")
        if refused is not None:
            done(refused)
            return
        assert self.measured is not None
        self._gate.end()
        bounds = self._settings.bounds
        path = park_path(self.measured, self._settings.home, bounds.velocity, self._settings.acceleration)
        self._parking = _Parking(path, now + 2.0 * _PARK_LEAD, done)

    def stop(self, outcome: Outcome) -> None:
        """Follow no command of the present stream any more, and end parking; the board brakes by itself."""
        self._gate.bar()
        if self._parking is not None:
            parking, self._parking = self._parking, None
            parking.done(outcome)

    def end(self, outcome: Outcome) -> None:
        """End everything: the board is gone."""
        self.stop(outcome)
        self._end_homing(outcome)

    def on_state(self, now: float, state: messages.State, fault: Outcome) -> None:
        """Take the board's state.

        Args:
            now: s.
            state: latest.
            fault: its fault as an outcome.
        """
        self._mode = Mode(state.mode)
        self._moving = bool(state.flags & Flag.MOVING)
        if not fault.ok:
            self.stop(fault)
        if self._homing is not None and self._homing.running:
            outcome = self._homing.ended(now, state, fault)
            if outcome is not None:
                self._end_homing(outcome)

    def advance(self, now: float) -> None:
        """Go on with parking, and hold after the end of a stream."""
        if self._parking is not None:
            self._advance_parking(now, self._parking)
        over = not self._gate.streaming or now > self._gate.ends_at()
        if self._mode is Mode.TRACK and over and not self._moving and now >= self._next_hold:
            self._gate.end()
            self._next_hold = now + _HOLD_PERIOD
            self._board.request(now, SetMode(mode=Mode.HOLD), self._board.warn_of("the arm does not hold"))

    def _command(self, now: float, apply_at: float, position: Sequence[float], velocity: Sequence[float]) -> str:
        refused = self._board.not_usable()
        if refused is not None:
            return refused.message
        if not self._board.homed:
            return "the joint positions are not known; send a goal to home first"
        if self._homing is not None:
            return "the arm is homing"
        reason = self._gate.refusal(now, apply_at, position, self.measured)
        if reason:
            return reason
        board_time, rate, begins = self._gate.take(apply_at)
        if begins:
            self._begin_stream(now)
        self._board.send(
            messages.Setpoint(
                time=round(board_time * 1e6) % WRAP_US,
                position=tuple(position),
                velocity=tuple(value / rate for value in velocity),
            )
        )
        return ""

    def _begin_stream(self, now: float) -> None:
        warn = self._board.warn_of("the arm does not follow commands")

        def answered(outcome: Outcome) -> None:
            if not outcome.ok:
                self._gate.bar()
            warn(outcome)

        self._next_hold = now + _HOLD_PERIOD
        self._board.request(now, SetMode(mode=Mode.TRACK), answered, urgent=True)

    def _advance_parking(self, now: float, parking: _Parking) -> None:
        while (time := parking.steps * _PARK_STEP) <= parking.path.duration:
            if parking.start + time - _PARK_LEAD > now:
                return
            parking.steps += 1
            reason = self._command(now, parking.start + time, *parking.path.at(time))
            if reason:
                self.stop(Outcome(ErrorCode.INVALID_TRAJECTORY, reason))
                return
        if now > parking.start + parking.path.duration + _PARK_LEAD and not self._moving:
            self._parking = None
            parking.done(Outcome())

    def _homing_begun(self, now: float, outcome: Outcome) -> None:
        if self._homing is None:
            return
        if not outcome.ok:
            self._end_homing(outcome)
            return
        self._homing.begin(now)
        if self._homing.cancelled:
            self.cancel_home(now)

    def _end_homing(self, outcome: Outcome) -> None:
        if self._homing is not None:
            homing, self._homing = self._homing, None
            homing.done(outcome)


def _set_here(goal: HomeGoal) -> messages.SetHere:
    positions = [0.0] * messages.JOINTS
    for joint, position in zip(goal.joints, goal.positions or (), strict=True):
        positions[joint] = position
    return messages.SetHere(joints=sum(1 << joint for joint in goal.joints), position=tuple(positions))
