# SPDX-License-Identifier: Apache-2.0
"""The arm as a mechanism: its equations of motion, integrated in time."""

import numpy as np

from manipulator3d_control.command_buffer import Joints
from manipulator3d_kinematics import ArmModel, forward_dynamics, mass_matrix

# s; longest step that is sound for the stiffest arm the profiles describe.
LONGEST_STEP = 0.002
# Fraction of a joint's velocity that friction takes in one step while the joint is about to stick.
_STICKING = 0.5


class ArmPlant:
    """Rigid bodies with viscous and Coulomb friction, and stops at the position limits.

    Classical Runge-Kutta steps of the fourth order. Coulomb friction is a steep viscous one near rest, no steeper than
    the step allows.

    Args:
        arm: with masses.
        position: rad, where it stands at the start.

    Raises:
        ValueError: a joint of the arm moves no mass.
    """

    def __init__(self, arm: ArmModel, position: Joints) -> None:
        self.position = position
        self.velocity: Joints = (0.0,) * len(position)
        self._lower, self._upper = _floats(arm.lower), _floats(arm.upper)
        forward_dynamics(arm, position, self.velocity, self.velocity)
        self.become(arm)

    def become(self, arm: ArmModel) -> None:
        """Go on with other masses and friction, such as those of the same arm with a payload in its gripper.

        Position and velocity stay: what is gripped or let go moves as the gripper does.
        """
        self._arm = arm
        self._damping, self._friction = _floats(arm.damping), _floats(arm.friction)
        self._stickiness = tuple(_STICKING * inertia / LONGEST_STEP for inertia in _least_inertias(arm))

    def step(self, torque: Joints, dt: float) -> None:
        """Move on.

        Args:
            torque: N·m, of the motors.
            dt: s, at most LONGEST_STEP.
        """
        q, v = self.position, self.velocity
        a1 = self._acceleration(q, v, torque)
        v2 = _moved(v, a1, 0.5 * dt)
        a2 = self._acceleration(_moved(q, v, 0.5 * dt), v2, torque)
        v3 = _moved(v, a2, 0.5 * dt)
        a3 = self._acceleration(_moved(q, v2, 0.5 * dt), v3, torque)
        v4 = _moved(v, a3, dt)
        a4 = self._acceleration(_moved(q, v3, dt), v4, torque)
        position = _moved(q, _mean(v, v2, v3, v4), dt)
        velocity = _moved(v, _mean(a1, a2, a3, a4), dt)
        stopped = [
            (x, w) if lower <= x <= upper else (min(max(x, lower), upper), 0.0)
            for x, w, lower, upper in zip(position, velocity, self._lower, self._upper, strict=True)
        ]
        self.position, self.velocity = tuple(x for x, _ in stopped), tuple(w for _, w in stopped)

    def _acceleration(self, position: Joints, velocity: Joints, torque: Joints) -> Joints:
        net = [
            t - b * v - min(max(k * v, -f), f)
            for t, v, b, f, k in zip(torque, velocity, self._damping, self._friction, self._stickiness, strict=True)
        ]
        return tuple(forward_dynamics(self._arm, position, velocity, net).tolist())


def _moved(x: Joints, rate: Joints, dt: float) -> Joints:
    return tuple(a + b * dt for a, b in zip(x, rate, strict=True))


def _mean(first: Joints, second: Joints, third: Joints, fourth: Joints) -> Joints:
    """The weighted mean of the four slopes of a step."""
    return tuple((a + 2.0 * (b + c) + d) / 6.0 for a, b, c, d in zip(first, second, third, fourth, strict=True))


def _least_inertias(arm: ArmModel) -> Joints:
    """The least inertia that each joint's friction meets, with the others free, over all elbow angles; kg m²."""
    elbow = np.linspace(-np.pi, np.pi, 25)
    pitch = np.linspace(0.0, np.pi, 7)
    poses = np.array([(0.0, s, e) for s in pitch for e in elbow])
    inverse = np.linalg.inv(mass_matrix(arm, poses))
    return _floats(1.0 / np.diagonal(inverse, axis1=1, axis2=2).max(axis=0))


def _floats(values: np.ndarray) -> Joints:
    return tuple(float(value) for value in values)
