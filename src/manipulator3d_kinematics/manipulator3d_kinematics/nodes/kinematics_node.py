# SPDX-License-Identifier: Apache-2.0
"""Answers kinematic questions about the arm of the robot description."""

import sys
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from math import dist, isfinite, nan
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from manipulator3d_interfaces.srv import SolveFK, SolveIK, SolveIKBatch
from manipulator3d_kinematics import (
    ArmModel,
    inverse_kinematics,
    inverse_kinematics_batch,
    jacobian,
    named_frames,
)
from manipulator3d_kinematics.checked_numbers import Array, Triple
from manipulator3d_kinematics.joint_positions import ordered_positions
from manipulator3d_kinematics.nodes.base_frame import BaseFrame
from manipulator3d_kinematics.nodes.workspace_marker import workspace_marker
from manipulator3d_kinematics.quaternion import quaternion
from manipulator3d_kinematics.request_statistics import RequestStatistics
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.parameters import declare_parameters
from manipulator3d_node.nodes.process import run_node
from manipulator3d_node.nodes.target_frame import FrameRefusal
from manipulator3d_node.parameter import parameter

_ELBOWS = {SolveIK.Request.AUTO: "auto", SolveIK.Request.DOWN: "down", SolveIK.Request.UP: "up"}
_ELBOW_NUMBERS = {name: number for number, name in _ELBOWS.items()}
_DIAGNOSTICS_PERIOD = 1.0  # s
_SERVICES = (("solve_ik", SolveIK), ("solve_fk", SolveFK), ("solve_ik_batch", SolveIKBatch))


@dataclass(frozen=True)
class KinematicsParameters:
    """Parameters of the kinematics node."""

    preferred_elbow: str = parameter("down", "branch taken where nothing else decides", choices=("down", "up"))
    base_frame: str = parameter("", "name of the arm's base frame; empty takes the root link of the robot description")
    batch_limit: int = parameter(
        1_000_000, "targets in one request to solve_ik_batch at most", lower=1, upper=10_000_000
    )
    workspace: bool = parameter(True, "publish the reachable set as a marker")


