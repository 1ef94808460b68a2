# SPDX-License-Identifier: Apache-2.0
"""What the rest of the bridge knows of the board: plain data, made by the session, read by the node."""

from dataclasses import dataclass, field
from enum import Enum, IntEnum

from manipulator3d_node.error_code import ErrorCode


class LinkState(Enum):
    """State of the session."""

    CLOSED = "closed"
    OPENING = "opening"
    HANDSHAKE = "handshake"
    CONFIGURED = "configured"
    ARMED = "armed"
    FAULT = "fault"


# states in which the handshake is done
CONNECTED = (LinkState.CONFIGURED, LinkState.ARMED, LinkState.FAULT)


class DriveMode(IntEnum):
    """What the motors do; numbers are those of manipulator3d_interfaces/msg/HardwareStatus."""

    IDLE = 0
    HOLD = 1
    TRACK = 2
    HOMING = 3
    FAULT = 4


@dataclass(frozen=True)
class BoardStatus:
    """State of the link and of the board behind it.

    Attributes:
        link: state of the session.
        port: device file, empty when none is open.
        mode: what the motors do.
        fault: why the arm cannot be used, SUCCESS when it can.
        fault_message: what happened, at which joint, and the remedy; empty when nothing did.
        homed: the joint positions are known.
        gripper_closed: commanded state.
        has_grasp_sensor: the board measures whether an object is held.
        object_detected: an object is felt.
    """

    link: LinkState = LinkState.CLOSED
    port: str = ""
    mode: DriveMode = DriveMode.IDLE
    fault: ErrorCode = ErrorCode.SUCCESS
    fault_message: str = ""
    homed: bool = False
    gripper_closed: bool = False
    has_grasp_sensor: bool = False
    object_detected: bool = False

    @property
    def connected(self) -> bool:
        """True when the handshake is done."""
        return self.link in CONNECTED


@dataclass(frozen=True)
class Measurement:
    """Joint state at one time.

    Attributes:
        time: s on the host's monotonic clock at which it was measured.
        position: rad.
        velocity: rad/s.
    """

    time: float
    position: tuple[float, ...]
    velocity: tuple[float, ...]


@dataclass(frozen=True)
class StatusChanged:
    """The status is another one now."""

    status: BoardStatus


@dataclass(frozen=True)
class HomeProgress:
    """Where homing is.

    Attributes:
        joint: name of the joint being homed.
        step: approach, back off, slow approach or set.
        position: rad, measured.
    """

    joint: str
    step: str
    position: float


@dataclass(frozen=True)
class Notice:
    """Something for the log.

    Attributes:
        text: what happened.
        warning: it is not as it should be.
    """

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Health:
    """Figures for the diagnostics, by the name of their group: {"link": {"frames lost": "0", …}, …}."""

    groups: dict[str, dict[str, str]] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)


Event = Measurement | StatusChanged | HomeProgress | Notice | Health
