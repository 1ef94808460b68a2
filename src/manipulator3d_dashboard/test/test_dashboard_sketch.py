# SPDX-License-Identifier: Apache-2.0
"""Shapes to draw: where their lines lie, and what is said of those that cannot be drawn."""

import dataclasses
import math

import numpy as np
import pytest

from manipulator3d_dashboard.sketch import PLANES, Sketch, SketchKind, check_sketch, corner_points, outline
from manipulator3d_dashboard.target import default_centre
from manipulator3d_interfaces.action import DrawPath
from manipulator3d_kinematics import ArmModel

ARM = ArmModel.profile("capstone")
CENTRE = (0.25, 0.0, 0.12)


def sketch(kind: SketchKind, plane: str = "level", text: str = "", **changes: object) -> Sketch:
    points = corner_points(kind, 0.1, 0.06, text)
    plain = Sketch(kind, plane, CENTRE, 0.1, 0.06, points, False, 0.01, 0.1, 1)
    return dataclasses.replace(plain, **changes)


def test_the_kinds_are_those_of_the_action() -> None:
    assert {kind.name: kind.value for kind in SketchKind} == {
        name: getattr(DrawPath.Goal, name) for name in SketchKind.__members__
    }


@pytest.mark.parametrize(
    ("plane", "x", "y"),
    [
        ("level", (1, 0, 0), (0, 1, 0)),
        ("upright, across", (0, 1, 0), (0, 0, 1)),
        ("upright, along", (1, 0, 0), (0, 0, 1)),
    ],
)
def test_the_axes_of_a_plane_lie_as_its_name_says(plane: str, x: tuple[int, ...], y: tuple[int, ...]) -> None:
    points = outline(sketch(SketchKind.POLYLINE, plane, "0 0, 0.01 0, 0 0.02"))
    np.testing.assert_allclose(
        points - np.array(CENTRE), [(0, 0, 0), 0.01 * np.array(x), 0.02 * np.array(y)], atol=1e-15
    )


def test_every_plane_is_offered_with_a_unit_quaternion() -> None:
    assert all(math.isclose(math.hypot(*wxyz), 1.0) for wxyz in PLANES.values())


def test_outlines_have_the_lengths_of_their_shapes() -> None:
    def length(shape: Sketch) -> float:
        return float(np.linalg.norm(np.diff(outline(shape), axis=0), axis=1).sum())

    assert length(sketch(SketchKind.LINE)) == pytest.approx(0.1)
    assert length(sketch(SketchKind.RECTANGLE)) == pytest.approx(0.32)
    assert length(sketch(SketchKind.TRIANGLE)) == pytest.approx(0.1 + 2 * math.hypot(0.05, 0.06))
    # the chords of a circle are a little shorter than the circle
    assert 0.995 * math.pi * 0.1 < length(sketch(SketchKind.CIRCLE)) < math.pi * 0.1
    assert length(sketch(SketchKind.POLYLINE, text="0 0, 0.03 0.04", closed=True)) == pytest.approx(0.1)


def test_a_circle_gives_its_radius_and_a_rectangle_its_sides() -> None:
    assert sketch(SketchKind.CIRCLE).size == (0.05,)
    assert sketch(SketchKind.RECTANGLE).size == (0.1, 0.06)
    assert sketch(SketchKind.TRIANGLE).size == ()


@pytest.mark.parametrize("arm", ["capstone", "classic"])
def test_the_first_circle_can_be_drawn(arm: str) -> None:
    model = ArmModel.profile(arm)
    verdict = check_sketch(model, sketch(SketchKind.CIRCLE, centre=default_centre(model)))
    assert (verdict.reachable, verdict.text) == (True, "reachable, 0.314 m long")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"centre": (0.25, 0.0, 0.01), "plane": "upright, along"}, "at (0.200, 0.000, -0.020) m: "),
        ({"centre": (0.25, float("nan"), 0.1)}, "not a number; give lengths in m"),
        ({"width": 0.0}, "width 0 m; it must be above 0"),
        ({"height": 0.0}, "height 0 m; it must be above 0"),
    ],
)
def test_what_cannot_be_drawn_is_named(changes: dict[str, object], text: str) -> None:
    verdict = check_sketch(ARM, sketch(SketchKind.RECTANGLE, **changes))
    assert not verdict.reachable
    assert text in verdict.text


def test_a_polyline_of_one_point_is_none() -> None:
    verdict = check_sketch(ARM, sketch(SketchKind.POLYLINE, text="0.1 0.1"))
    assert (verdict.reachable, verdict.text) == (False, "a polyline of 1 points; give at least 2, as x y, x y")


def test_a_side_that_leaves_the_workspace_between_its_corners_is_noticed() -> None:
    # both ends are reachable, the middle lies inside the cylinder around the yaw axis
    line = sketch(SketchKind.POLYLINE, text="-0.25 -0.2, -0.25 0.2", centre=(0.25, 0.0, 0.3))
    ends = outline(line)
    assert all(check_sketch(ARM, dataclasses.replace(line, points=(p, p))).reachable for p in line.points), ends
    verdict = check_sketch(ARM, line)
    assert not verdict.reachable
    assert verdict.text.startswith("at (0.000, ")


@pytest.mark.parametrize("text", ["1", "0 0, a b", "0 0 0", "0 0, nan 1"])
def test_points_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"give two numbers in m, as in 0 0, 0\.05 0\.02"):
        corner_points(SketchKind.POLYLINE, 0.1, 0.1, text)


def test_points_are_read_with_commas_or_semicolons() -> None:
    assert corner_points(SketchKind.POLYLINE, 0.1, 0.1, " 0 1;-2e-1 3 ,") == ((0.0, 1.0, 0.0), (-0.2, 3.0, 0.0))
