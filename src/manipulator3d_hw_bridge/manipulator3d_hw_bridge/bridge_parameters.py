# SPDX-License-Identifier: Apache-2.0
"""Parameters of the bridge node."""

from dataclasses import dataclass, fields
from typing import Any

from manipulator3d_hw_bridge.board_settings import GAINS, Wiring
from manipulator3d_hw_bridge.messages import JOINTS, JointConfiguration
from manipulator3d_node.parameter import parameter

EMULATED = "emulated"
SERIAL = "serial"

# s without a command after which the firmware brakes, where the parameter does not say. A board on a serial line
# hears from the bridge every 10 ms; an emulated one shares an ordinary computer that may be away for longer.
_COMMAND_SILENCE = {EMULATED: 0.5, SERIAL: 0.1}


_FIELDS = {field.name: field for field in fields(JointConfiguration)}


def _gain(name: str, description: str) -> Any:
    """Make a parameter with a number for each joint of a field of JointConfiguration."""
    field = _FIELDS[name]
    lowest, highest = (bound / field.metadata["steps"] for bound in field.metadata["bounds"])
    return parameter((field.default,) * JOINTS, description, field.metadata["unit"], lowest, highest)


@dataclass(frozen=True)
class BridgeParameters:
    """What can be set at start."""

    hardware: str = parameter(
        EMULATED, "What answers: an emulated board, or one on a serial line.", "", choices=(EMULATED, SERIAL)
    )
    port: str = parameter("auto", "Serial line of the board; auto finds it by its USB identity and handshake.")
    rate_hz: float = parameter(100.0, "Rate of joint_states.", "Hz", 10.0, 200.0)
    command_silence: float = parameter(
        0.0,
        "Silence of the bridge after which the firmware brakes; 0 takes 0.1 for serial, 0.5 for emulated.",
        "s",
        0.0,
        2.0,
    )
    park_on_shutdown: bool = parameter(False, "Move to the home position before the motors are let go at shutdown.")
    autostart: bool = parameter(True, "Configure and activate without a lifecycle manager.")
    emulator_arguments: str = parameter("", "More arguments for the emulator, as on a command line.")
    signs: tuple[int, ...] = parameter((1, 1, 1), "Per joint 1, or -1 when motor and encoder turn the other way.")
    home_directions: tuple[int, ...] = parameter(
        (-1, -1, -1), "Per joint -1 for a home switch at the lower limit, 1 at the upper, 0 for none."
    )
    gripper_open_us: int = parameter(1000, "Servo pulse of the open gripper.", "µs", 500, 2500)
    gripper_closed_us: int = parameter(2000, "Servo pulse of the closed gripper.", "µs", 500, 2500)
    has_grasp_sensor: bool = parameter(False, "A grasp sensor is wired.")
    has_emergency_stop: bool = parameter(False, "A normally closed emergency-stop contact is wired.")

    proportional: tuple[float, ...] = _gain("proportional", "Per joint, drive (1 is full) per position error.")
    integral: tuple[float, ...] = _gain("integral", "Per joint, drive per integrated position error.")
    derivative: tuple[float, ...] = _gain("derivative", "Per joint, drive per measured velocity, against it.")
    velocity_feedforward: tuple[float, ...] = _gain(
        "velocity_feedforward", "Per joint, drive per commanded velocity: `derivative` and the motor's back-EMF."
    )
    acceleration_feedforward: tuple[float, ...] = _gain(
        "acceleration_feedforward", "Per joint, drive per commanded acceleration."
    )
    deadband: tuple[float, ...] = _gain("deadband", "Per joint, drive that overcomes friction.")

    @property
    def gains(self) -> dict[str, tuple[float, ...]]:
        """A number for each joint of every gain.

        Raises:
            ValueError: there are not as many numbers as joints.
        """
        gains = {name: getattr(self, name) for name in GAINS}
        for name, values in gains.items():
            if len(values) != JOINTS:
                raise ValueError(f"parameter {name}: {len(values)} numbers; give {JOINTS}, one for each joint")
        return gains

    @property
    def silence(self) -> float:
        """The command silence in s that applies."""
        return self.command_silence or _COMMAND_SILENCE[self.hardware]

    @property
    def wiring(self) -> Wiring:
        """How the board is connected.

        Raises:
            ValueError: signs or home_directions that there are not.
        """
        return Wiring(
            self.signs,
            self.home_directions,
            self.gripper_open_us,
            self.gripper_closed_us,
            self.has_grasp_sensor,
            self.has_emergency_stop,
        )
