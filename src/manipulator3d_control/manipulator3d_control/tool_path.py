# SPDX-License-Identifier: Apache-2.0
"""Paths of the arm along curves of the tool point, through the inverse kinematics with one branch."""

from collections.abc import Sequence

import numpy as np

from manipulator3d_control.joint_path import elbow_heights
from manipulator3d_control.path import Path, PathError, path_through
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.tool_curve import Line, ToolCurve
from manipulator3d_control.tool_derivatives import joint_derivatives
from manipulator3d_kinematics import ArmModel, IkStatus, forward_kinematics, inverse_kinematics, manipulability

_SPACING_M = 0.004
_FEWEST_PIECES = 4
# how far the polynomials between the points may lead the tool beside the curve; more points are taken until it holds
_LARGEST_ERROR_M = 1e-7
_MOST_HALVINGS = 4
# joint angles of neighbouring points differ by less than this on a continuous path
_LARGEST_STEP_RAD = 0.3
# |det| of the position Jacobian below which joint speeds have no useful bound; 0.4 % of the capstone arm's largest
_SMALLEST_MANIPULABILITY = 2e-5
_SMALLEST_LENGTH_M = 1e-9
_ON_BOUNDARY = 1e-9
_NOT_SINGULAR = "passes too close to a singular position; move in joint space instead"


def plan_tool_line(arm: ArmModel, start: Array, end: Array, start_joints: Array) -> Path:
    """Make the straight tool line; see plan_tool_path. A line to its own start has the length 0."""
    return plan_tool_path(arm, [Line(np.asarray(start, dtype=float), np.asarray(end, dtype=float))], start_joints)


def plan_tool_path(
    arm: ArmModel,
    curves: Sequence[ToolCurve],
    start_joints: Array,
    name: str = "line",
    span: tuple[float, float] = (0.0, 1.0),
) -> Path:
    """Make the path along curves that follow each other, and check the whole of it.

    Args:
        arm: the arm.
        curves: each begins where the one before ends, with the same three derivatives.
        start_joints: shape (3,), rad; where the path starts, which also fixes the branch.
        name: of the whole, for messages.
        span: fractions of the whole between which the curves lie.

    Raises:
        PathError: reach, a limit, the floor, a singular position or a jump of branch is in the way; tells the place
            as a fraction and a point.
    """
    curves = [curve for curve in curves if curve.length >= _SMALLEST_LENGTH_M]
    if not curves:
        return Path.standing(np.asarray(start_joints, dtype=float))
    spacing = _SPACING_M
    for _ in range(_MOST_HALVINGS):
        breaks, points = _samples(curves, spacing)
        angles = _followed(arm, _fractions(breaks, span), points[0], start_joints, name)
        path = path_through(breaks, joint_derivatives(arm, angles, points))
        middles = 0.5 * (breaks[:-1] + breaks[1:])
        wanted = _at(curves, middles)[0]
        reached = path.joints(middles)
        beside = np.linalg.norm(forward_kinematics(arm, reached) - wanted, axis=1)
        if np.max(beside) <= _LARGEST_ERROR_M:
            _check_between(arm, _fractions(middles, span, path.length), reached, wanted, name)
            return path
        spacing *= 0.5
    worst = int(np.argmax(beside))
    fraction = _fractions(middles, span, path.length)[worst]
    raise PathError(
        _place(fraction, wanted[worst], name) + f"the {name} {_NOT_SINGULAR}", IkStatus.TOO_CLOSE, float(fraction)
    )


def _fractions(s: Array, span: tuple[float, float], length: float | None = None) -> Array:
    return span[0] + (span[1] - span[0]) * s / (s[-1] if length is None else length)


def _samples(curves: Sequence[ToolCurve], spacing: float) -> tuple[Array, Array]:
    """Path parameters of the path's breaks, and the points and derivatives there."""
    ends = np.cumsum([curve.length for curve in curves])
    breaks = [np.zeros(1)]
    for curve, end in zip(curves, ends, strict=True):
        count = max(_FEWEST_PIECES, int(np.ceil(curve.length / spacing)))
        breaks.append(np.linspace(end - curve.length, end, count + 1)[1:])
    joined = np.concatenate(breaks)
    return joined, _at(curves, joined)


def _at(curves: Sequence[ToolCurve], s: Array) -> Array:
    ends = np.cumsum([curve.length for curve in curves])
    owners = np.minimum(np.searchsorted(ends, s), len(curves) - 1)
    result = np.empty((4, len(s), 3))
    for number in np.unique(owners):
        mine = owners == number
        result[:, mine] = curves[number].derivatives(s[mine] - ends[number] + curves[number].length)
    return result


def _followed(arm: ArmModel, fractions: Array, points: Array, start_joints: Array, name: str) -> Array:
    """Joint angles at the points, each the solution nearest to the one before."""
    angles = np.empty(points.shape)
    previous = np.asarray(start_joints, dtype=float)
    for i, (fraction, point) in enumerate(zip(fractions, points, strict=True)):
        found = inverse_kinematics(arm, point, seed=previous)
        if found.q is None:
            raise PathError(_place(fraction, point, name) + found.message, int(found.status), float(fraction))
        if np.max(np.abs(found.q - previous)) > _LARGEST_STEP_RAD:
            raise PathError(
                _place(fraction, point, name)
                + "the arm would have to jump to another branch; move in joint space instead",
                IkStatus.JOINT_LIMIT,
                float(fraction),
            )
        if manipulability(arm, found.q) < _SMALLEST_MANIPULABILITY:
            raise PathError(
                _place(fraction, point, name) + f"the {name} {_NOT_SINGULAR}", IkStatus.TOO_CLOSE, float(fraction)
            )
        angles[i] = previous = found.q
    return angles


def _check_between(arm: ArmModel, fractions: Array, angles: Array, points: Array, name: str) -> None:
    """Check limits and floor where the inverse kinematics did not look."""
    outside = np.maximum(arm.lower - angles, angles - arm.upper)
    low = arm.floor_z - np.minimum(points[:, 2], elbow_heights(arm, angles))
    worst_joint = int(np.argmax(np.max(outside, axis=0)))
    for excess, what, status in (
        (outside[:, worst_joint], f"{arm.joint_names[worst_joint]} would leave its limits", IkStatus.JOINT_LIMIT),
        (low, f"the arm would go below the floor at {arm.floor_z:.3f} m", IkStatus.BELOW_FLOOR),
    ):
        worst = int(np.argmax(excess))
        if excess[worst] > max(_ON_BOUNDARY, _LARGEST_ERROR_M):
            fraction = float(fractions[worst])
            raise PathError(
                _place(fraction, points[worst], name) + f"{what} by {excess[worst]:.2g}; choose a {name} further away",
                status,
                fraction,
            )


def _place(fraction: float, point: Array, name: str) -> str:
    x, y, z = point
    return f"at {fraction:.0%} of the {name}, ({x:.3f}, {y:.3f}, {z:.3f}) m: "
