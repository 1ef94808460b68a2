# SPDX-License-Identifier: Apache-2.0
"""Moves the arm by velocities that arrive from moment to moment, and never to where it could not stop in time.

Every tick proposes a next state on the way to the wanted velocity, by ruckig within the joints' limits. It is taken
only if the arm, braking at once from there, stays within the limits of the joints, above the floor, and clear. Else
less is proposed: the wish without the part that leads there, so that the arm slides along, and braking at last, which
the tick before has already found to be safe.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from ruckig import ControlInterface, InputParameter, Synchronization, Trajectory

from manipulator3d_control.joint_path import elbow_heights
from manipulator3d_control.motion import Setpoint
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.point_to_point import planned
from manipulator3d_kinematics import ArmModel, forward_kinematics, velocity_inverse_kinematics

# leaves so much room that no rounding exceeds a limit
_UNROUNDED = 1.0 - 1e-6
_AT_REST = 1e-9
# the braking arm is looked at in so many places
_LOOKS = 6
# kept above the floor for what lies between these places
_FLOOR_MARGIN_M = 2e-3
_ROUNDING_RAD = 1e-9
# joints that are let go on alone where all together would not be safe, as many as possible first
_SUBSETS = ((0, 1), (0, 2), (1, 2), (0,), (1,), (2,))

IsClear = Callable[[Array], bool]


@dataclass(frozen=True)
class JogWish:
    """What the arm is to do.

    Attributes:
        velocity: shape (3,); rad/s of the joints, or m/s of the tool point in the base frame.
        of_tool: which of both.
    """

    velocity: Array
    of_tool: bool


@dataclass(frozen=True)
class _State:
    position: Array
    velocity: Array
    acceleration: Array


class JogPlayer:
    """A motion that goes on as long as wishes arrive; used by CommandStream as a MotionPlayer is.

    Args:
        arm: the arm; its limits.
        start: shape (3,), rad; where it stands.
        timeout: a wish counts for so long, s.
        is_clear: tells whether nothing is in the way at positions of shape (N, 3), rad; the first is where the arm is.
    """

    def __init__(
        self, arm: ArmModel, start: Array, timeout: float, is_clear: IsClear = lambda _positions: True
    ) -> None:
        self._arm = arm
        self._timeout = timeout
        self._is_clear = is_clear
        self._state = _State(np.asarray(start, dtype=np.float64), np.zeros(3), np.zeros(3))
        self._lock = threading.Lock()
        self._wish: JogWish | None = None
        self._left = timeout
        self._scale = 1.0
        self._stopped = False
        self._lowest = min(self._height(self._state.position[None]), arm.floor_z + _FLOOR_MARGIN_M)
        self._time = 0.0

    @property
    def progress(self) -> float:
        """0: a jog has no end that could come nearer."""
        return 0.0

    @property
    def time(self) -> float:
        """How long it has been going on, s."""
        return self._time

    def wish(self, wish: JogWish) -> None:
        """Take a new wish, from any thread."""
        with self._lock:
            self._wish, self._left = wish, self._timeout

    @property
    def stopped(self) -> bool:
        """Whether it takes no more wishes."""
        return self._stopped

    @property
    def finished(self) -> bool:
        """Whether the arm stands and no wish counts any more."""
        return self.at_rest and (self._stopped or self._left <= 0.0)

    @property
    def at_rest(self) -> bool:
        """Whether the arm stands, by command."""
        state = self._state
        return bool(np.all(np.abs(state.velocity) <= _AT_REST) and np.all(np.abs(state.acceleration) <= _AT_REST))

    def advance(self, dt: float) -> Setpoint:
        """Go on by `dt` seconds and return the setpoint then."""
        with self._lock:
            self._left -= dt
            wish = None if self._stopped or self._left <= 0.0 else self._wish
        self._time += dt
        self._state = self._next(wish, dt)
        return self.setpoint()

    def setpoint(self) -> Setpoint:
        """The present setpoint."""
        return Setpoint(self._state.position, self._state.velocity)

    def stop(self) -> None:
        """Decelerate to rest and take no further wish."""
        self._stopped = True

    def resume(self) -> None:
        """Nothing: a jog that was stopped has ended."""

    def change_speed(self, speed_scale: float) -> None:
        """Go on with wishes times another fraction, above 0 to 1."""
        self._scale = speed_scale

    def restart(self) -> None:
        """Go on from rest near the present setpoint: where an arm brakes to when its commands stay away."""
        end, _ = self._braking(self._state)
        self._state = _State(end[-1], np.zeros(3), np.zeros(3))

    def _next(self, wish: JogWish | None, dt: float) -> _State:
        if wish is not None:
            for target in self._targets(wish):
                proposed = self._after(self._state, target, dt)
                if self._is_safe(proposed):
                    return proposed
        return self._after(self._state, np.zeros(3), dt)

    def _targets(self, wish: JogWish) -> Iterator[Array]:
        """Joint velocities to try, the wish itself first."""
        if not wish.of_tool:
            full = self._within_limits(wish.velocity)
            yield full
            for kept in _SUBSETS:
                target = np.zeros(3)
                target[list(kept)] = full[list(kept)]
                if np.any(target != full):
                    yield target
            return
        # along the floor or a wall: without the vertical part, along single axes
        for mask in ((1.0, 1.0, 1.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
            velocity = wish.velocity * mask
            if mask[0] == mask[1] == mask[2] == 1.0 or (velocity.any() and np.any(velocity != wish.velocity)):
                found = velocity_inverse_kinematics(self._arm, self._state.position, velocity * self._scale)
                yield np.asarray(found.qd) * _UNROUNDED

    def _within_limits(self, velocity: Array) -> Array:
        """The wished joint velocities, slowed together to the limits."""
        scaled = velocity * self._scale
        return scaled * min(1.0, _UNROUNDED / max(float(np.max(np.abs(scaled) / self._arm.velocity)), 1e-12))

    def _after(self, state: _State, target: Array, dt: float) -> _State:
        law = self._law(state, target)
        position, velocity, acceleration = law.at_time(min(dt, law.duration))
        if dt > law.duration:
            position = np.asarray(position) + target * (dt - law.duration)
            acceleration = [0.0, 0.0, 0.0]
        return _State(np.array(position), np.array(velocity), np.array(acceleration))

    def _law(self, state: _State, target: Array) -> Trajectory:
        request = InputParameter(3)
        request.control_interface = ControlInterface.Velocity
        request.synchronization = Synchronization.No
        request.current_position = state.position.tolist()
        request.current_velocity = state.velocity.tolist()
        request.current_acceleration = state.acceleration.tolist()
        request.target_velocity, request.target_acceleration = target.tolist(), [0.0, 0.0, 0.0]
        request.max_velocity = self._arm.velocity.tolist()
        request.max_acceleration = (self._arm.acceleration * _UNROUNDED).tolist()
        request.max_jerk = (self._arm.jerk * _UNROUNDED).tolist()
        return planned(request)

    def _braking(self, state: _State) -> tuple[Array, Trajectory]:
        """Positions on the way to rest, shape (_LOOKS, 3), and the law of it."""
        law = self._law(state, np.zeros(3))
        times = np.linspace(0.0, law.duration, _LOOKS)
        return np.array([law.at_time(float(time))[0] for time in times]), law

    def _is_safe(self, state: _State) -> bool:
        places, law = self._braking(state)
        extrema = [(joint.min, joint.max) for joint in law.position_extrema]
        lowest, highest = np.array(extrema).T
        # an arm that begins beyond a limit may come back from there
        lower = np.minimum(self._arm.lower, self._state.position) - _ROUNDING_RAD
        upper = np.maximum(self._arm.upper, self._state.position) + _ROUNDING_RAD
        if np.any(lowest < lower) or np.any(highest > upper):
            return False
        return self._height(places) >= self._lowest and self._is_clear(np.vstack([self._state.position, places]))

    def _height(self, positions: Array) -> float:
        tool = float(np.min(forward_kinematics(self._arm, positions)[:, 2]))
        return min(tool, float(np.min(elbow_heights(self._arm, positions))))
