# SPDX-License-Identifier: Apache-2.0
"""Shapes that the tool draws: what the fields say, where the lines lie, and whether the arm reaches them."""

import math
from dataclasses import dataclass
from enum import IntEnum, unique

import numpy as np

from manipulator3d_dashboard.pose import NO_TURN, Pose, Quaternion, Vector, from_axis_angle, rotate
from manipulator3d_dashboard.state_text import point_text
from manipulator3d_dashboard.target import Verdict
from manipulator3d_kinematics import ArmModel, IkStatus, inverse_kinematics

_CIRCLE_SAMPLES = 48
# m; distance of the points of a line that are checked
_CHECK_STEP = 0.01
_THIRD = 2.0 * math.pi / 3.0
# the planes' own axes x and y, as seen from the arm: to the front and left, left and up, front and up
PLANES: dict[str, Quaternion] = {
    "level": NO_TURN,
    "upright, across": from_axis_angle((3**-0.5, 3**-0.5, 3**-0.5), _THIRD),
    "upright, along": from_axis_angle((1.0, 0.0, 0.0), math.pi / 2.0),
}


@unique
class SketchKind(IntEnum):
    """Names and numbers are those of manipulator3d_interfaces/action/DrawPath."""

    LINE = 0
    CIRCLE = 1
    RECTANGLE = 2
    TRIANGLE = 3
    POLYLINE = 4


@dataclass(frozen=True)
class Sketch:
    """A shape to draw.

    Attributes:
        kind: the shape.
        plane: a name of PLANES.
        centre: m, in the arm's base; origin of the plane.
        width, height: m, along the plane's x and y; a circle has its diameter from `width`, a line has no height.
        points: (N, 3), m, in the plane; of LINE, TRIANGLE and POLYLINE.
        closed: a polyline returns to its first point.
        corner_radius: m; 0 stops in each corner.
        speed: m/s of the tool; 0 for as fast as the limits allow.
        rounds: how often.
    """

    kind: SketchKind
    plane: str
    centre: Vector
    width: float
    height: float
    points: tuple[Vector, ...]
    closed: bool
    corner_radius: float
    speed: float
    rounds: int

    @property
    def pose(self) -> Pose:
        """Pose of the plane in the arm's base."""
        return Pose(self.centre, PLANES[self.plane])

    @property
    def size(self) -> tuple[float, ...]:
        """Measures as the action wants them, m."""
        if self.kind is SketchKind.CIRCLE:
            return (self.width / 2.0,)
        return (self.width, self.height) if self.kind is SketchKind.RECTANGLE else ()


def corner_points(kind: SketchKind, width: float, height: float, text: str) -> tuple[Vector, ...]:
    """Give the points in the plane that the action wants for a kind.

    Args:
        kind: the shape.
        width, height: m.
        text: points of a polyline as "x y, x y, …", m.

    Raises:
        ValueError: `text` is not such a list.
    """
    w, h = width / 2.0, height / 2.0
    if kind is SketchKind.LINE:
        return ((-w, 0.0, 0.0), (w, 0.0, 0.0))
    if kind is SketchKind.TRIANGLE:
        return ((-w, -h, 0.0), (w, -h, 0.0), (0.0, h, 0.0))
    return _points_of(text) if kind is SketchKind.POLYLINE else ()


def outline(sketch: Sketch) -> np.ndarray:
    """Give the lines of a sketch as a chain of points, (N, 3), m, in the arm's base."""
    w, h = sketch.width / 2.0, sketch.height / 2.0
    if sketch.kind is SketchKind.CIRCLE:
        angles = np.linspace(0.0, 2.0 * math.pi, _CIRCLE_SAMPLES + 1)
        flat = [(w * math.cos(angle), w * math.sin(angle), 0.0) for angle in angles.tolist()]
    elif sketch.kind is SketchKind.RECTANGLE:
        flat = [(-w, -h, 0.0), (w, -h, 0.0), (w, h, 0.0), (-w, h, 0.0), (-w, -h, 0.0)]
    else:
        flat = list(sketch.points)
        if flat and (sketch.kind is SketchKind.TRIANGLE or sketch.closed):
            flat.append(flat[0])
    turned = [rotate(sketch.pose.wxyz, point) for point in flat]
    return np.array(turned, dtype=np.float64).reshape(-1, 3) + np.array(sketch.centre)


def check_sketch(arm: ArmModel, sketch: Sketch) -> Verdict:
    """Say whether the arm reaches all of a sketch, and where it does not."""
    numbers = (*sketch.centre, sketch.width, sketch.height, sketch.corner_radius, sketch.speed)
    if not all(map(math.isfinite, numbers)):
        return Verdict(False, "not a number; give lengths in m")
    if sketch.kind is not SketchKind.POLYLINE and not sketch.width > 0.0:
        return Verdict(False, f"width {sketch.width:g} m; it must be above 0")
    if sketch.kind in (SketchKind.RECTANGLE, SketchKind.TRIANGLE) and not sketch.height > 0.0:
        return Verdict(False, f"height {sketch.height:g} m; it must be above 0")
    if sketch.kind is SketchKind.POLYLINE and len(sketch.points) < 2:
        return Verdict(False, f"a polyline of {len(sketch.points)} points; give at least 2, as x y, x y")
    chain = outline(sketch)
    sides = np.diff(chain, axis=0)
    lengths = np.linalg.norm(sides, axis=1)
    for begin, side, length in zip(chain, sides, lengths.tolist(), strict=False):
        steps = max(1, math.ceil(length / _CHECK_STEP))
        for point in begin + np.linspace(0.0, 1.0, steps + 1)[:, None] * side:
            result = inverse_kinematics(arm, point)
            if result.status != IkStatus.REACHED:
                x, y, z = point.tolist()
                return Verdict(False, f"at {point_text((x, y, z))}: {result.message}")
    return Verdict(True, f"reachable, {sum(lengths.tolist()):.3f} m long")


def _points_of(text: str) -> tuple[Vector, ...]:
    points = []
    for part in filter(None, map(str.strip, text.replace(";", ",").split(","))):
        try:
            x, y = map(float, part.split())
        except ValueError:
            raise ValueError(f"'{part}' is not a point; give two numbers in m, as in 0 0, 0.05 0.02") from None
        if not (math.isfinite(x) and math.isfinite(y)):
            raise ValueError(f"'{part}' is not finite; give two numbers in m, as in 0 0, 0.05 0.02")
        points.append((x, y, 0.0))
    return tuple(points)
