# SPDX-License-Identifier: Apache-2.0
"""The motion server over real ROS with the mock arm: goals, refusals, and every way to end a motion."""

import math
from typing import Any

import numpy as np
import pytest
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import PointStamped
from numpy.typing import NDArray
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from manipulator3d_interfaces.action import MoveTo, PickPlace
from manipulator3d_interfaces.msg import ArmStatus
from manipulator3d_kinematics import ArmModel, forward_kinematics
from manipulator3d_node.error_code import ErrorCode

Cell = Any
ARM = ArmModel.profile("capstone")
NAN, INFINITY = math.nan, math.inf
LATCHED = QoSProfile(depth=5, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PICK, PLACE = (0.25, -0.15, 0.06), (0.20, 0.20, 0.08)
HOME = [0.0, 1.2, -1.6]


def point(position: tuple[float, ...], frame: str = "") -> PointStamped:
    message = PointStamped()
    message.header.frame_id = frame
    message.point.x, message.point.y, message.point.z = position
    return message


def pick_place(**fields: Any) -> PickPlace.Goal:
    given = {"pick": point(PICK), "place": point(PLACE), "approach_height": 0.05, "cycles": 1}
    return PickPlace.Goal(**(given | fields))


def to_point(position: tuple[float, ...], **fields: Any) -> MoveTo.Goal:
    return MoveTo.Goal(point=point(position), **fields)


def to_joints(position: list[float], names: list[str] | None = None, **fields: Any) -> MoveTo.Goal:
    joints = JointState(position=position, name=names or [])
    return MoveTo.Goal(target_type=MoveTo.Goal.TARGET_JOINTS, joints=joints, **fields)


def go_home(cell: Cell) -> None:
    result = cell.send(to_joints(HOME)).result()
    assert result.success, result.message
    cell.wait_for_mode(ArmStatus.MODE_IDLE)


def swing(cell: Cell) -> Any:
    """Start a motion of about four seconds and wait until it is under way."""
    goal = cell.send(to_joints([1.5, 0.9, -1.2] if cell.position()[0] < 0.7 else HOME, speed_scale=0.2))
    cell.wait_for_commands(60)
    return goal


def positions(messages: list[JointState]) -> NDArray[np.float64]:
    return np.array([message.position for message in messages])


def assert_smooth(commands: list[JointState]) -> None:
    """Evenly stamped, and velocity and acceleration within the limits."""
    stamps = np.array([message.header.stamp.sec + message.header.stamp.nanosec * 1e-9 for message in commands])
    steps = np.diff(stamps)[:, None]
    velocity = np.diff(positions(commands), axis=0) / steps
    assert np.all(np.abs(velocity) <= ARM.velocity * 1.001)
    assert np.all(np.abs(np.diff(velocity, axis=0)) / steps[1:] <= ARM.acceleration * 1.01)


REFUSED = [
    (pick_place(pick=point((NAN, 0.0, 0.1))), ErrorCode.INVALID_INPUT, "pick.x is nan; give a finite number"),
    (pick_place(place=point((0.2, 0.2, INFINITY))), ErrorCode.INVALID_INPUT, "place.z is inf; give a finite number"),
    (pick_place(pick=point((0.9, 0.0, 0.1))), ErrorCode.TOO_FAR, "pick point: "),
    (pick_place(place=point((0.01, 0.0, 0.2))), ErrorCode.TOO_CLOSE, "place point: "),
    (pick_place(place=point((0.25, 0.1, -0.02))), ErrorCode.BELOW_FLOOR, "place point: "),
    (pick_place(pick=point(PICK, "moon")), ErrorCode.UNKNOWN_FRAME, "pick: frame 'moon'"),
    (pick_place(approach_height=-0.1), ErrorCode.INVALID_INPUT, "approach_height is -0.1 m; give"),
    (pick_place(approach_height=INFINITY), ErrorCode.INVALID_INPUT, "approach_height is inf m; give"),
    (pick_place(dwell=-1.0), ErrorCode.INVALID_INPUT, "dwell is -1 s; give"),
    (pick_place(dwell=NAN), ErrorCode.INVALID_INPUT, "dwell is nan s; give"),
    (pick_place(speed_scale=1.5), ErrorCode.INVALID_INPUT, "speed_scale is 1.5; give above 0 to 1"),
    (pick_place(speed_scale=-0.5), ErrorCode.INVALID_INPUT, "speed_scale is -0.5; give above 0 to 1"),
    (pick_place(elbow=7), ErrorCode.INVALID_INPUT, "elbow is 7; give AUTO (0), DOWN (1) or UP (2)"),
    (to_point((NAN, 0.0, 0.2)), ErrorCode.INVALID_INPUT, "point.x is nan"),
    (to_point((0.9, 0.0, 0.2)), ErrorCode.TOO_FAR, "point: "),
    (to_point((-0.2, 0.05, 0.3)), ErrorCode.PATH_UNREACHABLE, "of the line, ("),
    (to_point((0.2, 0.0, 0.2), path_type=5), ErrorCode.INVALID_INPUT, "path_type is 5"),
    (to_point((0.2, 0.0, 0.2), target_type=5), ErrorCode.INVALID_INPUT, "target_type is 5"),
    (to_point((0.2, 0.0, 0.2), speed_scale=NAN), ErrorCode.INVALID_INPUT, "speed_scale is nan"),
    (to_joints([]), ErrorCode.INVALID_INPUT, "joints has 0 positions and 0 names; give 3 for base_yaw"),
    (to_joints([0.0, 1.0]), ErrorCode.INVALID_INPUT, "joints has 2 positions"),
    (to_joints(HOME, ["a", "b", "c"]), ErrorCode.INVALID_INPUT, "joints names a, b, c; the arm's joints are base_yaw"),
    (to_joints([0.0, NAN, 0.0]), ErrorCode.INVALID_INPUT, "shoulder_pitch is nan; give a finite number of radians"),
    (to_joints([0.0, 1.0, 2.7]), ErrorCode.JOINT_LIMIT, "elbow_pitch: 2.7 rad is above its upper limit of 2.6 rad"),
    (to_joints([0.0, -0.5, -0.9]), ErrorCode.PATH_UNREACHABLE, "below the floor at 0.000 m"),
]


def test_bad_goals_are_refused_with_the_reason_and_nothing_moves(cell: Cell) -> None:
    go_home(cell)
    before, commands = cell.position(), len(cell.commands)
    for goal, code, text in REFUSED:
        result = cell.send(goal).result()
        assert (result.success, result.error_code) == (False, code), (goal, result)
        assert text in result.message
    assert cell.position() == pytest.approx(before, abs=1e-9)
    assert len(cell.commands) == commands


def test_a_pick_place_goes_through_its_phases_and_carries_the_ball(cell: Cell) -> None:
    go_home(cell)
    goal = cell.send(pick_place(cycles=2, dwell=0.05))
    result = goal.result()
    assert (result.success, result.error_code, result.cycles_completed) == (True, ErrorCode.SUCCESS, 2), result.message
    names = [feedback.phase_name for feedback in goal.feedback if feedback.cycle == 1]
    order = ["TO_PICK", "DESCEND_PICK", "PICK", "LIFT", "TO_PLACE", "DESCEND_PLACE", "PLACE", "RETREAT", "TO_HOME"]
    assert [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name] == [*order, "WAIT"]
    assert {feedback.cycle for feedback in goal.feedback} == {1, 2}
    holding = {feedback.phase_name for feedback in goal.feedback if feedback.holding}
    assert {"LIFT", "TO_PLACE", "DESCEND_PLACE"} <= holding
    assert not holding & {"TO_PICK", "RETREAT", "TO_HOME"}
    balls = [marker.pose.position for marker in cell.markers if marker.ns == "ball"]
    assert (balls[-1].x, balls[-1].y, balls[-1].z) == pytest.approx(PLACE, abs=1e-3)
    seen: list[Marker] = []
    late = cell.node.create_subscription(MarkerArray, "markers", lambda array: seen.extend(array.markers), LATCHED)
    shown = {"start", "goal", "ball", "path", "phase"}
    cell.wait_for(lambda: shown <= {marker.ns for marker in seen}, "the markers, as a late viewer")
    cell.node.destroy_subscription(late)
    assert cell.position() == pytest.approx(HOME, abs=1e-3)


def test_a_straight_move_stays_on_its_line(cell: Cell) -> None:
    go_home(cell)
    seen = len(cell.commands)
    start, end = forward_kinematics(ARM, np.array(HOME)), np.array([0.20, 0.20, 0.20])
    result = cell.send(to_point(tuple(end))).result()
    assert result.success, result.message
    assert result.position_error < 1e-4
    assert (result.tool.x, result.tool.y, result.tool.z) == pytest.approx(end, abs=1e-4)
    commands = cell.commands[seen:]
    assert len(commands) > 50
    assert_smooth(commands)
    tools = forward_kinematics(ARM, positions(commands))
    direction = (end - start) / np.linalg.norm(end - start)
    beside = (tools - start) - np.outer((tools - start) @ direction, direction)
    assert np.max(np.linalg.norm(beside, axis=1)) < 1e-4


def test_a_second_goal_is_refused_while_the_first_goes_on(cell: Cell) -> None:
    first = swing(cell)
    for goal in (pick_place(), to_joints(HOME)):
        second = cell.send(goal).result()
        assert (second.success, second.error_code) == (False, ErrorCode.BUSY)
        assert "another goal is running" in second.message
    assert first.result().success


def test_a_cancel_decelerates_along_the_path_and_frees_the_arm(cell: Cell) -> None:
    seen = len(cell.commands)
    goal = swing(cell)
    goal.cancel()
    result = goal.result()
    assert (result.success, result.error_code) == (False, ErrorCode.CANCELED)
    assert result.message.startswith("cancelled; the arm has come to rest")
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    cell.wait_for(lambda: not any(cell.commands[-1].velocity), "the last command")
    assert_smooth(cell.commands[seen:])
    go_home(cell)


def test_a_goal_cancelled_at_once_ends_as_cancelled(cell: Cell) -> None:
    goal = cell.send(pick_place(cycles=0))
    goal.cancel()
    assert goal.result().error_code == ErrorCode.CANCELED
    go_home(cell)


def test_a_cancel_before_acceptance_names_no_goal_and_moves_nothing(cell: Cell) -> None:
    go_home(cell)
    before, commands = cell.position(), len(cell.commands)
    client: Any = cell.node.create_client(CancelGoal, "pick_place/_action/cancel_goal")
    cell.wait_for(client.service_is_ready, "the cancel service")
    request = CancelGoal.Request()
    request.goal_info.goal_id.uuid = list(range(16))
    response = cell.answer(client.call_async(request))
    cell.node.destroy_client(client)
    assert response.return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID
    assert list(response.goals_canceling) == []
    assert cell.position() == pytest.approx(before, abs=1e-9)
    assert len(cell.commands) == commands
    assert cell.send(to_point((0.22, 0.1, 0.2))).result().success


def test_a_cancelled_transfer_keeps_the_object_and_says_so(cell: Cell) -> None:
    goal = cell.send(pick_place(speed_scale=0.5))
    cell.wait_for(lambda: any(feedback.phase_name == "TO_PLACE" for feedback in goal.feedback), "the transfer")
    goal.cancel()
    result = goal.result()
    assert result.error_code == ErrorCode.CANCELED
    assert result.message.endswith("; the object is still held")
    assert cell.wait_for_mode(ArmStatus.MODE_IDLE).holding
    again = cell.send(pick_place()).result()
    assert again.success, again.message
    assert not cell.wait_for_mode(ArmStatus.MODE_IDLE).holding


def test_a_pause_stands_still_until_it_is_resumed(cell: Cell) -> None:
    idle = cell.trigger("pause")
    assert (idle.success, idle.message) == (False, "nothing is moving; there is nothing to pause")
    idle = cell.trigger("resume")
    assert (idle.success, idle.message) == (False, "no motion is paused; there is nothing to resume")
    seen = len(cell.commands)
    goal = swing(cell)
    assert cell.trigger("pause").success
    assert not cell.trigger("pause").success
    cell.wait_for_mode(ArmStatus.MODE_PAUSED)
    cell.wait_for(lambda: not any(cell.commands[-1].velocity), "rest")
    held = list(cell.commands[-1].position)
    cell.wait_for_commands(20)
    assert list(cell.commands[-1].position) == held
    assert not goal.done
    assert cell.trigger("resume").success
    assert goal.result().success
    assert_smooth(cell.commands[seen:])


def test_a_stop_ends_the_goal_and_nothing_moves_until_the_next(cell: Cell) -> None:
    assert cell.trigger("stop").message == "nothing is moving"
    goal = swing(cell)
    assert cell.trigger("stop").success
    result = goal.result()
    assert (result.success, result.error_code) == (False, ErrorCode.STOPPED)
    assert "ended by /stop" in result.message
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    cell.wait_for(lambda: list(cell.states[-1].position) == pytest.approx(list(cell.commands[-1].position)), "rest")
    commands = len(cell.commands)
    assert not cell.trigger("resume").success
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    assert len(cell.commands) == commands
    go_home(cell)


def test_an_emergency_stop_ends_the_goal_and_bars_the_next_until_it_is_reset(cell: Cell) -> None:
    goal = swing(cell)
    assert cell.trigger("emergency_stop").success
    result = goal.result()
    assert (result.success, result.error_code) == (False, ErrorCode.ESTOP)
    assert "emergency stop" in result.message
    status = cell.wait_for_mode(ArmStatus.MODE_FAULT)
    assert status.fault == ErrorCode.ESTOP
    refused = cell.send(to_joints(HOME)).result()
    assert (refused.success, refused.error_code) == (False, ErrorCode.ESTOP)
    held = cell.position()
    assert cell.trigger("reset_fault").success
    cell.wait_for_mode(ArmStatus.MODE_IDLE)
    assert cell.position() == pytest.approx(held, abs=1e-3)
    go_home(cell)


def test_an_object_elsewhere_is_not_grasped_and_the_arm_retreats(cell: Cell) -> None:
    go_home(cell)
    cell.put_ball(0.25, -0.10, 0.06)
    goal = cell.send(pick_place())
    result = goal.result()
    assert (result.success, result.error_code) == (False, ErrorCode.GRASP_FAILED)
    assert "tried 2 times: the object is 0.050 m from the tool point, more than the 0.01 m allowed" in result.message
    phases = [feedback.phase_name for feedback in goal.feedback]
    changes = [name for i, name in enumerate(phases) if i == 0 or phases[i - 1] != name]
    assert changes[-6:] == ["DESCEND_PICK", "PICK", "LIFT", "DESCEND_PICK", "PICK", "LIFT"]
    tool = forward_kinematics(ARM, np.array(cell.position()))
    assert tool == pytest.approx([0.25, -0.15, 0.11], abs=1e-3)
    cell.put_ball(*PICK)
    assert cell.send(pick_place()).result().success


def test_an_object_that_comes_to_the_pick_point_is_grasped_at_the_second_try(cell: Cell) -> None:
    go_home(cell)
    cell.put_ball(0.25, -0.10, 0.06)
    goal = cell.send(pick_place())
    cell.wait_for(lambda: any(feedback.phase_name == "LIFT" for feedback in goal.feedback), "the first try's end")
    cell.put_ball(*PICK)
    result = goal.result()
    assert result.success, result.message
    go_home(cell)


def test_the_speed_can_be_changed_in_motion(cell: Cell) -> None:
    seen = len(cell.commands)
    goal = swing(cell)
    cell.set_speed(0.5)
    cell.wait_for(lambda: abs(cell.statuses[-1].speed_scale - 0.1) < 1e-9, "the new speed")
    cell.wait_for_commands(40)
    assert np.all(np.abs(np.array(cell.commands[-1].velocity)) <= 0.1 * ARM.velocity * 1.001)
    cell.set_speed(0.0)
    cell.wait_for(lambda: "speed_scale: 0 is not within 0 to 1" in cell.log("motion_server"), "the refusal")
    cell.set_speed(1.0)
    assert goal.result().success
    assert_smooth(cell.commands[seen:])


def test_another_publisher_of_commands_is_noticed(cell: Cell) -> None:
    other = cell.node.create_publisher(JointState, "joint_commands", 10)
    status = cell.wait_for_mode(ArmStatus.MODE_IDLE)
    cell.wait_for(lambda: "2 publishers on joint_commands" in cell.statuses[-1].fault_message, "the report")
    assert status.mode == ArmStatus.MODE_IDLE
    refused = cell.send(to_joints(HOME)).result()
    assert (refused.success, refused.error_code) == (False, ErrorCode.BUSY)
    assert "another program publishes joint_commands" in refused.message
    cell.node.destroy_publisher(other)
    cell.wait_for(lambda: cell.statuses[-1].fault_message == "", "the end of the report")
    go_home(cell)


def test_a_driver_that_dies_in_motion_ends_the_goal(cell: Cell) -> None:
    goal = swing(cell)
    cell.processes["arm_simulator"].kill()
    result = goal.result()
    assert not result.success
    assert result.error_code in (ErrorCode.STALE_STATE, ErrorCode.LINK_DOWN)
    assert "driver" in result.message
    status = cell.wait_for_mode(ArmStatus.MODE_DISCONNECTED)
    assert not status.link
    refused = cell.send(to_joints(HOME)).result()
    assert refused.error_code in (ErrorCode.STALE_STATE, ErrorCode.LINK_DOWN)
