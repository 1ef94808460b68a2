# SPDX-License-Identifier: Apache-2.0
"""The board's faults and refusals as error codes and sentences with a remedy."""

from collections.abc import Sequence

from manipulator3d_hw_bridge.messages import Fault, Reason
from manipulator3d_node.error_code import ErrorCode

NO_JOINT = 255

_RESET = "then call reset_fault"

# what happened, remedy
_FAULTS = {
    Fault.EMERGENCY_STOP: ("the emergency stop was called", f"make sure that the arm is clear, {_RESET}"),
    Fault.EMERGENCY_STOP_INPUT: ("the emergency-stop button is pressed", f"release the button, {_RESET}"),
    Fault.COMMAND_SILENCE: (
        "the board heard nothing from the bridge for longer than command_silence and braked",
        f"check the cable and the load of this computer, {_RESET}",
    ),
    Fault.JOINT_LIMIT: (
        "the measured position is beyond its limit",
        f"move the joint back by hand with the motors off, or home again, {_RESET}",
    ),
    Fault.SPEED_LIMIT: (
        "the measured speed is above 1.5 times its limit; the motors are off",
        f"check encoder wiring and gains, {_RESET}",
    ),
    Fault.TRACKING_ERROR: (
        "the joint is too far from its setpoint",
        f"look for a blocked joint, a weak supply or a slipping gear, {_RESET}",
    ),
    Fault.STALL: (
        "the motor is driven hard and does not move; the motors are off",
        f"look for a blocked joint or a loose encoder or motor wire, {_RESET}",
    ),
    Fault.ENCODER: (
        "too many illegal encoder transitions; the motors are off",
        f"check the encoder's wires, shield and supply, home again, {_RESET}",
    ),
    Fault.LIMIT_SWITCH: ("a home switch closed away from its place", f"look for a lost position, home again, {_RESET}"),
    Fault.LOOP_OVERRUN: (
        "the control interrupt missed its period; the motors are off",
        f"report it with the health figures of the diagnostics, {_RESET}",
    ),
    Fault.HOMING_FAILED: (
        "a home switch was not found within its time or travel, did not open, or the joint is blocked",
        f"check the switch, its wire and home_directions, {_RESET}",
    ),
}

_CODES = {
    Fault.NONE: ErrorCode.SUCCESS,
    Fault.EMERGENCY_STOP: ErrorCode.ESTOP,
    Fault.EMERGENCY_STOP_INPUT: ErrorCode.ESTOP,
    Fault.HOMING_FAILED: ErrorCode.HOMING_FAILED,
}

_REASONS = {
    Reason.UNKNOWN_MESSAGE: (ErrorCode.PROTOCOL_MISMATCH, "the board does not know this message; flash firmware/"),
    Reason.BAD_LENGTH: (ErrorCode.PROTOCOL_MISMATCH, "the message has another length in the firmware; flash firmware/"),
    Reason.BAD_VALUE: (ErrorCode.INVALID_INPUT, "a value is out of the bounds in docs/protocol.md"),
    Reason.NOT_CONFIGURED: (ErrorCode.LINK_DOWN, "the board is not configured yet; wait for the link to be up"),
    Reason.NOT_HOMED: (ErrorCode.NOT_HOMED, "the joint positions are not known; send a goal to home first"),
    Reason.FAULTED: (ErrorCode.FIRMWARE_FAULT, "a fault is latched; call reset_fault first"),
    Reason.WRONG_MODE: (ErrorCode.BUSY, "not possible in the present mode; wait for the end of the motion"),
    Reason.JOINT_LIMIT: (ErrorCode.JOINT_LIMIT, "the setpoint or its braking distance is beyond the joint's limit"),
    Reason.SPEED_LIMIT: (ErrorCode.INVALID_TRAJECTORY, "the setpoint is faster than the joint's speed limit"),
    Reason.JUMP: (ErrorCode.INVALID_TRAJECTORY, "the setpoint is too far from the one before for the time between"),
    Reason.LATE: (ErrorCode.INVALID_TRAJECTORY, "the setpoint's time is past or not after the one before"),
    Reason.QUEUE_FULL: (ErrorCode.INVALID_TRAJECTORY, "the setpoint queue is full; send them less far ahead"),
    Reason.TOO_FAR_AHEAD: (
        ErrorCode.INVALID_TRAJECTORY,
        "more than 0.25 s between the setpoint and the one before; send them more often",
    ),
    Reason.INPUT_ACTIVE: (
        ErrorCode.ESTOP,
        "the emergency-stop button or a limit switch is still active; release the button or move the joint off its "
        "switch, then call reset_fault again",
    ),
    Reason.NO_SWITCH: (ErrorCode.HOMING_FAILED, "the joint has no home switch; use set_here"),
    Reason.MOVING: (ErrorCode.BUSY, "a joint moves; wait until the arm is at rest"),
    Reason.STORAGE: (ErrorCode.FIRMWARE_FAULT, "the EEPROM could not be written; replace the board"),
}


def fault_code(fault: Fault) -> ErrorCode:
    """Return the error code of a fault."""
    return _CODES.get(fault, ErrorCode.FIRMWARE_FAULT)


def fault_text(fault: Fault, joint: int, names: Sequence[str]) -> str:
    """Say what happened, at which joint, and the remedy; empty for no fault."""
    if fault is Fault.NONE:
        return ""
    happened, remedy = _FAULTS[fault]
    return f"{_at(joint, names)}{happened}; {remedy}"


def refusal(reason: int, joint: int, names: Sequence[str], message: str) -> tuple[ErrorCode, str]:
    """Return code and sentence for a refused message.

    Args:
        reason: as received; one that this bridge does not know is named by its number.
        joint: number of the joint, 255 for none.
        names: of the joints.
        message: name of the refused message.
    """
    try:
        code, text = _REASONS[Reason(reason)]
    except ValueError:
        code, text = ErrorCode.PROTOCOL_MISMATCH, f"the unknown reason {reason}; flash firmware/ from this checkout"
    return code, f"{_at(joint, names)}the board refused {message}: {text}"


def _at(joint: int, names: Sequence[str]) -> str:
    return f"{names[joint]}: " if joint < len(names) else ""
