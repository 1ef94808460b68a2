# SPDX-License-Identifier: Apache-2.0
"""The simulator as a process, over real ROS."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import rclpy
from domain_coordinator import domain_id
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from manipulator3d_control.simulated_arm import DriverMode
from manipulator3d_description.robot_description import robot_description
from manipulator3d_interfaces.action import Home
from manipulator3d_interfaces.msg import HardwareStatus
from manipulator3d_node.error_code import ErrorCode

# a range that the environment has chosen is kept; none means this computer
RANGE = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

LIMIT_S = 60.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NAMES = ["base_yaw", "shoulder_pitch", "elbow_pitch"]
HOME = (0.0, 1.2, -1.6)


@contextmanager
def running(folder: Path, domain: int, hardware: str) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": RANGE}
    command = [sys.executable, "-m", "manipulator3d_control.nodes.arm_simulator"]
    command += ["--ros-args", "-p", f"hardware:={hardware}", "-r", "__ns:=/cell"]
    with (folder / "simulator.log").open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


class Client:
    """What commands and watches the arm, in the domain of the test."""

    def __init__(self, domain: int) -> None:
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = Node("client", context=self._context, namespace="cell")
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.states: list[JointState] = []
        self.statuses: list[HardwareStatus] = []
        self.node.create_subscription(JointState, "joint_states", self.states.append, 100)
        self.node.create_subscription(HardwareStatus, "hardware_status", self.statuses.append, 100)
        self.commands = self.node.create_publisher(JointState, "joint_commands", 100)

    def describe(self, xml: str) -> None:
        self._description = self.node.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=xml))

    def wait_for(self, condition: Callable[[], Any], what: str) -> None:
        end = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < end, f"waited {LIMIT_S:g} s for {what}"
            self._executor.spin_once(timeout_sec=0.1)

    def result_of(self, future: Future) -> Any:
        self.wait_for(future.done, "an answer")
        return future.result()

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client: Any = self.node.create_client(kind, name)
        self.wait_for(client.service_is_ready, name)
        response = self.result_of(client.call_async(request))
        self.node.destroy_client(client)
        return response

    def trigger(self, name: str) -> Trigger.Response:
        return self.call(Trigger, name, Trigger.Request())

    def home(self, goal: Home.Goal) -> Home.Result:
        client: Any = ActionClient(self.node, Home, "home")
        self.wait_for(client.server_is_ready, "home")
        handle = self.result_of(client.send_goal_async(goal))
        result = self.result_of(handle.get_result_async()).result
        client.destroy()
        return result

    def now(self) -> float:
        return self.node.get_clock().now().nanoseconds * 1e-9

    def send(self, position: tuple[float, ...], ahead: float, names: list[str] = NAMES) -> float:
        """Send one command; give the time at which it applies."""
        stamp = self.now() + ahead
        message = JointState(name=names, position=list(position))
        message.header.stamp.sec, message.header.stamp.nanosec = int(stamp), int(stamp % 1.0 * 1e9)
        self.commands.publish(message)
        return stamp

    def latest(self) -> tuple[float, ...]:
        return tuple(self.states[-1].position)

    def wait_until(self, stamp: float) -> None:
        """Wait for the measurement of a time."""

        def is_past() -> bool:
            at = self.states[-1].header.stamp
            return at.sec + at.nanosec * 1e-9 > stamp

        self.wait_for(is_past, "the next joint states")

    def move_by(self, step: float) -> None:
        """Command a move of every joint; again when the machine was too slow to be heard in time."""
        target = tuple(q + step for q in self.latest())
        end = time.monotonic() + LIMIT_S
        while self.latest() != pytest.approx(target, abs=2e-3):
            assert time.monotonic() < end, f"{LIMIT_S:g} s to move to {target}, at {self.latest()}"
            self.wait_until(self.send(target, 0.5) + 0.5)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", RANGE)
    with domain_id() as number:
        yield number


@pytest.fixture
def client(domain: int) -> Iterator[Client]:
    client = Client(domain)
    yield client
    client.close()


@pytest.mark.parametrize("hardware", ["mock", "sim"])
def test_the_arm_follows_stops_and_recovers(tmp_path: Path, domain: int, client: Client, hardware: str) -> None:
    log = tmp_path / "simulator.log"
    with running(tmp_path, domain, hardware) as process:
        client.wait_for(lambda: client.commands.get_subscription_count() == 1, "the simulator")
        early = client.home(Home.Goal())
        assert (early.success, early.error_code) == (False, ErrorCode.LINK_DOWN)
        assert "no robot_description has arrived yet" in early.message
        assert not client.states
        assert not client.statuses

        client.describe(robot_description("capstone"))
        client.wait_for(lambda: client.states and client.statuses, "joint states and hardware status")
        assert client.states[0].name == NAMES
        assert client.latest() == pytest.approx(HOME, abs=1e-3)
        assert len(client.states[0].effort) == (3 if hardware == "sim" else 0)
        status = client.statuses[-1]
        assert (status.driver, status.link, status.mode) == (hardware, status.LINK_UP, status.MODE_HOLD)
        assert status.homed
        assert not status.has_grasp_sensor

        client.move_by(0.05)
        moved = client.latest()

        # commands that must not be followed
        client.send((float("nan"), 1.2, -1.6), 0.5)
        client.wait_for(lambda: "a position of nan is not a finite number" in log.read_text(), "the first refusal")
        client.wait_until(client.send((0.0, 3.0, -1.6), 0.5) + 0.3)
        client.wait_until(client.send(HOME, 0.5, ["a", "b", "c"]) + 0.3)
        assert client.latest() == pytest.approx(moved, abs=1e-3)

        # an emergency stop, and the way out of it
        assert client.trigger("emergency_stop").success
        client.wait_for(lambda: client.statuses[-1].mode == HardwareStatus.MODE_FAULT, "the fault")
        assert client.statuses[-1].fault == ErrorCode.ESTOP
        assert "call reset_fault" in client.statuses[-1].fault_message
        assert client.home(Home.Goal()).error_code == ErrorCode.ESTOP
        client.wait_until(client.send(tuple(q + 0.05 for q in moved), 0.3) + 0.3)
        assert client.latest() == pytest.approx(moved, abs=1e-3)
        assert client.trigger("reset_fault").message == "the fault is cleared; nothing moves"
        client.wait_for(lambda: client.statuses[-1].mode == HardwareStatus.MODE_HOLD, "the end of the fault")
        client.wait_until(client.now() + 0.3)
        assert client.latest() == pytest.approx(moved, abs=1e-3)
        client.move_by(-0.05)

        assert client.call(SetBool, "set_gripper", SetBool.Request(data=True)).message == "closed"
        client.wait_for(lambda: client.statuses[-1].gripper_closed, "the closed gripper")

        result = client.home(Home.Goal())
        assert (result.success, result.error_code) == (True, ErrorCode.SUCCESS)
        assert list(result.joints.position) == pytest.approx(client.latest(), abs=1e-3)
        wrong = client.home(Home.Goal(joints=["wrist"]))
        assert (wrong.error_code, wrong.message) == (
            ErrorCode.INVALID_INPUT,
            "joint wrist is unknown; this arm has base_yaw, shoulder_pitch, elbow_pitch",
        )
        assert client.home(Home.Goal(set_here=True)).error_code == ErrorCode.INVALID_INPUT

        second = client.node.create_publisher(JointState, "joint_commands", 10)
        client.wait_for(lambda: "2 publishers on joint_commands" in client.statuses[-1].fault_message, "the report")
        client.node.destroy_publisher(second)
        client.wait_for(lambda: client.statuses[-1].fault_message == "", "the end of the report")

        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0
    assert "Traceback" not in log.read_text()


def test_a_description_of_another_arm_is_refused_and_a_right_one_taken_later(
    tmp_path: Path, domain: int, client: Client
) -> None:
    log = tmp_path / "simulator.log"
    with running(tmp_path, domain, "sim"):
        client.describe('<robot name="r"><link name="a"/></robot>')
        client.wait_for(lambda: "robot_description: " in log.read_text(), "the refusal")
        assert not client.statuses
        client.describe(robot_description("classic"))
        client.wait_for(lambda: client.statuses, "the arm")


def test_a_wrong_parameter_ends_the_node_with_the_reason(domain: int) -> None:
    command = [sys.executable, "-m", "manipulator3d_control.nodes.arm_simulator", "--ros-args", "-p", "hardware:=magic"]
    environment = os.environ | {"ROS_DOMAIN_ID": str(domain)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ended.returncode == 1
    assert "error: parameter hardware: 'magic' is not allowed; allowed: mock, sim" in ended.stderr


def test_without_a_clock_the_node_says_what_it_waits_for(tmp_path: Path, domain: int, client: Client) -> None:
    command = [sys.executable, "-m", "manipulator3d_control.nodes.arm_simulator"]
    command += ["--ros-args", "-p", "use_sim_time:=true", "-r", "__ns:=/cell"]
    log = tmp_path / "simulator.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, env=os.environ | {"ROS_DOMAIN_ID": str(domain)}, stderr=output)
        try:
            client.describe(robot_description("capstone"))
            client.wait_for(lambda: "use_sim_time is set and no /clock has arrived" in log.read_text(), "the warning")
        finally:
            process.kill()
            process.wait()


def test_the_modes_are_those_of_the_message() -> None:
    assert {mode.name: mode.value for mode in DriverMode} == {
        mode.name: getattr(HardwareStatus, f"MODE_{mode.name}") for mode in DriverMode
    }
