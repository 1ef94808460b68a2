# SPDX-License-Identifier: Apache-2.0
"""The surface of a solid that is known from a yes-or-no test (marching tetrahedra with corners found by bisection)."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from manipulator3d_kinematics.checked_numbers import Array

# each cell is cut into the six tetrahedra along its diagonal, which match those of its neighbours
_TETRAHEDRA = np.array(
    [
        np.cumsum([np.zeros(3, dtype=int), *np.eye(3, dtype=int)[list(order)]], axis=0)
        for order in permutations(range(3))
    ]
)
# halves a cell of some centimetres to less than a micrometre
_HALVINGS = 16


def surface(inside: Callable[[Array], NDArray[np.bool_]], x: Array, y: Array, z: Array) -> Array:
    """Find the surface.

    Args:
        inside: tells for points of shape (N, 3) which belong to the solid.
        x, y, z: nodes of the grid in ascending order; what is thinner than a cell may be missed.

    Returns:
        Shape (3 T, 3): the corners of T triangles in turn, all within the solid.
    """
    nodes = np.stack(np.meshgrid(x, y, z, indexing="ij"), axis=-1)
    within = inside(nodes.reshape(-1, 3)).reshape(nodes.shape[:3])
    # the flat index of a node from its indices along the axes
    place = np.array([len(y) * len(z), len(z), 1])
    cells = np.indices((len(x) - 1, len(y) - 1, len(z) - 1)).reshape(3, -1).T
    tetrahedra = ((cells @ place)[:, np.newaxis, np.newaxis] + _TETRAHEDRA @ place).reshape(-1, 4)
    belongs = within.ravel()[tetrahedra]
    count = belongs.sum(axis=1)
    # corners inside the solid first
    tetrahedra = np.take_along_axis(tetrahedra, np.argsort(~belongs, axis=1, kind="stable"), axis=1)
    pairs = [_edges(tetrahedra[count == 1], ((0, 1), (0, 2), (0, 3)))]
    pairs += [_edges(tetrahedra[count == 3], ((0, 3), (1, 3), (2, 3)))]
    pairs += [_edges(tetrahedra[count == 2], edges) for edges in (((0, 2), (0, 3), (1, 3)), ((0, 2), (1, 3), (1, 2)))]
    edges, number = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    flat = nodes.reshape(-1, 3)
    near, far = flat[edges[:, 0]], flat[edges[:, 1]]
    for _ in range(_HALVINGS):
        middle = (near + far) / 2.0
        kept = inside(middle)[:, np.newaxis]
        near, far = np.where(kept, middle, near), np.where(kept, far, middle)
    return near[number.ravel()]


def _edges(tetrahedra: NDArray[np.intp], corners: tuple[tuple[int, int], ...]) -> NDArray[np.intp]:
    """Edges between corners, three in turn for each tetrahedron, the corner inside the solid first."""
    return tetrahedra[:, np.array(corners)].reshape(-1, 2)
