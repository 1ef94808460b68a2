# SPDX-License-Identifier: Apache-2.0
"""The motion server: takes goals, plans them, streams joint_commands, watches the arm."""

import sys

from geometry_msgs.msg import PointStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger

from manipulator3d_control.ball import Ball
from manipulator3d_control.command_history import CommandHistory
from manipulator3d_control.command_stream import CommandStream
from manipulator3d_control.feed_forward import FeedForward
from manipulator3d_control.motion import Setpoint
from manipulator3d_control.nodes.arm_monitor import ArmMonitor
from manipulator3d_control.nodes.draw_path_action import DrawPathAction
from manipulator3d_control.nodes.follow_joint_trajectory_action import FollowJointTrajectoryAction
from manipulator3d_control.nodes.goal_fields import point_in_base
from manipulator3d_control.nodes.goal_run import GoalDesk
from manipulator3d_control.nodes.jog import Jog
from manipulator3d_control.nodes.joint_trajectory_topic import JointTrajectoryTopic
from manipulator3d_control.nodes.motion_parameters import MotionParameters
from manipulator3d_control.nodes.move_to_action import MoveToAction
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.nodes.pick_place_action import PickPlaceAction
from manipulator3d_control.nodes.set_obstacles_service import SetObstaclesService
from manipulator3d_control.phase import Phase
from manipulator3d_control.refusal import Refusal
from manipulator3d_interfaces.msg import ArmStatus, HardwareStatus
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.parameters import declare_parameters
from manipulator3d_node.nodes.process import run_node
from manipulator3d_node.nodes.target_frame import TargetFrame

_WATCH_PERIOD_S, _STATUS_PERIOD_S, _FEEDBACK_PERIOD_S = 0.02, 0.2, 0.1
# these leave nothing to command: the driver itself brings the arm to rest
_AT_ONCE = {
    ErrorCode.LINK_DOWN,
    ErrorCode.ESTOP,
    ErrorCode.FIRMWARE_FAULT,
    ErrorCode.NOT_HOMED,
    ErrorCode.PROTOCOL_MISMATCH,
    ErrorCode.STALE_STATE,
    ErrorCode.NO_STATE,
}
_MODE_NAMES = {
    ArmStatus.MODE_DISCONNECTED: "disconnected",
    ArmStatus.MODE_IDLE: "idle",
    ArmStatus.MODE_MOVING: "moving",
    ArmStatus.MODE_PAUSED: "paused",
    ArmStatus.MODE_STOPPING: "stopping",
    ArmStatus.MODE_HOMING: "homing",
    ArmStatus.MODE_FAULT: "fault",
}


