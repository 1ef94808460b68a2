# SPDX-License-Identifier: Apache-2.0
"""What a State message says of the board."""

from collections.abc import Sequence

from manipulator3d_hw_bridge.board_status import BoardStatus, DriveMode, LinkState
from manipulator3d_hw_bridge.fault_text import fault_code, fault_text
from manipulator3d_hw_bridge.messages import JOINTS, Fault, Flag, HomeProgress, HomeStep, Mode, State
from manipulator3d_hw_bridge.request_queue import Outcome

_HOMED = Flag.HOMED_0 | Flag.HOMED_1 | Flag.HOMED_2


def is_plausible(message: State | HomeProgress) -> bool:
    """Whether the numbers in a message stand for something."""
    if isinstance(message, HomeProgress):
        return message.joint < JOINTS and message.step in list(HomeStep)
    return message.mode in list(Mode) and message.fault in list(Fault)


def is_homed(state: State) -> bool:
    """Whether the positions of all joints are known."""
    return state.flags & _HOMED == _HOMED


def fault_outcome(state: State, names: Sequence[str]) -> Outcome:
    """Return the board's fault as an outcome, a success when there is none."""
    fault = Fault(state.fault)
    return Outcome(fault_code(fault), fault_text(fault, state.fault_joint, names))


def status_of(state: State, link: LinkState, port: str, names: Sequence[str], has_grasp_sensor: bool) -> BoardStatus:
    """Return the status of a connected board."""
    fault = fault_outcome(state, names)
    return BoardStatus(
        link=link,
        port=port,
        mode=DriveMode(state.mode),
        fault=fault.code,
        fault_message=fault.message,
        homed=is_homed(state),
        gripper_closed=bool(state.flags & Flag.GRIPPER_CLOSED),
        has_grasp_sensor=has_grasp_sensor,
        object_detected=bool(state.flags & Flag.OBJECT_DETECTED),
    )
