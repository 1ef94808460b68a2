# SPDX-License-Identifier: Apache-2.0
"""Shapes to draw: where their lines lie, where they stop, and how their drawing keeps to them."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from manipulator3d_control.arm_capsules import ArmCapsules
from manipulator3d_control.drawing import Drawing, Outline, plan_drawing
from manipulator3d_control.obstacle import Obstacle
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.shape import Stroke, circle, corner_deviation, points_along, polyline
from manipulator3d_control.surroundings import Surroundings
from manipulator3d_description.robot_description import robot_description
from manipulator3d_kinematics import ArmModel, IkStatus, forward_kinematics
from manipulator3d_node.error_code import ErrorCode

ARM = ArmModel.profile("capstone")
Array = NDArray[np.float64]
CENTRE, X, Y = np.array([0.25, 0.0, 0.2]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
SQUARE = CENTRE + np.array([[-0.04, -0.04, 0.0], [0.04, -0.04, 0.0], [0.04, 0.04, 0.0], [-0.04, 0.04, 0.0]])


def drawn_points(drawing: Drawing, dt: float = 0.005) -> Array:
    return np.concatenate(
        [
            forward_kinematics(ARM, stroke.sample(np.arange(0.0, stroke.duration + dt, dt)).position)
            for stroke in drawing.strokes
        ]
    )


def distance_to_edges(points: Array, corners: Array) -> Array:
    distances = []
    for start, end in itertools.pairwise(corners):
        side = end - start
        shares = np.clip((points - start) @ side / (side @ side), 0.0, 1.0)
        distances.append(np.linalg.norm(points - start - shares[:, None] * side, axis=1))
    return np.min(distances, axis=0)


def test_a_circle_is_round_and_its_rounds_follow_each_other_without_a_stop() -> None:
    drawing = plan_drawing(ARM, circle(CENTRE, X, Y, 0.05, rounds=3), "circle", ARM.home, tool_speed=0.2)
    assert len(drawing.strokes) == 1
    assert drawing.length == pytest.approx(3.0 * 2.0 * math.pi * 0.05)
    points = drawn_points(drawing)
    assert np.linalg.norm(points - CENTRE, axis=1) == pytest.approx(np.full(len(points), 0.05), abs=2e-7)
    assert points[:, 2] == pytest.approx(np.full(len(points), 0.2), abs=2e-7)
    assert points[0] == pytest.approx(CENTRE + 0.05 * X, abs=1e-7)
    # it turns from x to y, and comes by the start again
    angles = np.unwrap(np.arctan2(points[:, 1], points[:, 0] - 0.25))
    assert np.all(np.diff(angles) >= -1e-6)
    assert angles[-1] == pytest.approx(6.0 * math.pi, abs=1e-5)
    speeds = np.linalg.norm(np.diff(points, axis=0), axis=1) / 0.005
    assert np.max(speeds) <= 0.2 * (1.0 + 1e-6)
    assert np.min(speeds[60:-60]) > 0.19


def test_sharp_corners_are_stops_and_exact() -> None:
    strokes = polyline(SQUARE, closed=True, corner_radius=0.0)
    assert len(strokes) == 4
    assert corner_deviation(strokes) == 0.0
    drawing = plan_drawing(ARM, strokes, "rectangle", ARM.home)
    points = drawn_points(drawing)
    assert np.max(distance_to_edges(points, np.concatenate([SQUARE, SQUARE[:1]]))) < 2e-7
    for corner in SQUARE:
        assert np.min(np.linalg.norm(points - corner, axis=1)) < 1e-6


def test_rounded_corners_are_passed_in_one_stroke_and_stay_within_the_radius() -> None:
    strokes = polyline(SQUARE, closed=True, corner_radius=0.01, rounds=2)
    assert len(strokes) == 1
    points = drawn_points(plan_drawing(ARM, strokes, "rectangle", ARM.home))
    away = distance_to_edges(points, np.concatenate([SQUARE, SQUARE[:1]]))
    from_corner = np.min(np.linalg.norm(points[:, None] - SQUARE, axis=2), axis=1)
    assert np.max(away[from_corner > 0.01]) < 2e-7
    assert np.max(away) == pytest.approx(corner_deviation(strokes), rel=0.05)
    assert points[[0, -1]] == pytest.approx(SQUARE[[0, 0]], abs=1e-7)
    assert points[:, 2] == pytest.approx(np.full(len(points), 0.2), abs=2e-7)


def test_an_open_line_goes_back_and_forth_with_stops_at_its_ends() -> None:
    strokes = polyline(SQUARE[:3], closed=False, corner_radius=0.01, rounds=2)
    assert len(strokes) == 2
    starts = [stroke[0].derivatives(np.zeros(1))[0, 0] for stroke in strokes]
    assert starts == [pytest.approx(SQUARE[0]), pytest.approx(SQUARE[2])]
    assert points_along(strokes, 0.01)[-1] == pytest.approx(SQUARE[0])


ANGLES, COORDINATES = st.floats(-math.pi, math.pi), st.floats(-0.04, 0.04)


@settings(max_examples=25, deadline=None)
@given(
    tilt=st.tuples(ANGLES, st.floats(-0.6, 0.6)),
    corners=st.lists(st.tuples(COORDINATES, COORDINATES), min_size=2, max_size=6),
    closed=st.booleans(),
    radius=st.sampled_from([0.0, 0.003, 0.02]),
    speed=st.sampled_from([0.05, 0.2, np.inf]),
)
def test_any_polyline_in_any_plane_is_drawn_on_itself_within_all_limits(
    tilt: tuple[float, float], corners: list[tuple[float, float]], closed: bool, radius: float, speed: float
) -> None:
    around, lean = tilt
    x = np.array([math.cos(around), math.sin(around), 0.0])
    y = np.array([-math.sin(around) * math.cos(lean), math.cos(around) * math.cos(lean), math.sin(lean)])
    points = CENTRE + np.array([a * x + b * y for a, b in corners])
    ring = np.concatenate([points, points[:1]]) if closed else points
    if np.min(np.linalg.norm(np.diff(ring, axis=0), axis=1)) < 1e-3:
        return
    strokes = polyline(points, closed, radius)
    drawing = plan_drawing(ARM, strokes, "polyline", ARM.home, speed)
    drawn = drawn_points(drawing)
    bound = corner_deviation(strokes)
    assert bound <= 0.5 * radius
    assert np.max(distance_to_edges(drawn, ring)) <= bound + 3e-7
    assert np.max(np.abs((drawn - CENTRE) @ np.cross(x, y))) < 3e-7
    assert drawn[-1] == pytest.approx(ring[-1], abs=1e-7)
    dt = 0.002
    for stroke in drawing.strokes:
        derivative = stroke.sample(np.arange(-3.0 * dt, stroke.duration + 4.0 * dt, dt)).position
        tool = np.linalg.norm(np.diff(forward_kinematics(ARM, derivative), axis=0), axis=1) / dt
        assert np.max(tool) <= speed * (1.0 + 1e-6)
        for limit in (ARM.velocity, ARM.acceleration, ARM.jerk):
            derivative = np.diff(derivative, axis=0) / dt
            assert np.all(np.abs(derivative) <= limit * (1.0 + 1e-6))


@pytest.mark.parametrize(
    ("strokes", "code", "text"),
    [
        (circle(CENTRE, X, Y, 0.3), ErrorCode.TOO_FAR, r"^first point of the shape: .* m farther"),
        (
            polyline(np.array([[0.25, 0.0, 0.2], [0.25, 0.1, 0.2], [0.5, 0.1, 0.2]]), False, 0.0),
            ErrorCode.PATH_UNREACHABLE,
            r"^at 69% of the shape, \(0\.39\d, 0\.100, 0\.200\) m: .* farther from the shoulder",
        ),
        (
            polyline(np.array([[0.25, 0.0, 0.1], [0.25, 0.0, -0.1]]), False, 0.0),
            ErrorCode.PATH_UNREACHABLE,
            r"^at 5\d% of the shape, \(0\.250, 0\.000, -0\.00\d\) m: .*floor",
        ),
        (circle(CENTRE, X, Y, 0.05, 100), ErrorCode.INVALID_INPUT, r"shape is 31\.4 m long .* 20 m .* fewer rounds$"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_place(strokes: list[Stroke], code: ErrorCode, text: str) -> None:
    with pytest.raises(Refusal) as caught:
        plan_drawing(ARM, strokes, "shape", ARM.home)
    assert caught.value.code == code
    assert re.search(text, str(caught.value)), str(caught.value)


def test_a_shape_through_a_singular_position_is_refused() -> None:
    # the tool point passes the yaw axis at the distance of the lateral offset, where the azimuth has no bound
    line = polyline(np.array([[0.12, 0.0650001, 0.3], [-0.12, 0.0650001, 0.3]]), False, 0.0)
    with pytest.raises(Refusal, match=r"at \d+% of the line, .*(singular|branch)") as caught:
        plan_drawing(ARM, line, "line", ARM.home)
    assert caught.value.code == ErrorCode.PATH_UNREACHABLE
    assert caught.value.__cause__.status in (IkStatus.TOO_CLOSE, IkStatus.JOINT_LIMIT)  # type: ignore[union-attr]


def test_a_shape_with_an_obstacle_on_it_is_refused_and_one_beside_it_is_drawn() -> None:
    pose = np.eye(4)
    pose[:3, 3] = 0.25, 0.08, 0.2
    around = Surroundings(
        ArmCapsules.from_urdf(ARM, robot_description("capstone"), 0.02), (Obstacle("ball", "sphere", (0.02,), pose),)
    )
    line = polyline(np.array([[0.25, -0.1, 0.2], [0.25, 0.1, 0.2]]), False, 0.0)
    with pytest.raises(Refusal, match="ball") as caught:
        plan_drawing(ARM, line, "line", ARM.home, around=around)
    assert caught.value.code == ErrorCode.PATH_BLOCKED
    assert plan_drawing(ARM, circle(CENTRE - 0.05 * Y, X, Y, 0.03), "circle", ARM.home, around=around).duration > 0.0


def test_the_distance_from_an_outline_is_that_of_its_lines() -> None:
    outline = Outline(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    assert outline.distance(np.array([0.5, 0.2, 0.0])) == pytest.approx(0.2)
    assert outline.distance(np.array([0.0, 0.4, 0.3])) == pytest.approx(0.3)
    assert outline.distance(np.array([1.3, 1.4, 0.0])) == pytest.approx(0.5)
    assert outline.distance(np.array([-0.1, 0.1, 0.0])) == pytest.approx(0.1)
