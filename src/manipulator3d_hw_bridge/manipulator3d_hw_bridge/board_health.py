# SPDX-License-Identifier: Apache-2.0
"""Figures of link, clock, encoders and firmware for the diagnostics, and what in them calls for attention."""

import contextlib
from collections.abc import Sequence

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.board_settings import GAINS
from manipulator3d_hw_bridge.board_status import Health
from manipulator3d_hw_bridge.clock_sync import ClockSync
from manipulator3d_hw_bridge.frame_codec import FrameDecoder

# Board time is known no better than half of this.
_SLOW_ROUND_TRIP = 0.05
# µs; the control interrupt's period is 1000.
_LONG_LOOP = 800


class HealthReport:
    """Makes the report once a second; warns of what has grown since the last one."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._frames = 0
        self._bad = 0
        self._time: float | None = None
        self._last: messages.Health | None = None

    def make(
        self,
        now: float,
        decoder: FrameDecoder,
        sync: ClockSync,
        identity: messages.Identity | None,
        board: messages.Health | None,
        repeated: int,
        joints: Sequence[messages.JointConfiguration],
    ) -> Health:
        """Return the figures.

        Args:
            now: s.
            decoder: of the board's frames.
            sync: clock of the board.
            identity, board: latest messages; None before the first.
            repeated: requests that were sent again.
            joints: what the board holds; none before it is configured.
        """
        elapsed = now - self._time if self._time is not None else float("nan")
        rate = (decoder.received - self._frames) / elapsed if elapsed > 0.0 else float("nan")
        groups = {
            "serial": {
                "frames received": str(decoder.received),
                "frames per second": f"{rate:.1f}",
                "frames bad": str(decoder.bad),
                "frames lost": str(decoder.lost),
                "requests repeated": str(repeated),
            },
            "clock": {
                "round trip (ms)": f"{sync.round_trip * 1e3:.2f}",
                "uncertainty (ms)": f"{sync.uncertainty * 1e3:.2f}",
                "offset (s)": f"{sync.offset:.6f}",
                "drift (ppm)": f"{sync.drift * 1e6:.1f}",
                "steps": str(sync.steps),
            },
        }
        warnings = {}
        if decoder.bad > self._bad:
            warnings["serial"] = f"{decoder.bad - self._bad} bad frames in the last second; check cable and ground"
        if sync.round_trip > _SLOW_ROUND_TRIP:
            warnings["clock"] = f"a round trip takes {sync.round_trip * 1e3:.0f} ms; is this computer overloaded?"
        if identity is not None and board is not None:
            self._add_board(groups, warnings, identity, board)
        if joints:
            groups["gains"] = {
                f"{name}: {gain}": f"{getattr(joint, gain):g}"
                for name, joint in zip(self._names, joints, strict=True)
                for gain in ("counts_per_radian", *GAINS)
            }
        self._frames, self._bad, self._time, self._last = decoder.received, decoder.bad, now, board
        return Health(groups, warnings)

    def _add_board(
        self,
        groups: dict[str, dict[str, str]],
        warnings: dict[str, str],
        identity: messages.Identity,
        board: messages.Health,
    ) -> None:
        before = self._last or board
        groups["encoders"] = {
            f"{name}: illegal transitions": str(count)
            for name, count in zip(self._names, board.illegal_transitions, strict=True)
        }
        grown = [
            f"{name} {(count - earlier) % 65536}"
            for name, count, earlier in zip(
                self._names, board.illegal_transitions, before.illegal_transitions, strict=True
            )
            if count != earlier
        ]
        if grown:
            warnings["encoders"] = f"illegal transitions in the last second: {', '.join(grown)}; check the wires"
        groups["firmware"] = {
            "version": f"{identity.version_major}.{identity.version_minor}.{identity.version_patch}",
            "starts": str(identity.boot_count),
            "last start": reset_cause(identity.reset_cause),
            "uptime (s)": f"{board.uptime * 1e-3:.1f}",
            "longest control interrupt (µs)": str(board.loop_worst),
            "overruns": str(board.overruns),
            "frames bad": str(board.frames_bad),
            "frames lost": str(board.frames_lost),
            "bytes lost": str(board.bytes_lost),
            "setpoints late": str(board.setpoints_late),
            "setpoints refused": str(board.setpoints_refused),
            "underflows": str(board.underflows),
        }
        if board.overruns != before.overruns or board.loop_worst > _LONG_LOOP:
            warnings["firmware"] = f"the control interrupt took up to {board.loop_worst} of 1000 µs"
        elif board.setpoints_late != before.setpoints_late or board.underflows != before.underflows:
            warnings["firmware"] = "setpoints came late in the last second; is this computer overloaded?"


def reset_cause(number: int) -> str:
    """Return the cause of a start in words."""
    with contextlib.suppress(ValueError):
        return messages.ResetCause(number).name.lower().replace("_", " ")
    return f"unknown cause {number}"
