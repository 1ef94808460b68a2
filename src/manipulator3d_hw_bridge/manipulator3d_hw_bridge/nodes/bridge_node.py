# SPDX-License-Identifier: Apache-2.0
"""Managed node between joint commands and the board: configure opens the link, activate arms the motors."""

import shlex
import sys
import threading
import time
from collections.abc import Callable

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from manipulator3d_hw_bridge.board_driver import BoardDriver
from manipulator3d_hw_bridge.board_settings import BoardSettings, board_settings
from manipulator3d_hw_bridge.board_status import (
    BoardStatus,
    Event,
    Health,
    HomeProgress,
    Measurement,
    Notice,
    StatusChanged,
)
from manipulator3d_hw_bridge.bridge_parameters import EMULATED, BridgeParameters
from manipulator3d_hw_bridge.command_check import CommandRefused, JointBounds, check_command
from manipulator3d_hw_bridge.emulator_process import EmulatorError, EmulatorProcess, find_emulator
from manipulator3d_hw_bridge.line_load import LineLoad
from manipulator3d_hw_bridge.link_traffic import Direction
from manipulator3d_hw_bridge.nodes.board_reports import diagnostics, hardware_status, joint_state
from manipulator3d_hw_bridge.nodes.home_action import HomeAction
from manipulator3d_hw_bridge.request_queue import Outcome
from manipulator3d_hw_bridge.serial_link import BAUD, LinkError, candidates
from manipulator3d_hw_bridge.session import Session
from manipulator3d_hw_bridge.wall_clock import WallClock
from manipulator3d_interfaces.msg import HardwareStatus, LinkTraffic
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.parameters import declare_parameters
from manipulator3d_node.nodes.process import run_node

_STATUS_PERIOD = 0.2
_DIAGNOSTICS_PERIOD = 1.0
# s between two log lines about refused commands.
_REFUSAL_LOG_PERIOD = 1.0
_PUBLISHERS_LOG_PERIOD = 10.0
# s that the Mega's boot loader and set-up take at most after the opening of its port has reset it.
_BOOT_QUIET = 5.0
# pieces of a second of traffic
_TRAFFIC_DEPTH = 500
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

_SUCCESS = TransitionCallbackReturn.SUCCESS
_FAILURE = TransitionCallbackReturn.FAILURE


