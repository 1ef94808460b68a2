# SPDX-License-Identifier: Apache-2.0
"""The bridge node over ROS with the emulated board; every wait is for a condition."""

import csv
import itertools
import math
import os
import signal
import subprocess
import sys
import time

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from domain_coordinator import domain_id
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from manipulator3d_hw_bridge.board_settings import Wiring
from manipulator3d_hw_bridge.emulator_process import EmulatorError, EmulatorProcess, find_emulator
from manipulator3d_hw_bridge.link_traffic import Direction, TrafficReader
from manipulator3d_hw_bridge.messages import Acknowledge, Setpoint, State
from manipulator3d_interfaces.action import Home
from manipulator3d_interfaces.msg import ErrorCode, HardwareStatus, LinkTraffic

LIMIT = 30.0
NAMES = ["base_yaw", "shoulder_pitch", "elbow_pitch"]
HOME = (0.0, 1.2, -1.6)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def emulator_program():
    try:
        return find_emulator()
    except EmulatorError as error:
        pytest.skip(str(error))


class Client:
    """What the rest of the stack would be: gives the description, sends commands, listens."""

    def __init__(self, domain):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node("client", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.states, self.statuses, self.diagnostics = [], [], {}
        self.description = self.node.create_publisher(String, "robot_description", LATCHED)
        self.commands = self.node.create_publisher(JointState, "joint_commands", 10)
        self.node.create_subscription(JointState, "joint_states", self.states.append, 100)
        self.node.create_subscription(HardwareStatus, "hardware_status", self.statuses.append, 100)
        self.node.create_subscription(DiagnosticArray, "diagnostics", self._on_diagnostics, 10)
        self.gripper = self.node.create_client(SetBool, "set_gripper")
        self.stop = self.node.create_client(Trigger, "emergency_stop")
        self.reset = self.node.create_client(Trigger, "reset_fault")
        self.get_state = self.node.create_client(GetState, "bridge_node/get_state")
        self.change_state = self.node.create_client(ChangeState, "bridge_node/change_state")
        self.home = ActionClient(self.node, Home, "home")

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def describe(self, text):
        self.description.publish(String(data=text))

    def _on_diagnostics(self, message):
        self.diagnostics = {status.name.split(": ")[1]: status for status in message.status}

    def spin_until(self, condition, what):
        deadline = time.monotonic() + LIMIT
        while not condition():
            last = self.statuses[-1] if self.statuses else None
            assert time.monotonic() < deadline, f"not within {LIMIT} s: {what}; last status {last}"
            self.executor.spin_once(timeout_sec=0.02)

    def call(self, client, request):
        """Ask a service that may be asked twice: an answer gets lost whose reader is not discovered yet."""
        self.spin_until(client.service_is_ready, client.srv_name)
        futures, asked = [], [0.0]

        def answered():
            if time.monotonic() > asked[-1] + 5.0:
                asked.append(time.monotonic())
                futures.append(client.call_async(request))
            return any(future.done() for future in futures)

        self.spin_until(answered, f"answer of {client.srv_name}")
        return next(future.result() for future in futures if future.done())

    def status(self):
        return self.statuses[-1] if self.statuses else HardwareStatus()

    def armed(self):
        status = self.status()
        return status.link == HardwareStatus.LINK_UP and status.mode == HardwareStatus.MODE_HOLD and not status.fault

    def ready(self):
        self.spin_until(lambda: self.armed() and self.states, "armed and measured")

    def position(self):
        return list(self.states[-1].position)

    def command(self, position, velocity=(0.0, 0.0, 0.0), ahead=0.1, names=NAMES):
        message = JointState(name=list(names), position=list(position), velocity=list(velocity))
        stamp = self.node.get_clock().now().nanoseconds + int(ahead * 1e9)
        message.header.stamp.sec, message.header.stamp.nanosec = stamp // 10**9, stamp % 10**9
        self.commands.publish(message)

    def stream(self, path, until):
        """Send path(time) -> position, velocity at about 100 Hz, by the clock of this computer, until a condition."""
        began = time.monotonic()
        while not until():
            at = time.monotonic() - began
            assert at < LIMIT, f"not within {LIMIT} s; last status {self.status()}"
            self.command(*path(at))
            self.executor.spin_once(timeout_sec=0.0)
            time.sleep(0.008)

    def go_to(self, end):
        """Move smoothly until the arm is held at `end`, again if this computer was too busy to do it at once."""
        deadline = time.monotonic() + LIMIT
        while max(abs(a - b) for a, b in zip(self.position(), end, strict=True)) > 0.02:
            assert time.monotonic() < deadline, f"not at {end} but at {self.position()}; last status {self.status()}"
            start, began = self.position(), time.monotonic()

            def path(at, start=start):
                u = min(at / 1.5, 1.0)
                s, rate = u * u * (3 - 2 * u), 6 * u * (1 - u) / 1.5
                ends = list(zip(start, end, strict=True))
                return [a + (b - a) * s for a, b in ends], [(b - a) * rate for a, b in ends]

            self.stream(path, lambda began=began: time.monotonic() - began > 1.6)
            self.spin_until(lambda: self.status().mode != HardwareStatus.MODE_TRACK, "held after the stream")
            assert self.status().fault == ErrorCode.SUCCESS, self.status().fault_message

    def run_home(self, goal, cancel_when=None):
        feedback = []
        self.spin_until(self.home.server_is_ready, "the action home")
        sent = self.home.send_goal_async(goal, feedback_callback=lambda message: feedback.append(message.feedback))
        self.spin_until(sent.done, "acceptance of the goal")
        result = sent.result().get_result_async()
        if cancel_when is not None:
            self.spin_until(lambda: cancel_when(feedback), "the moment to cancel")
            sent.result().cancel_goal_async()
        self.spin_until(result.done, "the end of the goal")
        return result.result().result, feedback


class Bridge:
    """The node as a process."""

    def __init__(self, domain, **parameters):
        command = [sys.executable, "-m", "manipulator3d_hw_bridge.nodes.bridge_node", "--ros-args"]
        for name, value in parameters.items():
            command += ["-p", f"{name}:={value}"]
        self.process = subprocess.Popen(command, env={**os.environ, "ROS_DOMAIN_ID": str(domain)})

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(LIMIT)


@pytest.fixture(scope="module")
def description():
    module = pytest.importorskip("manipulator3d_description.robot_description", reason="the arm is not described")
    return module.robot_description("capstone")


@pytest.fixture(scope="module")
def domain():
    with domain_id() as number:
        yield number


@pytest.fixture(scope="module")
def client(domain):
    client = Client(domain)
    yield client
    client.close()


@pytest.fixture(scope="module")
def bridge(domain, client, description):
    """The bridge with its own emulated board, armed."""
    emulator_program()
    bridge = Bridge(domain, hardware="emulated", command_silence=2.0)
    try:
        client.describe(description)
        client.ready()
        yield bridge
    finally:
        code = bridge.end()
    assert code == 0


@pytest.fixture
def arm(bridge, client):
    """The client of an armed arm without a fault; whatever the test before left is cleared."""
    client.spin_until(lambda: client.status().mode != HardwareStatus.MODE_TRACK, "no stream")
    if client.status().fault:
        client.spin_until(lambda: client.call(client.reset, Trigger.Request()).success, "a fault reset")
    client.ready()
    return client


def test_joint_states_flow_in_order_with_the_measurement_time(arm):
    arm.states.clear()
    arm.spin_until(lambda: len(arm.states) >= 200, "200 joint states")
    stamps = [state.header.stamp.sec + state.header.stamp.nanosec * 1e-9 for state in arm.states]
    steps = sorted(b - a for a, b in itertools.pairwise(stamps))
    assert steps[0] > 0.0
    assert steps[len(steps) // 2] == pytest.approx(0.01, abs=0.002)
    assert arm.states[-1].name == NAMES
    assert arm.position() == pytest.approx(HOME, abs=0.01)
    assert arm.status().driver == "emulated"
    assert arm.status().homed


def test_the_node_has_brought_itself_to_active(arm):
    assert arm.call(arm.get_state, GetState.Request()).current_state.label == "active"


def test_a_stream_of_commands_moves_the_arm_there_and_back(arm):
    for target in ((0.3, 1.0, -1.4), HOME):
        arm.go_to(target)
        assert arm.status().mode == HardwareStatus.MODE_HOLD


def test_the_gripper_closes_and_opens(arm):
    for closed in (True, False):
        response = arm.call(arm.gripper, SetBool.Request(data=closed))
        assert (response.success, response.message) == (True, "closed" if closed else "open")
        arm.spin_until(lambda closed=closed: arm.status().gripper_closed == closed, "the status follows")


@pytest.mark.parametrize(
    ("position", "names", "text"),
    [
        ((math.nan, 1.2, -1.6), NAMES, "base_yaw: a position of nan is not a finite number of rad"),
        ((0.0, 2.7, -1.6), NAMES, "shoulder_pitch: 2.7000 rad is above its upper limit of 2.6000 rad"),
        (HOME, ["a", "b", "c"], "joints a, b, c; expected base_yaw, shoulder_pitch, elbow_pitch, each once"),
        ((1.0, 1.2, -1.6), NAMES, "base_yaw: the stream begins at 1.000 rad"),
    ],
)
def test_a_wrong_command_moves_nothing_and_is_counted_with_its_reason(arm, position, names, text):
    def told():
        arm.command(position, names=names)
        figures = {item.key: item.value for item in arm.diagnostics["commands"].values} if arm.diagnostics else {}
        return text in figures.get("last reason", "")

    arm.spin_until(told, f"the diagnostics say: {text}")
    assert arm.position() == pytest.approx(HOME, abs=0.02)
    assert arm.status().mode == HardwareStatus.MODE_HOLD


def swing(start, speed):
    """A path of the first joint back and forth by 0.3 rad about its start."""

    def path(at):
        angle = start[0] + 0.3 * math.sin(speed * at / 0.3)
        return [angle, *start[1:]], [speed * math.cos(speed * at / 0.3), 0.0, 0.0]

    return path


def test_an_emergency_stop_in_motion_latches_and_the_running_stream_moves_nothing_more(arm):
    path = swing(arm.position(), 0.2)
    arm.stream(path, lambda: abs(arm.states[-1].velocity[0]) > 0.1)
    asked = arm.stop.call_async(Trigger.Request())
    arm.stream(path, lambda: arm.status().fault == ErrorCode.ESTOP)
    arm.spin_until(asked.done, "the answer")
    assert asked.result().success
    assert arm.status().fault_message == (
        "the emergency stop was called; make sure that the arm is clear, then call reset_fault"
    )
    arm.spin_until(lambda: abs(arm.states[-1].velocity[0]) < 0.005, "at rest")
    stopped = arm.position()
    count = len(arm.states)
    arm.stream(path, lambda: len(arm.states) > count + 50)
    assert arm.position() == pytest.approx(stopped, abs=0.02)
    arm.spin_until(lambda: arm.call(arm.reset, Trigger.Request()).success, "reset")
    arm.ready()
    assert arm.position() == pytest.approx(stopped, abs=0.02)
    arm.go_to(HOME)


def test_homing_one_joint_finds_its_switch_and_tells_the_steps(arm):
    result, feedback = arm.run_home(Home.Goal(joints=["elbow_pitch"]))
    assert result.success, result.message
    steps = {"approach", "slow approach"}
    arm.spin_until(lambda: steps <= {item.step for item in feedback}, "the steps in the feedback")
    assert {item.joint for item in feedback} == {"elbow_pitch"}
    arm.spin_until(lambda: arm.status().homed, "homed")
    assert result.joints.name == NAMES


def test_homing_can_be_cancelled_and_the_position_is_set_by_hand(arm):
    result, _ = arm.run_home(Home.Goal(joints=["base_yaw"]), cancel_when=lambda feedback: len(feedback) > 0)
    assert (result.success, result.error_code) == (False, ErrorCode.CANCELED)
    assert result.message.startswith("homing of base_yaw was cancelled; ")
    result, _ = arm.run_home(Home.Goal(joints=["base_yaw"], set_here=True, positions=[0.0]))
    assert result.success, result.message
    arm.spin_until(lambda: arm.status().homed, "homed")
    assert result.joints.position[0] == pytest.approx(0.0, abs=0.01)


def test_a_wrong_homing_goal_carries_the_reason_in_its_result(arm):
    result, _ = arm.run_home(Home.Goal(joints=["wrist"]))
    assert (result.success, result.error_code) == (False, ErrorCode.INVALID_INPUT)
    assert result.message.startswith("joint wrist is unknown")


def test_diagnostics_tell_of_link_clock_encoders_and_firmware(arm):
    arm.spin_until(lambda: {"link", "serial", "clock", "encoders", "firmware"} <= set(arm.diagnostics), "the groups")
    # states of 32 bytes at 100 Hz alone are 28 % of the line
    arm.spin_until(
        lambda: 10.0 < float({v.key: v.value for v in arm.diagnostics["serial"].values}["line load (%)"]) < 60.0, "load"
    )
    assert arm.diagnostics["link"].level == DiagnosticStatus.OK
    values = {item.key: item.value for item in arm.diagnostics["clock"].values}
    assert float(values["round trip (ms)"]) > 0.0


def test_what_goes_over_the_line_is_published_to_who_listens(arm):
    reader, seen = TrafficReader(), set()

    def take(message):
        for passage in reader.feed(Direction(message.direction), bytes(message.data)):
            seen.add((passage.direction, type(passage.message)))

    subscription = arm.node.create_subscription(LinkTraffic, "link_traffic", take, 500)
    wanted = {(Direction.FROM_BOARD, State), (Direction.TO_BOARD, Setpoint), (Direction.FROM_BOARD, Acknowledge)}
    arm.stream(swing(arm.position(), 0.1), lambda: wanted <= seen)
    arm.node.destroy_subscription(subscription)


def test_a_lifecycle_manager_can_let_go_and_arm_again(arm):
    for label, mode in (("deactivate", HardwareStatus.MODE_IDLE), ("activate", HardwareStatus.MODE_HOLD)):
        request = ChangeState.Request()
        request.transition.label = label
        arm.spin_until(arm.change_state.service_is_ready, "the lifecycle's services")
        arm.change_state.call_async(request)
        arm.spin_until(lambda mode=mode: arm.status().mode == mode, label)


def rows(record):
    """Whole lines of the plant's record as (time, speeds, mode)."""
    lines = record.read_text().splitlines()[1:-1]
    parsed = [[float(cell) for cell in line.split(",")] for line in lines]
    return [(row[0], row[4:7], int(row[10])) for row in parsed]


@pytest.fixture
def recorded(request, description, tmp_path, capstone):
    """An armed bridge on a board of its own, with the test's parameters: client, process, plant's record, board."""
    record = tmp_path / "plant.csv"
    emulator = EmulatorProcess(emulator_program(), capstone, Wiring(), ["--record", str(record)])
    try:
        emulator.wait_ready(LIMIT)
        with domain_id() as domain:
            client = Client(domain)
            bridge = Bridge(
                domain, hardware="serial", port=emulator.port, command_silence=2.0, **getattr(request, "param", {})
            )
            try:
                client.describe(description)
                client.ready()
                yield client, bridge, record, emulator
            finally:
                client.close()
                bridge.end()
    finally:
        emulator.stop()


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_frozen_or_killed_bridge_leaves_the_arm_at_rest(recorded, number):
    client, bridge, record, _ = recorded
    path = swing(client.position(), 0.3)
    client.stream(path, lambda: bool(rows(record)) and max(map(abs, rows(record)[-1][1])) > 0.15)
    bridge.process.send_signal(number)

    def rested():
        return rows(record)[-1][2] == HardwareStatus.MODE_FAULT and max(map(abs, rows(record)[-1][1])) < 0.01

    client.spin_until(rested, "the arm at rest")
    # what remains is the brake: 0.3 rad/s at 8 rad/s², and settling
    last_tracked = max(time for time, _, mode in rows(record) if mode == HardwareStatus.MODE_TRACK)
    assert all(max(map(abs, speeds)) < 0.01 for time, speeds, _ in rows(record) if time > last_tracked + 0.3)


def test_a_board_that_is_unplugged_or_restarts_is_used_again(recorded):
    client, _, _, emulator = recorded
    client.spin_until(lambda: "encoders" in client.diagnostics, "figures of the board")
    emulator.command("unplug 2.5")
    client.spin_until(lambda: client.status().link != HardwareStatus.LINK_UP, "the link is down")
    assert client.status().fault == ErrorCode.LINK_DOWN
    client.spin_until(lambda: set(client.diagnostics) == {"link", "commands"}, "no figures of a link that is gone")
    assert client.diagnostics["link"].level == DiagnosticStatus.ERROR
    client.ready()
    assert client.status().homed
    emulator.command("reset")
    client.spin_until(lambda: client.armed() and not client.status().homed, "armed with unknown positions")
    result, _ = client.run_home(Home.Goal(set_here=True, positions=list(HOME)))
    assert result.success, result.message
    client.spin_until(lambda: client.status().homed, "homed")


@pytest.mark.parametrize(
    ("recorded", "parks"), [({"park_on_shutdown": True}, True), ({}, False)], indirect=["recorded"]
)
def test_a_bridge_that_is_ended_parks_if_asked_holds_and_lets_go_in_this_order(recorded, parks):
    client, bridge, record, _ = recorded
    away = (0.6, 0.9, -1.3)
    client.go_to(away)
    client.stream(swing(away, 0.2), lambda: max(map(abs, rows(record)[-1][1])) > 0.1)
    ended_at = rows(record)[-1][0]
    bridge.process.send_signal(signal.SIGINT)
    # whoever commands goes on commanding, which changes nothing
    client.stream(swing(away, 0.2), lambda: bridge.process.poll() is not None)
    assert bridge.process.returncode == 0
    client.spin_until(
        lambda: rows(record)[-1][2] == HardwareStatus.MODE_IDLE, "the motors let go in the plant's record"
    )
    with record.open() as file:
        lines = [line for line in csv.DictReader(file) if line["fault"] is not None and float(line["time"]) > ended_at]
    modes = [key for key, _ in itertools.groupby(int(line["mode"]) for line in lines)]
    # the hold may be shorter than the 10 ms between two lines
    expected = [HardwareStatus.MODE_TRACK, HardwareStatus.MODE_HOLD, HardwareStatus.MODE_IDLE]
    assert modes in (expected, expected[::2])
    assert all(int(line["fault"]) == 0 for line in lines)
    joints = range(3)
    # without drive the arm sinks slowly, so what counts is the last line before
    driven = list(itertools.takewhile(lambda line: int(line["mode"]) != HardwareStatus.MODE_IDLE, lines))
    assert all(abs(float(driven[-1][f"v{joint}"])) < 0.03 for joint in joints)
    assert all(float(lines[-1][f"drive{joint}"]) == 0.0 for joint in joints)
    position = [float(driven[-1][f"q{joint}"]) for joint in joints]
    if parks:
        assert position == pytest.approx(HOME, abs=0.02)
        # at half the limits of 2.0, 1.5 and 2.0 rad/s, some more while the joints settle in
        fastest = [max(abs(float(line[f"v{joint}"])) for line in driven) for joint in joints]
        assert all(speed < 0.7 * limit for speed, limit in zip(fastest, (2.0, 1.5, 2.0), strict=True))
    else:
        assert position == pytest.approx(away, abs=0.35)
