# SPDX-License-Identifier: Apache-2.0
"""The action /draw_path of the motion server, with a simulated arm."""

import math
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Point

from manipulator3d_interfaces.action import DrawPath
from manipulator3d_interfaces.msg import ArmStatus
from manipulator3d_kinematics import ArmModel, forward_kinematics
from manipulator3d_node.error_code import ErrorCode

Cell = Any
ARM = ArmModel.profile("capstone")


@pytest.fixture(scope="module", autouse=True)
def unhurried(cell: Cell) -> None:
    """At less than full speed an arm whose computer is busy brakes within the tolerances."""
    cell.set_speed(0.2)


def circle(radius: float = 0.015, **fields: Any) -> DrawPath.Goal:
    goal = DrawPath.Goal(shape=DrawPath.Goal.CIRCLE, size=[radius], **fields)
    goal.plane.pose.position.x, goal.plane.pose.position.z = 0.25, 0.2
    # y up: a circle that stands upright
    goal.plane.pose.orientation.x = goal.plane.pose.orientation.w = math.sqrt(0.5)
    return goal


def polyline(*points: tuple[float, float, float], **fields: Any) -> DrawPath.Goal:
    places = [Point(x=x, y=y, z=z) for x, y, z in points]
    return DrawPath.Goal(**({"shape": DrawPath.Goal.POLYLINE, "points": places} | fields))


def test_a_circle_is_drawn_in_its_plane_at_its_speed(cell: Cell) -> None:
    cell.commands.clear()
    goal = cell.send(circle(speed=0.1, repeat=2))
    result = goal.result()
    assert result.success, result.message
    assert result.length == pytest.approx(2.0 * 2.0 * math.pi * 0.015)
    assert 0.0 <= result.max_deviation < 2e-3
    progress = [feedback.progress for feedback in goal.feedback]
    assert len(progress) > 10
    assert progress == sorted(progress)
    points = forward_kinematics(ARM, np.array([message.position for message in cell.commands]))
    from_centre = points - np.array([0.25, 0.0, 0.2])
    on_circle = np.abs(np.linalg.norm(from_centre, axis=1) - 0.015) < 1e-6
    # the last of the approach comes near the circle, too
    assert np.max(np.abs(from_centre[on_circle][:, 1])) < 1e-4
    angles = np.unwrap(np.arctan2(from_centre[on_circle][:, 2], from_centre[on_circle][:, 0]))
    assert np.ptp(angles) == pytest.approx(4.0 * math.pi, abs=0.01)


def test_a_cancel_stops_on_the_shape(cell: Cell) -> None:
    goal = cell.send(circle(speed=0.08))
    cell.wait_for(lambda: any(feedback.progress > 0.1 for feedback in goal.feedback), "the drawing")
    goal.cancel()
    result = goal.result()
    assert result.error_code == ErrorCode.CANCELED
    assert result.max_deviation < 2e-3
    tool = forward_kinematics(ARM, np.array(cell.position())) - np.array([0.25, 0.0, 0.2])
    assert np.linalg.norm(tool) == pytest.approx(0.015, abs=2e-3)


def test_a_pause_holds_the_drawing_and_a_second_goal_is_refused(cell: Cell) -> None:
    goal = cell.send(circle(speed=0.1))
    cell.wait_for(lambda: any(feedback.progress > 0.1 for feedback in goal.feedback), "the drawing")
    assert cell.trigger("pause").success
    cell.wait_for_mode(ArmStatus.MODE_PAUSED)
    busy = cell.send(circle()).result()
    assert busy.error_code == ErrorCode.BUSY
    assert not goal.done
    assert cell.trigger("resume").success
    assert goal.result().success


@pytest.mark.parametrize(
    ("goal", "code", "text"),
    [
        (DrawPath.Goal(shape=9), ErrorCode.INVALID_INPUT, "shape is 9; give one of line (0), circle (1)"),
        (circle(radius=-0.1), ErrorCode.INVALID_INPUT, "size[0] is -0.1 m; give a finite number"),
        (circle(radius=math.nan), ErrorCode.INVALID_INPUT, "size[0] is nan m"),
        (circle(speed=math.nan), ErrorCode.INVALID_INPUT, "speed is nan m/s"),
        (circle(corner_radius=-1.0), ErrorCode.INVALID_INPUT, "corner_radius is -1 m"),
        (DrawPath.Goal(shape=DrawPath.Goal.RECTANGLE, size=[0.1]), ErrorCode.INVALID_INPUT, "a rectangle takes 2"),
        (polyline((0.2, 0.0, 0.2)), ErrorCode.INVALID_INPUT, "points has 1 points; a polyline takes two or more"),
        (
            polyline((0.2, 0.0, 0.2), (0.2, 0.1, 0.2), shape=DrawPath.Goal.TRIANGLE),
            ErrorCode.INVALID_INPUT,
            "points has 2 points; a triangle takes 3",
        ),
        (
            polyline((0.2, 0.0, 0.2), (0.2, 0.0, 0.2)),
            ErrorCode.INVALID_INPUT,
            "points 0 and 1 of the polyline are the same",
        ),
        (polyline((0.2, 0.0, 0.2), (math.inf, 0.0, 0.2)), ErrorCode.INVALID_INPUT, "points[1].x is inf"),
        (polyline((0.2, 0.0, 0.2), (0.5, 0.0, 0.2)), ErrorCode.PATH_UNREACHABLE, "% of the polyline, (0."),
        (circle(repeat=4000), ErrorCode.INVALID_INPUT, "give fewer rounds"),
    ],
)
def test_bad_goals_are_refused_and_move_nothing(cell: Cell, goal: DrawPath.Goal, code: ErrorCode, text: str) -> None:
    before = cell.position()
    result = cell.send(goal).result()
    assert not result.success
    assert result.error_code == code
    assert text in result.message
    assert cell.position() == pytest.approx(before, abs=1e-3)
