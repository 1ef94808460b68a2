# SPDX-License-Identifier: Apache-2.0
"""What the Python interface asks to be drawn: each function makes one call."""

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import Point, PoseStamped

from manipulator3d.arm_answers import DrawResult
from manipulator3d.drawing_plane import plane_orientation
from manipulator3d.nodes.arm_call import Motion, OnProgress, Vector, three
from manipulator3d_interfaces.action import DrawPath

_UP, _FORWARD = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)


def draw_line(
    start: Vector,
    end: Vector,
    *,
    speed: float = 0.0,
    frame: str = "",
    timeout: float | None = None,
    on_progress: OnProgress = None,
) -> Motion[DrawResult]:
    """Draw a straight line with the tool point.

    Args:
        start, end: shape (3,), m, in `frame`.
        speed: m/s of the tool at most; 0: as fast as the limits allow.
        frame, timeout, on_progress: see move_to.

    Raises:
        ArmError: refused (PATH_UNREACHABLE names the place), failed, cancelled, or not finished in time.
        ValueError: not three numbers.
    """
    goal = DrawPath.Goal(shape=DrawPath.Goal.LINE, points=_points([start, end], 2), speed=float(speed))
    return _drawing(goal, frame, timeout, on_progress)


def draw_circle(
    center: Vector,
    radius: float,
    *,
    normal: Vector = _UP,
    repeat: int = 1,
    speed: float = 0.0,
    frame: str = "",
    timeout: float | None = None,
    on_progress: OnProgress = None,
) -> Motion[DrawResult]:
    """Draw a circle with the tool point.

    Args:
        center: shape (3,), m, in `frame`.
        radius: m.
        normal: shape (3,), of any length; of the circle's plane. The drawing turns around it by the right hand.
        repeat: number of rounds.
        speed, frame, timeout, on_progress: see draw_line.

    Raises:
        ArmError: refused (PATH_UNREACHABLE names the place), failed, cancelled, or not finished in time.
        ValueError: not three numbers, or a normal of length 0.
    """
    goal = DrawPath.Goal(shape=DrawPath.Goal.CIRCLE, size=[float(radius)], repeat=repeat, speed=float(speed))
    _set_plane(goal.plane, center, normal, _FORWARD)
    return _drawing(goal, frame, timeout, on_progress)


def draw_rectangle(
    center: Vector,
    width: float,
    height: float,
    *,
    normal: Vector = _UP,
    along: Vector = _FORWARD,
    corner_radius: float = 0.0,
    repeat: int = 1,
    speed: float = 0.0,
    frame: str = "",
    timeout: float | None = None,
    on_progress: OnProgress = None,
) -> Motion[DrawResult]:
    """Draw a rectangle with the tool point.

    Args:
        center: shape (3,), m, in `frame`.
        width, height: m; the width lies along `along`.
        normal: shape (3,), of any length; of the rectangle's plane.
        along: shape (3,), of any length; its part in the plane is the direction of the width.
        corner_radius: m; corners are blended within it; 0: a stop in each corner.
        repeat: number of rounds.
        speed, frame, timeout, on_progress: see draw_line.

    Raises:
        ArmError: refused (PATH_UNREACHABLE names the place), failed, cancelled, or not finished in time.
        ValueError: not three numbers, or a direction of length 0.
    """
    goal = DrawPath.Goal(shape=DrawPath.Goal.RECTANGLE, size=[float(width), float(height)], repeat=repeat)
    goal.corner_radius, goal.speed = float(corner_radius), float(speed)
    _set_plane(goal.plane, center, normal, along)
    return _drawing(goal, frame, timeout, on_progress)


def draw_triangle(
    corners: Sequence[Vector],
    *,
    corner_radius: float = 0.0,
    repeat: int = 1,
    speed: float = 0.0,
    frame: str = "",
    timeout: float | None = None,
    on_progress: OnProgress = None,
) -> Motion[DrawResult]:
    """Draw a triangle with the tool point.

    Args:
        corners: three points of shape (3,), m, in `frame`.
        corner_radius, repeat: see draw_rectangle.
        speed, frame, timeout, on_progress: see draw_line.

    Raises:
        ArmError: refused (PATH_UNREACHABLE names the place), failed, cancelled, or not finished in time.
        ValueError: not three points.
    """
    goal = DrawPath.Goal(shape=DrawPath.Goal.TRIANGLE, points=_points(corners, 3), repeat=repeat)
    goal.corner_radius, goal.speed = float(corner_radius), float(speed)
    return _drawing(goal, frame, timeout, on_progress)


def draw_polyline(
    points: Sequence[Vector],
    *,
    closed: bool = False,
    corner_radius: float = 0.0,
    repeat: int = 1,
    speed: float = 0.0,
    frame: str = "",
    timeout: float | None = None,
    on_progress: OnProgress = None,
) -> Motion[DrawResult]:
    """Draw straight lines through points with the tool point.

    Args:
        points: two or more of shape (3,), m, in `frame`.
        closed: return to the first point.
        corner_radius, repeat: see draw_rectangle.
        speed, frame, timeout, on_progress: see draw_line.

    Raises:
        ArmError: refused (PATH_UNREACHABLE names the place), failed, cancelled, or not finished in time.
        ValueError: fewer than two points, or not three numbers.
    """
    goal = DrawPath.Goal(shape=DrawPath.Goal.POLYLINE, points=_points(points, None), closed=closed, repeat=repeat)
    goal.corner_radius, goal.speed = float(corner_radius), float(speed)
    return _drawing(goal, frame, timeout, on_progress)


def _drawing(goal: Any, frame: str, timeout: float | None, on_progress: OnProgress) -> Motion[DrawResult]:
    goal.plane.header.frame_id = frame

    def read(result: Any) -> DrawResult:
        return DrawResult(result.length, result.duration, result.max_deviation)

    return Motion(DrawPath, "draw_path", goal, read, timeout, on_progress)


def _set_plane(plane: PoseStamped, center: Vector, normal: Vector, along: Vector) -> None:
    pose = plane.pose
    pose.position.x, pose.position.y, pose.position.z = three(center, "center")
    turn = plane_orientation(three(normal, "normal"), three(along, "along"))
    pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = turn


def _points(points: Sequence[Vector], number: int | None) -> list[Point]:
    if len(points) < 2 or number not in (None, len(points)):
        raise ValueError(f"points: expected {number or 'two or more'}, got {len(points)}")
    triples = [three(point, f"points[{index}]") for index, point in enumerate(points)]
    return [Point(x=x, y=y, z=z) for x, y, z in triples]
