# SPDX-License-Identifier: Apache-2.0
"""What the board is told of the arm, made from the arm's numbers and its wiring."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from manipulator3d_hw_bridge.command_check import JointBounds
from manipulator3d_hw_bridge.messages import JOINTS, BoardConfiguration, JointConfiguration

# The board counts as silent after this many command silences, at least _LEAST_LINK_SILENCE s.
_LINK_SILENCES = 2.0
_LEAST_LINK_SILENCE = 0.5
# Way that homing may look for a switch beyond the range between the limits, rad.
_HOME_MARGIN = 0.5
# Homing may take this many times the time that its way takes, and some s more.
_HOME_TIME_FACTOR = 1.5
_HOME_TIME_MORE = 10.0
# Fields of JointConfiguration that depend on the motor. The firmware's fixed-point numbers hold a gain up to this many
# times the counts per radian.
GAINS = {
    "proportional": 1.25,
    "integral": 78.125,
    "derivative": 0.00125,
    "velocity_feedforward": 0.00125,
    "acceleration_feedforward": 0.00032,
    "deadband": math.inf,
}
# rad/s; first approach of a switch at most.
_HOME_VELOCITY = 0.6


class Arm(Protocol):
    """The numbers of an arm that the board needs; manipulator3d_kinematics.ArmModel has them."""

    @property
    def name(self) -> str: ...

    @property
    def joint_names(self) -> tuple[str, ...]: ...

    @property
    def base_height(self) -> float: ...

    @property
    def upper_arm(self) -> float: ...

    @property
    def lateral_offset(self) -> float: ...

    @property
    def forearm(self) -> float: ...

    @property
    def lower(self) -> Any: ...

    @property
    def upper(self) -> Any: ...

    @property
    def velocity(self) -> Any: ...

    @property
    def acceleration(self) -> Any: ...

    @property
    def counts_per_revolution(self) -> Any: ...

    @property
    def home(self) -> Any: ...


@dataclass(frozen=True)
class Wiring:
    """How motors, encoders, switches and the gripper are connected.

    Attributes:
        signs: per joint 1, or -1 when motor and encoder turn the other way.
        home_directions: per joint -1 for a switch at the lower limit, 1 at the upper, 0 for none.
        gripper_open, gripper_closed: µs, servo pulses.
        has_grasp_sensor, has_emergency_stop: whether they are wired.
    """

    signs: tuple[int, ...] = (1, 1, 1)
    home_directions: tuple[int, ...] = (-1, -1, -1)
    gripper_open: int = 1000
    gripper_closed: int = 2000
    has_grasp_sensor: bool = False
    has_emergency_stop: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (("signs", (-1, 1)), ("home_directions", (-1, 0, 1))):
            values = getattr(self, name)
            if len(values) != JOINTS or any(value not in allowed for value in values):
                raise ValueError(
                    f"parameter {name}: {list(values)} is not allowed; give {JOINTS} numbers, each one of {allowed}"
                )


@dataclass(frozen=True)
class BoardSettings:
    """All that a session needs to know.

    Attributes:
        bounds: of joint commands.
        acceleration: rad/s², limits.
        home: rad, home position.
        joints, board: configuration for the firmware.
        link_silence: s without a frame from the board after which the link counts as lost.
    """

    bounds: JointBounds
    acceleration: tuple[float, ...]
    home: tuple[float, ...]
    joints: tuple[JointConfiguration, ...]
    board: BoardConfiguration

    @property
    def command_silence(self) -> float:
        """s without a frame from the bridge after which the board brakes."""
        return self.board.command_silence * 1e-3

    @property
    def link_silence(self) -> float:
        """s without a frame from the board after which the link counts as lost."""
        return max(_LEAST_LINK_SILENCE, _LINK_SILENCES * self.command_silence)

    @property
    def tracking_error(self) -> tuple[float, ...]:
        """rad, largest distance of a joint from its setpoint."""
        return tuple(joint.tracking_error for joint in self.joints)


def board_settings(
    arm: Arm, wiring: Wiring, rate_hz: float, command_silence: float, gains: Mapping[str, Sequence[float]] | None = None
) -> BoardSettings:
    """Return the settings for an arm.

    Args:
        arm: its numbers.
        wiring: how it is connected.
        rate_hz: Hz, rate of the measurements.
        command_silence: s.
        gains: a number for each joint by the names in GAINS; those of the protocol's default motors where left out.

    Raises:
        ValueError: a number that the firmware cannot take; names the joint, the value and the bound.
    """
    given = gains or {}
    joints = tuple(
        _joint(arm, wiring, number, {name: values[number] for name, values in given.items()})
        for number in range(JOINTS)
    )
    for name, joint in zip(arm.joint_names, joints, strict=True):
        try:
            joint.check()
            _check_gains(joint)
        except ValueError as error:
            raise ValueError(f"{name}: the firmware cannot take this arm: {error}") from error
    board = BoardConfiguration(
        command_silence=round(command_silence * 1e3),
        state_period=round(1e3 / rate_hz),
        gripper_open=wiring.gripper_open,
        gripper_closed=wiring.gripper_closed,
        has_grasp_sensor=int(wiring.has_grasp_sensor),
        has_emergency_stop=int(wiring.has_emergency_stop),
    )
    board.check()
    bounds = JointBounds(tuple(arm.joint_names), _floats(arm.lower), _floats(arm.upper), _floats(arm.velocity))
    return BoardSettings(bounds, _floats(arm.acceleration), _floats(arm.home), joints, board)


def arm_file(arm: Arm, wiring: Wiring) -> str:
    """Return the description of an arm and its wiring for the emulator: lines of key=value, SI units."""
    numbers = {
        "base_height": (arm.base_height,),
        "upper_arm": (arm.upper_arm,),
        "lateral_offset": (arm.lateral_offset,),
        "forearm": (arm.forearm,),
        "lower": arm.lower,
        "upper": arm.upper,
        "counts_per_revolution": arm.counts_per_revolution,
        "sign": wiring.signs,
        "home_direction": wiring.home_directions,
    }
    return "".join(f"{key}={','.join(f'{float(value):.9g}' for value in row)}\n" for key, row in numbers.items())


def largest_gain(name: str, counts_per_radian: float) -> float:
    """Return the largest value of a field of JointConfiguration in GAINS that wire and firmware can carry."""
    metadata = next(field.metadata for field in fields(JointConfiguration) if field.name == name)
    return min(GAINS[name] * counts_per_radian, metadata["bounds"][1] / metadata["steps"])


def _check_gains(joint: JointConfiguration) -> None:
    for name in GAINS:
        value, largest = getattr(joint, name), largest_gain(name, joint.counts_per_radian)
        if value > largest:
            raise ValueError(
                f"{name}: {value:g} is above {largest:g}, the most at {joint.counts_per_radian:g} counts/rad"
            )


def _joint(arm: Arm, wiring: Wiring, number: int, gains: Mapping[str, Any]) -> JointConfiguration:
    lower, upper = float(arm.lower[number]), float(arm.upper[number])
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise ValueError(
            f"{arm.joint_names[number]}: its limits are {lower:g} and {upper:g} rad; the firmware needs finite ones"
        )
    velocity = float(arm.velocity[number])
    direction = wiring.home_directions[number]
    home_velocity = min(_HOME_VELOCITY, velocity / 2.0)
    travel = upper - lower + _HOME_MARGIN
    return JointConfiguration(
        joint=number,
        counts_per_radian=float(arm.counts_per_revolution[number]) / (2.0 * math.pi),
        sign=wiring.signs[number],
        lower=lower,
        upper=upper,
        velocity=velocity,
        acceleration=float(arm.acceleration[number]),
        home_direction=direction,
        home_position=upper if direction > 0 else lower,
        home_velocity=home_velocity,
        home_travel=travel,
        home_time=round(1e3 * (_HOME_TIME_FACTOR * travel / home_velocity + _HOME_TIME_MORE)),
        **gains,
    )


def _floats(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
