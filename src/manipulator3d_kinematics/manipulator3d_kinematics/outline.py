# SPDX-License-Identifier: Apache-2.0
"""Outlines of a plane set that is known from a yes-or-no test (marching squares with corners found by bisection)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from manipulator3d_kinematics.checked_numbers import Array

Inside = Callable[[Array, Array], NDArray[np.bool_]]
# halves a grid step below rounding
_HALVINGS = 50
# For each of the 16 patterns of a cell's corners (bit 0 lower left, then counter-clockwise) the edges (0 bottom, 1
# right, 2 top, 3 left) that the outline enters and leaves by, with the set to its left.
_STEPS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 3),), 2: ((1, 0),), 3: ((1, 3),), 4: ((2, 1),), 5: ((0, 3), (2, 1)), 6: ((2, 0),), 7: ((2, 3),),
    8: ((3, 2),), 9: ((0, 2),), 10: ((1, 0), (3, 2)), 11: ((1, 2),), 12: ((3, 1),), 13: ((0, 1),), 14: ((3, 0),),
}  # fmt: skip


def outlines(inside: Inside, x: Array, y: Array) -> list[Array]:
    """Trace the set's outlines.

    Args:
        inside: tells for arrays of x and y which points belong to the set.
        x, y: shapes (W,) and (H,); evenly spaced nodes; no border node belongs to the set.

    Returns:
        Closed outlines of shape (K, 2) without the repeated first point, counter-clockwise around the set and clockwise
        around its holes.
    """
    nodes = inside(*np.meshgrid(x, y)).astype(np.int8)
    pattern = nodes[:-1, :-1] + 2 * nodes[:-1, 1:] + 4 * nodes[1:, 1:] + 8 * nodes[1:, :-1]
    onward: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    for row, column in zip(*np.nonzero((pattern > 0) & (pattern < 15)), strict=True):
        for start, end in _STEPS[int(pattern[row, column])]:
            onward[_edge(int(row), int(column), start)] = _edge(int(row), int(column), end)
    corners = _corners(inside, x, y, nodes, list(onward))
    loops = []
    while onward:
        first, edge = onward.popitem()
        loop = [corners[first]]
        while edge != first:
            loop.append(corners[edge])
            edge = onward.pop(edge)
        loops.append(np.array(loop))
    return sorted(loops, key=len, reverse=True)


def _edge(row: int, column: int, side: int) -> tuple[int, int, int]:
    """A grid edge by its lower or left node and its direction (0 along x, 1 along y)."""
    return (row + (side == 2), column, 0) if side in (0, 2) else (row, column + (side == 1), 1)


def _corners(
    inside: Inside, x: Array, y: Array, nodes: Array, edges: list[tuple[int, int, int]]
) -> dict[tuple[int, int, int], tuple[float, float]]:
    """Where the outline crosses grid edges."""
    if not edges:
        return {}
    row, column, upward = np.array(edges).T
    near = np.stack((x[column], y[row]))
    far = np.stack((x[column + (upward == 0)], y[row + (upward == 1)]))
    within = np.where(nodes[row, column].astype(bool), near, far)
    without = near + far - within
    for _ in range(_HALVINGS):
        middle = (within + without) / 2.0
        kept = inside(middle[0], middle[1])
        within, without = np.where(kept, middle, within), np.where(kept, without, middle)
    return {edge: (float(px), float(py)) for edge, px, py in zip(edges, *within, strict=True)}
