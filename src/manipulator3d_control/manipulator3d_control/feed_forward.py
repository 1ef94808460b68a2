# SPDX-License-Identifier: Apache-2.0
"""The torques that a commanded motion takes, with what the arm holds."""

from manipulator3d_control.motion import Setpoint
from manipulator3d_kinematics import ArmModel, inverse_dynamics


class FeedForward:
    """Inverse dynamics of the arm with and without its payload; friction is not part of it.

    Args:
        arm: the arm.
        payload_mass: kg; of the object that it holds at times, at the tool point.
    """

    def __init__(self, arm: ArmModel, payload_mass: float) -> None:
        self._known = any(body.mass > 0.0 for body in arm.bodies)
        self._free, self._loaded = arm, arm.with_payload(payload_mass)

    def torques(self, setpoint: Setpoint, holding: bool) -> list[float]:
        """Torque of each joint, N·m; none where the description gives no masses.

        Args:
            setpoint: the commanded state.
            holding: whether an object is at the tool.
        """
        if not self._known:
            return []
        arm = self._loaded if holding else self._free
        return inverse_dynamics(arm, setpoint.position, setpoint.velocity, setpoint.acceleration).tolist()
