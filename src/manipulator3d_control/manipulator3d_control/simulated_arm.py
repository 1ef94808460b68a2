# SPDX-License-Identifier: Apache-2.0
"""An arm without hardware, in virtual time: it follows commands, grips, stops in an emergency and reports its state."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from manipulator3d_control.arm_plant import LONGEST_STEP, ArmPlant
from manipulator3d_control.command_buffer import CommandBuffer, CommandRefused, JointLimits, Joints
from manipulator3d_control.joint_controller import PID_GRAVITY, JointController
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode

MOCK = "mock"
SIM = "sim"

# s; longest step of the setpoint in both modes. In `sim` the controller runs at this period.
_MOCK_STEP = 0.01
_CONTROL_PERIOD = 0.002
# s; a longer step is a jump of the clock, or the end of a sleep, and no motion.
_CLOCK_JUMP = 1.0

_ESTOP_MESSAGE = "the emergency stop was pressed; make sure that all is safe, then call reset_fault"
_CONFLICT_MESSAGE = (
    "{count} publishers on joint_commands; the arm follows one stream: end all but one of the programs that command it"
)


class DriverMode(IntEnum):
    """What the driver does; the numbers are those of the message HardwareStatus."""

    IDLE = 0
    HOLD = 1
    TRACK = 2
    HOMING = 3
    FAULT = 4


@dataclass(frozen=True)
class Physics:
    """What the mode SIM simulates besides the masses of the description.

    Attributes:
        control_law: one of joint_controller.CONTROL_LAWS.
        payload_mass: kg; of an object that the gripper holds.
        viscous_friction, coulomb_friction: N·m·s/rad and N·m for each joint; a negative one leaves the description's.
    """

    control_law: str = PID_GRAVITY
    payload_mass: float = 0.0
    viscous_friction: tuple[float, ...] = (-1.0, -1.0, -1.0)
    coulomb_friction: tuple[float, ...] = (-1.0, -1.0, -1.0)

    def applied_to(self, arm: ArmModel) -> ArmModel:
        """The arm with this friction.

        Raises:
            ValueError: not one number for each joint.
        """
        for name in ("viscous_friction", "coulomb_friction"):
            given = getattr(self, name)
            if len(given) != len(arm.joint_names):
                raise ValueError(
                    f"{name} has {len(given)} numbers; give {len(arm.joint_names)}, one for each of "
                    f"{', '.join(arm.joint_names)}"
                )
        return dataclasses.replace(
            arm,
            damping=np.where(np.less(self.viscous_friction, 0.0), arm.damping, self.viscous_friction),
            friction=np.where(np.less(self.coulomb_friction, 0.0), arm.friction, self.coulomb_friction),
        )


DESCRIBED = Physics()


@dataclass(frozen=True)
class ArmReading:
    """What the arm measures.

    Attributes:
        time: s.
        position, velocity: rad and rad/s.
        effort: N·m; empty where there are no motors.
    """

    time: float
    position: Joints
    velocity: Joints
    effort: Joints


@dataclass(frozen=True)
class DriverStatus:
    """State of the driver.

    Attributes:
        mode: what it does.
        fault: the latched fault, or SUCCESS.
        fault_message: what happened and the remedy; empty when all is well.
        gripper_closed: as commanded.
    """

    mode: DriverMode
    fault: ErrorCode
    fault_message: str
    gripper_closed: bool


class SimulatedArm:
    """Mode `mock`: the state is the setpoint. Mode `sim`: motors drive the rigid bodies of the model to the setpoint.

    Args:
        arm: the model; it starts at its home position.
        mode: MOCK or SIM.
        now: s, time of the start.
        physics: of the mode SIM.

    Raises:
        ValueError: the model has no masses to simulate, or the friction is not given for each joint.
    """

    def __init__(self, arm: ArmModel, mode: str, now: float, physics: Physics = DESCRIBED) -> None:
        home = tuple(float(value) for value in arm.home)
        self._commands = CommandBuffer(JointLimits.of(arm), home, now)
        self._plant: ArmPlant | None = None
        self._law = physics.control_law
        if mode == SIM:
            arm = physics.applied_to(arm)
            try:
                self._plant = ArmPlant(arm, home)
            except ValueError as error:
                raise ValueError(f"{error}; or run the arm with hardware:={MOCK}") from error
            self._controller = JointController(arm, self._commands.setpoint, self._law)
        self._free = arm
        self._loaded = arm.with_payload(physics.payload_mass)
        self._arm = arm
        self._stopped = False
        self._gripper_closed = False
        self._object_at_tool = False
        self._publishers = 1
        self._reading = ArmReading(now, home, (0.0,) * len(home), ())

    @property
    def reading(self) -> ArmReading:
        """The latest measurement."""
        return self._reading

    @property
    def setpoint(self) -> Joints:
        """Where the joints shall be, rad."""
        return self._commands.setpoint.position

    @property
    def status(self) -> DriverStatus:
        """What the driver does now."""
        if self._stopped:
            return DriverStatus(DriverMode.FAULT, ErrorCode.ESTOP, _ESTOP_MESSAGE, self._gripper_closed)
        mode = DriverMode.TRACK if self._commands.streaming else DriverMode.HOLD
        message = _CONFLICT_MESSAGE.format(count=self._publishers) if self._publishers > 1 else ""
        return DriverStatus(mode, ErrorCode.SUCCESS, message, self._gripper_closed)

    def command(
        self, now: float, stamp: float, names: Sequence[str], position: Sequence[float], velocity: Sequence[float]
    ) -> None:
        """Take a joint command; the arguments are those of CommandBuffer.push.

        Raises:
            CommandRefused: the command must not be followed.
        """
        if self._stopped:
            self._commands.ignore(now)
            raise CommandRefused(_ESTOP_MESSAGE)
        self._commands.push(now, stamp, names, position, velocity, self._reading.position)

    def advance(self, now: float) -> ArmReading:
        """Live until a time, and measure. A jump of the clock moves nothing and ends the stream of commands."""
        elapsed = now - self._reading.time
        if not 0.0 <= elapsed <= _CLOCK_JUMP:
            self._stand_still(now)
        elif elapsed > 0.0:
            self._run(now, elapsed)
        return self._reading

    def set_gripper(self, closed: bool) -> None:
        """Close or open the gripper; it acts at once."""
        self._gripper_closed = closed
        self._take_masses()

    def report_holding(self, holding: bool) -> None:
        """Take note of whether an object is at the tool; a closed gripper carries its weight."""
        self._object_at_tool = holding
        self._take_masses()

    def emergency_stop(self) -> None:
        """Brake to rest within the limits, and stay there until `reset_fault`."""
        self._stopped = True
        self._commands.stop()

    def reset_fault(self) -> bool:
        """Clear the fault, move nothing; False when there was none."""
        was_stopped, self._stopped = self._stopped, False
        return was_stopped

    def report_publishers(self, count: int) -> None:
        """Take note of how many programs send joint commands."""
        self._publishers = count

    def _take_masses(self) -> None:
        """Let mechanism and controller reckon with the payload while it is held."""
        arm = self._loaded if self._gripper_closed and self._object_at_tool else self._free
        if arm is not self._arm:
            self._arm = arm
            if self._plant is not None:
                self._plant.become(arm)
                self._controller.arm = arm

    def _run(self, now: float, elapsed: float) -> None:
        start = self._reading.time
        steps = max(1, math.ceil(elapsed / (_MOCK_STEP if self._plant is None else _CONTROL_PERIOD) - 1e-6))
        dt = elapsed / steps
        effort: Joints = ()
        for step in range(1, steps + 1):
            setpoint = self._commands.advance(now if step == steps else start + step * dt)
            if self._plant is not None:
                effort = self._drive(self._plant, dt)
        if self._plant is None:
            self._reading = ArmReading(now, setpoint.position, setpoint.velocity, ())
        else:
            self._reading = ArmReading(now, self._plant.position, self._plant.velocity, effort)

    def _drive(self, plant: ArmPlant, dt: float) -> Joints:
        torque = self._controller.torque(self._commands.setpoint, plant.position, plant.velocity, dt)
        steps = max(1, math.ceil(dt / LONGEST_STEP - 1e-6))
        for _ in range(steps):
            plant.step(torque, dt / steps)
        return torque

    def _stand_still(self, now: float) -> None:
        position = self._reading.position
        self._commands.jump(now, position)
        if self._plant is not None:
            self._plant = ArmPlant(self._arm, position)
            self._controller = JointController(self._arm, self._commands.setpoint, self._law)
        self._reading = ArmReading(now, position, (0.0,) * len(position), ())
