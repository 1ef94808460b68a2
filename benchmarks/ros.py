# SPDX-License-Identifier: Apache-2.0
"""Round trip of /solve_ik against an empty Trigger, and the stream of /joint_states against a bare timer's."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import rclpy
from domain_coordinator import domain_id
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from manipulator3d.bringup import RunningProcesses
from manipulator3d.cli.demo import wait_for_arm
from manipulator3d.launch_arguments import LaunchArguments
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.srv import SolveIK

_ROUNDS, _CALLS = 100, 15
_FOUND_S, _ANSWERED_S = 30.0, 10.0
# s; a longer look, such as ten minutes, by MANIPULATOR3D_BENCH_STREAM_S=600
_STREAM_S = float(os.environ.get("MANIPULATOR3D_BENCH_STREAM_S", "20"))
_STREAMS = (("mock", 100.0), ("mock", 200.0), ("emulated", 100.0), ("emulated", 200.0))
_NAMES = ["base_yaw", "shoulder_pitch", "elbow_pitch"]


class Peer(Node):
    """What the stack is measured against: services that do nothing and a timer that publishes joint states."""

    def __init__(self, rate_hz: float) -> None:
        super().__init__("bench_peer")
        self.create_service(Trigger, "bench_trigger", lambda _request, response: response)
        ready = _ready_answer()
        self.create_service(SolveIK, "bench_ready_answer", lambda _request, _response: ready)
        self._publisher = self.create_publisher(JointState, "bench_joint_states", 10)
        self.create_timer(1.0 / rate_hz, self._publish)

    def _publish(self) -> None:
        message = JointState(name=_NAMES, position=[0.0] * 3, velocity=[0.0] * 3)
        message.header.stamp = self.get_clock().now().to_msg()
        self._publisher.publish(message)


def _ready_answer() -> SolveIK.Response:
    """The answer that `_request` gets, without any work."""
    solution = JointState(name=_NAMES, position=[-0.7653, 0.3376, -1.4687])
    answer = SolveIK.Response(success=True, solution=solution, alternatives=[solution], manipulability=0.01)
    answer.achieved = _request().target.point
    return answer


def _request() -> SolveIK.Request:
    request = SolveIK.Request()
    request.target.point.x, request.target.point.y, request.target.point.z = 0.25, -0.15, 0.06
    return request


def rows() -> list[dict[str, Any]]:
    """Measure the services, then each stream with a stack of its own."""
    measured: list[dict[str, Any]] = []
    for hardware, rate_hz in _STREAMS:
        with _stack(hardware, rate_hz), _asker() as (node, executor):
            if not measured:
                measured += _service_rows(node, executor)
            measured += _stream_rows(node, executor, hardware, rate_hz)
    return measured


@contextmanager
def _stack(hardware: str, rate_hz: float) -> Iterator[None]:
    """A stack whose driver measures at a rate, and the peer at the same rate, in a domain of their own."""
    with domain_id() as number, tempfile.TemporaryDirectory() as folder:
        os.environ["ROS_DOMAIN_ID"] = str(number)
        parameters = Path(folder, "rate.yaml")
        driver = "arm_simulator" if hardware == "mock" else "bridge_node"
        parameters.write_text(f"{driver}:\n  ros__parameters:\n    rate_hz: {rate_hz}\n")
        peer = subprocess.Popen([sys.executable, "-m", "benchmarks.ros", str(rate_hz)], env=os.environ)
        try:
            arguments = LaunchArguments(hardware=hardware, params_file=str(parameters))
            with RunningProcesses(arguments, lambda line: None) as processes:
                with StackClient() as client:
                    wait_for_arm(client, processes)
                yield
        finally:
            peer.terminate()
            peer.wait()


@contextmanager
def _asker() -> Iterator[tuple[Node, SingleThreadedExecutor]]:
    """A bare node that spins in this thread, so that no hand-over between threads is measured."""
    context = rclpy.Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = Node("bench_asker", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        yield node, executor
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)


def _service_rows(node: Node, executor: SingleThreadedExecutor) -> list[dict[str, Any]]:
    calls = {
        name: _call(node, executor, service_type, name, request)
        for name, service_type, request in (
            ("bench_trigger", Trigger, Trigger.Request()),
            ("bench_ready_answer", SolveIK, _request()),
            ("solve_ik", SolveIK, _request()),
        )
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            times[name] += [_timed(call) for _ in range(_CALLS)]
    measured = []
    for percent in (50, 99):
        trigger, ready, ours = (_percentile(taken, percent) for taken in times.values())
        name, empty = f"round trip, p{percent}", f"an empty Trigger ({trigger * 1e3:.3g} ms)"
        measured += [
            _row(f"/solve_ik {name}", ours * 1e3, "ms", empty, ours / trigger, 1.15),
            _row(f"an answer of SolveIK made beforehand, {name}", ready * 1e3, "ms", empty, ready / trigger, None),
            _row(f"/solve_ik {name}", ours * 1e3, "ms", "that answer made beforehand", ours / ready, None),
        ]
    return measured


def _call(
    node: Node, executor: SingleThreadedExecutor, service_type: Any, name: str, request: Any
) -> Callable[[], Any]:
    client: Any = node.create_client(service_type, name)
    if not client.wait_for_service(_FOUND_S):
        raise ValueError(f"service {client.srv_name} was not there after {_FOUND_S:g} s")

    def call() -> Any:
        future = client.call_async(request)
        executor.spin_until_future_complete(future, timeout_sec=_ANSWERED_S)
        if not future.done():
            raise ValueError(f"service {client.srv_name} gave no answer within {_ANSWERED_S:g} s")
        return future.result()

    call()
    return call


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[len(values) * percent // 100]


def _timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _stream_rows(node: Node, executor: SingleThreadedExecutor, hardware: str, rate_hz: float) -> list[dict[str, Any]]:
    arrivals: dict[str, list[tuple[float, float]]] = {"joint_states": [], "bench_joint_states": []}

    def note(topic: str, message: JointState) -> None:
        stamp = message.header.stamp
        arrivals[topic].append((time.monotonic(), stamp.sec + stamp.nanosec * 1e-9))

    subscriptions = [
        node.create_subscription(JointState, topic, lambda m, topic=topic: note(topic, m), qos_profile_sensor_data)
        for topic in arrivals
    ]
    end = time.monotonic() + _STREAM_S
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.25)
    for subscription in subscriptions:
        node.destroy_subscription(subscription)
    jitter = {}
    for topic, seen in arrivals.items():
        if len(seen) < rate_hz:
            raise ValueError(f"{topic}: {len(seen)} messages in {_STREAM_S:g} s; expected {_STREAM_S * rate_hz:g}")
        off = [abs(later - earlier - 1.0 / rate_hz) for (earlier, _), (later, _) in pairwise(seen)]
        jitter[topic] = _percentile(off, 99)
    seen, bare = arrivals["joint_states"], arrivals["bench_joint_states"]
    lost = sum(max(round((later - earlier) * rate_hz) - 1, 0) for (_, earlier), (_, later) in pairwise(seen))
    # a bare timer's stamps are those of its wake-ups, which wander; the count over all is sure
    bare_lost = max(round((bare[-1][1] - bare[0][1]) * rate_hz) + 1 - len(bare), 0)
    name = f"/joint_states of {hardware} at {rate_hz:g} Hz"
    due = f"{len(seen) + lost} due (a bare rclpy timer's: {bare_lost} lost)"
    reference = f"a bare rclpy timer ({jitter['bench_joint_states'] * 1e3:.3g} ms)"
    ratio = jitter["joint_states"] / jitter["bench_joint_states"]
    return [
        _row(f"{name}, lost in {_STREAM_S:g} s", lost, "messages", due, lost, 0.0),
        _row(f"{name}, jitter p99", jitter["joint_states"] * 1e3, "ms", reference, ratio, 1.2),
    ]


def _row(name: str, value: float, unit: str, reference: str, ratio: float, goal: float | None) -> dict[str, Any]:
    met = None if goal is None else ratio <= goal
    return {
        "name": name, "value": value, "unit": unit, "reference": reference, "ratio": ratio, "goal": goal, "met": met
    }  # fmt: skip


def main() -> None:
    """Run the peer, at the rate given in Hz, until it is terminated."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    executor = SingleThreadedExecutor()
    executor.add_node(Peer(float(sys.argv[1])))
    threading.Thread(target=executor.spin, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
