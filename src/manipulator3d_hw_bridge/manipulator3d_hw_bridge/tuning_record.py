# SPDX-License-Identifier: Apache-2.0
"""What the serial line tells of one joint in motion: where it should be, where it is, and how it is driven."""

from dataclasses import dataclass, field

import numpy as np

from manipulator3d_hw_bridge.clock_sync import BoardTime
from manipulator3d_hw_bridge.link_traffic import Passage
from manipulator3d_hw_bridge.messages import Report, Setpoint, State

# s; the firmware interpolates no longer gap between two setpoints
_LONGEST_GAP = 0.25
# rad/s; slower counts as rest
_MOVING = 1e-3


@dataclass
class TuningRecord:
    """Collects the frames of one joint; all times are the board's own, in s.

    Attributes:
        joint: its number.
        setpoints: rows of time, position in rad, velocity in rad/s.
        states: rows of time, measured position in rad, filtered velocity in rad/s.
        drives: rows of index of the state of the same instant, drive from -1 to 1.
    """

    joint: int
    setpoints: list[tuple[float, float, float]] = field(default_factory=list)
    states: list[tuple[float, float, float]] = field(default_factory=list)
    drives: list[tuple[int, float]] = field(default_factory=list)
    _clock: BoardTime = field(default_factory=BoardTime)
    _state_sequence: int | None = None

    def take(self, passage: Passage) -> None:
        """Take one frame; those that tell nothing of the joint's motion are passed over."""
        message = passage.message
        if isinstance(message, Setpoint):
            time = self._clock.seconds(message.time)
            if not self.setpoints or time > self.setpoints[-1][0]:
                self.setpoints.append((time, message.position[self.joint], message.velocity[self.joint]))
        elif isinstance(message, State):
            time = self._clock.seconds(message.time)
            if not self.states or time > self.states[-1][0]:
                self.states.append((time, message.position[self.joint], message.velocity[self.joint]))
                self._state_sequence = passage.sequence
        elif isinstance(message, Report) and self._state_sequence == (passage.sequence - 1) % 256:
            self.drives.append((len(self.states) - 1, message.drive[self.joint]))

    def tracking_error(self) -> float:
        """Return the RMS in rad of the measured distance from the setpoints in motion; nan when nothing moved.

        Both are in the board's clock, so that neither the host's delays nor its idea of that clock are in it.
        """
        if len(self.setpoints) < 2 or not self.states:
            return float("nan")
        states = np.array(self.states)
        commanded = commanded_motion(np.array(self.setpoints), states[:, 0])
        moving = commanded.known & (np.abs(commanded.velocity) > _MOVING)
        error = (commanded.position - states[:, 1])[moving]
        return float(np.sqrt(np.mean(error**2))) if len(error) else float("nan")


@dataclass(frozen=True)
class CommandedMotion:
    """What was commanded at some times.

    Attributes:
        known: whether each time lies between two setpoints of one stream.
        position, velocity, acceleration: rad, rad/s, rad/s².
    """

    known: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


def commanded_motion(setpoints: np.ndarray, times: np.ndarray) -> CommandedMotion:
    """Interpolate setpoints as the firmware does, by cubics through positions and velocities.

    Args:
        setpoints: shape (N, 3), N at least 2: time in s, growing; position in rad; velocity in rad/s.
        times: shape (M,), s.
    """
    moments, positions, velocities = setpoints.T
    left = np.clip(np.searchsorted(moments, times, side="right") - 1, 0, len(moments) - 2)
    step = moments[left + 1] - moments[left]
    s = (times - moments[left]) / step
    known = (s >= 0.0) & (s <= 1.0) & (step <= _LONGEST_GAP)
    s = np.clip(s, 0.0, 1.0)
    way = positions[left + 1] - positions[left]
    v0, v1 = velocities[left], velocities[left + 1]
    position = positions[left] + s * s * (3 - 2 * s) * way + step * s * (1 - s) * ((1 - s) * v0 - s * v1)
    velocity = 6 * s * (1 - s) * way / step + (1 - s) * (1 - 3 * s) * v0 + s * (3 * s - 2) * v1
    acceleration = ((6 - 12 * s) * way / step + (6 * s - 4) * v0 + (6 * s - 2) * v1) / step
    return CommandedMotion(known, position, velocity, acceleration)
