# SPDX-License-Identifier: Apache-2.0
"""The node against a stand-in for the stack, over real ROS."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import domain_coordinator
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, TwistStamped
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker, MarkerArray

from manipulator3d_dashboard.arm_state import Command
from manipulator3d_dashboard.jog import JogAxis, JogBeat, JogRelease
from manipulator3d_dashboard.nodes.dashboard_node import DashboardNode
from manipulator3d_description.robot_description import robot_description
from manipulator3d_interfaces.action import DrawPath, Home, PickPlace
from manipulator3d_interfaces.msg import ArmStatus, HardwareStatus
from manipulator3d_interfaces.srv import ChangePickPlace
from manipulator3d_node.error_code import ErrorCode

# a range that the environment has chosen is kept; none means this computer
RANGE = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

LIMIT = 30.0
PROGRAM = [sys.executable, "-m", "manipulator3d_dashboard.nodes.dashboard_node", "--ros-args", "-p"]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SERVICES = ("pause", "resume", "stop", "emergency_stop", "reset_fault")


class StandIn(Node):
    """Answers what the stack answers, and remembers what it was asked."""

    def __init__(self, executor: SingleThreadedExecutor) -> None:
        super().__init__("stand_in")
        self._executor = executor
        self.calls: list[str] = []
        self.goals: list[PickPlace.Goal] = []
        self.refusal = ""
        self.speeds: list[float] = []
        self.twists: list[TwistStamped] = []
        self.joint_jogs: list[JointState] = []
        self.drawings: list[DrawPath.Goal] = []
        self.outcome: Future | None = None
        self.description = self.create_publisher(String, "robot_description", LATCHED)
        self.joint_states = self.create_publisher(JointState, "joint_states", 10)
        self.joint_commands = self.create_publisher(JointState, "joint_commands", 10)
        self.arm_status = self.create_publisher(ArmStatus, "arm_status", 10)
        self.hardware_status = self.create_publisher(HardwareStatus, "hardware_status", 10)
        self.markers = self.create_publisher(MarkerArray, "markers", LATCHED)
        for name in SERVICES:
            self.create_service(Trigger, name, lambda _request, answer, name=name: self._answer(name, answer))
        self.create_service(
            SetBool, "set_gripper", lambda request, answer: self._answer(f"set_gripper {request.data}", answer)
        )
        self.changes: list[ChangePickPlace.Request] = []
        self.create_service(ChangePickPlace, "change_pick_place", self._on_change)
        ActionServer(
            self, PickPlace, "pick_place", self._pick_place, cancel_callback=lambda _handle: CancelResponse.ACCEPT
        )
        ActionServer(self, Home, "home", self._home)
        ActionServer(self, DrawPath, "draw_path", self._draw)
        self.create_subscription(Float64, "speed_scale", lambda message: self.speeds.append(message.data), 10)
        self.create_subscription(TwistStamped, "jog_twist", self.twists.append, 10)
        self.create_subscription(JointState, "jog_joints", self.joint_jogs.append, 10)
        self.starts: list[PointStamped] = []
        self.create_subscription(PointStamped, "target_start", self.starts.append, LATCHED)
        self.start = self.create_publisher(PointStamped, "target_start", LATCHED)
        self.diagnostics = self.create_publisher(DiagnosticArray, "diagnostics", 10)

    def _answer(self, call: str, answer: Trigger.Response) -> Trigger.Response:
        self.calls.append(call)
        answer.success, answer.message = not self.refusal, self.refusal
        return answer

    def _on_change(self, request: ChangePickPlace.Request, answer: Any) -> Any:
        self.changes.append(request)
        return self._answer("change_pick_place", answer)

    async def _pick_place(self, handle: ServerGoalHandle) -> PickPlace.Result:
        self.goals.append(handle.request)
        handle.publish_feedback(PickPlace.Feedback(cycle=len(self.goals)))
        self.outcome = Future(executor=self._executor)
        code, message = await self.outcome
        if handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return PickPlace.Result(success=False, error_code=int(code), message=message)

    def _draw(self, handle: ServerGoalHandle) -> DrawPath.Result:
        self.drawings.append(handle.request)
        handle.abort()
        return DrawPath.Result(error_code=int(ErrorCode.PATH_UNREACHABLE), message="the circle leaves the workspace")

    def _home(self, handle: ServerGoalHandle) -> Home.Result:
        self.calls.append("home")
        handle.abort()
        return Home.Result(error_code=int(ErrorCode.HOMING_FAILED), message="base_yaw found no switch")


class Bench:
    """Both nodes in one executor that only turns while a test waits."""

    def __init__(self) -> None:
        self.executor = SingleThreadedExecutor()
        self.stand_in = StandIn(self.executor)
        self.dashboard = DashboardNode()
        self.executor.add_node(self.stand_in)
        self.executor.add_node(self.dashboard)

    @property
    def log(self) -> str:
        return self.dashboard._page.log.text()

    def wait(self, condition: Callable[[], object], meanwhile: Callable[[], None] = lambda: None) -> None:
        limit = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < limit, f"not within {LIMIT:g} s; the log says: {self.log}"
            meanwhile()
            self.executor.spin_once(timeout_sec=0.02)

    def press(self, command: Command) -> None:
        self.dashboard._page._panel._buttons[command].value = True

    def close(self) -> None:
        self.dashboard.close()
        self.executor.shutdown()
        self.dashboard.destroy_node()
        self.stand_in.destroy_node()


@pytest.fixture(scope="module")
def domain() -> Iterator[str]:
    with domain_coordinator.domain_id() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", RANGE)
        yield str(number)


@pytest.fixture(scope="module")
def running(domain: str) -> Iterator[Bench]:
    rclpy.init(args=["--ros-args", "-p", "port:=0"])
    bench = Bench()
    client = bench.dashboard._client
    bench.stand_in.description.publish(String(data=robot_description("capstone")))
    bench.wait(lambda: bench.dashboard._page._arm is not None)
    bench.wait(lambda: all(service.service_is_ready() for service in client._services.values()))
    bench.wait(lambda: client._gripper.service_is_ready() and client._pick_place.server_is_ready())
    bench.wait(client._change.service_is_ready)
    bench.wait(lambda: client._home.server_is_ready() and client._draw.server_is_ready())
    heard = (client._speed, bench.dashboard._jog._twist, bench.dashboard._jog._joints)
    bench.wait(lambda: bench.stand_in.start.get_subscription_count() == 2)
    bench.wait(lambda: all(publisher.get_subscription_count() for publisher in heard))
    yield bench
    bench.close()
    rclpy.try_shutdown()


@pytest.fixture
def bench(running: Bench) -> Iterator[Bench]:
    running.stand_in.calls.clear()
    for kept in ("goals", "speeds", "twists", "joint_jogs", "drawings"):
        getattr(running.stand_in, kept).clear()
    running.stand_in.refusal = ""
    running.dashboard._page.log._entries.clear()
    yield running
    if running.dashboard._client._running is not None:
        running.stand_in.outcome.set_result((ErrorCode.STOPPED, "end of the test"))
        running.wait(lambda: running.dashboard._client._running is None)


def test_the_figure_follows_measured_joints_and_the_ghost_commanded_ones_when_wanted(bench: Bench) -> None:
    page, stand_in = bench.dashboard._page, bench.stand_in
    names = ["base_yaw", "shoulder_pitch", "elbow_pitch"]
    measured = JointState(name=names, position=[0.1, 0.9, -1.1])
    commanded = JointState(name=names, position=[0.2, 0.8, -1.0])

    def publish() -> None:
        stand_in.joint_states.publish(measured)
        stand_in.joint_commands.publish(commanded)

    bench.wait(lambda: page._figure._positions == dict(zip(names, measured.position, strict=True)), publish)
    assert page._ghost._positions == {}
    assert stand_in.joint_commands.get_subscription_count() == 0
    page._panel.ghost.value = True
    bench.wait(lambda: page._ghost._positions == dict(zip(names, commanded.position, strict=True)), publish)
    page._panel.ghost.value = False
    bench.wait(lambda: stand_in.joint_commands.get_subscription_count() == 0)


def test_the_state_on_the_page_is_what_the_stack_reports(bench: Bench) -> None:
    page, stand_in = bench.dashboard._page, bench.stand_in
    status = ArmStatus(mode=ArmStatus.MODE_FAULT, fault=303, fault_message="released? press RESET", homed=True)
    bench.wait(lambda: "FAULT" in page._panel._mode.content, lambda: stand_in.arm_status.publish(status))
    assert page._panel._fault.content == "⚠ **ESTOP** released? press RESET"
    assert not page._panel._buttons[Command.RESET].disabled
    assert page._panel._buttons[Command.PLAY].disabled
    assert bench.log.count("ESTOP: released? press RESET") == 1


def test_markers_are_drawn_moved_and_deleted(bench: Bench) -> None:
    layer, stand_in = bench.dashboard._page._markers, bench.stand_in
    ball = Marker(ns="ball", id=7, type=Marker.SPHERE)
    ball.scale.x = ball.scale.y = ball.scale.z = 0.03
    ball.pose.position.x = 0.2
    stand_in.markers.publish(MarkerArray(markers=[ball]))
    bench.wait(lambda: ("ball", 7) in layer._markers)
    assert tuple(layer._markers["ball", 7].handle.position) == (0.2, 0.0, 0.0)
    ball.pose.position.x = 0.4
    stand_in.markers.publish(MarkerArray(markers=[ball]))
    bench.wait(lambda: layer._markers["ball", 7].handle.position[0] == 0.4)
    ball.pose.position.x = float("nan")
    ball.action = Marker.DELETE
    stand_in.markers.publish(MarkerArray(markers=[ball]))
    bench.wait(lambda: ("ball", 7) not in layer._markers)


@pytest.mark.parametrize(
    ("command", "service"),
    [
        (Command.PAUSE, "pause"),
        (Command.RESUME, "resume"),
        (Command.STOP, "stop"),
        (Command.EMERGENCY_STOP, "emergency_stop"),
        (Command.RESET, "reset_fault"),
    ],
)
def test_a_button_calls_its_service_and_a_refusal_is_logged(bench: Bench, command: Command, service: str) -> None:
    bench.press(command)
    bench.wait(lambda: bench.stand_in.calls == [service])
    assert bench.log == "Nothing so far."
    bench.stand_in.refusal = "not now"
    bench.press(command)
    bench.wait(lambda: "not now" in bench.log)


def test_the_gripper_button_asks_for_the_other_state(bench: Bench) -> None:
    bench.press(Command.GRIPPER)
    bench.wait(lambda: bench.stand_in.calls == ["set_gripper True"])
    closed = HardwareStatus(driver="mock", link=HardwareStatus.LINK_UP, gripper_closed=True)
    button = bench.dashboard._page._panel._buttons[Command.GRIPPER]
    bench.wait(lambda: button.label == "OPEN GRIPPER", lambda: bench.stand_in.hardware_status.publish(closed))
    bench.press(Command.GRIPPER)
    bench.wait(lambda: bench.stand_in.calls == ["set_gripper True", "set_gripper False"])


def test_a_failed_homing_is_logged(bench: Bench) -> None:
    bench.press(Command.HOME)
    bench.wait(lambda: "base\\_yaw found no switch" in bench.log)
    assert "HOMING\\_FAILED" in bench.log


def test_play_sends_what_the_fields_say(bench: Bench) -> None:
    panel = bench.dashboard._page._panel
    panel.set_target("START", (0.25, -0.1, 0.08))
    panel._cycles.value, panel._speed.value = 4, 0.5
    bench.press(Command.PLAY)
    bench.wait(lambda: bench.stand_in.goals)
    (goal,) = bench.stand_in.goals
    point = goal.pick.point
    assert (point.x, point.y, point.z, goal.cycles) == (0.25, -0.1, 0.08, 4)
    assert goal.speed_scale == 0.0, "0 asks for the planned speed; the field goes to speed_scale, which counts at once"
    bench.wait(lambda: bench.stand_in.speeds == [0.5])
    assert goal.approach_height != goal.approach_height, "NaN asks for the server's default"
    bench.wait(lambda: bench.dashboard._client.cycle == 1)


def test_a_held_jog_button_streams_velocities_and_its_release_a_zero(bench: Bench) -> None:
    stand_in, node = bench.stand_in, bench.dashboard
    bench.dashboard._page._panel.jog._speed.value = 0.5
    node._on_request(JogBeat(1, JogAxis(joint=False, index=2, sign=-1)))
    bench.wait(lambda: stand_in.twists)
    # half of 0.2 m/s
    linear = stand_in.twists[0].twist.linear
    assert (linear.x, linear.y, linear.z, stand_in.twists[0].header.frame_id) == (0.0, 0.0, -0.1, "base_link")
    node._on_request(JogRelease(1))
    bench.wait(lambda: len(stand_in.twists) == 2)
    assert stand_in.twists[1].twist.linear.z == 0.0
    node._on_request(JogBeat(1, JogAxis(joint=True, index=1, sign=1)))
    bench.wait(lambda: stand_in.joint_jogs)
    assert stand_in.joint_jogs[0].name == ["base_yaw", "shoulder_pitch", "elbow_pitch"]
    assert list(stand_in.joint_jogs[0].velocity) == [0.0, 0.5, 0.0]
    node._on_request(JogRelease(1))
    bench.wait(lambda: len(stand_in.joint_jogs) == 2)


def test_a_second_browser_does_not_interfere_with_the_one_that_jogs(bench: Bench) -> None:
    node, stand_in = bench.dashboard, bench.stand_in
    for browser, sign in ((1, 1), (2, -1), (1, 1)):
        node._on_request(JogBeat(browser, JogAxis(joint=False, index=0, sign=sign)))
    node._on_request(JogRelease(2))
    node._on_request(JogRelease(1))
    bench.wait(lambda: stand_in.twists and stand_in.twists[-1].twist.linear.x == 0.0)
    assert [message.twist.linear.x > 0.0 for message in stand_in.twists] == [True, True, False]


def test_draw_sends_the_shape_and_a_failure_is_logged(bench: Bench) -> None:
    bench.press(Command.DRAW)
    bench.wait(lambda: "draw\\_path: PATH\\_UNREACHABLE: the circle leaves the workspace" in bench.log)
    (goal,) = bench.stand_in.drawings
    assert (goal.shape, list(goal.size), goal.repeat) == (DrawPath.Goal.CIRCLE, [0.05], 1)
    at, turn = goal.plane.pose.position, goal.plane.pose.orientation
    assert (at.x, at.y, at.z, turn.w, turn.x) == (0.25, 0.0, 0.12, 1.0, 0.0)


def test_a_shape_out_of_reach_is_refused_with_its_place(bench: Bench) -> None:
    sketch = bench.dashboard._page._panel.sketch
    sketch.put_centre((0.9, 0.0, 0.12))
    bench.press(Command.DRAW)
    bench.wait(lambda: "DRAW refused: at (0.950, 0.000, 0.120) m: " in bench.log)
    bench.wait(lambda: bench.dashboard._page._panel._buttons[Command.DRAW].disabled)
    sketch.put_centre((0.25, 0.0, 0.12))
    assert bench.stand_in.drawings == []


def test_diagnostics_become_a_light_and_a_table(bench: Bench) -> None:
    panel = bench.dashboard._page._panel
    worn = DiagnosticStatus(level=DiagnosticStatus.WARN, name="bridge: serial", message="2 bad frames")
    worn.values = [KeyValue(key="line load (%)", value="27.5")]
    report = DiagnosticArray(status=[worn])
    bench.wait(lambda: "2 bad frames" in panel._health.content, lambda: bench.stand_in.diagnostics.publish(report))
    assert "⚠ bridge: serial" in panel._health.content
    assert 'data-light="diagnostics" style="color:#f08c00"' in panel._lights.content
    assert panel.plots._histories[2].columns(1, time.monotonic())[1][-1] == 27.5


def test_plots_show_the_tracking_error_at_the_time_of_the_measurement(bench: Bench) -> None:
    page, stand_in = bench.dashboard._page, bench.stand_in
    names = ["base_yaw", "shoulder_pitch", "elbow_pitch"]
    page._panel.plots._wanted.value = True
    at = itertools.count(1000)

    def publish() -> None:
        second = next(at)
        # the command grows by 0.01 rad/s; half way between two commands the arm lags by 1 mrad
        for tenths in (0, 1):
            commanded = JointState(name=names, position=[0.01 * (second + 0.1 * tenths), 0.0, 0.0])
            commanded.header.stamp.sec, commanded.header.stamp.nanosec = second, 100_000_000 * tenths
            stand_in.joint_commands.publish(commanded)
        measured = JointState(name=names, position=[0.01 * (second + 0.05) - 1e-3, 0.0, 0.0], velocity=[0.01, 0.0, 0.0])
        measured.header.stamp.sec, measured.header.stamp.nanosec = second, 50_000_000
        stand_in.joint_states.publish(measured)

    plots = page._panel.plots

    def errors() -> list[float]:
        return plots._histories[0].columns(3, 0.0)[1].tolist()

    bench.wait(errors, publish)
    bench.wait(lambda: plots._plots[1].data[1][-1] == 0.01, publish)
    assert errors() == pytest.approx([-1.0] * len(errors()), abs=1e-6)
    plots._wanted.value = False
    bench.wait(lambda: stand_in.joint_commands.get_subscription_count() == 0)


def test_start_and_goal_are_shared_with_whoever_else_shows_them(bench: Bench) -> None:
    page, stand_in = bench.dashboard._page, bench.stand_in
    page._panel.set_target("START", (0.24, -0.11, 0.09))
    bench.wait(lambda: stand_in.starts and stand_in.starts[-1].point.x == 0.24)
    told = len(stand_in.starts)
    moved = PointStamped()
    moved.point.x, moved.point.y, moved.point.z = 0.26, -0.12, 0.07
    stand_in.start.publish(moved)
    bench.wait(lambda: page.task().start == (0.26, -0.12, 0.07))
    assert page._handles["START"].place == pytest.approx((0.26, -0.12, 0.07))
    bench.wait(lambda: len(stand_in.starts) == told + 1)
    for _ in range(5):
        bench.executor.spin_once(timeout_sec=0.05)
    assert len(stand_in.starts) == told + 1, "what came from elsewhere is not told again"


def test_play_with_an_unreachable_start_sends_nothing_and_says_why(bench: Bench) -> None:
    panel = bench.dashboard._page._panel
    panel.set_target("START", (0.9, 0.0, 0.2))
    bench.press(Command.PLAY)
    bench.wait(lambda: "PLAY refused: START (0.900, 0.000, 0.200) m" in bench.log)
    bench.wait(lambda: "farther from the shoulder" in panel._verdicts["START"].content)
    assert bench.stand_in.goals == []
    panel.set_target("START", (0.25, -0.1, 0.08))


def test_play_while_paused_gives_the_task_its_new_points_and_then_resumes(bench: Bench) -> None:
    stand_in = bench.stand_in
    paused = ArmStatus(mode=ArmStatus.MODE_PAUSED, homed=True)
    headline = bench.dashboard._page._panel._mode
    bench.wait(lambda: "PAUSED" in headline.content, lambda: stand_in.arm_status.publish(paused))
    bench.dashboard._page._panel.set_target("START", (0.26, -0.1, 0.08))
    bench.press(Command.PLAY)
    bench.wait(lambda: stand_in.calls == ["change_pick_place", "resume"], lambda: stand_in.arm_status.publish(paused))
    assert stand_in.changes[-1].pick.point.x == 0.26
    assert bench.log == "Nothing so far."
    stand_in.refusal = "the way there is blocked"
    bench.press(Command.PLAY)
    bench.wait(
        lambda: "change\\_pick\\_place: the way there is blocked" in bench.log,
        lambda: stand_in.arm_status.publish(paused),
    )
    assert stand_in.calls == ["change_pick_place", "resume", "change_pick_place"]
    assert stand_in.goals == []
    idle = ArmStatus(mode=ArmStatus.MODE_IDLE, homed=True)
    bench.wait(lambda: "IDLE" in headline.content, lambda: stand_in.arm_status.publish(idle))


def test_a_task_that_fails_is_logged_with_its_reason(bench: Bench) -> None:
    bench.press(Command.PLAY)
    bench.wait(lambda: bench.stand_in.goals and bench.dashboard._client._running is not None)
    bench.stand_in.outcome.set_result((ErrorCode.GRASP_FAILED, "nothing at START"))
    bench.wait(lambda: "pick\\_place: GRASP\\_FAILED: nothing at START" in bench.log)


def test_a_description_that_is_no_such_arm_is_logged_and_the_last_one_stays(bench: Bench) -> None:
    bench.stand_in.description.publish(String(data="<robot name='r'><link name='a'/></robot>"))
    bench.wait(lambda: bench.log != "Nothing so far.")
    assert bench.dashboard._page._arm is not None


def test_a_busy_port_and_an_open_address_end_the_program_with_a_reason(domain: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = subprocess.run([*PROGRAM, f"port:={port}"], capture_output=True, text=True, timeout=60)
    assert (busy.returncode, f"port {port} on 127.0.0.1 cannot be opened" in busy.stderr) == (1, True), busy.stderr
    opened = subprocess.run([*PROGRAM, "host:=0.0.0.0"], capture_output=True, text=True, timeout=60)
    assert opened.returncode == 1
    assert "0.0.0.0 can be reached by other computers, and no token is set" in opened.stderr


def test_the_program_starts_without_a_stack_and_ends_in_order(domain: str) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "port:=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ}
    )
    try:
        assert process.stdout is not None
        assert "the page is at http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
    finally:
        process.kill()
    assert process.returncode == 0, rest
    assert "Traceback" not in rest
