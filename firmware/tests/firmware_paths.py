# SPDX-License-Identifier: Apache-2.0
"""Joint paths for the tests: functions of time in s that give positions in rad and velocities in rad/s."""

from collections.abc import Callable, Sequence

Path = Callable[[float], tuple[list[float], list[float]]]


def rest_to_rest(start: Sequence[float], end: Sequence[float], duration: float) -> Path:
    """The quintic that is at rest at both ends."""

    def path(time: float) -> tuple[list[float], list[float]]:
        s = min(max(time / duration, 0.0), 1.0)
        way, speed = s**3 * (10 - 15 * s + 6 * s * s), 30 * s * s * (1 - s) ** 2 / duration
        return (
            [a + (b - a) * way for a, b in zip(start, end, strict=True)],
            [(b - a) * speed for a, b in zip(start, end, strict=True)],
        )

    return path


def steady(start: Sequence[float], velocity: Sequence[float], ramp: float = 0.4) -> Path:
    """From rest to a velocity within `ramp` s, and on with it."""

    def path(time: float) -> tuple[list[float], list[float]]:
        t = max(time, 0.0)
        way = t * t / (2 * ramp) if t < ramp else t - ramp / 2
        return [a + v * way for a, v in zip(start, velocity, strict=True)], [v * min(t / ramp, 1.0) for v in velocity]

    return path
