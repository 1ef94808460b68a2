# SPDX-License-Identifier: Apache-2.0
"""Keeps each joint at its setpoint: PID with the weight of the arm and the wanted acceleration fed forward."""

import math

from manipulator3d_control.command_buffer import Joints, Knot
from manipulator3d_kinematics import ArmModel, gravity, mass_matrix

# rad/s; the three poles of a joint's error. Fast beside a motion of seconds, slow beside a control period of 2 ms.
_BANDWIDTH = 40.0


class JointController:
    """One PID per joint, scaled by the inertia that the joint meets, so that every pose reacts alike.

    With the gains 3w, 3w² and w³ the error of a lone joint has its three poles at -w.

    Args:
        arm: its masses and effort limits.
        setpoint: where it is at the start.
    """

    def __init__(self, arm: ArmModel, setpoint: Knot) -> None:
        self._arm = arm
        self._effort = tuple(float(value) for value in arm.effort)
        self._speed = setpoint.velocity
        self._integral = [0.0] * len(setpoint.position)
        self._gains = 3.0 * _BANDWIDTH**2, _BANDWIDTH**3, 3.0 * _BANDWIDTH

    def torque(self, setpoint: Knot, position: Joints, velocity: Joints, dt: float) -> Joints:
        """Return the torques of the motors for the next dt, N·m, within the effort limits.

        Args:
            setpoint: where the joints shall be now.
            position, velocity: rad and rad/s, measured.
            dt: s since the latest call.
        """
        kp, ki, kd = self._gains
        weights = gravity(self._arm, position).tolist()
        inertias = mass_matrix(self._arm, position).diagonal().tolist()
        torques = []
        for i, limit in enumerate(self._effort):
            error = setpoint.position[i] - position[i]
            wanted = (setpoint.velocity[i] - self._speed[i]) / dt
            drive = wanted + kp * error + kd * (setpoint.velocity[i] - velocity[i]) + ki * self._integral[i]
            torque = weights[i] + inertias[i] * drive
            if abs(torque) <= limit:
                self._integral[i] += error * dt
            else:
                # a motor at its limit gains nothing from a growing integral
                torque = math.copysign(limit, torque)
            torques.append(torque)
        self._speed = setpoint.velocity
        return tuple(torques)
