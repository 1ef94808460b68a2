# SPDX-License-Identifier: Apache-2.0
"""Trajectories and jogging over real ROS with the mock arm."""

import math
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from geometry_msgs.msg import TwistStamped
from numpy.typing import NDArray
from rclpy.time import Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_interfaces.action import MoveTo
from manipulator3d_interfaces.msg import ArmStatus
from manipulator3d_kinematics import ArmModel, forward_kinematics
from manipulator3d_node.error_code import ErrorCode

Cell = Any
Goal, Result = FollowJointTrajectory.Goal, FollowJointTrajectory.Result
ARM = ArmModel.profile("capstone")
NAMES = list(ARM.joint_names)
HOME = [0.0, 1.2, -1.6]
AWAY = [0.2, 1.1, -1.4]
FAR = [0.9, 0.8, -1.0]
# for a busy computer: the arm may be late, and a held jog may be felt late
PATIENT = (
    "tracking_tolerance:=3.0",
    "settle_timeout:=5.0",
    "state_timeout:=10.0",
    "jog_timeout:=1.0",
    "command_lead:=0.25",
)
Array = NDArray[np.float64]


def duration(seconds: float) -> Duration:
    return Duration(sec=math.floor(seconds), nanosec=round(seconds % 1.0 * 1e9))


def point(time: float, *rows: Any) -> JointTrajectoryPoint:
    names = ("positions", "velocities", "accelerations")[: len(rows)]
    fields = {name: [float(value) for value in row] for name, row in zip(names, rows, strict=True)}
    return JointTrajectoryPoint(time_from_start=duration(time), **fields)


def trajectory(*points: JointTrajectoryPoint, names: list[str] = NAMES) -> JointTrajectory:
    return JointTrajectory(joint_names=names, points=list(points))


def planned_elsewhere(start: list[float], end: list[float], speed: float = 1.0) -> JointTrajectory:
    """As a planner sends it: positions, velocities and accelerations each 0.1 s."""
    motion = point_to_point(ARM, np.array(start), np.array(end))
    times = [*np.arange(0.0, motion.duration, 0.1), motion.duration]
    return trajectory(
        *(
            point(t / speed, state.position, state.velocity * speed, state.acceleration * speed**2)
            for t, state in ((float(t), motion.sample(float(t))) for t in times)
        )
    )


