# SPDX-License-Identifier: Apache-2.0
"""Obstacles over real ROS with the mock arm: set, shown, in the way of goals, and set while a goal runs."""

import math
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Point, PointStamped, Pose, Quaternion
from shape_msgs.msg import SolidPrimitive
from visualization_msgs.msg import Marker

from manipulator3d_control.arm_capsules import ArmCapsules
from manipulator3d_control.clearance import Clearance
from manipulator3d_control.obstacle import Obstacle
from manipulator3d_description.robot_description import robot_description
from manipulator3d_interfaces.action import MoveTo, PickPlace
from manipulator3d_interfaces.msg import ArmStatus
from manipulator3d_interfaces.srv import SetObstacles
from manipulator3d_kinematics import ArmModel, forward_kinematics
from manipulator3d_node.error_code import ErrorCode

Cell = Any
HOME = [0.0, 1.2, -1.6]
XML = robot_description("capstone")
ARM = ArmModel.from_urdf(XML)
BODY = ArmCapsules.from_urdf(ARM, XML, 0.04)
MARGIN = 0.01
PICK, PLACE = (0.25, -0.15, 0.06), (0.20, 0.20, 0.08)
WALL = ("wall", SolidPrimitive.BOX, [0.16, 0.02, 0.12], (0.30, 0.02, 0.06))


def set_obstacles(cell: Cell, *obstacles: Any, frame: str = "") -> SetObstacles.Response:
    request = SetObstacles.Request()
    request.header.frame_id = frame
    for name, kind, dimensions, (x, y, z) in obstacles:
        request.names.append(name)
        request.shapes.append(SolidPrimitive(type=kind, dimensions=dimensions))
        request.poses.append(Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(w=1.0)))
    client: Any = cell.node.create_client(SetObstacles, "set_obstacles")
    cell.wait_for(client.service_is_ready, "set_obstacles")
    response = cell.answer(client.call_async(request))
    cell.node.destroy_client(client)
    return response


def to_joints(position: list[float], **fields: Any) -> MoveTo.Goal:
    goal = MoveTo.Goal(target_type=MoveTo.Goal.TARGET_JOINTS, **fields)
    goal.joints.position = position
    return goal


def into(obstacle: Any) -> MoveTo.Goal:
    """A goal in the middle of an obstacle."""
    goal = MoveTo.Goal(path_type=MoveTo.Goal.JOINT_SPACE)
    goal.point.point.x, goal.point.point.y, goal.point.point.z = obstacle[3]
    return goal


def pick_place(**fields: Any) -> PickPlace.Goal:
    pick, place = PointStamped(), PointStamped()
    pick.point.x, pick.point.y, pick.point.z = PICK
    place.point.x, place.point.y, place.point.z = PLACE
    return PickPlace.Goal(**({"pick": pick, "place": place, "approach_height": 0.05, "cycles": 1} | fields))


def go_home(cell: Cell) -> None:
    assert set_obstacles(cell).success
    result = cell.send(to_joints(HOME)).result()
    assert result.success, result.message
    cell.wait_for_mode(ArmStatus.MODE_IDLE)


def solid(obstacle: Any) -> Obstacle:
    name, kind, dimensions, centre = obstacle
    pose = np.eye(4)
    pose[:3, 3] = centre
    return Obstacle(name, {1: "box", 2: "sphere", 3: "cylinder"}[kind], tuple(dimensions), pose)


def least_clearance(cell: Cell, since: int, *obstacles: Any, body: ArmCapsules = BODY) -> float:
    """Of the arm along the commands received since, with the driver's interpolation between them."""
    q = np.array([command.position for command in cell.commands[since:]])
    between = np.concatenate([q[:-1] + share * np.diff(q, axis=0) for share in (0.0, 0.25, 0.5, 0.75)])
    return float(Clearance(body, tuple(map(solid, obstacles)), MARGIN).of_positions(between).min())


def shown(cell: Cell, namespace: str) -> dict[int, Marker]:
    """The latest marker of each number."""
    return {marker.id: marker for marker in cell.markers if marker.ns == namespace}


def test_obstacles_are_shown_with_their_names_until_they_are_removed(patient_cell: Cell) -> None:
    cell = patient_cell
    post = ("post", SolidPrimitive.CYLINDER, [0.4, 0.02], (-0.3, 0.0, 0.2))
    response = set_obstacles(cell, WALL, post)
    assert (response.success, response.error_code) == (True, ErrorCode.SUCCESS)
    assert response.message == "2 obstacles are in force"
    cell.wait_for(lambda: len(shown(cell, "obstacles")) == 2, "the markers")
    box, cylinder = (shown(cell, "obstacles")[index] for index in (0, 1))
    assert (box.type, cylinder.type) == (Marker.CUBE, Marker.CYLINDER)
    assert (box.scale.x, box.scale.y, box.scale.z) == pytest.approx((0.16, 0.02, 0.12))
    assert (cylinder.scale.x, cylinder.scale.y, cylinder.scale.z) == pytest.approx((0.04, 0.04, 0.4))
    assert (cylinder.pose.position.x, cylinder.pose.orientation.w) == pytest.approx((-0.3, 1.0))
    assert [shown(cell, "obstacle_names")[index].text for index in (0, 1)] == ["wall", "post"]
    assert set_obstacles(cell).success
    cell.wait_for(
        lambda: all(marker.action == Marker.DELETE for marker in shown(cell, "obstacles").values()), "their removal"
    )


