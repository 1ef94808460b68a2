# SPDX-License-Identifier: Apache-2.0
"""Shapes to draw, as strokes: curves of the tool point that are run through without a stop."""

from collections.abc import Sequence

import numpy as np

from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial, hermite_coefficients
from manipulator3d_control.tool_curve import Arc, Line, PolynomialCurve, ToolCurve

# two edges cut at a corner by at most this share of either
_LARGEST_SHARE = 0.5
# edges that turn back by more than this are not rounded: the curve would have a point
_SHARPEST_TURN_RAD = np.deg2rad(170.0)
_SAME_POINT_M = 1e-9

Stroke = list[ToolCurve]


def circle(centre: Array, outward: Array, along: Array, radius: float, rounds: int = 1) -> list[Stroke]:
    """Give a circle of one or more rounds.

    Args:
        centre: shape (3,), m.
        outward, along: shape (3,), orthogonal unit vectors: from the centre to the start, and the direction there.
        radius: m.
        rounds: at least 1.
    """
    return [[Arc(centre, outward, along, radius, 2.0 * np.pi * rounds)]]


def polyline(points: Array, closed: bool, corner_radius: float, rounds: int = 1) -> list[Stroke]:
    """Give the lines through points, in order.

    Args:
        points: shape (N, 3), m, N at least 2, neighbours apart; of a closed one the last is not the first.
        closed: whether it returns to the first point. If so, further rounds follow without a stop; if not, they go back
            and forth.
        corner_radius: m; how far from a corner it is rounded, at most half of an edge; 0: a stop in each corner.
        rounds: at least 1.

    Returns:
        One stroke if all corners can be rounded; where none is, a stroke ends.
    """
    if closed:
        stops = np.concatenate([np.tile(points, (rounds, 1)), points[:1]])
    else:
        there, back = points[1:], points[-2::-1]
        stops = np.concatenate([points[:1], *(there if i % 2 == 0 else back for i in range(rounds))])
    strokes: list[Stroke] = [[]]
    start = stops[0]
    edges = np.diff(stops, axis=0)
    lengths = np.linalg.norm(edges, axis=1)
    directions = edges / lengths[:, None]
    for i, corner in enumerate(stops[1:-1]):
        before, after = directions[i], directions[i + 1]
        cut = min(corner_radius, _LARGEST_SHARE * float(min(lengths[i], lengths[i + 1])))
        if cut <= _SAME_POINT_M or np.arccos(np.clip(before @ after, -1.0, 1.0)) > _SHARPEST_TURN_RAD:
            strokes[-1].append(Line(start, corner))
            strokes.append([])
            start = corner
        else:
            strokes[-1] += [Line(start, corner - cut * before), rounded_corner(corner, before, after, cut)]
            start = corner + cut * after
    strokes[-1].append(Line(start, stops[-1]))
    return strokes


def rounded_corner(corner: Array, before: Array, after: Array, cut: float) -> PolynomialCurve:
    """Join two lines smoothly in three derivatives, in their plane.

    Args:
        corner: shape (3,), m, where they meet.
        before, after: shape (3,), unit vectors in the direction of travel.
        cut: distance from the corner at which the curve leaves and joins the lines, m.
    """
    ends = np.zeros((2, 4, 1, 3))
    ends[0, 0, 0], ends[1, 0, 0] = corner - cut * before, corner + cut * after
    ends[0, 1, 0], ends[1, 1, 0] = before, after
    length = np.array([2.0 * cut])
    return PolynomialCurve(
        PiecewisePolynomial(np.array([0.0, 2.0 * cut]), hermite_coefficients(length, ends[0], ends[1]))
    )


def corner_deviation(strokes: Sequence[Stroke]) -> float:
    """Largest distance of rounded corners from the lines that they join, m; reached in their middle."""
    deviations = [0.0]
    for curve in (curve for stroke in strokes for curve in stroke):
        if isinstance(curve, PolynomialCurve):
            start, middle, end = curve.derivatives(np.array([0.0, 0.5, 1.0]) * curve.length)[:2].transpose(1, 0, 2)
            corner = start[0] + 0.5 * curve.length * start[1]
            away = middle[0] - corner
            deviations += [float(np.linalg.norm(away - (away @ line) * line)) for line in (start[1], end[1])]
    return max(deviations)


def points_along(strokes: Sequence[Stroke], spacing: float) -> Array:
    """Points on all strokes, at most `spacing` apart in m, shape (N, 3)."""
    points: list[Array] = []
    for curve in (curve for stroke in strokes for curve in stroke):
        count = max(2, int(np.ceil(curve.length / spacing)) + 1)
        # each begins where the one before ends
        points.append(curve.derivatives(np.linspace(0.0, curve.length, count))[0, min(len(points), 1) :])
    return np.concatenate(points)
