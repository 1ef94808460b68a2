# SPDX-License-Identifier: Apache-2.0
"""What other programs drive the arm by: FollowJointTrajectory, the trajectory topic, and jogging."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from geometry_msgs.msg import TwistStamped
from rclpy.action import ActionClient
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipulator3d_interfaces.action import MoveTo
from manipulator3d_interfaces.msg import ArmStatus
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode

Cell = Any
Result = FollowJointTrajectory.Result
ARM = ArmModel.profile("capstone")
HOME = [0.0, 1.2, -1.6]
SIDE = [0.8, 1.0, -1.4]


def trajectory(*points: tuple[float, list[float]], names: list[str] | None = None) -> JointTrajectory:
    message = JointTrajectory(joint_names=list(ARM.joint_names) if names is None else names)
    message.points = [
        JointTrajectoryPoint(positions=positions, time_from_start=Duration(seconds=time).to_msg())
        for time, positions in points
    ]
    return message


class Integration:
    """A client of these interfaces beside a cell."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        name = "arm_controller/follow_joint_trajectory"
        self.client: Any = ActionClient(cell.node, FollowJointTrajectory, name)
        self.topic = cell.node.create_publisher(JointTrajectory, "arm_controller/joint_trajectory", 10)
        self.twist = cell.node.create_publisher(TwistStamped, "jog_twist", 10)
        self.joints = cell.node.create_publisher(JointState, "jog_joints", 10)
        for publisher in (self.topic, self.twist, self.joints):
            cell.wait_for(lambda p=publisher: p.get_subscription_count() == 1, "the motion server's subscriptions")
        cell.wait_for(self.client.server_is_ready, name)

    def follow(self, message: JointTrajectory, **fields: Any) -> Any:
        """Send a goal and give its result when it has ended."""
        handle = self.cell.answer(self.client.send_goal_async(FollowJointTrajectory.Goal(trajectory=message, **fields)))
        answer = self.cell.answer(handle.get_result_async())
        assert (answer.status == GoalStatus.STATUS_SUCCEEDED) == (answer.result.error_code == Result.SUCCESSFUL)
        return answer.result

    def go_home(self) -> None:
        result = self.cell.send(move_to(HOME)).result()
        assert result.success, result.message
        self.cell.wait_for_mode(ArmStatus.MODE_IDLE)

    def jog_until(self, publish: Callable[[], None], condition: Callable[[], bool], what: str) -> None:
        """Publish as a held key does, until a condition is true."""

        def published() -> bool:
            publish()
            return condition()

        self.cell.wait_for(published, what)


def move_to(position: list[float]) -> MoveTo.Goal:
    return MoveTo.Goal(target_type=MoveTo.Goal.TARGET_JOINTS, joints=JointState(position=position))


@pytest.fixture(scope="module")
def arm(cell: Cell) -> Integration:
    return Integration(cell)


@pytest.fixture(autouse=True)
def _at_home(arm: Integration) -> Iterator[None]:
    yield
    arm.cell.wait_for_mode(ArmStatus.MODE_IDLE)
    arm.go_home()


def test_a_trajectory_is_followed_and_ends_where_it_should(arm: Integration) -> None:
    result = arm.follow(trajectory((1.0, [-1.5, 0.4]), (2.0, [-1.4, 0.8]), names=["elbow_pitch", "base_yaw"]))
    assert (result.error_code, result.error_string) == (Result.SUCCESSFUL, "")
    assert arm.cell.position() == pytest.approx([0.8, 1.2, -1.4], abs=1e-3)


@pytest.mark.parametrize(
    ("message", "fields", "code", "text"),
    [
        (trajectory((2.0, SIDE), names=["a", "b", "c"]), {}, Result.INVALID_JOINTS, "joint 'a' is none of the arm's"),
        (trajectory((0.2, SIDE)), {}, Result.INVALID_GOAL, "is above its limit of 2 rad/s; plan with at most"),
        (trajectory((2.0, [math.nan, 1.0, -1.4])), {}, Result.INVALID_GOAL, "point 0: positions of base_yaw is nan"),
        (
            trajectory((2.0, SIDE)),
            {"path_tolerance": [JointTolerance(name="wrist", position=0.1)]},
            Result.INVALID_JOINTS,
            "path_tolerance: joint 'wrist' is none of the arm's joints",
        ),
        (
            trajectory((2.0, SIDE)),
            {"goal_tolerance": [JointTolerance(name="base_yaw", position=-2.0)]},
            Result.INVALID_GOAL,
            "goal_tolerance of base_yaw is -2 rad; give a positive bound",
        ),
        (
            trajectory((2.0, SIDE)),
            {"goal_tolerance": [JointTolerance(name="base_yaw", velocity=0.1)]},
            Result.INVALID_GOAL,
            "positions alone are bounded",
        ),
        (
            trajectory((2.0, SIDE)),
            {"path_tolerance": [JointTolerance(name="base_yaw", position=1e-9)]},
            Result.PATH_TOLERANCE_VIOLATED,
            "above the path tolerance of 1e-09 rad; plan slower, or allow more",
        ),
    ],
)
def test_a_trajectory_that_cannot_be_followed_tells_its_code_and_why(
    arm: Integration, message: JointTrajectory, fields: dict[str, Any], code: int, text: str
) -> None:
    result = arm.follow(message, **fields)
    assert result.error_code == code
    assert text in result.error_string


