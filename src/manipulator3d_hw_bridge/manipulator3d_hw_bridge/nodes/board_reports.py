# SPDX-License-Identifier: Apache-2.0
"""Makes messages of what the session reports."""

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState

from manipulator3d_hw_bridge.board_status import BoardStatus, Health, LinkState, Measurement
from manipulator3d_interfaces.msg import HardwareStatus

_LINKS = {
    LinkState.CLOSED: HardwareStatus.LINK_DOWN,
    LinkState.OPENING: HardwareStatus.LINK_CONNECTING,
    LinkState.HANDSHAKE: HardwareStatus.LINK_CONNECTING,
    LinkState.CONFIGURED: HardwareStatus.LINK_UP,
    LinkState.ARMED: HardwareStatus.LINK_UP,
    LinkState.FAULT: HardwareStatus.LINK_UP,
}


def joint_state(names: Sequence[str], measurement: Measurement, stamp: Time) -> JointState:
    """Return the measured state of the joints; `stamp` is the measurement's time."""
    message = JointState(name=list(names), position=measurement.position, velocity=measurement.velocity)
    message.header.stamp = stamp
    return message


def hardware_status(driver: str, status: BoardStatus, stamp: Time) -> HardwareStatus:
    """Return the state of the board; `driver` is emulated or serial."""
    message = HardwareStatus(
        driver=driver,
        link=_LINKS[status.link],
        mode=int(status.mode),
        fault=int(status.fault),
        fault_message=status.fault_message,
        homed=status.homed,
        gripper_closed=status.gripper_closed,
        has_grasp_sensor=status.has_grasp_sensor,
        object_detected=status.object_detected,
    )
    message.header.stamp = stamp
    return message


def diagnostics(name: str, status: BoardStatus, health: Health, stamp: Time) -> DiagnosticArray:
    """Return one diagnostic status for the link and one for each group of figures.

    Args:
        name: of the node; stands before the names of the groups.
        status, health: latest reports.
        stamp: time of the report.
    """
    link = DiagnosticStatus(name=f"{name}: link", hardware_id=status.port)
    link.message = status.fault_message or f"{status.link.value}, {status.mode.name.lower()}"
    if _LINKS[status.link] != HardwareStatus.LINK_UP or status.fault:
        link.level = DiagnosticStatus.ERROR
    link.values = [
        KeyValue(key="state", value=status.link.value),
        KeyValue(key="mode", value=status.mode.name.lower()),
        KeyValue(key="homed", value=str(status.homed).lower()),
    ]
    message = DiagnosticArray(status=[link])
    message.header.stamp = stamp
    for group, figures in health.groups.items():
        warning = health.warnings.get(group, "")
        message.status.append(
            DiagnosticStatus(
                level=DiagnosticStatus.WARN if warning else DiagnosticStatus.OK,
                name=f"{name}: {group}",
                message=warning or "as it should be",
                hardware_id=status.port,
                values=[KeyValue(key=key, value=value) for key, value in figures.items()],
            )
        )
    return message
