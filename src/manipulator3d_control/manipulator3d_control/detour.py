# SPDX-License-Identifier: Apache-2.0
"""Searches via points that lead around or over obstacles, the shortest way first.

Via points come from a grid of tool points around the arm. A coarse map of the joint angles at which the arm keeps clear
tells which of them are connected, as far as it can; the shortest way through the points (Dijkstra) is then examined
exactly, connection by connection, and where one turns out to be blocked the next shortest way is taken.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from manipulator3d_control.path import Array
from manipulator3d_kinematics import ArmModel
from manipulator3d_kinematics.ik_result import UP_BIT

_AZIMUTHS, _RADII, _HEIGHTS = 24, 6, 7
# rad; cells of the map
_CELL_RAD = 0.1
_CHUNK = 2048
# places on a connection that are looked up in the map
_LOOKS = (0.5, 0.25, 0.75, 0.125, 0.375, 0.625, 0.875, 0.0625, 0.1875, 0.3125, 0.4375, 0.5625, 0.6875, 0.8125, 0.9375)
# connections that are examined exactly before the search is given up
_MOST_CHECKS = 150
_PULLS = 5
_NEARLY_ZERO = 1e-12

# which positions of shape (N, 3) keep clear, booleans of shape (N,)
AreClear = Callable[[Array], np.ndarray]
# whether the arm can move in joint space from one position to the other, each of shape (3,), rad
IsFree = Callable[[Array, Array], bool]


class Detours:
    """The ways around a set of obstacles, for one branch of the elbow.

    The length of a way is that of the joints' angles, each in units of its largest velocity.

    Args:
        arm: the arm.
        elbow: "down" or "up"; the branch in which via points are reached.
        are_clear: tells which positions keep clear of the obstacles.
    """

    def __init__(self, arm: ArmModel, elbow: str, are_clear: AreClear) -> None:
        self._arm = arm
        grid = via_grid(arm, elbow)
        if not len(grid):
            grid = arm.home[None]
        self._grid = grid[are_clear(grid)]
        # what lies beyond, such as the other branch, is looked up in the nearest cell
        self._lower, self._upper = grid.min(axis=0), grid.max(axis=0)
        self._counts = np.ceil((self._upper - self._lower) / _CELL_RAD).astype(int) + 1
        self._cells = np.maximum(self._upper - self._lower, _CELL_RAD) / np.maximum(self._counts - 1, 1)
        self._free = self._map(are_clear)
        count = len(self._grid)
        self._lengths = np.full((count, count), np.inf)
        pairs = np.triu_indices(count, 1)
        self._lengths[pairs] = self._lengths.T[pairs] = self._connections(self._grid[pairs[0]], self._grid[pairs[1]])

    def vias(self, start: Array, end: Array, is_free: IsFree) -> list[Array] | None:
        """Find via points between two positions.

        Args:
            start, end: shape (3,), rad.
            is_free: tells whether a connection keeps clear all along, and within the limits.

        Returns:
            Joint positions between start and end, none where the direct connection is free; None where no way was
            found.
        """
        nodes = np.vstack([self._grid, start, end])
        count = len(nodes)
        lengths = np.full((count, count), np.inf)
        lengths[:-2, :-2] = self._lengths
        for node in (count - 2, count - 1):
            lengths[node] = lengths[:, node] = self._connections(np.broadcast_to(nodes[node], nodes.shape), nodes)
        known: set[tuple[int, int]] = set()
        while len(known) < _MOST_CHECKS:
            way = _shortest(lengths, count - 2, count - 1)
            if way is None:
                return None
            for edge in pairwise(way):
                if edge in known:
                    continue
                known.add(edge)
                if not is_free(nodes[edge[0]], nodes[edge[1]]):
                    lengths[edge] = lengths[edge[::-1]] = np.inf
                    break
            else:
                return self._shortened([nodes[node] for node in way], is_free)
        return None

    def _map(self, are_clear: AreClear) -> np.ndarray:
        """Whether the arm keeps clear at the middles of all cells, flat."""
        axes = [np.linspace(*span) for span in zip(self._lower, self._upper, self._counts, strict=True)]
        cells = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        return np.concatenate([are_clear(cells[at : at + _CHUNK]) for at in range(0, len(cells), _CHUNK)])

    def _connections(self, starts: Array, ends: Array) -> Array:
        """Lengths of connections of shape (N,), infinite where the map shows them blocked; from and to (N, 3)."""
        lengths = np.linalg.norm((starts - ends) / self._arm.velocity, axis=1)
        low = (starts - self._lower) / self._cells + 0.5
        step = (ends - starts) / self._cells
        strides = np.array([self._counts[1] * self._counts[2], self._counts[2], 1])
        left = np.arange(len(starts))
        for look in _LOOKS:
            cells = np.clip((low[left] + look * step[left]).astype(np.intp), 0, self._counts - 1)
            free = self._free[cells @ strides]
            lengths[left[~free]] = np.inf
            left = left[free]
        return np.asarray(lengths)

    def _shortened(self, way: list[Array], is_free: IsFree) -> list[Array]:
        """Pull each via point towards the straight way between its neighbours, as far as that keeps clear."""
        for at in range(1, len(way) - 1):
            before, here, after = (way[at + step] / self._arm.velocity for step in (-1, 0, 1))
            along = after - before
            share = float(np.clip((here - before) @ along / max(float(along @ along), _NEARLY_ZERO), 0.0, 1.0))
            pull = (before + share * along - here) * self._arm.velocity
            free, blocked = 0.0, 1.0
            for _ in range(_PULLS):
                tried = 0.5 * (free + blocked)
                candidate = way[at] + tried * pull
                if is_free(way[at - 1], candidate) and is_free(candidate, way[at + 1]):
                    free = tried
                else:
                    blocked = tried
            way[at] = way[at] + free * pull
        return way[1:-1]


def via_grid(arm: ArmModel, elbow: str) -> Array:
    """Joint positions that put the tool at points all around the arm, facing them, shape (N, 3), rad.

    Args:
        arm: the arm.
        elbow: "down" or "up"; the branch in which the points are reached.
    """
    azimuths = np.arange(_AZIMUTHS) * (2.0 * np.pi / _AZIMUTHS)
    radii = np.linspace(arm.inner_reach + abs(arm.lateral_offset), arm.reach, _RADII + 2)[1:-1]
    heights = np.linspace(-arm.reach, arm.reach, 2 * _HEIGHTS + 1)
    azimuth, radius, height = (axis.ravel() for axis in np.meshgrid(azimuths, radii, heights))
    local = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), arm.base_height + height], axis=1)
    points = local @ arm.mount[:3, :3].T + arm.mount[:3, 3]
    branch = UP_BIT if elbow == "up" else 0
    found = [
        solution[:3]
        for x, y, z in points[points[:, 2] >= arm.floor_z].tolist()
        for solution in arm.solve_branches(x, y, z, None, None)
        if solution[3] == branch
    ]
    return np.array(found).reshape(-1, 3)


def _shortest(lengths: Array, start: int, end: int) -> list[int] | None:
    """The shortest way through a graph given by the lengths of its connections, by Dijkstra's algorithm."""
    best = np.full(len(lengths), np.inf)
    best[start] = 0.0
    came_from = np.full(len(lengths), -1)
    waiting = best.copy()
    while True:
        node = int(np.argmin(waiting))
        if not np.isfinite(waiting[node]):
            return None
        if node == end:
            break
        reached = best[node] + lengths[node]
        better = reached < best
        best[better] = waiting[better] = reached[better]
        came_from[better] = node
        waiting[node] = np.inf
    way = [end]
    while way[-1] != start:
        way.append(int(came_from[way[-1]]))
    return way[::-1]