def test_a_start_in_the_past_is_refused_and_one_in_the_future_is_waited_for(arm: Integration) -> None:
    clock = arm.cell.node.get_clock()
    late = trajectory((1.5, SIDE))
    late.header.stamp = (clock.now() - Duration(seconds=5.0)).to_msg()
    result = arm.follow(late)
    assert result.error_code == Result.OLD_HEADER_TIMESTAMP
    assert "header.stamp lies 5." in result.error_string
    soon = trajectory((1.5, SIDE))
    begin = clock.now() + Duration(seconds=1.0)
    soon.header.stamp = begin.to_msg()
    seen = len(arm.cell.commands)
    assert arm.follow(soon).error_code == Result.SUCCESSFUL
    moving = [command for command in arm.cell.commands[seen:] if abs(command.position[0] - HOME[0]) > 1e-6]
    first = moving[0].header.stamp.sec + moving[0].header.stamp.nanosec * 1e-9
    assert first >= begin.nanoseconds * 1e-9 - 0.02


def test_a_cancelled_trajectory_decelerates_and_an_empty_one_holds(arm: Integration) -> None:
    goal = FollowJointTrajectory.Goal(trajectory=trajectory((6.0, SIDE)))
    handle = arm.cell.answer(arm.client.send_goal_async(goal))
    arm.cell.wait_for_commands(60)
    arm.cell.answer(handle.cancel_goal_async())
    result = arm.cell.answer(handle.get_result_async()).result
    assert result.error_code == ErrorCode.CANCELED
    assert 0.0 < arm.cell.position()[0] < SIDE[0]
    handle = arm.cell.answer(arm.client.send_goal_async(goal))
    arm.cell.wait_for_commands(60)
    assert arm.follow(JointTrajectory()).error_code == Result.SUCCESSFUL
    result = arm.cell.answer(handle.get_result_async()).result
    assert result.error_code == ErrorCode.STOPPED
    assert "ended by an empty trajectory" in result.error_string


def test_the_topic_replaces_its_own_trajectory_and_no_goal(arm: Integration) -> None:
    arm.topic.publish(trajectory((6.0, SIDE)))
    arm.cell.wait_for_commands(60)
    result = arm.cell.send(move_to(HOME)).result()
    assert result.error_code == ErrorCode.BUSY
    assert "a trajectory from arm_controller/joint_trajectory is running" in result.message
    arm.topic.publish(trajectory((2.0, [-0.3, 1.2, -1.6])))
    arm.cell.wait_for(lambda: abs(arm.cell.states[-1].position[0] + 0.3) < 1e-3, "the newer trajectory's end")
    stamps = np.array([c.header.stamp.sec + c.header.stamp.nanosec * 1e-9 for c in arm.cell.commands])
    angles = np.array([command.position for command in arm.cell.commands])
    # the two motions are one stream each; within them no step
    steps = np.diff(angles, axis=0)[np.diff(stamps) < 0.015]
    assert np.max(np.abs(steps)) < 0.021


def test_jogging_moves_while_velocities_arrive_and_a_stop_ends_it(arm: Integration) -> None:
    joints = JointState(name=["base_yaw"], velocity=[0.5])
    begin = arm.cell.position()[0]
    arm.jog_until(lambda: arm.joints.publish(joints), lambda: arm.cell.states[-1].position[0] > begin + 0.2, "motion")
    assert arm.cell.send(move_to(HOME)).result().message.startswith("the arm is being jogged; ")
    arm.cell.wait_for_mode(ArmStatus.MODE_IDLE)
    rested = arm.cell.position()[0]
    twist = TwistStamped()
    twist.twist.linear.z = 0.05
    arm.jog_until(lambda: arm.twist.publish(twist), lambda: arm.cell.statuses[-1].mode == ArmStatus.MODE_MOVING, "it")
    arm.jog_until(lambda: arm.twist.publish(twist), arm.cell.node.get_clock().now, "a moment")
    seen = len(arm.cell.statuses)
    assert arm.cell.trigger("stop").success
    # the stream of velocities goes on, the arm does not
    arm.jog_until(
        lambda: arm.twist.publish(twist),
        lambda: [s.mode for s in arm.cell.statuses[seen:]].count(ArmStatus.MODE_IDLE) >= 5,
        "rest in spite of velocities",
    )
    assert arm.cell.statuses[-1].mode == ArmStatus.MODE_IDLE
    assert abs(arm.cell.position()[0] - rested) < 0.1


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (JointState(name=["base_yaw"], velocity=[math.nan]), "jog_joints: base_yaw: nan is no velocity"),
        (JointState(name=["wrist"], velocity=[0.1]), "jog_joints: joint 'wrist' is not one of base_yaw"),
        (JointState(velocity=[0.1]), "jog_joints: there are 1 velocities for 3 joints"),
    ],
)
def test_a_wrong_jog_moves_nothing_and_is_logged(arm: Integration, message: JointState, text: str) -> None:
    seen = len(arm.cell.commands)
    arm.joints.publish(message)
    arm.cell.wait_for(lambda: text in arm.cell.log("motion_server"), text)
    assert len(arm.cell.commands) == seen
    # what was refused counts again after a pause
    arm.cell.wait_for_mode(ArmStatus.MODE_IDLE)
    arm.cell.wait_for_mode(ArmStatus.MODE_IDLE)


def test_a_twist_in_an_unknown_frame_or_with_a_turn_is_refused(arm: Integration) -> None:
    twist = TwistStamped()
    twist.header.frame_id = "nowhere"
    twist.twist.linear.x = 0.05
    arm.twist.publish(twist)
    arm.cell.wait_for(lambda: "jog_twist: twist.linear: frame 'nowhere'" in arm.cell.log("motion_server"), "refusal")
    arm.cell.wait_for_mode(ArmStatus.MODE_IDLE)
    arm.cell.wait_for_mode(ArmStatus.MODE_IDLE)
    turning = TwistStamped()
    turning.twist.angular.z = 1.0
    arm.twist.publish(turning)
    arm.cell.wait_for(lambda: "jog_twist: twist.angular is not zero" in arm.cell.log("motion_server"), "refusal")
