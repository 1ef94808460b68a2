# SPDX-License-Identifier: Apache-2.0
"""The action /draw_path."""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, PointStamped

from manipulator3d_control.drawing import Drawing, plan_drawing
from manipulator3d_control.nodes.goal_fields import not_negative, point_in_base
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun, end_goal
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.shape import Stroke, circle, polyline
from manipulator3d_interfaces.action import DrawPath
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.target_frame import TargetFrame

_NAMES = {
    DrawPath.Goal.LINE: "line",
    DrawPath.Goal.CIRCLE: "circle",
    DrawPath.Goal.RECTANGLE: "rectangle",
    DrawPath.Goal.TRIANGLE: "triangle",
    DrawPath.Goal.POLYLINE: "polyline",
}
# number of points (None: two or more) and of sizes that each shape takes
_POINTS = {
    DrawPath.Goal.LINE: 2,
    DrawPath.Goal.CIRCLE: 0,
    DrawPath.Goal.RECTANGLE: 0,
    DrawPath.Goal.TRIANGLE: 3,
    DrawPath.Goal.POLYLINE: None,
}
_SIZES = {DrawPath.Goal.CIRCLE: 1, DrawPath.Goal.RECTANGLE: 2}
_SMALLEST_M = 1e-4
_NO_TURN = 1e-6


class DrawPathAction:
    """Serves draw_path; the arguments are as for PickPlaceAction."""

    def __init__(self, desk: GoalDesk, frames: TargetFrame, markers: PathMarkers) -> None:
        self._desk = desk
        self._frames = frames
        self._markers = markers
        self._server = desk.serve(DrawPath, "draw_path", self._execute)

    async def _execute(self, handle: Any) -> DrawPath.Result:
        started = time.monotonic()
        result = DrawPath.Result(max_deviation=math.nan)
        try:
            run = self._desk.begin(handle)
            try:
                run.check()
                await self._draw(run, handle, result)
            finally:
                self._desk.monitor.on_tool = None
                self._desk.finish()
        except Refusal as refusal:
            result.error_code, result.message = int(refusal.code), str(refusal)
        result.duration = time.monotonic() - started
        result.success = result.error_code == ErrorCode.SUCCESS
        end_goal(handle, result)
        return result

    async def _draw(self, run: GoalRun, handle: Any, result: DrawPath.Result) -> None:
        monitor = self._desk.monitor
        arm, goal = monitor.arm, handle.request
        assert arm is not None
        strokes = strokes_of(goal, arm, self._frames)
        speed, acceleration = self._desk.tool_limits
        speed = min(speed, not_negative(goal.speed, "speed", "m/s") or math.inf)
        start, around = self._desk.start_position(), self._desk.surroundings
        drawing = await self._desk.planned(
            lambda: plan_drawing(
                arm, strokes, _NAMES[goal.shape], start, speed, acceleration, around, self._desk.is_holding()
            )
        )
        result.length = drawing.length
        self._desk.start_stream(start, self._desk.parameters.default_speed_scale)
        self._markers.show_motions([*drawing.approach, *drawing.strokes])
        for way in drawing.approach:
            await run.move(way)
        await run.settle()
        progress = _Progress(self._desk, handle, drawing)
        run.publish_feedback = progress.publish
        result.max_deviation = 0.0

        def watch(tool: Array) -> None:
            result.max_deviation = max(result.max_deviation, drawing.outline.distance(tool))

        monitor.on_tool = watch
        for stroke in drawing.strokes:
            progress.present = stroke.duration
            await run.move(stroke)
            progress.behind += stroke.duration
            progress.present = 0.0
        await run.settle()


class _Progress:
    """Publishes how much of a drawing is done."""

    def __init__(self, desk: GoalDesk, handle: Any, drawing: Drawing) -> None:
        self._desk = desk
        self._handle = handle
        self._total = drawing.duration
        self.behind = 0.0
        self.present = 0.0

    def publish(self) -> None:
        tool = self._desk.monitor.tool
        if tool is None:
            return
        done = (self.behind + self.present * self._desk.stream.progress) / self._total
        x, y, z = tool.tolist()
        self._handle.publish_feedback(DrawPath.Feedback(progress=min(done, 1.0), tool=Point(x=x, y=y, z=z)))