def test_bad_obstacles_are_refused_and_the_old_ones_stay(patient_cell: Cell) -> None:
    cell = patient_cell
    go_home(cell)
    assert set_obstacles(cell, WALL).success
    bad = [
        (("x", SolidPrimitive.SPHERE, [-0.1], (0.3, 0.0, 0.1)), "obstacle 'x': radius is -0.1 m"),
        (("x", SolidPrimitive.BOX, [0.1, 0.1], (0.3, 0.0, 0.1)), "obstacle 'x': 2 dimensions; a box has 3"),
        (("x", SolidPrimitive.CONE, [0.1, 0.1], (0.3, 0.0, 0.1)), "obstacle 'x' is of the shape CONE; give BOX"),
        (("x", 17, [0.1], (0.3, 0.0, 0.1)), "obstacle 'x' is of the shape number 17"),
        (("x", SolidPrimitive.SPHERE, [0.1], (math.nan, 0.0, 0.1)), "obstacle 'x': position.x is nan m"),
        (("", SolidPrimitive.SPHERE, [0.1], (0.3, 0.0, 0.1)), "names[1] is empty"),
    ]
    for obstacle, text in bad:
        response = set_obstacles(cell, WALL, obstacle)
        assert (response.success, response.error_code) == (False, ErrorCode.INVALID_INPUT)
        assert text in response.message
        assert response.message.endswith("; the obstacles in force stay as they were")
    unknown = set_obstacles(cell, WALL, frame="moon")
    assert (unknown.success, unknown.error_code) == (False, ErrorCode.UNKNOWN_FRAME)
    assert "header: frame 'moon'" in unknown.message
    # the wall is still there
    blocked = cell.send(into(WALL)).result()
    assert (blocked.success, blocked.error_code) == (False, ErrorCode.PATH_BLOCKED)
    assert "obstacle 'wall' is in the way: at " in blocked.message
    assert cell.position() == pytest.approx(HOME, abs=1e-9)


def test_a_move_goes_around_what_is_in_its_way(patient_cell: Cell) -> None:
    cell = patient_cell
    go_home(cell)
    start, end = [-0.8, 0.4, -1.2], [0.8, 0.4, -1.2]
    assert cell.send(to_joints(start)).result().success
    seen = len(cell.commands)
    assert cell.send(to_joints(end)).result().success
    assert least_clearance(cell, seen, WALL) < 0.0
    assert cell.send(to_joints(start)).result().success
    assert set_obstacles(cell, WALL).success
    seen = len(cell.commands)
    result = cell.send(to_joints(end)).result()
    assert result.success, result.message
    assert cell.position() == pytest.approx(end, abs=1e-3)
    assert least_clearance(cell, seen, WALL) >= MARGIN - 1e-4


def test_a_pick_place_carries_the_object_around_what_is_in_its_way(patient_cell: Cell) -> None:
    cell = patient_cell
    go_home(cell)
    assert set_obstacles(cell, WALL).success
    seen = len(cell.commands)
    result = cell.send(pick_place()).result()
    assert result.success, result.message
    assert least_clearance(cell, seen, WALL) >= MARGIN - 1e-4
    go_home(cell)


def test_an_obstacle_at_the_pick_point_blocks_the_mission_before_anything_moves(patient_cell: Cell) -> None:
    cell = patient_cell
    go_home(cell)
    assert set_obstacles(cell, ("lid", SolidPrimitive.BOX, [0.1, 0.1, 0.02], (0.25, -0.15, 0.07))).success
    commands = len(cell.commands)
    result = cell.send(pick_place()).result()
    assert (result.success, result.error_code, result.cycles_completed) == (False, ErrorCode.PATH_BLOCKED, 0)
    assert "DESCEND_PICK: obstacle 'lid' is in the way: at " in result.message
    assert len(cell.commands) == commands
    go_home(cell)


def test_an_obstacle_set_in_the_way_of_a_running_motion_ends_it_on_its_path(patient_cell: Cell) -> None:
    cell = patient_cell
    go_home(cell)
    assert cell.send(to_joints([-1.5, 0.4, -1.2])).result().success
    seen = len(cell.commands)
    goal = cell.send(to_joints([1.5, 0.4, -1.2], speed_scale=0.2))
    cell.wait_for_commands(60)
    response = set_obstacles(cell, WALL)
    assert response.success
    assert response.message.startswith("1 obstacle is in force; the running motion ends: obstacle 'wall' is in the")
    result = goal.result()
    assert (result.success, result.error_code) == (False, ErrorCode.PATH_BLOCKED)
    q = np.array([command.position for command in cell.commands[seen:]])
    # on the straight way in joint space, and before the wall
    assert np.ptp(q[:, 1:], axis=0) == pytest.approx(0.0, abs=1e-6)
    assert q[-1, 0] < -0.3
    assert np.max(np.abs(np.diff(q[:, 0], 2))) <= ARM.acceleration[0] * 1e-4 * 1.05
    go_home(cell)


def test_an_obstacle_behind_a_running_motion_does_not_end_it(patient_cell: Cell) -> None:
    cell = patient_cell
    go_home(cell)
    start = [-1.5, 0.4, -1.2]
    behind = ("behind", SolidPrimitive.SPHERE, [0.02], tuple(forward_kinematics(ARM, start).tolist()))
    assert cell.send(to_joints(start)).result().success
    assert least_clearance(cell, len(cell.commands) - 2, behind) < MARGIN
    goal = cell.send(to_joints([1.5, 0.4, -1.2], speed_scale=0.3))
    cell.wait_for(lambda: cell.states[-1].position[0] > -0.7, "the motion past it")
    response = set_obstacles(cell, behind)
    assert response.message == "1 obstacle is in force"
    assert goal.result().error_code != ErrorCode.PATH_BLOCKED
    go_home(cell)
