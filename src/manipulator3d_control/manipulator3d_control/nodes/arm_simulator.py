# SPDX-License-Identifier: Apache-2.0
"""Node that answers joint commands without hardware, as an echo or with the dynamics of the robot's description."""

import sys
import threading
import time
from dataclasses import dataclass

from builtin_interfaces.msg import Time
from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from manipulator3d_control.command_buffer import CommandRefused
from manipulator3d_control.joint_controller import CONTROL_LAWS, PID_GRAVITY
from manipulator3d_control.simulated_arm import MOCK, SIM, ArmReading, DriverStatus, Physics, SimulatedArm
from manipulator3d_interfaces.action import Home
from manipulator3d_interfaces.msg import ArmStatus, HardwareStatus
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.parameters import declare_parameters
from manipulator3d_node.nodes.process import run_node
from manipulator3d_node.parameter import parameter

_STATUS_PERIOD = 0.2
_PUBLISHERS_PERIOD = 0.5
# s between two log lines of the same kind.
_LOG_PERIOD = 1.0
_CLOCK_LOG_PERIOD = 5.0
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@dataclass(frozen=True)
class SimulatorParameters:
    """What can be set at start."""

    hardware: str = parameter(
        SIM, "mock echoes the commands, sim simulates the arm's dynamics under joint controllers.", choices=(MOCK, SIM)
    )
    rate_hz: float = parameter(100.0, "Rate of joint_states.", "Hz", 10.0, 500.0)
    control_law: str = parameter(
        PID_GRAVITY,
        "Law by which sim keeps the joints at their setpoints; see docs/simulation.md.",
        choices=CONTROL_LAWS,
    )
    payload_mass: float = parameter(
        0.05, "Mass of the object that the gripper holds; its controller knows it.", "kg", 0.0, 5.0
    )
    viscous_friction: tuple[float, ...] = parameter(
        (-1.0, -1.0, -1.0), "Per joint; -1 takes that of the description.", "N·m·s/rad", -1.0, 10.0
    )
    coulomb_friction: tuple[float, ...] = parameter(
        (-1.0, -1.0, -1.0), "Per joint; -1 takes that of the description.", "N·m", -1.0, 10.0
    )

    @property
    def physics(self) -> Physics:
        """As the simulated arm takes it."""
        return Physics(self.control_law, self.payload_mass, self.viscous_friction, self.coulomb_friction)


