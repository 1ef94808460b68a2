# SPDX-License-Identifier: Apache-2.0
"""START and GOAL changed while a pick-and-place is paused, over real ROS with the mock arm."""

import math
from typing import Any

import pytest
from geometry_msgs.msg import PointStamped

from manipulator3d_interfaces.action import PickPlace
from manipulator3d_interfaces.msg import ArmStatus
from manipulator3d_interfaces.srv import ChangePickPlace
from manipulator3d_node.error_code import ErrorCode

Cell = Any
PICK, PLACE = (0.25, -0.15, 0.06), (0.20, 0.20, 0.08)
OTHER_PICK, OTHER_PLACE = (0.28, -0.05, 0.05), (0.10, 0.28, 0.06)


def point(position: tuple[float, ...], frame: str = "") -> PointStamped:
    message = PointStamped()
    message.header.frame_id = frame
    message.point.x, message.point.y, message.point.z = position
    return message


def change(cell: Cell, pick: tuple[float, ...], place: tuple[float, ...], frame: str = "") -> ChangePickPlace.Response:
    client: Any = cell.node.create_client(ChangePickPlace, "change_pick_place")
    cell.wait_for(client.service_is_ready, "change_pick_place")
    request = ChangePickPlace.Request(pick=point(pick, frame), place=point(place))
    response = cell.answer(client.call_async(request))
    cell.node.destroy_client(client)
    return response


def start(cell: Cell, cycles: int, speed_scale: float = 1.0) -> Any:
    """Start cycles and wait until the object is lifted."""
    goal = cell.send(
        PickPlace.Goal(
            pick=point(PICK), place=point(PLACE), approach_height=0.05, cycles=cycles, speed_scale=speed_scale
        )
    )
    cell.wait_for(lambda: any(feedback.phase == PickPlace.Feedback.LIFT for feedback in goal.feedback), "the lift")
    return goal


def shown(cell: Cell, namespace: str) -> tuple[float, float, float]:
    position = [marker.pose.position for marker in cell.markers if marker.ns == namespace][-1]
    return position.x, position.y, position.z


def test_changed_points_count_from_the_next_cycle(patient_cell: Cell) -> None:
    cell = patient_cell
    goal = start(cell, 0)
    assert cell.trigger("pause").success
    cell.wait_for_mode(ArmStatus.MODE_PAUSED)
    present = goal.feedback[-1].cycle
    response = change(cell, OTHER_PICK, OTHER_PLACE)
    assert (response.success, response.error_code) == (True, ErrorCode.SUCCESS), response.message
    assert response.message == "the points count from the next cycle; call resume to go on"
    cell.wait_for(lambda: shown(cell, "start") == pytest.approx(OTHER_PICK), "the marker of the new start")
    assert cell.trigger("resume").success
    assert placed_in(cell, goal, present) == pytest.approx(PLACE, abs=5e-3)
    assert placed_in(cell, goal, present + 1) == pytest.approx(OTHER_PLACE, abs=5e-3)
    goal.cancel()
    assert goal.result().error_code == ErrorCode.CANCELED


def placed_in(cell: Cell, goal: Any, cycle: int) -> tuple[float, float, float]:
    """Where the ball is when the arm goes home in a cycle."""
    cell.wait_for(
        lambda: any(
            feedback.cycle == cycle and feedback.phase == PickPlace.Feedback.TO_HOME for feedback in goal.feedback
        ),
        f"the end of cycle {cycle}",
    )
    return shown(cell, "ball")


def test_points_are_refused_at_once_where_they_cannot_be_used(patient_cell: Cell) -> None:
    cell = patient_cell
    idle = change(cell, OTHER_PICK, OTHER_PLACE)
    assert (idle.success, idle.error_code) == (False, ErrorCode.INVALID_INPUT)
    assert idle.message == "no pick-and-place is running; send a pick_place goal with the points"
    goal = start(cell, 0)
    moving = change(cell, OTHER_PICK, OTHER_PLACE)
    assert (moving.success, moving.error_code) == (False, ErrorCode.BUSY)
    assert moving.message == "the pick-and-place is moving; call pause before its points are changed"
    assert cell.trigger("pause").success
    refused = [
        (((0.9, 0.0, 0.1), OTHER_PLACE, ""), ErrorCode.TOO_FAR, "pick point: "),
        ((OTHER_PICK, (0.2, 0.1, -0.05), ""), ErrorCode.BELOW_FLOOR, "place point: "),
        (((math.nan, 0.0, 0.1), OTHER_PLACE, ""), ErrorCode.INVALID_INPUT, "pick.x is nan"),
        ((OTHER_PICK, OTHER_PLACE, "moon"), ErrorCode.UNKNOWN_FRAME, "pick: frame 'moon'"),
    ]
    for (pick, place, frame), code, text in refused:
        response = change(cell, pick, place, frame)
        assert (response.success, response.error_code) == (False, code), response.message
        assert text in response.message
    assert shown(cell, "start") == pytest.approx(PICK)
    assert cell.trigger("stop").success
    assert goal.result().error_code == ErrorCode.STOPPED


def test_in_the_last_cycle_no_other_points_are_taken(patient_cell: Cell) -> None:
    cell = patient_cell
    goal = start(cell, 1, speed_scale=0.4)
    assert cell.trigger("pause").success
    last = change(cell, OTHER_PICK, OTHER_PLACE)
    assert (last.success, last.error_code) == (False, ErrorCode.INVALID_INPUT)
    assert "the present cycle, number 1, is the last" in last.message
    assert cell.trigger("stop").success
    assert goal.result().error_code == ErrorCode.STOPPED


def test_a_cancelled_pick_place_says_that_the_object_is_still_held(patient_cell: Cell) -> None:
    cell = patient_cell
    goal = start(cell, 1, speed_scale=0.4)
    goal.cancel()
    result = goal.result()
    assert (result.success, result.error_code) == (False, ErrorCode.CANCELED)
    assert result.message.endswith("; the object is still held")
    assert cell.wait_for_mode(ArmStatus.MODE_IDLE).holding
