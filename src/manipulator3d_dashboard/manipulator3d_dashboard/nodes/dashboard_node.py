# SPDX-License-Identifier: Apache-2.0
"""Serves the page, and is its client to the stack."""

import queue
import sys
import threading
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
from manipulator3d_node.nodes.polled_topic import PolledTopic
from manipulator3d_node.nodes.process import run_node

_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
_CHECK_PERIOD_S = 0.5
# none of what comes between two pictures is lost, as long as the picture is not held up for a second
_EACH = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)
# the commands between two pictures, at up to 500 Hz
_RECENT = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
_LATCHED = QoSProfile(depth=50, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


class DashboardNode(Node):
    """Requests, services and rare topics are the business of the thread that spins it, the picture that of another.

    A round of rclpy's executor costs more than a picture, so the picture has a thread of its own that reads the fast
    topics itself. viser's threads put requests into a queue and wake the executor.

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
        # for what both threads touch
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._wake = self.create_guard_condition(self._obey)
        self._page = Page(
            parameters.host, parameters.port, parameters.token, parameters.spectator_token, self._on_request
        )
        self._client = ArmClient(self, self._tell)
        self._jog = JogPublisher(self, self._tell)
        self.create_subscription(String, "robot_description", self._on_description, _LATCHED)
        self._joint_states = PolledTopic(self, JointState, "joint_states", _NEWEST)
        self._arm_statuses = PolledTopic(self, ArmStatus, "arm_status", _EACH)
        self._hardware_statuses = PolledTopic(self, HardwareStatus, "hardware_status", _EACH)
        self._diagnostics = PolledTopic(self, DiagnosticArray, "diagnostics", _EACH)
        self._markers = PolledTopic(self, MarkerArray, "markers", _LATCHED)
        self._joint_commands: PolledTopic | None = None
        self.create_timer(_CHECK_PERIOD_S, self._client.check_answers)
        shown = parameters.host if parameters.host not in ("", "0.0.0.0", "::") else "this computer's address"
        query = "/?token=…" if parameters.token else "/"
        self.get_logger().info(f"the page is at http://{shown}:{self._page.port}{query}")
        self._painter = threading.Thread(target=self._paint, args=(1.0 / parameters.update_rate_hz,), daemon=True)
        self._painter.start()

    def close(self) -> None:
        """Stop serving the page."""
        self._ended.set()
        self._painter.join()
        self._page.close()

    def _on_request(self, request: Request) -> None:
        self._requests.put(request)
        self._wake.trigger()

    def _paint(self, period: float) -> None:
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            # pictures that are missed are not made up for
            due = max(due + period, time.monotonic())
            try:
                with self._lock:
                    self._refresh()
            except Exception as error:
                # ends the program, as it would from the executor's own thread
                self._failure = error
                self._wake.trigger()
                return

    def _obey(self) -> None:
        if self._failure is not None:
            raise self._failure
        with self._lock:
            self._follow_wishes()
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
            elif self._state().current_mode is Mode.PAUSED:
                self._client.change(task)
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
        with self._lock:
            self._take_description(message)

    def _take_description(self, message: String) -> None:
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
        with self._lock:
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
        for topic, take in (
            (self._arm_statuses, self._on_arm_status),
            (self._hardware_statuses, self._on_hardware_status),
            (self._diagnostics, self._on_diagnostics),
        ):
            for message in topic.take():
                take(message)
        self._read_joints()
        for message in self._markers.take():
            self._show_markers(message)
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

    def _follow_wishes(self) -> None:
        if self._page.wants_commands and self._joint_commands is None:
            self._joint_commands = PolledTopic(self, JointState, "joint_commands", _RECENT)
        elif not self._page.wants_commands and self._joint_commands is not None:
            self._joint_commands.destroy()
            self._joint_commands = None
            self._commanded = {}
            self._track.clear()

    def _read_commands(self) -> None:
        if self._page.wants_commands is not (self._joint_commands is not None):
            # subscriptions come and go in the executor's thread
            self._wake.trigger()
        if self._joint_commands is None:
            return
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
