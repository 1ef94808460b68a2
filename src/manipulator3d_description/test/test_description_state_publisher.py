# SPDX-License-Identifier: Apache-2.0
"""The state publisher as a process, over real ROS."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from domain_coordinator import domain_id
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from manipulator3d_description.robot_description import robot_description
from manipulator3d_description.urdf_tree import UrdfTree

# a range that the environment has chosen is kept; none means this computer
RANGE = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

LIMIT_S = 60.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def arguments(parameters: dict[str, Any], folder: Path) -> list[str]:
    path = folder / "parameters.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}), encoding="utf-8")
    node = [sys.executable, "-m", "manipulator3d_description.nodes.state_publisher"]
    return [*node, "--ros-args", "--params-file", str(path), "-r", "__ns:=/cell"]


@contextmanager
def running(parameters: dict[str, Any], folder: Path, domain: int) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": RANGE}
    log = folder / "publisher.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            arguments(parameters, folder), env=environment, stdout=output, stderr=output, text=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def logged(log: Path, text: str) -> bool:
    return text in log.read_text()


class Observer:
    """A client in the domain of the test."""

    def __init__(self, domain: int) -> None:
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = Node("observer", context=self._context, namespace="cell")
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    def wait_for(self, condition: Callable[[], Any], what: str, meanwhile: Callable[[], None] | None = None) -> None:
        end = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < end, f"waited {LIMIT_S:g} s for {what}"
            if meanwhile is not None:
                meanwhile()
            self._executor.spin_once(timeout_sec=0.1)

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
def observer(domain: int) -> Iterator[Observer]:
    observer = Observer(domain)
    yield observer
    observer.close()


def test_joint_states_become_transforms_with_their_stamp(tmp_path: Path, domain: int, observer: Observer) -> None:
    xml = robot_description("capstone", "left_")
    descriptions: list[str] = []
    static: list[TFMessage] = []
    moving: list[TFMessage] = []
    observer.node.create_subscription(
        String, "robot_description", lambda message: descriptions.append(message.data), LATCHED
    )
    observer.node.create_subscription(TFMessage, "/tf_static", static.append, LATCHED)
    observer.node.create_subscription(TFMessage, "/tf", moving.append, 100)
    states = observer.node.create_publisher(JointState, "joint_states", 10)

    def send(stamp_s: int, names: list[str], positions: list[float]) -> None:
        message = JointState(name=names, position=positions)
        message.header.stamp.sec = stamp_s
        states.publish(message)

    with running({"robot_description": xml, "frame_prefix": "cell_"}, tmp_path, domain) as process:
        observer.wait_for(lambda: descriptions and static, "robot_description and /tf_static")
        assert descriptions == [xml]
        expected = {(f"cell_{part.parent}", f"cell_{part.child}") for part in UrdfTree(xml).fixed()}
        assert {(part.header.frame_id, part.child_frame_id) for part in static[0].transforms} == expected
        observer.wait_for(lambda: states.get_subscription_count() == 1, "the subscription to joint_states")
        observer.wait_for(lambda: observer.node.count_publishers("/tf") == 1, "the publisher of /tf")

        angles = {"base_yaw": 0.3, "shoulder_pitch": 1.1, "elbow_pitch": -0.7}
        observer.wait_for(
            lambda: moving, "the first transforms", lambda: send(7, [*angles, "other"], [*angles.values(), 1.0])
        )
        (first,) = moving
        for stamped, part in zip(first.transforms, UrdfTree(xml).moving(angles), strict=True):
            assert (stamped.header.frame_id, stamped.child_frame_id) == (f"cell_{part.parent}", f"cell_{part.child}")
            assert stamped.header.stamp.sec == 7
            shift, turn = stamped.transform.translation, stamped.transform.rotation
            assert (shift.x, shift.y, shift.z) == part.translation
            assert (turn.x, turn.y, turn.z, turn.w) == part.rotation

        # an old stamp, a NaN and a missing position pass nothing on; what follows them does
        send(6, ["base_yaw"], [0.1])
        log = tmp_path / "publisher.log"
        for text, names, position in (
            ("base_yaw has a position that is not finite; it is left out", ["base_yaw"], float("nan")),
            ("a joint state has 2 names and 1 positions; send one for each", ["base_yaw", "elbow_pitch"], 0.1),
        ):
            for _ in range(3):
                send(8, names, [position])
            observer.wait_for(partial(logged, log, text), text, partial(send, 8, names, [position]))
        observer.wait_for(
            lambda: len(moving) > 1, "the transforms after the faulty ones", lambda: send(9, ["base_yaw"], [0.2])
        )
        assert [[part.child_frame_id for part in message.transforms] for message in moving[1:]] == [
            ["cell_left_turret_link"]
        ]
        assert moving[1].transforms[0].header.stamp.sec == 9

        process.send_signal(signal.SIGINT)
        observer.wait_for(
            lambda: process.poll() is not None, "the end of the process", lambda: send(10, ["base_yaw"], [0.2])
        )
        assert process.returncode == 0
    warnings = [line for line in log.read_text().splitlines() if "WARN" in line]
    assert len(warnings) == 2


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "error: parameter robot_description is empty; give the URDF of the robot"),
        ({"robot_description": "<robot/>"}, "error: robot_description has no link"),
        (
            {"robot_description": "<robot/>", "publish_frequency": 0.0},
            "error: parameter publish_frequency: 0 Hz is not allowed",
        ),
    ],
)
def test_what_cannot_be_published_is_refused(
    tmp_path: Path, domain: int, parameters: dict[str, Any], text: str
) -> None:
    with running(parameters, tmp_path, domain) as process:
        assert process.wait(LIMIT_S) == 1
    assert text in (tmp_path / "publisher.log").read_text()