class _Refusal(Exception):
    """A request that is answered with a code and a message."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class KinematicsNode(Node):
    """Services solve_ik, solve_fk and solve_ik_batch, for the arm that `robot_description` describes.

    Either may start first; until a description has come, every answer says so.

    Raises:
        ValueError: a parameter is not usable.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("kinematics_node", **options)
        self._settings = declare_parameters(self, KinematicsParameters)
        self._arm: ArmModel | None = None
        self._no_arm = f"no robot description has come on {self.resolve_topic_name('robot_description')} yet"
        self._joint_states: JointState | None = None
        self._statistics = {name: RequestStatistics() for name, _ in _SERVICES}
        self._frame = BaseFrame(self)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._markers = self.create_publisher(MarkerArray, "markers", latched)
        self._diagnostics = self.create_publisher(DiagnosticArray, "diagnostics", 10)
        self.create_subscription(String, "robot_description", self._on_description, latched)
        self.create_subscription(JointState, "joint_states", self._on_joint_states, qos_profile_sensor_data)
        answers = (self._solve_ik, self._solve_fk, self._solve_ik_batch)
        for (name, kind), answer in zip(_SERVICES, answers, strict=True):
            self.create_service(kind, name, self._counted(name, answer))
        # not the ROS clock: with simulated time and no /clock this node still answers and reports
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_DIAGNOSTICS_PERIOD, self._publish_diagnostics, clock=steady)

    def _on_description(self, message: String) -> None:
        try:
            self._arm = ArmModel.from_urdf(message.data)
        except ValueError as error:
            self._arm = None
            self._no_arm = f"the robot description cannot be used: {error}"
            self.get_logger().error(self._no_arm)
            return
        self.get_logger().info(f"answering for the arm '{self._arm.name}', base frame {self._base(self._arm)}")
        if self._settings.workspace:
            self._markers.publish(workspace_marker(self._arm, self._base(self._arm)))

    def _on_joint_states(self, message: JointState) -> None:
        self._joint_states = message

    def _base(self, arm: ArmModel) -> str:
        return self._settings.base_frame or arm.base_frame

    def _counted(self, name: str, answer: Callable[[ArmModel, Any, Any], None]) -> Callable[[Any, Any], Any]:
        """A service callback that turns refusals into answers and measures the time."""
        statistics = self._statistics[name]

        def callback(request: Any, response: Any) -> Any:
            start = time.perf_counter()
            try:
                if self._arm is None:
                    raise _Refusal(ErrorCode.NO_STATE, self._no_arm)
                answer(self._arm, request, response)
            except _Refusal as refusal:
                response.success, response.error_code, response.message = False, int(refusal.code), str(refusal)
            except ValueError as error:
                response.success, response.error_code = False, int(ErrorCode.INVALID_INPUT)
                response.message = str(error)
            statistics.add(time.perf_counter() - start, response.success)
            return response

        return callback

    def _solve_ik(self, arm: ArmModel, request: SolveIK.Request, response: SolveIK.Response) -> None:
        elbow = _elbow(request.elbow)
        seed = ordered_positions(arm, request.seed.name, request.seed.position, "seed")
        if seed is None and elbow == "auto":
            seed = self._present(arm)
        target = self._frame.point(arm, self._base(arm), request.target)
        if isinstance(target, FrameRefusal):
            raise _Refusal(target.code, target.message)
        result = inverse_kinematics(arm, target, elbow, seed, request.allow_closest, self._settings.preferred_elbow)
        response.message = result.message
        achieved = result.achieved
        if achieved is None:
            response.error_code = int(result.status)
            return
        response.success = True
        best, *others = result.solutions
        response.solution.name, response.solution.position = arm.joint_names, best
        response.alternatives = [response.solution, *(JointState(name=arm.joint_names, position=q) for q in others)]
        response.achieved.x, response.achieved.y, response.achieved.z = achieved
        response.position_error = dist(target, achieved)
        response.manipulability = result.manipulability
        response.elbow = _ELBOW_NUMBERS[result.elbow or "down"]

    def _present(self, arm: ArmModel) -> Triple | None:
        """The last joint states of this arm's joints, None where there are none or they are of no use as a seed."""
        if self._joint_states is None:
            return None
        positions = dict(zip(self._joint_states.name, self._joint_states.position, strict=False))
        a, b, c = (positions.get(name, nan) for name in arm.joint_names)
        return (a, b, c) if isfinite(a + b + c) else None

    def _solve_fk(self, arm: ArmModel, request: SolveFK.Request, response: SolveFK.Response) -> None:
        q = ordered_positions(arm, request.joints.name, request.joints.position, "joints")
        if q is None:
            raise ValueError(f"joints: no positions; expected 3 ({', '.join(arm.joint_names)})")
        response.success = True
        response.frames = [_pose(pose, self._base(arm)) for pose in named_frames(arm, q).values()]
        response.jacobian = jacobian(arm, q).ravel().tolist()
        beyond = [
            f"{name} at {angle:.3f} rad is outside its limits {low:.3f} to {high:.3f} rad"
            for name, angle, low, high in zip(arm.joint_names, q, arm.lower, arm.upper, strict=True)
            if not low - 1e-9 <= angle <= high + 1e-9
        ]
        response.message = "; ".join(beyond)

    def _solve_ik_batch(self, arm: ArmModel, request: SolveIKBatch.Request, response: SolveIKBatch.Response) -> None:
        elbow = _elbow(request.elbow)
        numbers = np.array(request.targets)
        if len(numbers) % 3:
            raise ValueError(f"targets: {len(numbers)} numbers; expected three for each target (x y z in turn)")
        if len(numbers) > 3 * self._settings.batch_limit:
            raise ValueError(
                f"targets: {len(numbers) // 3} targets; the parameter batch_limit allows "
                f"{self._settings.batch_limit}; ask in parts or raise it"
            )
        pose = self._frame.pose(arm, self._base(arm), request.header.frame_id)
        if isinstance(pose, FrameRefusal):
            raise _Refusal(pose.code, pose.message)
        targets = numbers.reshape(-1, 3)
        if not np.array_equal(pose, np.eye(4)):
            targets = targets @ pose[:3, :3].T + pose[:3, 3]
        q, status = inverse_kinematics_batch(arm, targets, elbow, self._settings.preferred_elbow)
        response.success = True
        response.joint_names = list(arm.joint_names)
        response.solutions = array("d", q.tobytes())
        response.status = array("i", status.tobytes())
        failed = int(np.count_nonzero(status))
        response.message = f"{failed} of {len(status)} targets cannot be reached" if failed else ""

    def _publish_diagnostics(self) -> None:
        report = DiagnosticArray()
        report.header.stamp = self.get_clock().now().to_msg()
        name = self.get_fully_qualified_name().lstrip("/")
        for service, figures in self._statistics.items():
            status = DiagnosticStatus(name=f"{name}: {service}", level=DiagnosticStatus.OK, message="answering")
            if self._arm is None:
                status.level, status.message = DiagnosticStatus.WARN, self._no_arm
            else:
                status.hardware_id = self._arm.name
            status.values = [
                KeyValue(key="requests", value=str(figures.count)),
                KeyValue(key="failures", value=str(figures.failures)),
                KeyValue(key="mean latency [ms]", value=f"{1e3 * figures.mean_latency:.4f}"),
                KeyValue(key="max latency [ms]", value=f"{1e3 * figures.max_latency:.4f}"),
            ]
            report.status.append(status)
        self._diagnostics.publish(report)


def _elbow(number: int) -> str:
    if number not in _ELBOWS:
        raise ValueError(f"elbow: {number} is not defined; expected AUTO (0), DOWN (1) or UP (2)")
    return _ELBOWS[number]


def _pose(pose: Array, frame: str) -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = pose[:3, 3].tolist()
    orientation.w, orientation.x, orientation.y, orientation.z = quaternion(pose[:3, :3])
    return message


def main() -> None:
    """Run the node until it is stopped."""
    sys.exit(run_node(KinematicsNode))


if __name__ == "__main__":
    main()
