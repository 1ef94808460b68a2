# SPDX-License-Identifier: Apache-2.0
"""Serves the page, and is its client to the stack."""

import queue
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker as MarkerMessage
from visualization_msgs.msg import MarkerArray

from manipulator3d_dashboard.arm_state import STALE_AFTER, ArmState, Command, Mode
from manipulator3d_dashboard.jog import JogBeat, JogRelease
from manipulator3d_dashboard.nodes.arm_client import ArmClient
from manipulator3d_dashboard.nodes.jog_publisher import JogPublisher
from manipulator3d_dashboard.nodes.message_conversion import (
    joint_positions,
    joint_velocities,
    marker_from_message,
    report_from_message,
    seconds,
)
from manipulator3d_dashboard.nodes.polled_topic import PolledTopic
from manipulator3d_dashboard.nodes.target_topics import TargetTopics
from manipulator3d_dashboard.page import Page
from manipulator3d_dashboard.parameters import DashboardParameters
from manipulator3d_dashboard.plot_data import CommandTrack
from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.request import Request, SpeedChange
from manipulator3d_dashboard.urdf_drawing import drawing_from_urdf
from manipulator3d_interfaces.msg import ArmStatus, HardwareStatus
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.nodes.parameters import declare_parameters
from manipulator3d_node.nodes.process import run_node

