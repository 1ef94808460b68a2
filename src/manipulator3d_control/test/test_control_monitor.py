# SPDX-License-Identifier: Apache-2.0
"""The watch over the measured arm: when a deviation ends a motion, and that it does not end the next one."""

import pytest
from sensor_msgs.msg import JointState

from manipulator3d_control.command_history import CommandHistory
from manipulator3d_control.nodes.arm_monitor import ArmMonitor
from manipulator3d_control.nodes.motion_parameters import MotionParameters
from manipulator3d_interfaces.msg import HardwareStatus
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode

ARM = ArmModel.profile("capstone")


@pytest.fixture
def history() -> CommandHistory:
    return CommandHistory()


@pytest.fixture
def monitor(history: CommandHistory) -> ArmMonitor:
    monitor = ArmMonitor(MotionParameters(), history)
    monitor.arm = ARM
    monitor.on_hardware_status(HardwareStatus(link=HardwareStatus.LINK_UP, homed=True))
    return monitor


def measure(monitor: ArmMonitor, hundredths: int, shoulder: float) -> None:
    message = JointState(name=list(ARM.joint_names), position=[0.0, shoulder, -1.6])
    message.header.stamp.sec, message.header.stamp.nanosec = 100, 10_000_000 * hundredths
    monitor.on_joint_states(message)


def test_an_arm_held_away_from_its_command_ends_the_motion_and_not_the_next_one(
    monitor: ArmMonitor, history: CommandHistory
) -> None:
    history.add(100.0, [0.0, 1.2, -1.6])
    for hundredths in range(12):
        measure(monitor, hundredths, 0.8)
    refusal = monitor.interruption()
    assert refusal is not None
    assert refusal.code is ErrorCode.TRACKING_ERROR
    assert "the measured arm is 0.400 rad from its command" in str(refusal)
    monitor.reset_tracking()
    # the first command of the new motion applies later than the time that a deviation may last
    history.add(100.5, [0.0, 0.8, -1.6])
    for hundredths in range(12, 60):
        measure(monitor, hundredths, 0.8)
        assert monitor.interruption() is None
    assert monitor.error == 0.0
    for hundredths in range(60, 80):
        measure(monitor, hundredths, 0.5)
    assert monitor.interruption() is not None