class MotionServer(Node):
    """See the module; the parts are in the modules that it imports."""

    def __init__(self) -> None:
        super().__init__("motion_server")
        self._settings = parameters = declare_parameters(self, MotionParameters)
        self._history = CommandHistory()
        self._monitor = ArmMonitor(parameters, self._history)
        self._commands = self.create_publisher(JointState, "joint_commands", 50)
        self._stream = CommandStream(self._publish_command, self._now, parameters.rate_hz, parameters.command_lead)
        self._desk = GoalDesk(self, parameters, self._stream, self._monitor)
        self._ball = Ball(parameters.grasp_tolerance)
        self._feed_forward: FeedForward | None = None
        self._frames = TargetFrame(self)
        self._markers = PathMarkers(self, self._monitor)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(String, "robot_description", self._on_description, latched)
        self.create_subscription(JointState, "joint_states", self._monitor.on_joint_states, 10)
        self.create_subscription(HardwareStatus, "hardware_status", self._on_hardware_status, 10)
        self.create_subscription(PointStamped, "set_ball", self._on_set_ball, 10)
        self.create_subscription(Float64, "speed_scale", self._on_speed_scale, 10)
        self._status = self.create_publisher(ArmStatus, "arm_status", 10)
        self._last_status = ArmStatus()
        self._reported_delay = 0.0
        self.create_service(Trigger, "pause", self._on_pause)
        self.create_service(Trigger, "resume", self._on_resume)
        self.create_service(Trigger, "stop", self._on_stop)
        self._pick_place = PickPlaceAction(self, self._desk, self._ball, self._frames, self._markers)
        self._obstacles = SetObstaclesService(self, self._desk, self._frames, self._markers)
        self._desk.is_holding = lambda: self._ball.held
        self._move_to = MoveToAction(self._desk, self._frames, self._markers)
        self._follow = FollowJointTrajectoryAction(self, self._desk, self._markers)
        self._jog = Jog(self, self._desk, self._frames)
        self._trajectories = JointTrajectoryTopic(self, self._desk, self._markers)
        self._draw_path = DrawPathAction(self._desk, self._frames, self._markers)
        self.create_timer(_WATCH_PERIOD_S, self._watch)
        self.create_timer(_STATUS_PERIOD_S, self._publish_status)
        self.create_timer(_FEEDBACK_PERIOD_S, self._publish_feedback)
        if self.get_parameter("use_sim_time").value:
            self.get_logger().info("use_sim_time is set: nothing moves until a time arrives on /clock")
        self._stream.start()

    def close(self) -> None:
        """Bring a running motion to rest and end the stream."""
        self._desk.interrupt(Refusal(ErrorCode.STOPPED, "the motion server ends"), at_once=True)
        self._stream.close()

    def _now(self) -> float:
        return self.get_clock().now().nanoseconds * 1e-9

    def _publish_command(self, stamp: float, setpoint: Setpoint) -> None:
        arm = self._monitor.arm
        assert arm is not None
        message = JointState(name=list(arm.joint_names))
        message.position, message.velocity = setpoint.position.tolist(), setpoint.velocity.tolist()
        if self._feed_forward is not None:
            message.effort = self._feed_forward.torques(setpoint, self._ball.held)
        message.header.stamp = Time(nanoseconds=round(stamp * 1e9)).to_msg()
        self._commands.publish(message)
        self._history.add(stamp, setpoint.position)

    def _on_description(self, message: String) -> None:
        try:
            arm = ArmModel.from_urdf(message.data)
            self._obstacles.describe(arm, message.data)
        except ValueError as error:
            self.get_logger().error(f"robot_description: {error}")
            return
        if self._desk.run is not None:
            self.get_logger().warning("a new robot_description counts from the next start of a goal")
            self._desk.interrupt(Refusal(ErrorCode.STOPPED, "the robot_description was replaced"))
        self._monitor.arm = arm
        self._feed_forward = FeedForward(arm, self._settings.payload_mass)

    def _on_hardware_status(self, message: HardwareStatus) -> None:
        self._monitor.on_hardware_status(message)
        self._watch()
        self._publish_status_on_change()

    def _on_set_ball(self, message: PointStamped) -> None:
        arm = self._monitor.arm
        if arm is None:
            self.get_logger().error("set_ball: no robot_description has arrived, so the frame cannot be resolved")
            return
        try:
            self._ball.put(point_in_base(message, "set_ball", arm, self._frames))
        except Refusal as refusal:
            self.get_logger().error(str(refusal))

    def _on_speed_scale(self, message: Float64) -> None:
        if not 0.0 < message.data <= 1.0:
            self.get_logger().error(f"speed_scale: {message.data:g} is not within 0 to 1; to stand still call pause")
            return
        self._stream.change_speed(message.data)

    def _on_pause(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._desk.run is None:
            response.message = "nothing is moving; there is nothing to pause"
        elif self._stream.paused:
            response.message = "the motion is paused already"
        else:
            self._stream.pause()
            response.success, response.message = True, "paused"
        self._publish_status_on_change()
        return response

    def _on_resume(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._desk.run is None or not self._stream.paused:
            response.message = "no motion is paused; there is nothing to resume"
        else:
            self._stream.resume()
            response.success, response.message = True, "resumed"
        self._publish_status_on_change()
        return response

    def _on_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        stopped = self._desk.interrupt(
            Refusal(ErrorCode.STOPPED, "ended by /stop; the arm has come to rest on its path")
        )
        response.success = True
        response.message = "stopping" if stopped else "nothing is moving"
        self._publish_status_on_change()
        return response

    def _watch(self) -> None:
        self._monitor.listen()
        if self._desk.run is None:
            return
        if self._stream.delay > self._reported_delay:
            self.get_logger().warning(
                f"this computer held the commands up for {self._stream.delay:.3f} s, longer than their lead of "
                f"{self._settings.command_lead:g} s; the motion goes on from rest; close other programs, or raise "
                "command_lead"
            )
        self._reported_delay = self._stream.delay
        refusal = self._monitor.interruption() or self._desk.run.watch()
        if refusal is not None and self._desk.run.interruption is None:
            self.get_logger().error(str(refusal))
            self._desk.interrupt(refusal, at_once=refusal.code in _AT_ONCE)
        elif refusal is not None and refusal.code in _AT_ONCE and self._stream.active:
            self._desk.interrupt(refusal, at_once=True)

    def _publish_feedback(self) -> None:
        if self._ball.held and self._monitor.tool is not None:
            self._ball.carry(self._monitor.tool)
        self._markers.show_ball(self._ball)
        run = self._desk.run
        self._markers.show_text(Phase(run.phase).name if run is not None and run.phase else "")
        if run is not None:
            run.publish_feedback()

    def _present_status(self) -> ArmStatus:
        status = ArmStatus(holding=self._ball.held, speed_scale=self._stream.speed_scale)
        hardware, run = self._monitor.hardware, self._desk.run
        not_ready = self._monitor.not_ready()
        if hardware is not None:
            status.homed = hardware.homed
            status.link = hardware.link == HardwareStatus.LINK_UP
        if not_ready is not None:
            status.fault, status.fault_message = int(not_ready.code), str(not_ready)
            status.link = status.link and not_ready.code not in (ErrorCode.LINK_DOWN, ErrorCode.STALE_STATE)
        status.mode = self._mode(not_ready)
        if run is not None and run.phase:
            status.phase, status.phase_name = run.phase, Phase(run.phase).name
        if hardware is not None and hardware.fault_message and not status.fault_message:
            status.fault_message = hardware.fault_message
        status.mode_name = _MODE_NAMES[status.mode]
        return status

    def _mode(self, not_ready: Refusal | None) -> int:
        hardware = self._monitor.hardware
        if hardware is not None and hardware.mode == HardwareStatus.MODE_HOMING:
            return ArmStatus.MODE_HOMING
        if not_ready is not None:
            silent = {ErrorCode.LINK_DOWN, ErrorCode.NO_STATE, ErrorCode.STALE_STATE}
            if not_ready.code in silent:
                return ArmStatus.MODE_DISCONNECTED
            return ArmStatus.MODE_IDLE if not_ready.code is ErrorCode.NOT_HOMED else ArmStatus.MODE_FAULT
        if self._desk.run is None:
            return ArmStatus.MODE_IDLE
        if self._stream.stopping:
            return ArmStatus.MODE_STOPPING
        return ArmStatus.MODE_PAUSED if self._stream.paused else ArmStatus.MODE_MOVING

    def _publish_status(self) -> None:
        status = self._present_status()
        self._last_status = _without_stamp(status)
        status.header.stamp = self.get_clock().now().to_msg()
        self._status.publish(status)

    def _publish_status_on_change(self) -> None:
        if self._present_status() != self._last_status:
            self._publish_status()


def _without_stamp(status: ArmStatus) -> ArmStatus:
    copied = ArmStatus()
    for field in ArmStatus.get_fields_and_field_types():
        if field != "header":
            setattr(copied, field, getattr(status, field))
    return copied


def main() -> None:
    """Run the node as a process."""
    # the stream's thread must not wait for the interpreter's lock through a whole planning step
    sys.setswitchinterval(0.001)
    sys.exit(run_node(MotionServer))


if __name__ == "__main__":
    main()
