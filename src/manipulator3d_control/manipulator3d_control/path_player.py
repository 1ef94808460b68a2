# SPDX-License-Identifier: Apache-2.0
"""Runs along a path in time: start, pause, resume, stop and speed changes, always on the path and within its bounds.

The time law is planned by ruckig for the path parameter alone. Whatever is asked for, a new law starts from the present
speed and acceleration and runs along the same path.
"""

from dataclasses import dataclass

import numpy as np
from ruckig import ControlInterface, InputParameter, Result, Ruckig, Trajectory

from manipulator3d_control.path import Array, Path
from manipulator3d_control.path_bounds import PathBounds

# by how much rounding may carry a law over the end of the path, as a share of its length
_ROUNDING = 1e-9
_AT_REST = 1e-9
# by how much rounding may make a law run backwards, as a share of the largest speed
_BACKWARDS = 1e-6


@dataclass(frozen=True)
class Setpoint:
    """What the arm is commanded to at one instant.

    Attributes:
        position: shape (3,), rad.
        velocity: shape (3,), rad/s.
    """

    position: Array
    velocity: Array


class PathPlayer:
    """A path being run through.

    Args:
        path: the path.
        bounds: of the path parameter's derivatives.
        speed_scale: fraction of the bounds to use, above 0 to 1.
    """

    def __init__(self, path: Path, bounds: PathBounds, speed_scale: float = 1.0) -> None:
        self._path = path
        self._bounds = bounds
        self._scale = speed_scale
        self._s, self._speed, self._acceleration = 0.0, 0.0, 0.0
        self._time = 0.0
        self._law = self._law_to_end() if path.length > 0.0 else None
        self._paused = False

    @property
    def progress(self) -> float:
        """Fraction of the path that lies behind, 0 to 1."""
        return self._s / self._path.length if self._path.length > 0.0 else 1.0

    @property
    def finished(self) -> bool:
        """Whether the end of the path is reached, at rest."""
        at_end = self._law is None or self._path.length - self._s <= _ROUNDING * max(1.0, self._path.length)
        return at_end and self.at_rest

    @property
    def at_rest(self) -> bool:
        """Whether the arm stands, by command."""
        return self._law is None or (self._time >= self._law.duration and abs(self._speed) <= _AT_REST)

    @property
    def paused(self) -> bool:
        """Whether the arm stands or comes to rest until `resume`."""
        return self._paused

    @property
    def remaining(self) -> float:
        """Time until the present law ends, s."""
        return 0.0 if self._law is None else max(0.0, float(self._law.duration) - self._time)

    def advance(self, dt: float) -> Setpoint:
        """Go on by `dt` seconds and return the setpoint then."""
        if self._law is not None:
            self._time += dt
            position, speed, acceleration = self._law.at_time(min(self._time, self._law.duration))
            self._s = min(max(position[0], 0.0), self._path.length)
            self._speed, self._acceleration = speed[0], acceleration[0]
            if self._time >= self._law.duration:
                self._speed = self._acceleration = 0.0
        return self.setpoint()

    def setpoint(self) -> Setpoint:
        """The present setpoint."""
        velocity = self._path.slope(self._s) * self._speed if self._speed else np.zeros(3)
        return Setpoint(self._path.joints(self._s), velocity)

    def stop(self) -> None:
        """Decelerate to rest along the path, as fast as the bounds allow."""
        self._paused = True
        if self._law is None or self.at_rest:
            return
        self._take(self._request_to_rest())

    def resume(self) -> None:
        """Go on to the end of the path."""
        self._paused = False
        if self._law is not None and not self.finished:
            self._law = self._law_to_end()
            self._time = 0.0

    def change_speed(self, speed_scale: float) -> None:
        """Go on with another fraction of the bounds, above 0 to 1."""
        self._scale = speed_scale
        if self._law is not None and not self._paused and not self.finished:
            self._take(self._request_to_end())

    def restart(self) -> None:
        """Go on from rest near the present setpoint: where an arm brakes to when its commands stay away."""
        if self._law is None:
            return
        braking = self._speed**2 / (2.0 * self._bounds.acceleration)
        self._s = min(self._s + braking, self._path.length)
        self._speed = self._acceleration = self._time = 0.0
        self._law = _planned(self._request_to_rest()) if self._paused else self._law_to_end()

    def _law_to_end(self) -> Trajectory:
        law = _planned(self._request_to_end())
        if law is None or self._leaves_path(law):
            # too fast for the scaled bounds to stop before the end; the whole bounds always can
            request = self._request(self._bounds)
            request.target_position = [self._path.length]
            law = _planned(request)
        if law is None:
            raise ArithmeticError(f"no time law from {self._s} at {self._speed} along a path of {self._path.length}")
        return law

    def _request_to_rest(self) -> InputParameter:
        request = self._request(self._bounds)
        request.control_interface = ControlInterface.Velocity
        request.target_velocity = [0.0]
        return request

    def _request_to_end(self) -> InputParameter:
        request = self._request(self._bounds.scaled(self._scale))
        request.target_position = [self._path.length]
        return request

    def _request(self, bounds: PathBounds) -> InputParameter:
        request = InputParameter(1)
        request.current_position = [self._s]
        request.current_velocity = [self._speed]
        request.current_acceleration = [self._acceleration]
        request.max_velocity = [bounds.velocity]
        request.max_acceleration = [bounds.acceleration]
        request.max_jerk = [bounds.jerk]
        return request

    def _take(self, request: InputParameter) -> None:
        """Follow the new law unless it would leave the path; the present one ends at rest on it in any case."""
        law = _planned(request)
        if law is not None and not self._leaves_path(law):
            self._law, self._time = law, 0.0

    def _leaves_path(self, law: Trajectory) -> bool:
        slack = _ROUNDING * max(1.0, self._path.length)
        too_far = law.position_extrema[0].max > self._path.length + slack
        return bool(too_far or _lowest_speed(law) < -_BACKWARDS * self._bounds.velocity)


def _lowest_speed(law: Trajectory) -> float:
    """The lowest speed of a law; where the acceleration crosses zero within one of its pieces of constant jerk, too."""
    profile = law.profiles[0][0]
    times = np.cumsum([0.0, *profile.brake.t, *profile.t])
    states = [law.at_time(float(time)) for time in times]
    lowest = min(speed[0] for _, speed, _ in states)
    for (_, speed, (before,)), (_, _, (after,)), duration in zip(states, states[1:], np.diff(times), strict=False):
        if before < 0.0 < after:
            lowest = min(lowest, speed[0] - before**2 * duration / (2.0 * (after - before)))
    return float(lowest)


def _planned(request: InputParameter) -> Trajectory | None:
    law = Trajectory(1)
    result = Ruckig(1).calculate(request, law)
    return law if result in (Result.Working, Result.Finished) else None
