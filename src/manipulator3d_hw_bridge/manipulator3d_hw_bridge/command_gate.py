# SPDX-License-Identifier: Apache-2.0
"""Decides which joint command becomes a setpoint: streams begin where the arm is, and never outlive a stop."""

from collections.abc import Sequence

from manipulator3d_hw_bridge.clock_sync import ClockSync, StreamClock
from manipulator3d_hw_bridge.command_check import JointBounds

# s without a command after which the next one begins a new stream; the firmware takes at most 0.25 s between setpoints.
STREAM_GAP = 0.2
# s that a command may lie ahead: the firmware's queue of 32 setpoints holds 0.32 s at 100 Hz.
_FARTHEST_AHEAD = 0.3
# s that a command needs to get to the board.
_LEAST_AHEAD = 0.002


class CommandGate:
    """Follows one stream of commands.

    Args:
        bounds: names of the joints.
        tolerance: rad, how far from the measured position a stream may begin.
        sync: clock of the board.
    """

    def __init__(self, bounds: JointBounds, tolerance: Sequence[float], sync: ClockSync) -> None:
        self._bounds = bounds
        self._tolerance = tuple(tolerance)
        self._clock = StreamClock(sync, pause=STREAM_GAP)
        self._latest_apply = float("-inf")
        self._latest_arrival = float("-inf")
        self._streaming = False
        self._barred = False

    @property
    def streaming(self) -> bool:
        """True while a stream is followed."""
        return self._streaming

    def ends_at(self) -> float:
        """Return the host time at which a stream without further commands is over."""
        return max(self._latest_apply, self._latest_arrival) + STREAM_GAP

    def bar(self) -> None:
        """End the stream, and refuse what is left of it: after a stop only a new stream moves the arm."""
        self._streaming = False
        self._barred = True

    def end(self) -> None:
        """End the stream; the next command begins a new one."""
        self._streaming = False

    def refusal(self, now: float, apply_at: float, position: Sequence[float], measured: Sequence[float] | None) -> str:
        """Say why a command is not followed; empty when it is.

        Args:
            now, apply_at: s on the host's clock.
            position: rad, commanded.
            measured: rad; None when unknown.
        """
        gap = now - self._latest_arrival
        self._latest_arrival = now
        if self._barred and gap < STREAM_GAP:
            return f"the arm was stopped; it follows commands again after they pause for {STREAM_GAP:g} s"
        self._barred = False
        if apply_at < now + _LEAST_AHEAD:
            return f"applies {(now - apply_at) * 1e3:.0f} ms ago; stamp commands ahead of their time, 0.1 s is usual"
        if apply_at > now + _FARTHEST_AHEAD:
            return f"applies {apply_at - now:.3f} s ahead; at most {_FARTHEST_AHEAD:g} s is possible"
        if self._streaming and gap < STREAM_GAP:
            if apply_at <= self._latest_apply:
                return "applies before the command that came before it; is there a second publisher on joint_commands?"
            return ""
        self._streaming = False
        return self._too_far(position, measured)

    def take(self, apply_at: float) -> tuple[float, float, bool]:
        """Accept a command.

        Returns:
            Its time in s on the board's clock; the board's s for each s of the host's around it; whether it begins a
            stream.
        """
        begins = not self._streaming
        if begins:
            self._clock.restart()
        self._streaming = True
        self._latest_apply = apply_at
        board_time = self._clock.to_board(apply_at)
        return board_time, self._clock.rate, begins

    def _too_far(self, position: Sequence[float], measured: Sequence[float] | None) -> str:
        if measured is None:
            return "the arm's position is not measured yet; wait for joint_states"
        for name, wanted, actual, bound in zip(self._bounds.names, position, measured, self._tolerance, strict=True):
            if abs(wanted - actual) > bound:
                return (
                    f"{name}: the stream begins at {wanted:.3f} rad, {abs(wanted - actual):.3f} rad from the measured "
                    f"{actual:.3f} rad; at most {bound:g} rad is possible: begin where the arm is"
                )
        return ""
