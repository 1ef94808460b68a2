# SPDX-License-Identifier: Apache-2.0
"""Plans the drawing of a shape: every motion of it is checked before anything moves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manipulator3d_control.joint_path import plan_joint_motion
from manipulator3d_control.motion import Motion
from manipulator3d_control.path import Path, PathError
from manipulator3d_control.path_motion import motion_along
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.shape import Stroke, points_along
from manipulator3d_control.surroundings import Surroundings
from manipulator3d_control.tool_path import plan_tool_line, plan_tool_path
from manipulator3d_control.way_around import clear_motions
from manipulator3d_kinematics import ArmModel, IkStatus, forward_kinematics, inverse_kinematics
from manipulator3d_node.error_code import ErrorCode

# the drawn curve is known by points so close; the chord between two of a circle of 1 cm is 0.8 µm away from it
_SPACING_M = 0.00025
_MOST_POINTS = 20000
_LONGEST_M = 20.0


class Outline:
    """A curve, known by points on it.

    Args:
        points: shape (N, 3), m; close together.
    """

    def __init__(self, points: Array) -> None:
        self._points = points
        self._sides = np.diff(points, axis=0)
        squares = np.sum(self._sides**2, axis=1)
        self._squares = np.maximum(squares, np.finfo(float).tiny)
        self._longest = float(np.sqrt(np.max(squares)))

    def distance(self, tool: Array) -> float:
        """Distance of a point, shape (3,), from the lines between the points, m."""
        away = np.linalg.norm(self._points - tool, axis=1)
        # the nearest line ends in one of these; a curve that is closed or crosses itself has several
        near = np.flatnonzero(away <= np.min(away) + self._longest)
        lines = np.unique(np.clip(np.concatenate([near - 1, near]), 0, len(self._sides) - 1))
        starts, sides = self._points[lines], self._sides[lines]
        shares = np.clip(np.sum((tool - starts) * sides, axis=1) / self._squares[lines], 0.0, 1.0)
        return float(np.min(np.linalg.norm(starts + shares[:, None] * sides - tool, axis=1)))


@dataclass(frozen=True)
class Drawing:
    """A drawing that can be made.

    Attributes:
        approach: to the first point; one after the other.
        strokes: one after the other; each starts where the one before ends, all from rest to rest.
        length: of all strokes, m.
        outline: of all strokes.
    """

    approach: tuple[Motion, ...]
    strokes: tuple[Motion, ...]
    length: float
    outline: Outline

    @property
    def duration(self) -> float:
        """Duration of all strokes, s."""
        return sum(stroke.duration for stroke in self.strokes)


def plan_drawing(
    arm: ArmModel,
    strokes: Sequence[Stroke],
    name: str,
    start: Array,
    tool_speed: float = np.inf,
    tool_acceleration: float = np.inf,
    around: Surroundings | None = None,
    holding: bool = False,
) -> Drawing:
    """Plan the way to a shape, in joint space if the floor allows it, and the shape, as quick as the limits allow.

    The way leads around obstacles; a shape that one is in the way of is refused.

    The shape is drawn in the branch nearest to the present position in which the arm can draw the whole of it.

    Args:
        arm: the arm.
        strokes: of the shape; each begins where the one before ends.
        name: of the shape, for messages.
        start: shape (3,), rad; where the arm is.
        tool_speed, tool_acceleration: limits of the tool; m/s, m/s².
        around: the obstacles; None for none.
        holding: whether an object is at the tool.

    Raises:
        Refusal: the first point or a place on the shape cannot be reached; names it and tells why.
    """
    length = float(sum(curve.length for stroke in strokes for curve in stroke))
    if length > _LONGEST_M:
        raise Refusal(
            ErrorCode.INVALID_INPUT,
            f"the {name} is {length:.1f} m long in all its rounds, above the {_LONGEST_M:g} m that are planned at "
            "once; give fewer rounds",
        )
    first = strokes[0][0].derivatives(np.zeros(1))[0, 0]
    found = inverse_kinematics(arm, first, seed=start)
    if found.status is not IkStatus.REACHED:
        raise Refusal(ErrorCode(int(found.status)), f"first point of the {name}: {found.message}")
    first_error: PathError | None = None
    for joints in found.alternatives:
        try:
            paths = _paths(arm, strokes, name, joints, length)
            approach = _approach(arm, start, joints, first)
        except PathError as error:
            first_error = first_error or error
        else:
            if around is not None:
                for path in paths:
                    around.check_path(path, holding)
            ways = tuple(clear_motions(arm, approach, around, 0.0, holding))
            motions = tuple(motion_along(arm, path, tool_speed, tool_acceleration) for path in paths)
            outline = Outline(points_along(strokes, max(_SPACING_M, length / _MOST_POINTS)))
            return Drawing(ways, motions, length, outline)
    assert first_error is not None
    raise Refusal(ErrorCode.PATH_UNREACHABLE, str(first_error)) from first_error


def _paths(arm: ArmModel, strokes: Sequence[Stroke], name: str, joints: Array, length: float) -> list[Path]:
    paths: list[Path] = []
    done = 0.0
    for stroke in strokes:
        end = done + sum(curve.length for curve in stroke)
        paths.append(plan_tool_path(arm, stroke, joints, name, (done / length, end / length)))
        joints, done = paths[-1].end, end
    return paths


def _approach(arm: ArmModel, start: Array, joints: Array, first: Array) -> Motion:
    try:
        return plan_joint_motion(arm, start, joints)
    except PathError as around:
        try:
            line = plan_tool_line(arm, forward_kinematics(arm, start), first, start)
        except PathError:
            raise around from None
        if np.max(np.abs(line.end - joints)) > 1e-4:
            raise
        return motion_along(arm, line)
