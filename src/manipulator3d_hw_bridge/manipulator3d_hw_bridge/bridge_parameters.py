# SPDX-License-Identifier: Apache-2.0
"""Parameters of the bridge node."""

from dataclasses import dataclass

from manipulator3d_hw_bridge.board_settings import Wiring
from manipulator3d_node.parameter import parameter

EMULATED = "emulated"
SERIAL = "serial"

# s without a command after which the firmware brakes, where the parameter does not say. A board on a serial line
# hears from the bridge every 10 ms; an emulated one shares an ordinary computer that may be away for longer.
_COMMAND_SILENCE = {EMULATED: 0.5, SERIAL: 0.1}


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
