# SPDX-License-Identifier: Apache-2.0
"""The connection to one arm: its stack's client, and the latest that its topics told."""

import threading
import time
from typing import Any

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from manipulator3d.arm_answers import ArmStatus, Array
from manipulator3d.arm_error import ArmError
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.msg import ArmStatus as ArmStatusMessage
from manipulator3d_kinematics import ArmModel, forward_kinematics
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.polled_topic import PolledTopic

# arm_status comes at 5 Hz
_STALE_S = 1.0
_FIRST_POSITION_S = 3.0


class ArmConnection:
    """What `Arm` and `AsyncArm` have in common.

    Args:
        namespace: namespace of the stack.
        find_timeout: s; how long to look for the stack, and for each of its services.
    """

    def __init__(self, namespace: str, find_timeout: float) -> None:
        self.client = StackClient(namespace, find_timeout)
        self._find_timeout = find_timeout
        self._model: ArmModel | None = None
        self._no_model = "robot_description has not arrived"
        # at 100 Hz; looked at when asked for, since each arrival would cost the program a millisecond
        self._joint_states = PolledTopic(self.client.node, JointState, "joint_states", QoSProfile(depth=1))
        self._joints: tuple[float, JointState] | None = None
        self._taking = threading.Lock()
        self._status: tuple[float, ArmStatusMessage] | None = None
        node = self.client.node
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(String, "robot_description", self._on_description, latched)
        self._status_topic = node.create_subscription(ArmStatusMessage, "arm_status", self._on_status, 10).topic_name

    async def find(self) -> None:
        """Wait for the arm's first report, in the client's thread.

        Raises:
            ArmError: there is none; LINK_DOWN.
        """
        if not await self.client.until(lambda: self._status is not None, self._find_timeout):
            error = self.client.not_found(f"topic {self._status_topic}", self._find_timeout)
            raise ArmError(str(error), error.code)
        assert self._status is not None
        if self._status[1].link:
            # where they do not come, `joints` says why
            await self.client.until(self._knows_position, _FIRST_POSITION_S)

    async def become_ready(self, timeout: float) -> None:
        """Wait until the arm is idle and reports its joints, in the client's thread.

        Raises:
            ArmError: it is not in time; TIMEOUT, with its last state.
        """
        if await self.client.until(self._is_ready, timeout):
            return
        try:
            status = self.status()
            state = f"{status.mode} {status.fault_message}".rstrip()
        except ArmError as error:
            state = str(error)
        raise ArmError(f"the arm is not ready after {timeout:g} s; its state: {state}", ErrorCode.TIMEOUT)

    def status(self) -> ArmStatus:
        """Give the arm's latest report.

        Raises:
            ArmError: none has come for 1 s; LINK_DOWN.
        """
        age, message = _latest(self._status)
        if message is None or age > _STALE_S:
            silent = f"{self._status_topic} has been silent for {age:.1f} s, above the {_STALE_S:g} s allowed"
            raise ArmError(f"{silent}; does the stack run?", ErrorCode.LINK_DOWN)
        return ArmStatus(
            mode=message.mode_name,
            fault=message.fault,
            fault_message=message.fault_message,
            link=message.link,
            homed=message.homed,
            holding=message.holding,
            phase=message.phase_name,
            speed=message.speed_scale,
        )

    def joints(self) -> tuple[tuple[str, ...], Array, Array]:
        """Give names, measured angles in rad and velocities in rad/s, the latter of shape (3,), in the chain's order.

        Raises:
            ArmError: no joint states have come for 1 s; STALE_STATE.
        """
        age, message = self._latest_joints()
        model = self._model
        topic = self._joint_states.name
        if message is None or model is None or age > _STALE_S:
            missing = f"{topic} has been silent for {age:.1f} s" if model else self._no_model
            raise ArmError(f"{missing}, so the arm's position is not known; does the stack run?", ErrorCode.STALE_STATE)
        names = tuple(model.joint_names)
        angles = dict(zip(message.name, message.position, strict=False))
        velocities = dict(zip(message.name, message.velocity, strict=False))
        if not set(names) <= set(angles):
            raise ArmError(
                f"{topic} names the joints {', '.join(message.name)}; expected {', '.join(names)}", ErrorCode.NO_STATE
            )
        speeds = [velocities.get(name, np.nan) for name in names]
        return names, np.array([angles[name] for name in names]), np.array(speeds)

    def tool(self) -> Array:
        """Give the measured tool point, shape (3,), m, in the frame of the arm's base.

        Raises:
            ArmError: no joint states have come for 1 s; STALE_STATE.
        """
        _, angles, _ = self.joints()
        assert self._model is not None
        return np.asarray(forward_kinematics(self._model, angles))

    def _is_ready(self) -> bool:
        try:
            status = self.status()
        except ArmError:
            return False
        return status.mode == "idle" and status.fault == ErrorCode.SUCCESS and self._knows_position()

    def _knows_position(self) -> bool:
        try:
            self.joints()
        except ArmError:
            return False
        return True

    def _on_description(self, message: String) -> None:
        try:
            self._model = ArmModel.from_urdf(message.data)
        except ValueError as error:
            self._model, self._no_model = None, f"robot_description: {error}"

    def _latest_joints(self) -> tuple[float, Any]:
        with self._taking:
            if self.client.closed:
                raise ArmError("the connection to the stack is closed; open a new one")
            for message, times in self._joint_states.take_with_times():
                age = max(0.0, (time.time_ns() - times["received_timestamp"]) * 1e-9)
                self._joints = (time.monotonic() - age, message)
        return _latest(self._joints)

    def _on_status(self, message: ArmStatusMessage) -> None:
        self._status = (time.monotonic(), message)


def _latest(kept: tuple[float, Any] | None) -> tuple[float, Any]:
    if kept is None:
        return float("inf"), None
    return time.monotonic() - kept[0], kept[1]
