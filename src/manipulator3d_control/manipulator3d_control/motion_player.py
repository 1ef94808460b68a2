# SPDX-License-Identifier: Apache-2.0
"""Runs a motion by a clock of its own: start, pause, resume, stop and speed changes, never off the motion's path.

The motion's clock runs at a rate r of 0 to 1. With q the joint angles over the motion's own time, whose derivatives are
q', q'', q''', the arm gets the velocity q' r, the acceleration q'' r² + q' dr/dt and the jerk
q''' r³ + 3 q'' r dr/dt + q' d²r/dt². Whatever is asked for, only the rate changes: along the shortest cubic of a set
that keeps all joints within their limits. While none does, the motion goes on as it is, and the next tick tries again.
A motion is planned with a little less than the limits, which leaves room for such changes.
"""

from dataclasses import dataclass

import numpy as np

from manipulator3d_control.motion import Motion, Setpoint
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_kinematics import ArmModel

# durations of the rate changes that are tried, s
_DURATIONS = np.geomspace(0.06, 2.0, 16)
_CHECK_SPACING_S = 0.006
# the checks are made at samples; what lies between them stays within this share of the limits
_SHARE = 0.995
# with a motion that leaves no room at all (one planned elsewhere) acceleration and jerk may exceed their limits after
# so long, by so much more in each second: a stop must come
_PATIENCE_S, _GIVING_WAY_PER_S = 0.5, 2.0
_AT_TARGET = 1e-12
# so many places are looked at for the one nearest to where an arm has braked
_RESTARTS = 51

_COUNTS = np.maximum(np.ceil(_DURATIONS / _CHECK_SPACING_S).astype(int), 8) + 1
_FIRST = np.concatenate([[0], np.cumsum(_COUNTS)[:-1]])
_CANDIDATE = np.repeat(np.arange(len(_DURATIONS)), _COUNTS)
_TIMES = np.concatenate([np.linspace(0.0, d, n) for d, n in zip(_DURATIONS, _COUNTS, strict=True)])


@dataclass(frozen=True)
class _Ramp:
    """A change of the rate, a cubic of time that ends with slope 0.

    Attributes:
        rate, slope: at its start; the slope in 1/s.
        second, third: coefficients of the square and the cube of time.
        duration: s.
        target: rate at its end.
    """

    rate: float
    slope: float
    second: float
    third: float
    duration: float
    target: float

    def at(self, w: float) -> tuple[float, float, float]:
        """Motion time that has passed, rate and slope, `w` seconds after the start."""
        over = max(w - self.duration, 0.0)
        w = min(w, self.duration)
        passed = w * (self.rate + w * (self.slope / 2.0 + w * (self.second / 3.0 + w * self.third / 4.0)))
        if over > 0.0 or w == self.duration:
            return passed + over * self.target, self.target, 0.0
        rate = self.rate + w * (self.slope + w * (self.second + w * self.third))
        return passed, rate, self.slope + w * (2.0 * self.second + 3.0 * w * self.third)


