# SPDX-License-Identifier: Apache-2.0
"""Conversations of several requests with the board: the handshake, and the way to motors that are not driven.

Each is a generator that yields what to ask, or how long to pause, and is sent the outcome.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, fields
from typing import Any

from manipulator3d_hw_bridge.board_settings import BoardSettings
from manipulator3d_hw_bridge.messages import (
    PROTOCOL_HASH,
    BoardConfiguration,
    Clock,
    Flag,
    Identify,
    Identity,
    JointConfiguration,
    Message,
    Mode,
    ReadBoard,
    ReadJoint,
    Reason,
    ResetFault,
    SetMode,
    State,
    SynchroniseClock,
)
from manipulator3d_hw_bridge.request_queue import Outcome
from manipulator3d_node.error_code import ErrorCode

# Attempts of a tenth of a second for the first answer: a board that boots needs up to 2 s, clones with slow boot
# loaders more.
_IDENTIFY_ATTEMPTS = 50
_CLOCK_EXCHANGES = 8
# s between attempts to let go of a moving arm, and how often; the slowest brake takes less than a second.
_SETTLE_PAUSE = 0.05
_SETTLE_ATTEMPTS = 60
# s; the board tells its state every 255 ms at the slowest.
_STATE_PAUSE = 0.02
_STATE_ATTEMPTS = 50


@dataclass(frozen=True)
class Ask:
    """A request of a sequence; without `answers` it is to be acknowledged."""

    message: Message
    answers: Callable[[Any], bool] | None = None
    attempts: int | None = None


@dataclass(frozen=True)
class Pause:
    """A pause of a sequence, s."""

    duration: float


Sequence = Generator[Ask | Pause, Outcome, None]


class SequenceFailed(Exception):
    """A sequence that cannot go on.

    Attributes:
        outcome: code and text.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


def identify(port: str, take: Callable[[Identity], None]) -> Sequence:
    """Find out who is at the port and whether it speaks this protocol.

    Args:
        port: for messages.
        take: receives the identity before it is judged.
    """
    outcome = yield Ask(Identify(), lambda message: isinstance(message, Identity), _IDENTIFY_ATTEMPTS)
    if not outcome.ok:
        raise SequenceFailed(
            Outcome(
                ErrorCode.LINK_DOWN,
                f"{port}: no manipulator3d firmware answers; another device, another firmware or no power: flash "
                "firmware/ to the board, or name its port with port:=/dev/…",
            )
        )
    identity = outcome.answer
    take(identity)
    if identity.protocol != PROTOCOL_HASH:
        raise SequenceFailed(
            Outcome(
                ErrorCode.PROTOCOL_MISMATCH,
                f"{port}: firmware speaks protocol {identity.protocol:08x}, this bridge {PROTOCOL_HASH:08x}; "
                "flash firmware/ from this checkout",
            )
        )


def configure(port: str, settings: BoardSettings, state: Callable[[], State | None]) -> Sequence:
    """Make the board's configuration ours, and set the clock.

    What a configured board holds is read first, and written only where it differs: a bridge that comes back to a board
    that holds the arm finds everything as it left it.

    Args:
        port: for messages.
        settings: what the board shall hold.
        state: gives the board's latest state.
    """
    for _ in range(_STATE_ATTEMPTS):
        if state() is not None:
            break
        yield Pause(_STATE_PAUSE)
    latest = state()
    if latest is None:
        limit = _STATE_ATTEMPTS * _STATE_PAUSE
        raise SequenceFailed(Outcome(ErrorCode.LINK_DOWN, f"{port}: no State from the board in {limit:g} s; reset it"))
    wanted: list[JointConfiguration | BoardConfiguration] = [*settings.joints, settings.board]
    for configuration in wanted:
        held = yield from _read(configuration)
        if held is not None and held.pack() == configuration.pack() and latest.flags & Flag.CONFIGURED:
            continue
        yield from _write(configuration)
        held = yield from _read(configuration)
        if held is None or held.pack() != configuration.pack():
            raise SequenceFailed(Outcome(ErrorCode.PROTOCOL_MISMATCH, _difference(port, configuration, held)))
    for token in range(_CLOCK_EXCHANGES):
        outcome = yield Ask(SynchroniseClock(token=token), _clock_with(token))
        if not outcome.ok:
            raise SequenceFailed(outcome)


def let_go(mode: Mode) -> Sequence:
    """Brake to a hold, then stop driving the motors.

    A board that holds the arm after a fault lets go only without the fault, which is therefore reset; that moves
    nothing.
    """
    if mode is Mode.FAULT:
        yield from _when_at_rest(ResetFault())
    elif mode is not Mode.IDLE:
        yield from _when_at_rest(SetMode(mode=Mode.HOLD))
    yield from _when_at_rest(SetMode(mode=Mode.IDLE))


def _when_at_rest(message: Message) -> Sequence:
    """Ask until the arm has come to rest."""
    outcome = yield Ask(message)
    for _ in range(_SETTLE_ATTEMPTS):
        if outcome.ok:
            return
        if outcome.reason != Reason.MOVING:
            break
        yield Pause(_SETTLE_PAUSE)
        outcome = yield Ask(message)
    raise SequenceFailed(outcome)


def _read(wanted: JointConfiguration | BoardConfiguration) -> Generator[Ask | Pause, Outcome, Message | None]:
    """Return what the board holds, None when it holds nothing yet."""
    if isinstance(wanted, JointConfiguration):
        number = wanted.joint
        outcome = yield Ask(
            ReadJoint(joint=number), lambda message: isinstance(message, JointConfiguration) and message.joint == number
        )
    else:
        outcome = yield Ask(ReadBoard(), lambda message: isinstance(message, BoardConfiguration))
    if outcome.reason == Reason.NOT_CONFIGURED:
        return None
    if not outcome.ok:
        raise SequenceFailed(outcome)
    held: Message = outcome.answer
    return held


def _write(configuration: JointConfiguration | BoardConfiguration) -> Sequence:
    outcome = yield Ask(configuration)
    if outcome.reason == Reason.WRONG_MODE:
        # The motors are driven, as a bridge that was killed left them; other numbers need them off.
        yield from let_go(Mode.HOLD)
        outcome = yield Ask(configuration)
    if not outcome.ok:
        raise SequenceFailed(outcome)


def _clock_with(token: int) -> Callable[[Any], bool]:
    return lambda message: isinstance(message, Clock) and message.token == token


def _difference(port: str, wanted: Message, held: Message | None) -> str:
    rounded = type(wanted).unpack(wanted.pack())
    differing = [
        f"{one.name} {getattr(held, one.name)} instead of {getattr(rounded, one.name)}"
        for one in fields(wanted)  # type: ignore[arg-type]
        if getattr(held, one.name) != getattr(rounded, one.name)
    ]
    return (
        f"{port}: the board holds another {type(wanted).__name__} than was sent ({', '.join(differing)}); "
        "flash firmware/ from this checkout"
    )
