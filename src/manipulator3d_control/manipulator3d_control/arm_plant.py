# SPDX-License-Identifier: Apache-2.0
"""The arm as a mechanism: its equations of motion, integrated in time."""

import numpy as np

from manipulator3d_control.command_buffer import Joints
from manipulator3d_kinematics import ArmModel, forward_dynamics, mass_matrix

# s; longest step that is sound for the stiffest arm the profiles describe.
LONGEST_STEP = 0.001
# Fraction of a joint's velocity that friction takes in one step while the joint is about to stick.
_STICKING = 0.5


class ArmPlant:
    """Rigid bodies with viscous and Coulomb friction, and stops at the position limits.

    Semi-implicit Euler: the velocity steps first, and the position with the new velocity, which keeps the energy of a
    swinging arm bounded. Coulomb friction is a steep viscous one near rest, no steeper than the step allows.

    Args:
        arm: with masses.
        position: rad, where it stands at the start.

    Raises:
        ValueError: a joint of the arm moves no mass.
    """

    def __init__(self, arm: ArmModel, position: Joints) -> None:
        self._arm = arm
        self.position = position
        self.velocity: Joints = (0.0,) * len(position)
        self._lower, self._upper = _floats(arm.lower), _floats(arm.upper)
        self._damping, self._friction = _floats(arm.damping), _floats(arm.friction)
        forward_dynamics(arm, position, self.velocity, self.velocity)
        self._stickiness = tuple(_STICKING * inertia / LONGEST_STEP for inertia in _least_inertias(arm))

    def step(self, torque: Joints, dt: float) -> None:
        """Move on.

        Args:
            torque: N·m, of the motors.
            dt: s, at most LONGEST_STEP.
        """
        net = [
            t - b * v - min(max(k * v, -f), f)
            for t, v, b, f, k in zip(
                torque, self.velocity, self._damping, self._friction, self._stickiness, strict=True
            )
        ]
        accelerations = forward_dynamics(self._arm, self.position, self.velocity, net).tolist()
        position, velocity = [], []
        for q, v, a, lower, upper in zip(
            self.position, self.velocity, accelerations, self._lower, self._upper, strict=True
        ):
            v += a * dt
            q += v * dt
            if not lower <= q <= upper:
                q, v = min(max(q, lower), upper), 0.0
            position.append(q)
            velocity.append(v)
        self.position, self.velocity = tuple(position), tuple(velocity)


def _least_inertias(arm: ArmModel) -> Joints:
    """The least inertia that each joint's friction meets, with the others free, over all elbow angles; kg m²."""
    elbow = np.linspace(-np.pi, np.pi, 25)
    pitch = np.linspace(0.0, np.pi, 7)
    poses = np.array([(0.0, s, e) for s in pitch for e in elbow])
    inverse = np.linalg.inv(mass_matrix(arm, poses))
    return _floats(1.0 / np.diagonal(inverse, axis1=1, axis2=2).max(axis=0))


def _floats(values: np.ndarray) -> Joints:
    return tuple(float(value) for value in values)