class MotionPlayer:
    """A motion being run through.

    Args:
        arm: the arm; its limits.
        motion: the motion.
        speed_scale: rate of its clock, above 0 to 1.
    """

    def __init__(self, arm: ArmModel, motion: Motion, speed_scale: float = 1.0) -> None:
        self._arm = arm
        self._motion = motion
        self._scale = speed_scale
        self._paused = False
        self._tau = 0.0
        self._rate, self._slope = speed_scale, 0.0
        self._ramp: _Ramp | None = None
        self._ramp_time = 0.0
        self._waited = 0.0

    @property
    def time(self) -> float:
        """Present time of the motion, 0 to its duration, s."""
        return self._tau

    @property
    def progress(self) -> float:
        """Fraction of the motion's time that lies behind, 0 to 1."""
        return self._tau / self._motion.duration if self._motion.duration > 0.0 else 1.0

    @property
    def finished(self) -> bool:
        """Whether the end of the motion is reached, at rest."""
        return self._tau >= self._motion.duration

    @property
    def at_rest(self) -> bool:
        """Whether the arm stands, by command."""
        return self.finished or (self._rate == 0.0 and self._ramp is None and self._target == 0.0)

    @property
    def paused(self) -> bool:
        """Whether the arm stands or comes to rest until `resume`."""
        return self._paused

    @property
    def rate(self) -> float:
        """Present rate of the motion's clock, 0 to 1."""
        return self._rate

    def advance(self, dt: float) -> Setpoint:
        """Go on by `dt` seconds and return the setpoint then."""
        if self.finished:
            return self.setpoint()
        self._steer(dt)
        if self._ramp is None:
            self._tau += self._rate * dt
        else:
            before = self._ramp.at(self._ramp_time)[0]
            self._ramp_time += dt
            passed, self._rate, self._slope = self._ramp.at(self._ramp_time)
            self._tau += passed - before
            if self._ramp_time >= self._ramp.duration:
                self._ramp = None
        self._tau = min(self._tau, self._motion.duration)
        return self.setpoint()

    def setpoint(self) -> Setpoint:
        """The present setpoint."""
        state = self._motion.sample(self._tau)
        acceleration = state.acceleration * self._rate**2 + state.velocity * self._slope
        return Setpoint(state.position, state.velocity * self._rate, acceleration)

    def stop(self) -> None:
        """Decelerate to rest along the path, as fast as the limits allow."""
        self._paused = True
        self._aim()

    def resume(self) -> None:
        """Go on to the end of the motion."""
        self._paused = False
        self._aim()

    def change_speed(self, speed_scale: float) -> None:
        """Go on with another rate, above 0 to 1."""
        self._scale = speed_scale
        self._aim()

    def restart(self) -> None:
        """Go on from rest near the present setpoint: where an arm brakes to when its commands stay away."""
        if self.finished:
            return
        present = self.setpoint()
        # a driver brakes all joints in the same time, the slowest one at its limit
        braking_time = float(np.max(np.abs(present.velocity) / self._arm.acceleration))
        rest = present.position + 0.5 * braking_time * present.velocity
        ahead = np.linspace(0.0, self._rate * braking_time, _RESTARTS)
        off = np.max(np.abs(self._motion.sample(self._tau + ahead).position - rest), axis=1)
        self._tau = min(self._tau + float(ahead[np.argmin(off)]), self._motion.duration)
        self._rate = self._slope = 0.0
        self._ramp = None

    @property
    def _target(self) -> float:
        return 0.0 if self._paused else self._scale

    def _aim(self) -> None:
        self._waited = 0.0
        if self._tau == 0.0:
            # a motion begins at rest, so that any rate will do
            self._rate, self._slope, self._ramp = self._target, 0.0, None

    def _steer(self, dt: float) -> None:
        """Take a quicker way to the wanted rate, if there is one."""
        target = self._target
        longest = np.inf
        if self._ramp is None:
            if abs(self._rate - target) <= _AT_TARGET:
                return
        elif self._ramp.target == target:
            longest = self._ramp.duration - self._ramp_time - dt
        found = self._quickest(target, longest)
        if found is not None:
            self._ramp, self._ramp_time, self._waited = found, 0.0, 0.0
        elif self._ramp is None or self._ramp.target != target:
            self._waited += dt

    def _quickest(self, target: float, longest: float) -> _Ramp | None:
        count = int(np.searchsorted(_DURATIONS, longest))
        if count == 0:
            return None
        durations = _DURATIONS[:count]
        difference = target - self._rate
        second = 3.0 * difference / durations**2 - 2.0 * self._slope / durations
        third = -2.0 * difference / durations**3 + self._slope / durations**2
        excess = self._excess(second, third)
        allowed = 1.0 + _GIVING_WAY_PER_S * max(0.0, self._waited - _PATIENCE_S)
        feasible = np.flatnonzero(excess <= allowed)
        if not feasible.size:
            return None
        best = int(feasible[0])
        return _Ramp(self._rate, self._slope, float(second[best]), float(third[best]), float(durations[best]), target)

    def _excess(self, second: Array, third: Array) -> Array:
        """Largest share of a limit that each candidate uses, infinite where the clock would run outside 0 to 1."""
        size = int(np.sum(_COUNTS[: len(second)]))
        candidate, w = _CANDIDATE[:size], _TIMES[:size]
        c2, c3 = second[candidate], third[candidate]
        rate = self._rate + w * (self._slope + w * (c2 + w * c3))
        slope = (self._slope + w * (2.0 * c2 + 3.0 * w * c3))[:, None]
        bend = (2.0 * c2 + 6.0 * w * c3)[:, None]
        passed = w * (self._rate + w * (self._slope / 2.0 + w * (c2 / 3.0 + w * c3 / 4.0)))
        state = self._motion.sample(self._tau + passed)
        r = rate[:, None]
        acceleration = state.acceleration * r**2 + state.velocity * slope
        jerk = state.jerk * r**3 + 3.0 * state.acceleration * r * slope + state.velocity * bend
        # a motion planned elsewhere may itself exceed the limits; what it does anyway is not held against a candidate
        share = np.maximum(
            np.abs(acceleration) / np.maximum(_SHARE * self._arm.acceleration, np.abs(state.acceleration)),
            np.abs(jerk) / np.maximum(_SHARE * self._arm.jerk, np.abs(state.jerk)),
        ).max(axis=1)
        share[(rate < -_AT_TARGET) | (rate > 1.0 + _AT_TARGET)] = np.inf
        return np.maximum.reduceat(share, _FIRST[: len(second)])
