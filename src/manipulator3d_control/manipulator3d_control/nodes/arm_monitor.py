# SPDX-License-Identifier: Apache-2.0
"""What is known of the arm: its measured state, its driver's state, and whether a motion may start or go on."""

import time
from collections.abc import Callable

import numpy as np
from sensor_msgs.msg import JointState

from manipulator3d_control.command_history import CommandHistory
from manipulator3d_control.nodes.motion_parameters import MotionParameters
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_interfaces.msg import HardwareStatus
from manipulator3d_kinematics import ArmModel, forward_kinematics
from manipulator3d_node.error_code import ErrorCode

# the driver reports at 5 Hz
_HARDWARE_TIMEOUT_S = 2.0
# between two looks at the clock this process may have been busy; more than this does not count as silence of others
_LONGEST_LISTENING_S = 0.05


class ArmMonitor:
    """Watches joint states and driver against what is commanded.

    Args:
        parameters: of the motion server.
        history: what was commanded.

    Attributes:
        on_tool: called with each measured tool point, shape (3,), m.
    """

    def __init__(self, parameters: MotionParameters, history: CommandHistory) -> None:
        self._parameters = parameters
        self._history = history
        self.arm: ArmModel | None = None
        self.hardware: HardwareStatus | None = None
        self.on_tool: Callable[[Array], None] | None = None
        self._listened = time.monotonic()
        self._hardware_age = 0.0
        self._measured: Array | None = None
        self._age = 0.0
        self._off_since: float | None = None
        self._off_for = 0.0
        self._error = 0.0
        self._deviation = np.zeros(3)

    def on_joint_states(self, message: JointState) -> None:
        """Take a measurement; incomplete or non-finite ones are not taken, so that they end as stale."""
        if self.arm is None:
            return
        measured = dict(zip(message.name, message.position, strict=False))
        if not all(np.isfinite(measured.get(name, np.nan)) for name in self.arm.joint_names):
            return
        self._measured = np.array([measured[name] for name in self.arm.joint_names])
        self._age = 0.0
        stamp = message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        self._deviation = self._history.deviation(stamp, self._measured)
        self._error = float(np.max(np.abs(self._deviation)))
        if self._error <= self._parameters.tracking_tolerance:
            self._off_since = None
        elif self._off_since is None:
            self._off_since = stamp
        self._off_for = 0.0 if self._off_since is None else stamp - self._off_since
        tool = self.tool
        if self.on_tool is not None and tool is not None:
            self.on_tool(tool)

    def listen(self) -> None:
        """Let what is known grow older; called often. Time in which this process was busy itself does not count."""
        now = time.monotonic()
        passed = min(now - self._listened, _LONGEST_LISTENING_S)
        self._listened = now
        self._age += passed
        self._hardware_age += passed

    def on_hardware_status(self, message: HardwareStatus) -> None:
        """Take a report of the driver."""
        self.hardware = message
        self._hardware_age = 0.0

    @property
    def joints(self) -> Array | None:
        """Measured joint angles, shape (3,), rad; None before the first measurement."""
        return self._measured

    @property
    def tool(self) -> Array | None:
        """Measured tool point, shape (3,), m; None before the first measurement."""
        if self.arm is None or self._measured is None:
            return None
        return forward_kinematics(self.arm, self._measured)

    @property
    def error(self) -> float:
        """Largest distance of a measured joint from its command at that time, rad."""
        return self._error

    @property
    def deviation(self) -> Array:
        """Measured minus commanded joint angles at the time of the measurement, shape (3,), rad."""
        return self._deviation

    def reset_tracking(self) -> None:
        """Forget deviations and earlier commands; a new motion starts from the measured state.

        Otherwise an arm that was held away from its last command would fail every new motion before its first command
        applies.
        """
        self._history.clear()
        self._off_since, self._off_for, self._error = None, 0.0, 0.0

    def not_ready(self) -> Refusal | None:
        """Why no motion may start, None when one may."""
        if self.arm is None:
            return Refusal(
                ErrorCode.NO_STATE,
                "no robot_description has arrived; start robot_state_publisher or ./manipulator3d up",
            )
        return self._driver_refusal() or self._state_refusal()

    def interruption(self) -> Refusal | None:
        """Why a running motion must end, None while it may go on."""
        refusal = self.not_ready()
        if refusal is not None:
            return refusal
        tolerance, allowed = self._parameters.tracking_tolerance, self._parameters.tracking_time
        if self._off_for > allowed:
            return Refusal(
                ErrorCode.TRACKING_ERROR,
                f"the measured arm is {self._error:.3f} rad from its command, above the {tolerance:g} rad allowed, for "
                f"more than {allowed:g} s; look for an obstacle, a load or a weak supply, or move slower",
            )
        return None

    def _driver_refusal(self) -> Refusal | None:
        hardware = self.hardware
        if hardware is None or self._hardware_age > _HARDWARE_TIMEOUT_S:
            return Refusal(ErrorCode.LINK_DOWN, "the arm's driver reports nothing; start it, or look at its output")
        if hardware.fault != HardwareStatus().fault:
            return Refusal(ErrorCode(hardware.fault), hardware.fault_message or "the arm's driver has latched a fault")
        if hardware.link != HardwareStatus.LINK_UP:
            message = hardware.fault_message or "the arm is not connected; look at its power and cable"
            return Refusal(ErrorCode.LINK_DOWN, message)
        if not hardware.homed:
            return Refusal(ErrorCode.NOT_HOMED, "the joint positions are not known; home the arm first (/home)")
        return None

    def _state_refusal(self) -> Refusal | None:
        if self._measured is None:
            return Refusal(
                ErrorCode.NO_STATE, "no joint_states with the arm's joints have arrived; is its driver running?"
            )
        if self._age > self._parameters.state_timeout:
            return Refusal(
                ErrorCode.STALE_STATE,
                f"the last joint_states are {self._age:.2f} s old, above the {self._parameters.state_timeout:g} s "
                "allowed; is the arm's driver running?",
            )
        return None