_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# the commands between two pictures, at up to 500 Hz
_RECENT = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
_LATCHED = QoSProfile(depth=50, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


class DashboardNode(Node):
    """All of ROS happens in the thread that spins it; viser's threads put commands into a queue and wake it.

    Raises:
        ValueError: the page cannot be served with these parameters; names the reason and the remedy.
    """

    def __init__(self) -> None:
        super().__init__("dashboard_node")
        parameters = declare_parameters(self, DashboardParameters)
        self._joints: dict[str, float] = {}
        self._joints_at: float | None = None
        self._commanded: dict[str, float] = {}
        self._commanded_at = 0.0
        self._track = CommandTrack()
        self._arm: ArmModel | None = None
        self._targets: TargetTopics | None = None
        self._known_targets: dict[str, Vector] = {}
        self._status: ArmStatus | None = None
        self._status_at: float | None = None
        self._hardware: HardwareStatus | None = None
        self._urdf = ""
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._wake = self.create_guard_condition(self._obey)
        self._page = Page(
            parameters.host, parameters.port, parameters.token, parameters.spectator_token, self._on_request
        )
        self._client = ArmClient(self, self._tell)
        self._jog = JogPublisher(self, self._tell)
        self.create_subscription(String, "robot_description", self._on_description, _LATCHED)
        self._joint_states = PolledTopic(self, JointState, "joint_states", _NEWEST)
        self.create_subscription(ArmStatus, "arm_status", self._on_arm_status, 10)
        self.create_subscription(HardwareStatus, "hardware_status", self._on_hardware_status, 10)
        self._markers = PolledTopic(self, MarkerArray, "markers", _LATCHED)
        self._joint_commands: PolledTopic | None = None
        self.create_subscription(DiagnosticArray, "diagnostics", self._on_diagnostics, 10)
        self._timer = self.create_timer(1.0 / parameters.update_rate_hz, self._refresh)
        shown = parameters.host if parameters.host not in ("", "0.0.0.0", "::") else "this computer's address"
        query = "/?token=…" if parameters.token else "/"
        self.get_logger().info(f"the page is at http://{shown}:{self._page.port}{query}")

    def close(self) -> None:
        """Stop serving the page."""
        self._page.close()

    def _on_request(self, request: Request) -> None:
        self._requests.put(request)
        self._wake.trigger()

    def _obey(self) -> None:
        while not self._requests.empty():
            request = self._requests.get()
            if isinstance(request, JogBeat):
                self._on_jog_beat(request)
            elif isinstance(request, JogRelease):
                self._on_jog_release(request)
            elif isinstance(request, SpeedChange):
                self._client.set_speed(request.fraction)
            else:
                self._on_command(request)

    def _on_command(self, command: Command) -> None:
        if command is Command.PLAY:
            task = self._page.task()
            reason = self._page.refusal(task)
            if reason:
                self._tell(f"PLAY refused: {reason}")
            else:
                self._client.play(task)
        elif command is Command.DRAW:
            try:
                self._client.draw(self._page.sketch())
            except ValueError as error:
                self._tell(f"DRAW refused: {error}")
        elif command is Command.GRIPPER:
            self._client.set_gripper(not (self._hardware is not None and self._hardware.gripper_closed))
        elif command is Command.HOME:
            self._client.home()
        else:
            self._client.trigger(command)

    def _on_jog_beat(self, beat: JogBeat) -> None:
        velocity = self._page.jog(beat)
        if velocity is not None and self._arm is not None:
            move = self._jog.move_joints if beat.axis.joint else self._jog.move_tool
            move(self._arm, velocity)

    def _on_jog_release(self, release: JogRelease) -> None:
        axis = self._page.let_go(release)
        if axis is not None and self._arm is not None:
            # the arm would stop by itself when no more beats come; this is sooner
            move = self._jog.move_joints if axis.joint else self._jog.move_tool
            move(self._arm, (0.0, 0.0, 0.0))

    def _on_description(self, message: String) -> None:
        if message.data == self._urdf:
            return
        self._urdf = message.data
        try:
            drawing = drawing_from_urdf(message.data)
            arm = ArmModel.from_urdf(message.data)
        except ValueError as error:
            self._tell(str(error))
            return
        for sentence in drawing.not_drawn:
            self._tell(sentence)
        self._arm = arm
        self._page.set_robot(drawing, arm)
        if self._targets is None:
            self._targets = TargetTopics(self, arm.base_frame, self._on_target, self._tell)
            self._known_targets = self._page.targets()
        self._targets.base_frame = arm.base_frame

    def _on_target(self, name: str, point: Vector) -> None:
        self._page.set_target(name, point)
        self._known_targets[name] = point

    def _tell_targets(self) -> None:
        if self._targets is None:
            return
        for name, point in self._page.targets().items():
            if point != self._known_targets[name]:
                self._known_targets[name] = point
                self._targets.publish(name, point)

    def _on_arm_status(self, message: ArmStatus) -> None:
        self._status, self._status_at = message, time.monotonic()
        self._page.log.report("arm", message.fault, message.fault_message, _clock())

    def _on_hardware_status(self, message: HardwareStatus) -> None:
        self._hardware = message
        # the motion server passes the same fault on; the driver's own word counts while it is silent
        if self._state().current_mode is Mode.DISCONNECTED:
            self._page.log.report("driver", message.fault, message.fault_message, _clock())

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        for status in message.status:
            self._page.health.take(report_from_message(status), now)
        load = self._page.health.number("serial", "line load (%)", now)
        if load is not None:
            self._page.plot_load(load)

    def _show_markers(self, message: MarkerArray) -> None:
        for marker in message.markers:
            if marker.action == MarkerMessage.DELETEALL:
                self._page.clear_markers()
            elif marker.action == MarkerMessage.DELETE:
                self._page.remove_marker((marker.ns, marker.id))
            else:
                drawn = marker_from_message(marker)
                if drawn is not None:
                    self._page.put_marker(drawn)

    def _refresh(self) -> None:
        self._read_joints()
        for message in self._markers.take():
            self._show_markers(message)
        self._client.check_answers()
        self._tell_targets()
        self._page.show(self._state(), self._commanded)

    def _read_joints(self) -> None:
        self._read_commands()
        for measured in self._joint_states.take():
            self._joints.update(joint_positions(measured))
            self._joints_at = time.monotonic()
            if self._page.wants_plots:
                errors = self._track.errors(seconds(measured.header.stamp), joint_positions(measured))
                self._page.plot(errors, joint_velocities(measured))

    def _read_commands(self) -> None:
        if not self._page.wants_commands:
            if self._joint_commands is not None:
                self._joint_commands.destroy()
                self._joint_commands = None
                self._commanded = {}
                self._track.clear()
            return
        if self._joint_commands is None:
            self._joint_commands = PolledTopic(self, JointState, "joint_commands", _RECENT)
        for commanded in self._joint_commands.take():
            self._commanded = joint_positions(commanded)
            self._commanded_at = time.monotonic()
            self._track.add(seconds(commanded.header.stamp), self._commanded)
        if time.monotonic() - self._commanded_at > STALE_AFTER:
            self._commanded = {}

    def _state(self) -> ArmState:
        now = time.monotonic()
        status = self._status or ArmStatus()
        hardware = self._hardware or HardwareStatus()
        return ArmState(
            joints=self._joints,
            joints_age=None if self._joints_at is None else now - self._joints_at,
            status_age=None if self._status_at is None else now - self._status_at,
            mode=Mode(status.mode),
            fault=status.fault,
            fault_message=status.fault_message,
            homed=status.homed,
            phase=status.phase_name,
            holding=status.holding,
            driver=hardware.driver,
            link=hardware.link == HardwareStatus.LINK_UP,
            hardware_fault=hardware.fault,
            hardware_message=hardware.fault_message,
            gripper_closed=hardware.gripper_closed,
            cycle=self._client.cycle,
            speed=status.speed_scale,
            diagnostics=self._page.health.level(now),
        )

    def _tell(self, sentence: str) -> None:
        self.get_logger().warning(sentence)
        self._page.log.add(sentence, _clock())


def _clock() -> str:
    return time.strftime("%H:%M:%S")


def main() -> None:
    """Run the node as a program."""
    sys.exit(run_node(DashboardNode))


if __name__ == "__main__":
    main()