class BridgeNode(LifecycleNode):
    """Serves the arm behind a serial line; publishes what the board measures."""

    def __init__(self) -> None:
        super().__init__("bridge_node")
        self._options = declare_parameters(self, BridgeParameters)
        self._wiring = self._options.wiring
        self._gains = self._options.gains
        self._arm: ArmModel | None = None
        self._settings: BoardSettings | None = None
        self._driver: BoardDriver | None = None
        self._emulator: EmulatorProcess | None = None
        self._active = False
        self._status = BoardStatus()
        self._health = Health()
        self._measurement: Measurement | None = None
        self._load = LineLoad(BAUD, time.monotonic())
        self._refused = 0
        self._refused_before = 0
        self._refusal = ""
        self._latest_stamp = 0
        self._clock_of_stamps = WallClock(lambda: self.get_clock().now().nanoseconds * 1e-9)

        self._joint_states = self.create_publisher(JointState, "joint_states", 10)
        self._hardware_status = self.create_publisher(HardwareStatus, "hardware_status", 10)
        self._link_traffic = self.create_publisher(LinkTraffic, "link_traffic", _TRAFFIC_DEPTH)
        self._diagnostics = self.create_publisher(DiagnosticArray, "diagnostics", 10)
        self.create_subscription(String, "robot_description", self._on_robot_description, _LATCHED)
        self.create_subscription(JointState, "joint_commands", self._on_joint_commands, 10)
        self.create_service(SetBool, "set_gripper", self._on_set_gripper)
        self.create_service(Trigger, "emergency_stop", self._on_emergency_stop)
        self.create_service(Trigger, "reset_fault", self._on_reset_fault)
        self._home = HomeAction(self, self._active_board, lambda: self._measurement)
        self.create_timer(_STATUS_PERIOD, self._publish_status)
        self.create_timer(_DIAGNOSTICS_PERIOD, self._publish_diagnostics)
        self.get_logger().info("waiting for robot_description, which says what arm this is")

    # Transitions

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to look for the board; it need not be there yet."""
        if self._arm is None or self._settings is None:
            self.get_logger().error("no robot_description has arrived; start robot_state_publisher, then configure")
            return _FAILURE
        try:
            port = self._start_emulator(self._arm) if self._options.hardware == EMULATED else self._options.port
        except EmulatorError as error:
            self.get_logger().error(str(error))
            self._status = BoardStatus(fault=ErrorCode.LINK_DOWN, fault_message=str(error))
            return _FAILURE
        quiet = 0.0 if self._options.hardware == EMULATED else _BOOT_QUIET
        self.get_logger().info(f"looking for the board at {port}")
        self._driver = BoardDriver(
            Session(self._settings), lambda: self._ports(port), self._on_event, quiet, self._on_traffic
        )
        self._driver.start()
        return _SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Hold the arm and follow commands as soon as the board is configured."""
        assert self._driver is not None
        self._active = True
        self._driver.call(lambda session, now: session.arm(now))
        return _SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Hold, then let go of the motors."""
        self._active = False
        self._disarm()
        return _SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the link."""
        self._leave()
        return _SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Park if asked, hold, disarm, close."""
        self.close()
        return _SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the link; the node can be configured again."""
        self._leave()
        return _SUCCESS

    def close(self) -> None:
        """Park if asked, hold, disarm, close the link, end the emulator; a second call does nothing."""
        if self._driver is not None and self._active and self._options.park_on_shutdown:
            self._park()
        self._leave()

    def _leave(self) -> None:
        self._active = False
        if self._driver is not None:
            self._driver.stop()
            self._driver = None
        if self._emulator is not None:
            self._emulator.stop()
            self._emulator = None

    def _start_emulator(self, arm: ArmModel) -> str:
        """Start the emulated board; return its port."""
        more = shlex.split(self._options.emulator_arguments)
        self._emulator = EmulatorProcess(find_emulator(), arm, self._wiring, more)
        try:
            self._emulator.wait_ready()
        except EmulatorError:
            self._emulator.stop()
            self._emulator = None
            raise
        return self._emulator.port

    def _ports(self, port: str) -> list[str]:
        """List the ports to try, in the driver's thread."""
        if self._emulator is not None and not self._emulator.running:
            raise LinkError("the emulated board's process has ended; configure the bridge anew, or restart the stack")
        ports = candidates(port)
        if len(ports) > 1:
            text = (
                f"several boards are plugged in ({', '.join(ports)}): the first that answers is taken; or choose a port"
            )
            self.get_logger().warning(text, once=True)
        return ports

    def _disarm(self) -> None:
        driver, done = self._driver, threading.Event()
        if driver is not None:
            driver.call(lambda session, now: session.disarm(now, lambda _outcome: done.set()))
            done.wait(5.0)

    def _park(self) -> None:
        driver, done = self._driver, threading.Event()
        assert driver is not None
        driver.call(lambda session, now: session.motion.park(now, lambda outcome: self._parked(outcome, done)))
        done.wait(15.0)

    def _parked(self, outcome: Outcome, done: threading.Event) -> None:
        if not outcome.ok:
            self.get_logger().warning(f"not parked: {outcome.message}")
        done.set()

    def _active_board(self) -> tuple[BoardDriver, JointBounds] | None:
        if self._driver is None or self._settings is None or not self._active:
            return None
        return self._driver, self._settings.bounds

    # Input

    def _on_robot_description(self, message: String) -> None:
        if self._settings is not None:
            return  # the board has been told what arm it moves; another one needs a new start
        try:
            arm = ArmModel.from_urdf(message.data)
            settings = board_settings(arm, self._wiring, self._options.rate_hz, self._options.silence, self._gains)
        except ValueError as error:
            self.get_logger().error(f"robot_description: {error}")
            return
        self._arm, self._settings = arm, settings
        self.get_logger().info(f"arm {arm.name}: {self._options.hardware} board")
        if self._options.autostart and self.trigger_configure() == _SUCCESS:
            self.trigger_activate()

    def _on_joint_commands(self, message: JointState) -> None:
        board = self._active_board()
        if board is None:
            return
        driver, bounds = board
        try:
            positions, velocities = check_command(bounds, message.name, message.position, message.velocity)
        except CommandRefused as error:
            self._refuse(str(error))
            return
        apply_at = self._clock_of_stamps.to_monotonic(message.header.stamp.sec + message.header.stamp.nanosec * 1e-9)
        driver.call(lambda session, at: self._command(session, at, apply_at, positions, velocities))

    def _command(
        self, session: Session, now: float, apply_at: float, positions: tuple[float, ...], velocities: tuple[float, ...]
    ) -> None:
        refusal = session.motion.command(now, apply_at, positions, velocities)
        if refusal:
            self._refuse(refusal)

    def _refuse(self, reason: str) -> None:
        self._refused += 1
        self._refusal = reason
        self.get_logger().warning(
            f"joint command refused ({self._refused} so far): {reason}", throttle_duration_sec=_REFUSAL_LOG_PERIOD
        )

    # Services

    async def _on_set_gripper(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        closed = bool(request.data)
        outcome = await self._ask(lambda session, now, done: session.set_gripper(now, closed, done))
        response.success, response.message = outcome.ok, outcome.message or ("closed" if closed else "open")
        return response

    async def _on_emergency_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        outcome = await self._ask(lambda session, now, done: session.emergency_stop(now, done))
        response.success = outcome.ok
        response.message = outcome.message or "the arm brakes and stays stopped until reset_fault"
        return response

    async def _on_reset_fault(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        outcome = await self._ask(lambda session, now, done: session.reset_fault(now, done))
        response.success = outcome.ok
        response.message = outcome.message or "no fault is latched any more; nothing moves"
        return response

    async def _ask(self, request: Callable[[Session, float, Callable[[Outcome], None]], None]) -> Outcome:
        """Have the session do something and wait for its outcome; the executor goes on meanwhile."""
        future: Future[Outcome] = Future(executor=self.executor)
        if self._driver is None:
            future.set_result(Outcome(ErrorCode.LINK_DOWN, "the bridge has no link to a board; configure it first"))
        else:
            self._driver.call(lambda session, now: request(session, now, future.set_result))
        outcome = await future
        assert outcome is not None
        return outcome

    # Output

    def _on_event(self, event: Event) -> None:
        """Take an event of the session, in the driver's thread: publishing is safe there, nothing else is."""
        match event:
            case Measurement():
                self._measurement = event
                assert self._settings is not None
                stamp = self._stamp(event.time)
                self._joint_states.publish(joint_state(self._settings.bounds.names, event, stamp))
            case StatusChanged():
                self._status = event.status
                if not event.status.connected:
                    self._health = Health()  # figures of a link that is gone would look like present ones
                self._publish_status()
            case Health():
                self._health = event
            case HomeProgress():
                if self.executor is not None:
                    self.executor.create_task(self._home.show, event)
            case Notice(text=text, warning=True):
                self.get_logger().warning(text)
            case Notice(text=text):
                self.get_logger().info(text)

    def _on_traffic(self, direction: Direction, data: bytes) -> None:
        """Count what went over the line, and publish it if somebody listens; in the driver's thread."""
        self._load.add(direction, len(data))
        if self._link_traffic.get_subscription_count() > 0:
            message = LinkTraffic(direction=direction.value, data=data)
            message.header.stamp = self.get_clock().now().to_msg()
            self._link_traffic.publish(message)

    def _stamp(self, monotonic: float) -> Time:
        """Convert a time of the monotonic clock to the node's clock."""
        nanoseconds = round(self._clock_of_stamps.to_stamp(monotonic) * 1e9)
        # The node's clock may be set back; joint states never go backwards.
        self._latest_stamp = nanoseconds = max(nanoseconds, self._latest_stamp + 1)
        return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)

    def _publish_status(self) -> None:
        now = self.get_clock().now().to_msg()
        self._hardware_status.publish(hardware_status(self._options.hardware, self._status, now))

    def _publish_diagnostics(self) -> None:
        health = self._health
        figures = {
            "refused": str(self._refused),
            "last reason": self._refusal,
            "publishers": str(self._publisher_count()),
        }
        warnings = dict(health.warnings)
        if self._publisher_count() > 1:
            warnings["commands"] = f"{self._publisher_count()} publishers on joint_commands; stop all but one"
            self.get_logger().warning(warnings["commands"], throttle_duration_sec=_PUBLISHERS_LOG_PERIOD)
        elif self._refused > self._refused_before:
            warnings["commands"] = f"{self._refused - self._refused_before} refused in the last second: {self._refusal}"
        self._refused_before = self._refused
        groups = {**health.groups, "commands": figures}
        load = self._load.take(time.monotonic())
        if "serial" in groups:
            groups["serial"] = groups["serial"] | {"line load (%)": f"{load:.1f}"}
        report = Health(groups, warnings)
        self._diagnostics.publish(diagnostics(self.get_name(), self._status, report, self.get_clock().now().to_msg()))

    def _publisher_count(self) -> int:
        return self.count_publishers("joint_commands")


def main() -> None:
    """Run the node as a process."""
    sys.exit(run_node(BridgeNode))


if __name__ == "__main__":
    main()
