# SPDX-License-Identifier: Apache-2.0
"""The kinematics node over real ROS: one node and its clients in this process, in a domain of its own."""

import threading
import time
from collections.abc import Callable, Iterator
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from domain_coordinator import domain_id
from geometry_msgs.msg import Point, PointStamped
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from visualization_msgs.msg import Marker, MarkerArray

from manipulator3d_description.robot_description import robot_description
from manipulator3d_interfaces.srv import SolveFK, SolveIK, SolveIKBatch
from manipulator3d_kinematics import ArmModel, forward_kinematics, inverse_kinematics_batch, jacobian, named_frames
from manipulator3d_kinematics.nodes.kinematics_node import KinematicsNode
from manipulator3d_node.error_code import ErrorCode

LIMIT_S = 60.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
CAPSTONE = ArmModel.profile("capstone")
NAMES = ["base_yaw", "shoulder_pitch", "elbow_pitch"]


class Cell:
    """The node in its thread and a client beside it."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = KinematicsNode(
            context=self.context,
            namespace="cell",
            parameter_overrides=[Parameter("batch_limit", value=1000)],
        )
        self._node_executor = SingleThreadedExecutor(context=self.context)
        self._node_executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()
        self.client = Node("client", context=self.context, namespace="cell")
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.client)
        kinds: dict[str, Any] = {"solve_ik": SolveIK, "solve_fk": SolveFK, "solve_ik_batch": SolveIKBatch}
        self._clients: dict[str, Any] = {name: self.client.create_client(kind, name) for name, kind in kinds.items()}
        for service in self._clients.values():
            assert service.wait_for_service(LIMIT_S)
        self.description = self.client.create_publisher(String, "robot_description", LATCHED)
        self.joint_states = self.client.create_publisher(JointState, "joint_states", qos_profile_sensor_data)

    def _spin(self) -> None:
        try:
            self._node_executor.spin()
        except ExternalShutdownException:
            return

    def call(self, name: str, request: Any) -> Any:
        future = self._clients[name].call_async(request)
        self._executor.spin_until_future_complete(future, timeout_sec=LIMIT_S)
        assert future.done(), f"{name} did not answer within {LIMIT_S:g} s"
        return future.result()

    def wait_for(self, condition: Callable[[], Any], what: str) -> None:
        end = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < end, f"waited {LIMIT_S:g} s for {what}"
            self._executor.spin_once(timeout_sec=0.05)

    def describe(self, urdf: str, is_known: Callable[[Any], bool]) -> None:
        """Publish a description and wait until answers are of it."""
        self.description.publish(String(data=urdf))
        self.wait_for(
            lambda: is_known(self.call("solve_fk", SolveFK.Request(joints=joints(0.0, 1.0, -1.0)))), "the arm"
        )

    def close(self) -> None:
        rclpy.shutdown(context=self.context)
        self._thread.join(LIMIT_S)
        self._executor.shutdown()
        self._node_executor.shutdown()


def joints(*positions: float, names: list[str] | None = None) -> JointState:
    return JointState(name=names or [], position=positions)


def ik(x: float, y: float, z: float, frame: str = "", **fields: Any) -> SolveIK.Request:
    return SolveIK.Request(target=PointStamped(header=Header(frame_id=frame), point=Point(x=x, y=y, z=z)), **fields)


@pytest.fixture(scope="module")
def bare_cell() -> Iterator[Cell]:
    with domain_id() as domain:
        cell = Cell(domain)
        yield cell
        cell.close()


@pytest.fixture(scope="module")
def before(bare_cell: Cell) -> list[Any]:
    """What the node answers before any description has come, and to one that is of no use."""
    answers = [bare_cell.call("solve_ik", ik(0.2, 0.1, 0.2)), bare_cell.call("solve_ik_batch", SolveIKBatch.Request())]
    bare_cell.describe("<robot name='ball'><link name='ball'/></robot>", lambda answer: "ball" in answer.message)
    return [*answers, bare_cell.call("solve_ik", ik(0.2, 0.1, 0.2))]


@pytest.fixture(scope="module")
def cell(bare_cell: Cell, before: list[Any]) -> Cell:
    bare_cell.describe(robot_description("capstone"), lambda answer: answer.success)
    return bare_cell


def test_without_a_description_answers_say_so(before: list[Any]) -> None:
    for answer in before[:2]:
        assert (answer.success, answer.error_code) == (False, ErrorCode.NO_STATE)
        assert answer.message == "no robot description has come on /cell/robot_description yet"
    assert before[2].error_code == ErrorCode.NO_STATE
    assert before[2].message == (
        "the robot description cannot be used: ball: not a yaw-pitch-pitch arm: "
        "expected 3 turning joints, found 0 (none)"
    )


def test_solution_reaches_the_target(cell: Cell) -> None:
    answer = cell.call("solve_ik", ik(0.25, -0.15, 0.16, elbow=SolveIK.Request.UP))
    assert (answer.success, answer.error_code, answer.message) == (True, ErrorCode.SUCCESS, "")
    assert list(answer.solution.name) == NAMES
    assert answer.solution.position == pytest.approx([-0.7653, 0.7205, -1.5698], abs=1e-4)
    assert (answer.achieved.x, answer.achieved.y, answer.achieved.z) == pytest.approx((0.25, -0.15, 0.16))
    assert answer.position_error < 1e-12
    determinant = abs(np.linalg.det(jacobian(CAPSTONE, answer.solution.position)[:3]))
    assert answer.manipulability == pytest.approx(determinant)
    assert answer.elbow == SolveIK.Request.UP
    assert answer.alternatives[0].position == answer.solution.position
    for alternative in answer.alternatives:
        assert forward_kinematics(CAPSTONE, alternative.position) == pytest.approx((0.25, -0.15, 0.16))


def test_seed_decides_with_names_in_any_order(cell: Cell) -> None:
    target = forward_kinematics(CAPSTONE, (0.3, 0.9, 1.0)).tolist()
    for seed in ((0.3, 0.9, 1.0), (0.3, 1.8, -1.0)):
        named = joints(seed[2], seed[0], seed[1], names=["elbow_pitch", "base_yaw", "shoulder_pitch"])
        answer = cell.call("solve_ik", ik(*target, seed=named))
        assert np.sign(answer.solution.position[2]) == np.sign(seed[2])


def test_without_a_seed_the_present_position_decides(cell: Cell) -> None:
    target = forward_kinematics(CAPSTONE, (0.3, 0.9, 1.0)).tolist()
    for elbow, position in ((SolveIK.Request.UP, (0.3, 1.8, -1.0)), (SolveIK.Request.DOWN, (0.3, 0.9, 1.0))):

        def is_followed(position: tuple[float, ...] = position, elbow: int = elbow) -> bool:
            cell.joint_states.publish(joints(*position, names=NAMES))
            return bool(cell.call("solve_ik", ik(*target)).elbow == elbow)

        cell.wait_for(is_followed, "the joint states")


@pytest.mark.parametrize(
    ("request_fields", "code", "text"),
    [
        (ik(0.5, 0.0, 0.2), ErrorCode.TOO_FAR, "0.09827 m farther from the shoulder than the arm reaches (0.400 m)"),
        (ik(0.0, 0.01, 0.2), ErrorCode.TOO_CLOSE, "0.055 m inside the cylinder of radius 0.065 m"),
        (ik(0.2, 0.0, -0.1), ErrorCode.BELOW_FLOOR, "lies 0.1 m below the floor (z = 0.000 m)"),
        (
            ik(-0.3, 0.0, 0.1, elbow=2),
            ErrorCode.JOINT_LIMIT,
            "base_yaw at 2.923 rad, 0.02319 rad above its upper limit",
        ),
        (ik(nan, 0.0, 0.2), ErrorCode.INVALID_INPUT, "target: (nan, 0.0, 0.2) has a number that is not finite"),
        (ik(0.1, inf, 0.2), ErrorCode.INVALID_INPUT, "target: (0.1, inf, 0.2) has a number that is not finite"),
        (
            ik(0.2, 0.1, 0.2, elbow=7),
            ErrorCode.INVALID_INPUT,
            "elbow: 7 is not defined; expected AUTO (0), DOWN (1) or",
        ),
        (ik(0.2, 0.1, 0.2, seed=joints(0.0)), ErrorCode.INVALID_INPUT, "seed: 1 positions; expected 3"),
        (ik(0.2, 0.1, 0.2, seed=joints(0.0, nan, 0.0)), ErrorCode.INVALID_INPUT, "seed: shoulder_pitch is nan rad"),
        (
            ik(0.2, 0.1, 0.2, seed=joints(0.0, 0.0, 0.0, names=["a", "b", "c"])),
            ErrorCode.INVALID_INPUT,
            "seed: unknown joint 'a'; the joints are base_yaw, shoulder_pitch, elbow_pitch",
        ),
    ],
)
def test_refusals_carry_code_and_figures(cell: Cell, request_fields: Any, code: ErrorCode, text: str) -> None:
    answer = cell.call("solve_ik", request_fields)
    assert (answer.success, answer.error_code) == (False, code)
    assert text in answer.message
    assert len(answer.solution.position) == 0
    assert answer.alternatives == []


def test_closest_point_is_given_where_allowed(cell: Cell) -> None:
    answer = cell.call("solve_ik", ik(0.6, 0.0, 0.15, allow_closest=True))
    assert (answer.success, answer.error_code) == (True, ErrorCode.SUCCESS)
    assert "farther from the shoulder" in answer.message
    assert "the closest point is" in answer.message
    achieved = np.array([answer.achieved.x, answer.achieved.y, answer.achieved.z])
    assert answer.position_error == pytest.approx(np.linalg.norm(achieved - (0.6, 0.0, 0.15)))
    assert forward_kinematics(CAPSTONE, answer.solution.position) == pytest.approx(achieved)


@pytest.mark.parametrize("frame", ["", "base_link", "pedestal_link"])
def test_frames_that_are_fixed_to_the_base_need_no_transforms(cell: Cell, frame: str) -> None:
    assert cell.call("solve_ik", ik(0.2, 0.1, 0.2, frame)).success
    assert cell.call("solve_ik_batch", SolveIKBatch.Request(header=Header(frame_id=frame))).success


def test_a_frame_that_is_not_known_is_refused(cell: Cell) -> None:
    for answer in (
        cell.call("solve_ik", ik(0.2, 0.1, 0.2, "camera")),
        cell.call("solve_ik_batch", SolveIKBatch.Request(header=Header(frame_id="camera"))),
    ):
        assert (answer.success, answer.error_code) == (False, ErrorCode.UNKNOWN_FRAME)
        assert "'camera'" in answer.message


def test_forward_kinematics(cell: Cell) -> None:
    q = (0.3, 0.9, -1.1)
    answer = cell.call("solve_fk", SolveFK.Request(joints=joints(q[2], q[0], q[1], names=[NAMES[2], *NAMES[:2]])))
    assert (answer.success, answer.message) == (True, "")
    assert answer.jacobian == pytest.approx(jacobian(CAPSTONE, q).ravel())
    for frame, pose in zip(answer.frames, named_frames(CAPSTONE, q).values(), strict=True):
        assert frame.header.frame_id == "base_link"
        position, turn = frame.pose.position, frame.pose.orientation
        assert (position.x, position.y, position.z) == pytest.approx(pose[:3, 3])
        # the x axis that the quaternion turns to
        along = (
            1 - 2 * (turn.y**2 + turn.z**2),
            2 * (turn.x * turn.y + turn.w * turn.z),
            2 * (turn.x * turn.z - turn.w * turn.y),
        )
        assert along == pytest.approx(pose[:3, 0])


def test_forward_kinematics_beyond_limits_is_answered_and_told(cell: Cell) -> None:
    answer = cell.call("solve_fk", SolveFK.Request(joints=joints(0.0, 0.0, 2.71)))
    assert answer.success
    assert answer.message == "elbow_pitch at 2.710 rad is outside its limits -2.600 to 2.600 rad"


def test_forward_kinematics_of_nothing_is_refused(cell: Cell) -> None:
    answer = cell.call("solve_fk", SolveFK.Request())
    assert (answer.success, answer.error_code) == (False, ErrorCode.INVALID_INPUT)
    assert answer.message == "joints: no positions; expected 3 (base_yaw, shoulder_pitch, elbow_pitch)"


def test_batch_answers_as_the_library(cell: Cell) -> None:
    targets = np.random.default_rng(0).uniform(-0.4, 0.4, (300, 3))
    answer = cell.call(
        "solve_ik_batch", SolveIKBatch.Request(targets=targets.ravel().tolist(), elbow=SolveIK.Request.AUTO)
    )
    q, status = inverse_kinematics_batch(CAPSTONE, targets, "auto")
    assert answer.success
    assert list(answer.joint_names) == NAMES
    assert np.array(answer.solutions) == pytest.approx(q.ravel(), abs=1e-12, nan_ok=True)
    assert list(answer.status) == status.tolist()
    assert answer.message == f"{np.count_nonzero(status)} of 300 targets cannot be reached"


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        ([0.1, 0.2], "targets: 2 numbers; expected three for each target (x y z in turn)"),
        ([0.1, 0.2, nan], "targets: row 0 [0.1, 0.2, nan] has a number that is not finite"),
        ([0.1] * 3003, "targets: 1001 targets; the parameter batch_limit allows 1000; ask in parts or raise it"),
    ],
)
def test_wrong_batches_are_refused(cell: Cell, targets: list[float], text: str) -> None:
    answer = cell.call("solve_ik_batch", SolveIKBatch.Request(targets=targets))
    assert (answer.success, answer.error_code, answer.message) == (False, ErrorCode.INVALID_INPUT, text)


def test_diagnostics_count_requests_and_failures(cell: Cell) -> None:
    reports: list[DiagnosticArray] = []
    subscription = cell.client.create_subscription(DiagnosticArray, "diagnostics", reports.append, 10)

    def figures() -> dict[str, str]:
        status = {status.name: status for status in reports[-1].status}["cell/kinematics_node: solve_ik"]
        assert (status.level, status.hardware_id) == (b"\x00", "capstone")
        return {entry.key: entry.value for entry in status.values}

    cell.wait_for(lambda: reports, "diagnostics")
    first = figures()
    cell.call("solve_ik", ik(0.2, 0.1, 0.2))
    cell.call("solve_ik", ik(2.0, 0.1, 0.2))
    wanted = (int(first["requests"]) + 2, int(first["failures"]) + 1)
    cell.wait_for(lambda: (int(figures()["requests"]), int(figures()["failures"])) == wanted, "the two requests")
    assert 0.0 < float(figures()["mean latency [ms]"]) <= float(figures()["max latency [ms]"])
    cell.client.destroy_subscription(subscription)


def test_workspace_is_a_latched_marker(cell: Cell) -> None:
    found: list[MarkerArray] = []
    subscription = cell.client.create_subscription(MarkerArray, "markers", found.append, LATCHED)
    cell.wait_for(lambda: found, "the marker")
    (marker,) = found[0].markers
    assert (marker.ns, marker.header.frame_id, marker.type) == ("workspace", "base_link", Marker.TRIANGLE_LIST)
    assert len(marker.points) % 3 == 0
    assert len(marker.points) > 1000
    cell.client.destroy_subscription(subscription)
