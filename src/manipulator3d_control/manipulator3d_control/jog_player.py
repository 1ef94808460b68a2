# SPDX-License-Identifier: Apache-2.0
"""Moves the arm by velocities that arrive one after the other, as from a joystick or a held key.

In each step ruckig leads velocity and acceleration of each joint towards what is wanted, within the joint's limits of
acceleration and jerk. A step is taken only if the arm could brake from there within the joints' limits, above the floor
and clear of obstacles; else one with a part of the wish alone, which slides along, and at last braking. So the arm
comes to rest at a boundary, and never beyond.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from ruckig import ControlInterface, InputParameter, Synchronization, Trajectory

from manipulator3d_control.joint_path import elbow_heights
from manipulator3d_control.motion import Setpoint
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.point_to_point import planned
from manipulator3d_kinematics import ArmModel, forward_kinematics, jacobian, velocity_inverse_kinematics
from manipulator3d_kinematics.differential import DAMPED_BELOW

# a jog keeps so far from a joint's limit, which leaves room for the jerk limit while braking
_INSET_RAD = 0.01
# and this share of its limits, which leaves room for steering
_SHARE = 0.98
# share of the acceleration that braking before a limit or the floor is planned with
_CAREFUL = 0.5
# m; the tool slides so far above the floor
_ABOVE_FLOOR_M = 0.003
# m/s²; with which a tool that goes down brakes before the floor, and s, in which the last of its way shrinks to 1/e
_FLOOR_BRAKING, _FLOOR_SETTLING_S = 0.5, 0.1
# s; in which the smallest singular value comes down to what is damped, by 1/e
_SINGULARITY_SETTLING_S = 0.3
# m/rad; singular values above are far from that
_WEAK = 3.0 * DAMPED_BELOW
_STEP_RAD = 1e-4
_BRAKING_SAMPLES = 7
# the vertical part is left out first
_PARTS = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=bool)
_ROUNDING = 1e-9
_RESTING = 1e-6


# position, velocity and acceleration of the joints
State = tuple[Array, Array, Array]
IsClear = Callable[[Array], bool]


class JogWish(NamedTuple):
    """What one message asks for.

    Attributes:
        velocity: shape (3,); m/s of the tool in the base frame, or rad/s of the joints.
        of_tool: which of both.
    """

    velocity: Array
    of_tool: bool

    @property
    def is_release(self) -> bool:
        """Whether it asks for rest."""
        return not np.any(self.velocity)


class JogPlayer:
    """A jog under way, as CommandStream plays it. Wishes may come from another thread.

    Args:
        arm: the arm; its limits and floor.
        start: shape (3,), rad; where it stands.
        timeout: s; the arm brakes when no wish has come for so long.
        is_clear: tells whether nothing is in the way at positions of shape (N, 3), rad; the first is where the arm is.
        hold: s of rest without a wish after which the jog is over.
    """

    progress = 0.0
    time = 0.0

    def __init__(
        self,
        arm: ArmModel,
        start: Array,
        timeout: float,
        is_clear: IsClear = lambda _positions: True,
        hold: float = 0.0,
    ) -> None:
        self._arm = arm
        self._timeout, self._hold = timeout, hold
        self._is_clear = is_clear
        room = np.minimum(_INSET_RAD, 0.25 * (arm.upper - arm.lower))
        self._careful = dataclasses.replace(
            arm,
            lower=arm.lower + room,
            upper=arm.upper - room,
            velocity=_SHARE * arm.velocity,
            acceleration=_CAREFUL * arm.acceleration,
        )
        self._position = np.array(start, dtype=np.float64)
        self._velocity, self._acceleration = np.zeros(3), np.zeros(3)
        self._scale = 1.0
        self._stopped = False
        # replaced as a whole by the thread that wishes
        self._latest: tuple[int, JogWish] | None = None
        self._taken = 0
        self._silence = 0.0
        self._rested = -np.inf

    @property
    def at_rest(self) -> bool:
        """Whether the arm stands, by command."""
        return not np.any(self._velocity) and not np.any(self._acceleration)

    @property
    def finished(self) -> bool:
        """Whether the jog is over: at rest for a while, and nothing is wished any more."""
        return self.at_rest and self._rested >= self._hold - _ROUNDING

    @property
    def stopped(self) -> bool:
        """Whether it takes no more wishes."""
        return self._stopped

    def wish(self, wish: JogWish) -> None:
        """Take a wish; it counts until the next one, at most for the timeout."""
        count = 0 if self._latest is None else self._latest[0]
        self._latest = (count + 1, wish)

    def stop(self) -> None:
        """Come to rest for good."""
        self._stopped = True

    def resume(self) -> None:
        """Nothing: a jog does not go on by itself."""

    def change_speed(self, speed_scale: float) -> None:
        """Use another fraction of the velocities asked for."""
        self._scale = speed_scale

    def restart(self) -> None:
        """Go on from rest near the present setpoint: where an arm brakes to when its commands stay away."""
        braking_time = float(np.max(np.abs(self._velocity) / self._arm.acceleration))
        reached = self._position + 0.5 * self._velocity * braking_time
        lower, upper = np.minimum(self._arm.lower, self._position), np.maximum(self._arm.upper, self._position)
        self._position = np.clip(reached, lower, upper)
        self._velocity, self._acceleration = np.zeros(3), np.zeros(3)

    def setpoint(self) -> Setpoint:
        """The present setpoint."""
        return Setpoint(self._position, self._velocity)

    def advance(self, dt: float) -> Setpoint:
        """Go on by `dt` seconds and return the setpoint then."""
        wish = self._present_wish(dt)
        if wish is None and self.at_rest:
            self._rested = max(self._rested, -dt) + dt
            return self.setpoint()
        self._rested = -np.inf
        self._position, self._velocity, self._acceleration = self._next(wish, dt)
        return self.setpoint()

    def _next(self, wish: JogWish | None, dt: float) -> State:
        """Position, velocity and acceleration after the next step."""
        if wish is not None:
            for velocity in _alternatives(wish.velocity):
                proposed = self._step(self._wanted(velocity, wish.of_tool), dt)
                if proposed is not None:
                    return proposed
        braked = _state_at(self._towards(np.zeros(3)), dt)
        if wish is None and max(np.max(np.abs(braked[1])), np.max(np.abs(braked[2]))) < _RESTING:
            return braked[0], np.zeros(3), np.zeros(3)
        return braked

    def _present_wish(self, dt: float) -> JogWish | None:
        """What is wished now, None where that is rest."""
        latest = self._latest
        if latest is None or self._stopped:
            return None
        if latest[0] != self._taken:
            self._taken, self._silence = latest[0], 0.0
        else:
            self._silence += dt
        return None if self._silence > self._timeout or latest[1].is_release else latest[1]

    def _wanted(self, velocity: Array, of_tool: bool) -> Array:
        """Joint velocities for a wish, shape (3,), rad/s."""
        scaled = self._scale * velocity
        return self._of_tool(scaled) if of_tool else self._of_joints(scaled)

    def _of_joints(self, velocity: Array) -> Array:
        careful = self._careful
        room = np.where(velocity > 0.0, careful.upper - self._position, self._position - careful.lower)
        fastest = np.minimum(careful.velocity, np.sqrt(2.0 * careful.acceleration * np.maximum(room, 0.0)))
        qd = np.clip(velocity, -fastest, fastest)
        # all joints slow down together where the tool comes near the floor
        down = -self._rise(qd)
        allowed = self._descent()
        return qd * (allowed / down) if down > allowed else qd

    def _of_tool(self, velocity: Array) -> Array:
        wanted = velocity.copy()
        # along the floor goes on what does not go down
        wanted[2] = max(wanted[2], -self._descent())
        held = np.array(velocity_inverse_kinematics(self._careful, self._position, wanted).held)
        wanted = self._off_singularities(wanted, ~held)
        return velocity_inverse_kinematics(self._careful, self._position, wanted).qd

    def _off_singularities(self, wanted: Array, free: Array) -> Array:
        """Take from a tool velocity what leads into a singularity, as the stretched arm; what is left goes on along it.

        The part along a weak direction of the tool moves the joints along a direction of their own. Where that lowers
        the direction's singular value, it may do so only in proportion to what this is above DAMPED_BELOW.

        Args:
            wanted: shape (3,), m/s.
            free: joints that are not held at a limit; booleans of shape (3,).
        """
        if not free.any():
            return wanted
        left, values, right = np.linalg.svd(jacobian(self._arm, self._position)[:3, free], full_matrices=False)
        left_over = np.array(wanted)
        for index in np.flatnonzero(values < _WEAK):
            weak = left[:, index]
            rate = float(weak @ wanted) / max(float(values[index]), _ROUNDING)
            step = np.zeros(3)
            step[free] = _STEP_RAD * np.sign(rate) * right[index]
            change = self._singular_values(step, free) - self._singular_values(-step, free)
            falling = -abs(rate) * float(change[index]) / (2.0 * _STEP_RAD)
            allowed = max(float(values[index]) - DAMPED_BELOW, 0.0) / _SINGULARITY_SETTLING_S
            if falling > allowed:
                left_over -= weak * float(weak @ wanted) * (1.0 - allowed / falling)
        return left_over

    def _singular_values(self, step: Array, free: Array) -> Array:
        matrix = jacobian(self._arm, self._position + step)[:3, free]
        return np.asarray(np.linalg.svd(matrix, compute_uv=False))

    def _descent(self) -> float:
        """Speed at which the tool may go down, m/s: as it can brake from afar, and ever slower near by."""
        if not np.isfinite(self._arm.floor_z):
            return np.inf
        room = self._height(self._position) - self._arm.floor_z - _ABOVE_FLOOR_M
        if room <= 0.0:
            return 0.0
        settling = _FLOOR_SETTLING_S
        return float(_FLOOR_BRAKING * (np.sqrt(settling**2 + 2.0 * room / _FLOOR_BRAKING) - settling))

    def _height(self, position: Array) -> float:
        return float(forward_kinematics(self._arm, position)[2])

    def _rise(self, qd: Array) -> float:
        """Vertical velocity of the tool for joint velocities, m/s."""
        ahead, behind = (self._height(self._position + way * qd) for way in (_STEP_RAD, -_STEP_RAD))
        return (ahead - behind) / (2.0 * _STEP_RAD)

    def _step(self, wanted: Array, dt: float) -> State | None:
        """A step towards a velocity; None if the arm could not brake from there in time."""
        tried = np.array(wanted)
        while True:
            state = _state_at(self._towards(tried), dt)
            braking = self._braking_from(state)
            beyond = self._beyond(braking) & (tried != 0.0)
            if not beyond.any():
                return state if self._is_free(braking) else None
            tried[beyond] = 0.0

    def _towards(self, velocity: Array) -> Trajectory:
        return self._planned(self._position, self._velocity, self._acceleration, velocity)

    def _braking_from(self, state: State) -> Trajectory:
        return self._planned(*state, np.zeros(3))

    def _planned(self, position: Array, velocity: Array, acceleration: Array, target: Array) -> Trajectory:
        request = InputParameter(3)
        request.control_interface = ControlInterface.Velocity
        request.synchronization = Synchronization.No
        request.current_position, request.current_velocity = position.tolist(), velocity.tolist()
        request.current_acceleration = acceleration.tolist()
        request.target_velocity = target.tolist()
        request.max_velocity = self._arm.velocity.tolist()
        request.max_acceleration = (_SHARE * self._arm.acceleration).tolist()
        request.max_jerk = (_SHARE * self._arm.jerk).tolist()
        return planned(request)

    def _beyond(self, braking: Trajectory) -> Array:
        """Which joints would leave their limits while braking; booleans of shape (3,)."""
        extremes: Sequence[tuple[float, float]] = [(bound.min, bound.max) for bound in braking.position_extrema]
        low, high = np.array(extremes).T
        # an arm that begins beyond a limit may come back from there
        lower = np.minimum(self._arm.lower, self._position) - _ROUNDING
        upper = np.maximum(self._arm.upper, self._position) + _ROUNDING
        return np.asarray((low < lower) | (high > upper))

    def _is_free(self, braking: Trajectory) -> bool:
        """Whether the arm stays above the floor, or comes no lower where it is below, and clear of obstacles."""
        times = np.linspace(0.0, braking.duration, _BRAKING_SAMPLES)
        positions = np.array([self._position, *(braking.at_time(float(time))[0] for time in times)])
        heights = np.minimum(forward_kinematics(self._arm, positions)[:, 2], elbow_heights(self._arm, positions))
        if heights[1:].min() < min(self._arm.floor_z, float(heights[0])) - _ROUNDING:
            return False
        return self._is_clear(positions)


def _alternatives(velocity: Array) -> Iterator[Array]:
    """A wish, and what is left of it where something is in the way: without one part, and with one alone."""
    yield velocity
    for kept in _PARTS:
        part = np.where(kept, velocity, 0.0)
        if np.any(part) and np.any(part != velocity):
            yield part


def _state_at(trajectory: Trajectory, time: float) -> State:
    position, velocity, acceleration = trajectory.at_time(time)
    return np.array(position), np.array(velocity), np.array(acceleration)