class Client:
    """The interfaces under test."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        node = cell.node
        self.trajectories = node.create_publisher(JointTrajectory, "arm_controller/joint_trajectory", 10)
        self.twists = node.create_publisher(TwistStamped, "jog_twist", 10)
        self.joints = node.create_publisher(JointState, "jog_joints", 10)
        cell.wait_for(cell.trajectory_client.server_is_ready, "the action")
        publishers = (self.trajectories, self.twists, self.joints)
        cell.wait_for(lambda: all(p.get_subscription_count() for p in publishers), "the topics")

    def send(self, message: JointTrajectory, **fields: Any) -> Any:
        return self.cell.send(Goal(trajectory=message, **fields))

    def follow(self, message: JointTrajectory, start: list[float] = HOME) -> Any:
        """Go to a start and send a goal until the arm gets to its end; gives the last one.

        Where the computer is held up so long that the driver takes the commands for stale, the arm stays behind.
        """
        for _ in range(5):
            go_to(self.cell, start)
            goal = self.send(message)
            if goal.result().error_code != Result.GOAL_TOLERANCE_VIOLATED:
                break
        return goal

    def jog_joints(self, velocity: list[float], names: list[str] = NAMES) -> None:
        self.joints.publish(JointState(name=names, velocity=velocity))

    def jog_twist(self, linear: tuple[float, float, float], frame: str = "") -> None:
        message = TwistStamped()
        message.header.frame_id = frame
        message.twist.linear.x, message.twist.linear.y, message.twist.linear.z = linear
        self.twists.publish(message)

    def hold(self, jog: Any, condition: Any, what: str) -> None:
        """Jog as a held key does until a condition is met."""

        def goes_on() -> bool:
            if condition():
                return True
            jog()
            return False

        self.cell.wait_for(goes_on, what)


@pytest.fixture(scope="module")
def client(start_cell: Any) -> Client:
    return Client(start_cell("mock", parameters=PATIENT))


def go_to(cell: Cell, joints: list[float]) -> None:
    """Bring the arm somewhere; a computer that is held up for long may need more than one goal."""
    goal = MoveTo.Goal(target_type=MoveTo.Goal.TARGET_JOINTS, joints=JointState(position=joints))
    for _ in range(10):
        result = cell.send(goal).result()
        if result.success:
            cell.wait_for_mode(ArmStatus.MODE_IDLE)
            return
    pytest.fail(result.message)


def positions(messages: list[JointState]) -> Array:
    return np.array([message.position for message in messages])


def assert_smooth(commands: list[JointState]) -> None:
    """Velocity and acceleration are within the limits wherever the commands follow each other evenly."""
    stamps = np.array([message.header.stamp.sec + message.header.stamp.nanosec * 1e-9 for message in commands])
    steps = np.diff(stamps)[:, None]
    velocity = np.diff(positions(commands), axis=0) / steps
    even = steps[:, 0] < 0.015
    assert np.all(np.abs(velocity[even]) <= ARM.velocity * 1.001)
    acceleration = np.diff(velocity, axis=0)[even[1:] & even[:-1]] / 0.01
    assert len(acceleration) > 20
    assert np.all(np.abs(acceleration) <= ARM.acceleration * 1.01)


def assert_at(cell: Cell, joints: list[float]) -> None:
    cell.wait_for(lambda: np.allclose(cell.states[-1].position, joints, atol=1e-4), f"the arm at {joints}")


def wait_for_log(cell: Cell, text: str) -> None:
    cell.wait_for(lambda: text in cell.log("motion_server"), f"'{text}' in the log")


def at_stamp(message: JointTrajectory, seconds: float) -> JointTrajectory:
    message.header.stamp = Time(nanoseconds=round(seconds * 1e9)).to_msg()
    return message


def now(cell: Cell) -> float:
    return float(cell.node.get_clock().now().nanoseconds * 1e-9)


def test_a_planned_trajectory_is_followed_with_feedback(client: Client) -> None:
    cell = client.cell
    before = len(cell.commands)
    goal = client.follow(planned_elsewhere(HOME, AWAY, speed=0.4))
    result = goal.result()
    assert (result.error_code, result.error_string) == (Result.SUCCESSFUL, "")
    assert_at(cell, AWAY)
    assert_smooth(cell.commands[before:])
    assert goal.feedback
    for feedback in goal.feedback:
        assert list(feedback.joint_names) == NAMES
        difference = np.subtract(feedback.desired.positions, feedback.actual.positions)
        assert feedback.error.positions == pytest.approx(difference.tolist())
        assert np.max(np.abs(difference)) < 0.05


def test_named_joints_move_in_any_order_by_whole_turns_too_and_the_others_hold(client: Client) -> None:
    cell = client.cell
    turned = 0.2 - 2 * math.pi
    message = trajectory(point(0.6, [-1.5, turned]), point(1.0, [-1.4, turned]), names=[NAMES[2], NAMES[0]])
    assert client.follow(message).result().error_code == Result.SUCCESSFUL
    assert_at(cell, [0.2, 1.2, -1.4])


FAST = trajectory(point(0.1, AWAY))
STEPS = [point(1.0, HOME), point(2.0, AWAY)]
TOLERANCE = JointTolerance(name=NAMES[0], velocity=0.1)
REFUSED: list[tuple[JointTrajectory, dict[str, Any], int, str]] = [
    (trajectory(*STEPS, names=[]), {}, Result.INVALID_JOINTS, "no joint is named; the arm's joints are base_yaw"),
    (trajectory(*STEPS, names=["a", "b", "c"]), {}, Result.INVALID_JOINTS, "'a' is not a joint of the arm"),
    (trajectory(*STEPS, names=[NAMES[0]] * 3), {}, Result.INVALID_JOINTS, "name each joint once"),
    (
        trajectory(point(1.0, [0.1, math.nan, 0.0])),
        {},
        Result.INVALID_GOAL,
        "shoulder_pitch: positions of point 0 at 1 s",
    ),
    (trajectory(STEPS[0], STEPS[0]), {}, Result.INVALID_GOAL, "point 1 has time_from_start 1 s, not above the 1 s"),
    (trajectory(point(1.0, [0.1])), {}, Result.INVALID_GOAL, "point 0 at 1 s has 1 positions for 3 joints"),
    (
        trajectory(point(0.0, [0.5, 1.2, -1.6])),
        {},
        Result.INVALID_GOAL,
        "base_yaw: the trajectory begins at 0.5 rad, 0.5",
    ),
    (
        trajectory(point(1.0, [3.0, 1.2, -1.6])),
        {},
        Result.INVALID_GOAL,
        "base_yaw: 3 rad at point 0 at 1 s is above its",
    ),
    (trajectory(point(3.0, [0.0, -0.5, -0.9])), {}, Result.INVALID_GOAL, "below the floor at 0.000 m"),
    (FAST, {}, Result.INVALID_GOAL, "is above its limit of 2 rad/s; make all times"),
    (at_stamp(trajectory(*STEPS), 1.0), {}, Result.OLD_HEADER_TIMESTAMP, "header.stamp is "),
    (trajectory(*STEPS), {"path_tolerance": [TOLERANCE]}, Result.INVALID_GOAL, "base_yaw bounds the velocity"),
    (
        trajectory(*STEPS),
        {"goal_tolerance": [JointTolerance(name="knee", position=0.1)]},
        Result.INVALID_JOINTS,
        "goal_tolerance names 'knee'; the arm's joints are base_yaw",
    ),
    (
        trajectory(*STEPS),
        {"goal_tolerance": [JointTolerance(name=NAMES[1], position=-0.1)]},
        Result.INVALID_GOAL,
        "goal_tolerance of shoulder_pitch is -0.1 rad; give a number above 0",
    ),
    (trajectory(*STEPS), {"goal_time_tolerance": duration(-1.0)}, Result.INVALID_GOAL, "goal_time_tolerance is -1 s"),
]


def test_what_cannot_be_followed_is_refused_with_the_reason_and_nothing_moves(client: Client) -> None:
    cell = client.cell
    go_to(cell, HOME)
    commands = len(cell.commands)
    for message, fields, code, text in REFUSED:
        goal = client.send(message, **fields)
        result = goal.result()
        assert (result.error_code, goal.status()) == (code, GoalStatus.STATUS_ABORTED), result.error_string
        assert text in result.error_string
    assert len(cell.commands) == commands


def test_a_trajectory_waits_for_its_stamp(client: Client) -> None:
    cell = client.cell
    go_to(cell, HOME)
    begin, before = now(cell) + 0.6, len(cell.commands)
    client.send(at_stamp(planned_elsewhere(HOME, AWAY, speed=0.4), begin)).result()
    stamps = np.array([m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for m in cell.commands[before:]])
    moved = np.any(np.abs(positions(cell.commands[before:]) - HOME) > 1e-6, axis=1)
    assert stamps[moved][0] > begin - 0.02


def under_way(cell: Cell) -> None:
    """Wait until the first joint has been commanded away from home."""
    cell.wait_for(lambda: cell.commands[-1].position[0] > 0.05, "motion")


def slowly(client: Client) -> Any:
    """Start a trajectory of about six seconds and wait until it is under way."""
    go_to(client.cell, HOME)
    goal = client.send(planned_elsewhere(HOME, FAR, speed=0.15))
    under_way(client.cell)
    return goal


def assert_on_the_line(commands: list[JointState]) -> None:
    """On the straight line in joint space that the slow trajectory takes."""
    away = positions(commands) - HOME
    direction = np.subtract(FAR, HOME) / np.linalg.norm(np.subtract(FAR, HOME))
    assert np.max(np.abs(away - np.outer(away @ direction, direction))) < 1e-3


def test_a_cancel_decelerates_on_the_path(client: Client) -> None:
    cell = client.cell
    goal = slowly(client)
    before = len(cell.commands)
    goal.cancel()
    result = goal.result()
    assert (result.error_code, goal.status()) == (ErrorCode.CANCELED, GoalStatus.STATUS_CANCELED)
    assert "cancelled; the arm has come to rest on its path" in result.error_string
    assert 0.05 < cell.commands[-1].position[0] < FAR[0] - 0.05
    assert_smooth(cell.commands[before:])
    assert_on_the_line(cell.commands[-60:])


def test_pause_resume_speed_and_stop_work_on_a_trajectory(client: Client) -> None:
    cell = client.cell
    goal = slowly(client)
    before = len(cell.commands)
    cell.set_speed(0.5)
    assert cell.trigger("pause").success
    cell.wait_for(lambda: not np.any(cell.commands[-1].velocity), "rest")
    assert not goal.done
    assert cell.trigger("resume").success
    cell.wait_for(lambda: np.any(cell.commands[-1].velocity), "motion")
    assert cell.trigger("stop").success
    result = goal.result()
    assert (result.error_code, goal.status()) == (ErrorCode.STOPPED, GoalStatus.STATUS_ABORTED)
    assert_smooth(cell.commands[before:])
    assert_on_the_line(cell.commands[before:])
    cell.set_speed(1.0)


def test_one_goal_at_a_time_whatever_asks(client: Client) -> None:
    cell = client.cell
    goal = slowly(client)
    other = cell.send(MoveTo.Goal(target_type=MoveTo.Goal.TARGET_JOINTS, joints=JointState(position=HOME))).result()
    assert (other.error_code, other.message[:23]) == (ErrorCode.BUSY, "another goal is running")
    again = client.send(planned_elsewhere(HOME, AWAY)).result()
    assert (again.error_code, again.error_string[:23]) == (ErrorCode.BUSY, "another goal is running")
    client.trajectories.publish(trajectory(*STEPS))
    wait_for_log(cell, "arm_controller/joint_trajectory: another goal is running")
    client.trajectories.publish(JointTrajectory())
    assert goal.result().error_string == "ended by an empty trajectory; the arm has come to rest on its path"


def test_a_newer_trajectory_on_the_topic_replaces_the_one_before(client: Client) -> None:
    cell = client.cell
    go_to(cell, HOME)
    before = len(cell.commands)
    client.trajectories.publish(trajectory(point(6.0, FAR)))
    under_way(cell)
    client.trajectories.publish(trajectory(point(4.0, [math.inf, 0.8, -1.0])))
    wait_for_log(cell, "base_yaw: positions of point 0 at 4 s is inf; give a finite number of rad")
    client.trajectories.publish(trajectory(point(1.0, AWAY)))
    wait_for_log(cell, "replaced by a newer trajectory")
    cell.wait_for(lambda: np.allclose(cell.commands[-1].position, AWAY, atol=1e-9), "the end of the newer one")
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    assert_smooth(cell.commands[before:])


def test_an_empty_trajectory_ends_the_one_on_the_topic(client: Client) -> None:
    cell = client.cell
    go_to(cell, HOME)
    client.trajectories.publish(trajectory(point(6.0, FAR)))
    under_way(cell)
    result = client.send(JointTrajectory()).result()
    assert (result.error_code, result.error_string) == (Result.SUCCESSFUL, "")
    assert not np.any(cell.commands[-1].velocity)
    assert 0.0 < cell.commands[-1].position[0] < FAR[0] - 0.05
    assert client.send(JointTrajectory()).result().error_code == Result.SUCCESSFUL


def test_no_trajectory_moves_the_arm_after_a_stop(client: Client) -> None:
    cell = client.cell
    go_to(cell, HOME)
    client.trajectories.publish(trajectory(point(6.0, FAR)))
    under_way(cell)
    client.trajectories.publish(trajectory(point(2.0, AWAY)))
    assert cell.trigger("stop").success
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    standing = list(cell.commands[-1].position)
    cell.position()
    assert cell.commands[-1].position == pytest.approx(standing)


def answer_while(client: Client, jog: Any, goal: Any) -> Any:
    """The result of a goal that is sent while a jog is held."""
    sent = client.cell.move_to_client.send_goal_async(goal)
    client.hold(jog, sent.done, "acceptance")
    result = sent.result().get_result_async()
    client.hold(jog, result.done, "the result")
    return result.result().result


def test_a_held_jog_moves_and_its_end_stops(client: Client) -> None:
    cell = client.cell
    go_to(cell, HOME)
    before = len(cell.commands)

    def jog() -> None:
        client.jog_joints([0.2], NAMES[:1])

    client.hold(jog, lambda: cell.commands[-1].position[0] > 0.05, "a jog")
    goal = MoveTo.Goal(target_type=MoveTo.Goal.TARGET_JOINTS, joints=JointState(position=HOME))
    refused = answer_while(client, jog, goal)
    assert (refused.error_code, refused.message) == (
        ErrorCode.BUSY,
        "the arm is being jogged; wait for its end, cancel it, or call /stop before the next",
    )
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    commands = cell.commands[before:]
    assert_smooth(commands)
    assert commands[-1].position[1:] == pytest.approx(HOME[1:], abs=1e-9)
    assert not np.any(commands[-1].velocity)


def test_a_jog_of_the_tool_goes_along_the_axis_of_its_frame(client: Client) -> None:
    cell = client.cell
    go_to(cell, HOME)
    start = forward_kinematics(ARM, cell.commands[-1].position)

    def way() -> Array:
        return np.asarray(forward_kinematics(ARM, cell.commands[-1].position) - start)

    client.hold(lambda: client.jog_twist((0.05, 0.0, 0.0), "tool0"), lambda: np.linalg.norm(way()) > 0.02, "a jog")
    client.jog_twist((0.0, 0.0, 0.0))
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    pitch = HOME[1] + HOME[2]
    assert way() / np.linalg.norm(way()) == pytest.approx([math.cos(pitch), 0.0, math.sin(pitch)], abs=0.03)


def test_a_jog_that_was_stopped_or_refused_begins_only_after_letting_go(client: Client) -> None:
    cell = client.cell
    go_to(cell, HOME)

    def jog() -> None:
        client.jog_joints([0.2, 0.0, 0.0])

    client.hold(jog, lambda: cell.commands[-1].position[0] > 0.05, "a jog")
    assert cell.trigger("stop").success
    client.hold(jog, lambda: cell.statuses[-1].mode == ArmStatus.MODE_IDLE, "rest")
    standing, count = list(cell.commands[-1].position), len(cell.statuses)
    client.hold(jog, lambda: len(cell.statuses) > count + 3, "held on")
    assert cell.commands[-1].position == pytest.approx(standing)
    client.jog_joints([0.0, 0.0, 0.0])
    client.hold(jog, lambda: cell.commands[-1].position[0] > standing[0] + 0.02, "a new jog")
    client.jog_joints([0.0, 0.0, 0.0])
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    goal = slowly(client)
    client.hold(jog, lambda: "jog_joints: another goal is running" in cell.log("motion_server"), "a refusal")
    assert cell.trigger("stop").success
    client.hold(jog, lambda: goal.done, "the end of the goal")
    standing, count = list(cell.commands[-1].position), len(cell.statuses)
    client.hold(jog, lambda: len(cell.statuses) > count + 3, "held on")
    assert cell.commands[-1].position == pytest.approx(standing)


def test_jogs_that_make_no_sense_are_logged_and_nothing_moves(client: Client) -> None:
    cell = client.cell
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    standing = list(cell.commands[-1].position)
    client.jog_joints([math.nan], NAMES[:1])
    wait_for_log(cell, "jog_joints: base_yaw: velocity is nan; give a finite number of radians per second")
    client.jog_joints([0.1], ["knee"])
    wait_for_log(cell, "jog_joints: joints knee; give each once, of base_yaw, shoulder_pitch, elbow_pitch")
    client.jog_joints([0.1], NAMES)
    wait_for_log(cell, "jog_joints: there are 1 velocities for 3 joints; give one for each")
    client.jog_twist((0.1, math.inf, 0.0))
    wait_for_log(cell, "jog_twist: twist.linear.y is inf; give a finite number of metres per second")
    client.jog_twist((0.1, 0.0, 0.0), "moon")
    wait_for_log(cell, "jog_twist: frame 'moon'")
    assert cell.commands[-1].position == pytest.approx(standing)


def test_a_simulated_arm_that_is_too_far_from_the_trajectory_ends_it(start_cell: Any) -> None:
    cell = start_cell("sim", parameters=PATIENT)
    client = Client(cell)
    start = cell.position()
    message = trajectory(point(1.5, [start[0] + 0.4, *start[1:]]))
    tight = [JointTolerance(name=NAMES[0], position=1e-5)]
    result = client.send(message, path_tolerance=tight).result()
    assert result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert "base_yaw is " in result.error_string
    assert "above its path_tolerance of 1e-05 rad" in result.error_string
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    start = cell.position()
    message = trajectory(point(0.8, [start[0], start[1] + 0.3, start[2]]))
    tight = [JointTolerance(name=NAMES[1], position=1e-12)]
    result = client.send(message, goal_tolerance=tight, goal_time_tolerance=duration(0.05)).result()
    assert result.error_code == Result.GOAL_TOLERANCE_VIOLATED
    assert "above the 1e-12 rad allowed" in result.error_string
    unbounded = [JointTolerance(name=name, position=-1.0) for name in NAMES]
    start = cell.position()
    message = trajectory(point(0.8, [start[0], start[1] - 0.3, start[2]]))
    assert client.send(message, goal_tolerance=unbounded).result().error_code == Result.SUCCESSFUL
