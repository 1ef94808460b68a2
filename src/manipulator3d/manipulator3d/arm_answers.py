# SPDX-License-Identifier: Apache-2.0
"""What the Python interface of the arm gives back; SI units, in the frame of the arm's base."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IkSolution:
    """Joint angles that put the tool point at a target.

    Attributes:
        joints: shape (3,), rad, in the order of `names`.
        names: of the joints.
        alternatives: shape (N, 3), rad; all solutions within limits and above the floor, best first.
        achieved: shape (3,), m; tool point of the solution.
        position_error: m; from the target to `achieved`.
        manipulability: m³; |det| of the position Jacobian.
        elbow: "down" or "up".
        message: what was adapted; empty when nothing was.
    """

    joints: Array
    names: tuple[str, ...]
    alternatives: Array
    achieved: Array
    position_error: float
    manipulability: float
    elbow: str
    message: str


@dataclass(frozen=True, eq=False)
class FkSolution:
    """Where joint angles put the arm.

    Attributes:
        tool, elbow: shape (3,), m.
        tool_orientation: quaternion x, y, z, w of shape (4,).
        jacobian: shape (6, 3); linear m/rad, then angular rad/rad, of the tool.
    """

    tool: Array
    elbow: Array
    tool_orientation: Array
    jacobian: Array


@dataclass(frozen=True, eq=False)
class MoveResult:
    """Where a motion ended.

    Attributes:
        tool: shape (3,), m; measured tool point.
        position_error: m; from the target's tool point to the measured one.
        duration: s from acceptance to the end.
    """

    tool: Array
    position_error: float
    duration: float


@dataclass(frozen=True)
class PickPlaceResult:
    """What a pick-and-place did: whole cycles, and the time from acceptance to the end in s."""

    cycles_completed: int
    duration: float


@dataclass(frozen=True)
class DrawResult:
    """How a shape was drawn.

    Attributes:
        length: m, of the path.
        duration: s from acceptance to the end.
        max_deviation: m; largest distance of a measured tool point from the path.
    """

    length: float
    duration: float
    max_deviation: float


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a motion is; given to `on_progress`.

    Attributes:
        fraction: 0 to 1, of the path or of the present cycle.
        tool: shape (3,), m; measured tool point.
        phase: of a pick-and-place, such as LIFT; empty otherwise.
        cycle: of a pick-and-place, from 1; 0 otherwise.
        holding: an object is attached to the tool.
    """

    fraction: float
    tool: Array
    phase: str = ""
    cycle: int = 0
    holding: bool = False


@dataclass(frozen=True)
class HomeProgress:
    """How far homing is: the joint, the step, and the position in rad from the start of the step."""

    joint: str
    step: str
    position: float


@dataclass(frozen=True)
class ArmStatus:
    """The arm's latest report on itself.

    Attributes:
        mode: disconnected, idle, moving, paused, stopping, homing or fault.
        fault: an ErrorCode, SUCCESS for none.
        fault_message: what happened and the remedy; empty for none.
        link: the arm's driver is in operation.
        homed: the joint positions are known.
        holding: an object is attached to the tool.
        phase: of a pick-and-place, such as LIFT; empty when none runs.
        speed: present speed as a fraction of the planned one, 0 to 1.
    """

    mode: str
    fault: int
    fault_message: str
    link: bool
    homed: bool
    holding: bool
    phase: str
    speed: float
