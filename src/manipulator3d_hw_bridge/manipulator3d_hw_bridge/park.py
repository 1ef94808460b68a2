# SPDX-License-Identifier: Apache-2.0
"""The way to the home position at shutdown, when nothing else plans motions any more."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Peak velocity and acceleration of the quintic s(u) = 10u³ − 15u⁴ + 6u⁵: 15/8 and 10/√3.
_PEAK_VELOCITY = 15.0 / 8.0
_PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)

# Fraction of the limits that parking uses: nobody waits for it, and somebody may be near.
_SPEED = 0.5


@dataclass(frozen=True)
class ParkPath:
    """A straight line in joint space from rest to rest.

    Attributes:
        start, end: rad.
        duration: s.
    """

    start: tuple[float, ...]
    end: tuple[float, ...]
    duration: float

    def at(self, time: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return positions (rad) and velocities (rad/s) `time` s after the start."""
        if self.duration <= 0.0:
            return self.end, (0.0,) * len(self.end)
        u = min(max(time / self.duration, 0.0), 1.0)
        s = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
        rate = 30.0 * u * u * (1.0 - u) ** 2 / self.duration
        positions = tuple(a + (b - a) * s for a, b in zip(self.start, self.end, strict=True))
        velocities = tuple((b - a) * rate for a, b in zip(self.start, self.end, strict=True))
        return positions, velocities


def park_path(
    start: Sequence[float], end: Sequence[float], velocity: Sequence[float], acceleration: Sequence[float]
) -> ParkPath:
    """Plan the way to `end` at half the limits.

    Args:
        start, end: rad.
        velocity: rad/s, limits.
        acceleration: rad/s², limits.
    """
    duration = 0.0
    for a, b, v, acc in zip(start, end, velocity, acceleration, strict=True):
        distance = abs(b - a)
        duration = max(
            duration,
            _PEAK_VELOCITY * distance / (_SPEED * v),
            math.sqrt(_PEAK_ACCELERATION * distance / (_SPEED * acc)),
        )
    return ParkPath(tuple(start), tuple(end), duration)
