# SPDX-License-Identifier: Apache-2.0
"""Round trip of /solve_ik against an empty Trigger, and the stream of /joint_states against a bare timer's."""

import itertools
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import rclpy
from domain_coordinator import domain_id
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from manipulator3d.bringup import RunningProcesses
from manipulator3d.cli.demo import wait_for_arm
from manipulator3d.launch_arguments import LaunchArguments
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.srv import SolveIK

_ROUNDS, _CALLS = 7, 200
_STREAM_S = 30.0
_RATE_HZ = 100.0


class Peer(Node):
    """What the stack is measured against: a service that does nothing and a timer that publishes joint states."""

    def __init__(self) -> None:
        super().__init__("bench_peer")
        self.create_service(Trigger, "bench_trigger", lambda _request, response: response)
        self._publisher = self.create_publisher(JointState, "bench_joint_states", 10)
        self.create_timer(1.0 / _RATE_HZ, self._publish)

    def _publish(self) -> None:
        message = JointState(name=["a", "b", "c"], position=[0.0] * 3, velocity=[0.0] * 3)
        message.header.stamp = self.get_clock().now().to_msg()
        self._publisher.publish(message)


def rows() -> list[dict[str, Any]]:
    """Measure both, interleaved, against a stack with hardware:=mock."""
    with domain_id() as number:
        os.environ["ROS_DOMAIN_ID"] = str(number)
        peer = subprocess.Popen([sys.executable, "-m", "benchmarks.ros"], env=os.environ)
        try:
            mock = LaunchArguments(hardware="mock")
            with RunningProcesses(mock, lambda line: None) as processes, StackClient() as client:
                wait_for_arm(client, processes)
                return [*_service_rows(client), *_stream_rows(client)]
        finally:
            peer.terminate()
            peer.wait()


def _service_rows(client: StackClient) -> list[dict[str, Any]]:
    request = SolveIK.Request()
    request.target.point.x, request.target.point.y, request.target.point.z = 0.25, -0.15, 0.06
    calls: dict[str, Callable[[], Any]] = {}
    for name, service_type, message in (
        ("bench_trigger", Trigger, Trigger.Request()),
        ("solve_ik", SolveIK, request),
    ):
        client.call(service_type, name, message)
        service = client.node.create_client(service_type, name)
        client.spin_until(service.service_is_ready, 10.0)
        calls[name] = lambda service=service, message=message: client.finish(service.call_async(message))
    times: dict[str, list[list[float]]] = {name: [] for name in calls}
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            times[name].append(sorted(_timed(call) for _ in range(_CALLS)))
    measured = []
    for percent in (50, 99):
        index = int(_CALLS * percent / 100) - 1
        ours, trigger = (statistics.median(r[index] for r in times[name]) for name in ("solve_ik", "bench_trigger"))
        measured.append(
            _row(f"/solve_ik round trip, p{percent}", ours * 1e3, "ms", "an empty Trigger", ours / trigger, 1.15)
        )
    return measured


def _timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _stream_rows(client: StackClient) -> list[dict[str, Any]]:
    arrivals: dict[str, list[tuple[float, float]]] = {"joint_states": [], "bench_joint_states": []}

    def note(topic: str, message: JointState) -> None:
        stamp = message.header.stamp
        arrivals[topic].append((time.time(), stamp.sec + stamp.nanosec * 1e-9))

    for topic in arrivals:
        client.node.create_subscription(JointState, topic, lambda m, topic=topic: note(topic, m), 100)
    client.spin_until(lambda: False, _STREAM_S)
    jitter = {}
    for topic, seen in arrivals.items():
        period = 1.0 / _RATE_HZ
        gaps = sorted(abs(later[0] - earlier[0] - period) for earlier, later in itertools.pairwise(seen))
        jitter[topic] = gaps[int(len(gaps) * 0.99) - 1]
    seen = arrivals["joint_states"]
    expected = round((seen[-1][1] - seen[0][1]) * _RATE_HZ) + 1
    return [
        _row(
            "/joint_states at 100 Hz, arrived", len(seen) / expected, "of those sent", "all", len(seen) / expected, 1.0
        ),
        _row(
            "/joint_states at 100 Hz, jitter p99",
            jitter["joint_states"] * 1e3,
            "ms",
            "a bare rclpy timer's",
            jitter["joint_states"] / jitter["bench_joint_states"],
            1.2,
        ),
    ]


def _row(name: str, value: float, unit: str, reference: str, ratio: float, goal: float) -> dict[str, Any]:
    met = ratio >= goal if goal == 1.0 else ratio <= goal
    return {
        "name": name, "value": value, "unit": unit, "reference": reference, "ratio": ratio, "goal": goal, "met": met
    }  # fmt: skip


def main() -> None:
    """Run the peer until it is terminated."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    executor = SingleThreadedExecutor()
    executor.add_node(Peer())
    threading.Thread(target=executor.spin, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