def strokes_of(goal: DrawPath.Goal, arm: ArmModel, frames: TargetFrame) -> list[Stroke]:
    """Give the strokes of a goal in the base frame.

    Raises:
        Refusal: the goal does not describe a shape; names the field.
    """
    if goal.shape not in _NAMES:
        known = ", ".join(f"{name} ({number})" for number, name in _NAMES.items())
        raise Refusal(ErrorCode.INVALID_INPUT, f"shape is {goal.shape}; give one of {known}")
    name = _NAMES[goal.shape]
    _check_counts(goal, name)
    rounds = goal.repeat or 1
    radius = not_negative(goal.corner_radius, "corner_radius", "m")
    closed = goal.closed or goal.shape in (DrawPath.Goal.RECTANGLE, DrawPath.Goal.TRIANGLE)
    if goal.shape == DrawPath.Goal.CIRCLE:
        size = goal.size[0]
        centre, start, quarter = _in_base([(0, 0, 0), (size, 0, 0), (0, size, 0)], goal, arm, frames)
        return circle(centre, (start - centre) / size, (quarter - centre) / size, size, rounds)
    if goal.shape == DrawPath.Goal.RECTANGLE:
        x, y = 0.5 * goal.size[0], 0.5 * goal.size[1]
        local = [(-x, -y, 0.0), (x, -y, 0.0), (x, y, 0.0), (-x, y, 0.0)]
    else:
        local = [_finite(point, f"points[{i}]") for i, point in enumerate(goal.points)]
    points = _in_base(local, goal, arm, frames)
    if closed and len(points) > 2 and np.linalg.norm(points[-1] - points[0]) < _SMALLEST_M:
        points = points[:-1]
    following = np.roll(points, -1, axis=0) if closed else points[1:]
    for i, (point, after) in enumerate(zip(points, following, strict=False)):
        if np.linalg.norm(after - point) < _SMALLEST_M:
            raise Refusal(
                ErrorCode.INVALID_INPUT,
                f"points {i} and {(i + 1) % len(points)} of the {name} are the same within {_SMALLEST_M:g} m; give one",
            )
    return polyline(points, closed, radius, rounds)


def _check_counts(goal: DrawPath.Goal, name: str) -> None:
    wanted, given = _POINTS[goal.shape], len(goal.points)
    if (given < 2) if wanted is None else (given != wanted and wanted > 0):
        raise Refusal(ErrorCode.INVALID_INPUT, f"points has {given} points; a {name} takes {wanted or 'two or more'}")
    sizes = _SIZES.get(goal.shape, 0)
    if sizes and len(goal.size) != sizes:
        raise Refusal(ErrorCode.INVALID_INPUT, f"size has {len(goal.size)} numbers; a {name} takes {sizes}")
    for i, size in enumerate(goal.size[:sizes]):
        if not (math.isfinite(size) and size >= _SMALLEST_M):
            raise Refusal(
                ErrorCode.INVALID_INPUT, f"size[{i}] is {size:g} m; give a finite number of at least {_SMALLEST_M:g} m"
            )


def _finite(point: Point, name: str) -> tuple[float, float, float]:
    for axis in ("x", "y", "z"):
        value = getattr(point, axis)
        if not math.isfinite(value):
            raise Refusal(ErrorCode.INVALID_INPUT, f"{name}.{axis} is {value}; give a finite number of metres")
    return point.x, point.y, point.z


def _in_base(
    points: Sequence[tuple[float, float, float]], goal: DrawPath.Goal, arm: ArmModel, frames: TargetFrame
) -> Array:
    """Points of the goal's plane in the base frame, shape (N, 3), m."""
    pose = goal.plane.pose
    turn = np.array([pose.orientation.w, pose.orientation.x, pose.orientation.y, pose.orientation.z])
    if not np.all(np.isfinite(turn)):
        raise Refusal(ErrorCode.INVALID_INPUT, "plane.orientation has a number that is not finite; give a quaternion")
    size = float(np.linalg.norm(turn))
    # a quaternion that was not filled in turns nothing
    w, vector = (1.0, np.zeros(3)) if size < _NO_TURN else (turn[0] / size, turn[1:] / size)
    placed = []
    for point in points:
        local = np.array(point, dtype=float)
        x, y, z = local + 2.0 * np.cross(vector, np.cross(vector, local) + w * local)
        stamped = PointStamped(header=goal.plane.header)
        stamped.point.x = pose.position.x + float(x)
        stamped.point.y = pose.position.y + float(y)
        stamped.point.z = pose.position.z + float(z)
        placed.append(point_in_base(stamped, "plane.position", arm, frames))
    return np.array(placed)
