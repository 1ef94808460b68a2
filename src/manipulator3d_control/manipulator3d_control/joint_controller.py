# SPDX-License-Identifier: Apache-2.0
"""Keeps the joints at their setpoints by one of four laws, from the plainest to the one that knows most of the arm.

With e and de the errors of position and velocity, M the mass matrix, g the weight of the arm, c the Coriolis and
centrifugal torques, and a the acceleration of the setpoint:

    pd               M_ii (kp e + kd de)
    pd_gravity       M_ii (kp e + kd de) + g
    pid_gravity      M_ii (kp e + kd de + ki ∫e + a) + g
    computed_torque  M (kp e + kd de + a) + c + g

(Siciliano et al., Robotics: Modelling, Planning and Control, 2009, section 8.5.)
"""

import math

from manipulator3d_control.command_buffer import Joints, Knot
from manipulator3d_kinematics import ArmModel, gravity, inverse_dynamics, mass_matrix

PD, PD_GRAVITY, PID_GRAVITY, COMPUTED_TORQUE = "pd", "pd_gravity", "pid_gravity", "computed_torque"
CONTROL_LAWS = (PD, PD_GRAVITY, PID_GRAVITY, COMPUTED_TORQUE)

# rad/s; all poles of a joint's error. Fast beside a motion of seconds, slow beside a control period of 2 ms.
_BANDWIDTH = 40.0


class JointController:
    """A control law with gains scaled by the inertia that each joint meets, so that every pose reacts alike.

    With kp = w², kd = 2 w, or kp = 3 w², kd = 3 w, ki = w³ for the law with an integral, the error of a lone joint has
    all its poles at −w.

    Args:
        arm: its masses and effort limits.
        setpoint: where it is at the start.
        law: one of CONTROL_LAWS.
    """

    def __init__(self, arm: ArmModel, setpoint: Knot, law: str = PID_GRAVITY) -> None:
        self.arm = arm
        self._law = law
        self._effort = tuple(float(value) for value in arm.effort)
        self._speed = setpoint.velocity
        self._integral = [0.0] * len(setpoint.position)
        self._gains = (
            (3.0 * _BANDWIDTH**2, 3.0 * _BANDWIDTH, _BANDWIDTH**3)
            if law == PID_GRAVITY
            else (_BANDWIDTH**2, 2.0 * _BANDWIDTH, 0.0)
        )

    def torque(self, setpoint: Knot, position: Joints, velocity: Joints, dt: float) -> Joints:
        """Return the torques of the motors for the next dt, N·m, within the effort limits.

        Args:
            setpoint: where the joints shall be now.
            position, velocity: rad and rad/s, measured.
            dt: s since the latest call.
        """
        kp, kd, ki = self._gains
        errors = [wanted - is_at for wanted, is_at in zip(setpoint.position, position, strict=True)]
        slips = [wanted - moves for wanted, moves in zip(setpoint.velocity, velocity, strict=True)]
        wanted = [(now - before) / dt for now, before in zip(setpoint.velocity, self._speed, strict=True)]
        drives = [
            kp * error + kd * slip + ki * integral
            for error, slip, integral in zip(errors, slips, self._integral, strict=True)
        ]
        self._speed = setpoint.velocity
        torques = self._torques(drives, wanted, position, velocity)
        for i, (torque, limit) in enumerate(zip(torques, self._effort, strict=True)):
            if abs(torque) <= limit:
                # a motor at its limit gains nothing from a growing integral
                self._integral[i] += errors[i] * dt
        return tuple(
            math.copysign(min(abs(torque), limit), torque) for torque, limit in zip(torques, self._effort, strict=True)
        )

    def _torques(self, drives: list[float], wanted: list[float], position: Joints, velocity: Joints) -> list[float]:
        if self._law == COMPUTED_TORQUE:
            accelerations = [drive + a for drive, a in zip(drives, wanted, strict=True)]
            return inverse_dynamics(self.arm, position, velocity, accelerations).tolist()
        inertias = mass_matrix(self.arm, position).diagonal().tolist()
        weights = [0.0] * len(drives) if self._law == PD else gravity(self.arm, position).tolist()
        ahead = wanted if self._law == PID_GRAVITY else [0.0] * len(drives)
        return [
            weight + inertia * (drive + a)
            for weight, inertia, drive, a in zip(weights, inertias, drives, ahead, strict=True)
        ]