class ArmSimulator(Node):
    """Serves a simulated arm; a thread of its own moves it and publishes what it measures."""

    def __init__(self) -> None:
        super().__init__("arm_simulator")
        self._settings = declare_parameters(self, SimulatorParameters)
        self._description = ""
        self._arm: SimulatedArm | None = None
        self._names: tuple[str, ...] = ()
        self._lock = threading.Lock()  # of the simulated arm
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._refused = 0

        self._joint_states = self.create_publisher(JointState, "joint_states", 10)
        self._hardware_status = self.create_publisher(HardwareStatus, "hardware_status", 10)
        self.create_subscription(String, "robot_description", self._on_robot_description, _LATCHED)
        self.create_subscription(JointState, "joint_commands", self._on_joint_command, 50)
        self.create_subscription(ArmStatus, "arm_status", self._on_arm_status, 10)
        self.create_service(SetBool, "set_gripper", self._on_set_gripper)
        self.create_service(Trigger, "emergency_stop", self._on_emergency_stop)
        self.create_service(Trigger, "reset_fault", self._on_reset_fault)
        self._home = ActionServer(self, Home, "home", self._on_home)
        self.create_timer(_PUBLISHERS_PERIOD, self._count_publishers)
        self.get_logger().info("waiting for robot_description, which says what arm this is")

    def close(self) -> None:
        """Stop the arm's thread; a second call does nothing."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    # Input

    def _on_robot_description(self, message: String) -> None:
        if self._arm is not None:
            if message.data != self._description:
                self.get_logger().warning("robot_description has changed; restart the simulator to use the new one")
            return
        try:
            model = ArmModel.from_urdf(message.data)
            arm = SimulatedArm(model, self._settings.hardware, self._now(), self._settings.physics)
        except ValueError as error:
            self.get_logger().error(f"robot_description: {error}")
            return
        self._description = message.data
        self._names = model.joint_names
        self._arm = arm
        self._thread = threading.Thread(target=self._live, args=(arm,), name="arm")
        self._thread.start()
        self.get_logger().info(f"arm {model.name}: {self._settings.hardware}, at its home position")

    def _on_joint_command(self, message: JointState) -> None:
        if self._arm is None:
            return
        stamp = message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        try:
            with self._lock:
                self._arm.command(
                    self._now(), stamp, message.name, message.position.tolist(), message.velocity.tolist()
                )
        except CommandRefused as error:
            self._refused += 1
            self.get_logger().warning(
                f"joint command refused ({self._refused} so far): {error}", throttle_duration_sec=_LOG_PERIOD
            )

    def _on_arm_status(self, message: ArmStatus) -> None:
        if self._arm is not None:
            with self._lock:
                self._arm.report_holding(message.holding)

    def _count_publishers(self) -> None:
        arm = self._arm
        if arm is None:
            return
        with self._lock:
            before = arm.status
            arm.report_publishers(self.count_publishers("joint_commands"))
            after = arm.status
        if after.fault_message and after.fault_message != before.fault_message:
            self.get_logger().warning(after.fault_message)

    # Services

    def _on_set_gripper(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._arm is None:
            response.success, response.message = False, _NO_MODEL
            return response
        with self._lock:
            self._arm.set_gripper(request.data)
        response.success, response.message = True, "closed" if request.data else "open"
        return response

    def _on_emergency_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._arm is None:
            response.success, response.message = False, _NO_MODEL
            return response
        with self._lock:
            self._arm.emergency_stop()
        self.get_logger().warning("emergency stop")
        response.success, response.message = True, "the arm brakes and stays stopped until reset_fault"
        return response

    def _on_reset_fault(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._arm is None:
            response.success, response.message = False, _NO_MODEL
            return response
        with self._lock:
            had_fault = self._arm.reset_fault()
        response.success = True
        response.message = "the fault is cleared; nothing moves" if had_fault else "no fault is latched; nothing moves"
        return response

    def _on_home(self, goal: ServerGoalHandle) -> Home.Result:
        code, message = self._home_outcome(goal.request)
        if code is ErrorCode.SUCCESS:
            goal.succeed()
        else:
            goal.abort()
        result = Home.Result(success=code is ErrorCode.SUCCESS, error_code=int(code), message=message)
        if self._arm is not None:
            with self._lock:
                result.joints = _joint_state(self._names, self._arm.reading)
        return result

    def _home_outcome(self, goal: Home.Goal) -> tuple[ErrorCode, str]:
        if self._arm is None:
            return ErrorCode.LINK_DOWN, _NO_MODEL
        unknown = [name for name in goal.joints if name not in self._names]
        if unknown:
            known = ", ".join(self._names)
            return ErrorCode.INVALID_INPUT, f"joint {unknown[0]} is unknown; this arm has {known}"
        if goal.set_here or goal.positions:
            return (
                ErrorCode.INVALID_INPUT,
                "a simulated arm knows its positions and takes no others; leave set_here and positions out",
            )
        status = self._arm.status
        if status.fault is not ErrorCode.SUCCESS:
            return status.fault, status.fault_message
        return ErrorCode.SUCCESS, "a simulated arm knows its positions; nothing moved"

    # The arm's thread

    def _live(self, arm: SimulatedArm) -> None:
        """Move the arm at the set rate, by absolute deadlines, and publish."""
        period = 1.0 / self._settings.rate_hz
        deadline = time.monotonic()
        reported: DriverStatus | None = None
        report_at = deadline
        while not self._closing.wait(max(deadline - time.monotonic(), 0.0)):
            now = self._now()
            with self._lock:
                before = arm.reading.time
                reading = arm.advance(now)
                status = arm.status
            if reading.time != before:
                self._joint_states.publish(_joint_state(self._names, reading))
            elif now == 0.0:
                self.get_logger().warning(
                    "use_sim_time is set and no /clock has arrived; the arm stands until its publisher runs",
                    throttle_duration_sec=_CLOCK_LOG_PERIOD,
                )
            if status != reported or deadline >= report_at:
                self._hardware_status.publish(self._status_message(status, now))
                reported, report_at = status, deadline + _STATUS_PERIOD
            # after a late tick, the next one keeps to the grid, and ticks missed are not made up for
            late = time.monotonic() - deadline
            deadline += period * max(1.0, late // period)

    def _now(self) -> float:
        return self.get_clock().now().nanoseconds * 1e-9

    def _status_message(self, status: DriverStatus, now: float) -> HardwareStatus:
        message = HardwareStatus(
            driver=self._settings.hardware,
            link=HardwareStatus.LINK_UP,
            mode=int(status.mode),
            fault=int(status.fault),
            fault_message=status.fault_message,
            homed=True,
            gripper_closed=status.gripper_closed,
            has_grasp_sensor=False,
            object_detected=False,
        )
        message.header.stamp = _stamp(now)
        return message


_NO_MODEL = "no robot_description has arrived yet; start robot_state_publisher"


def _joint_state(names: tuple[str, ...], reading: ArmReading) -> JointState:
    message = JointState(
        name=list(names),
        position=list(reading.position),
        velocity=list(reading.velocity),
        effort=list(reading.effort),
    )
    message.header.stamp = _stamp(reading.time)
    return message


def _stamp(seconds: float) -> Time:
    nanoseconds = round(seconds * 1e9)
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(ArmSimulator))


if __name__ == "__main__":
    main()
