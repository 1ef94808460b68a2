# SPDX-License-Identifier: Apache-2.0
"""Surfaces of primitives with chamfered edges, and links made of them as glTF with a metal's sheen."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from manipulator3d_dashboard.glb import Part, glb
from manipulator3d_dashboard.pose import rotate
from manipulator3d_dashboard.urdf_drawing import Colour, Shape

_CHAMFER = 0.0015
_GHOST: Colour = (0.25, 0.65, 1.0, 0.28)
_METALLIC = 0.55
_ROUGHNESS = 0.38


class Surface(NamedTuple):
    """Vertices (N, 3) in m, outward unit normals (N, 3) and triangles (M, 3)."""

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray


def box(x: float, y: float, z: float) -> Surface:
    """Make a box around the origin with its edges chamfered."""
    half = np.array([x, y, z]) / 2
    chamfer = min(_CHAMFER, 0.15 * float(half.min()))
    # three corners in the place of each of the box's, one on each of the faces that met there
    corners = [
        np.array(signs) * (half - chamfer + chamfer * np.eye(3)[axis])
        for signs in itertools.product((-1, 1), repeat=3)
        for axis in range(3)
    ]
    directions = [np.array(signs) for signs in itertools.product((-1, 0, 1), repeat=3) if any(signs)]
    return join(_flat(corners, direction) for direction in directions)


def cylinder(radius: float, length: float, segments: int = 40) -> Surface:
    """Make a cylinder along z around the origin with chamfered rims."""
    half = length / 2
    chamfer = min(_CHAMFER, 0.15 * radius, 0.3 * half)
    profile = [(0.0, -half), (radius - chamfer, -half), (radius, chamfer - half)]
    profile += [(radius, half - chamfer), (radius - chamfer, half), (0.0, half)]
    parts = [_cone(*profile[i], *profile[i + 1], segments) for i in range(len(profile) - 1)]
    return join(parts)


def sphere(radius: float, segments: int = 32) -> Surface:
    """Make a sphere around the origin."""
    rings = segments // 2
    polar = np.linspace(0.0, math.pi, rings + 1)
    around = np.linspace(0.0, 2.0 * math.pi, segments + 1)
    normals = np.stack(
        [
            np.outer(np.sin(polar), np.cos(around)),
            np.outer(np.sin(polar), np.sin(around)),
            np.outer(np.cos(polar), np.ones_like(around)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    faces = []
    for i in range(rings):
        for j in range(segments):
            a = i * (segments + 1) + j
            b = a + segments + 1
            faces += [(a, b, b + 1), (a, b + 1, a + 1)]
    return Surface(normals * radius, normals, np.array(faces))


_MAKERS: dict[str, Callable[..., Surface]] = {"box": box, "cylinder": cylinder, "sphere": sphere}


def surface_of(shape: Shape) -> Surface:
    """Make the surface of a drawn shape, in its link's frame."""
    surface = _MAKERS[shape.kind](*shape.size)
    turn = np.array([rotate(shape.pose.wxyz, axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))])
    return Surface(surface.vertices @ turn + np.array(shape.pose.position), surface.normals @ turn, surface.faces)


def join(parts: Iterable[Surface]) -> Surface:
    """Put surfaces side by side into one."""
    vertices, normals, faces, count = [], [], [], 0
    for part in parts:
        vertices.append(part.vertices)
        normals.append(part.normals)
        faces.append(part.faces + count)
        count += len(part.vertices)
    return Surface(np.concatenate(vertices), np.concatenate(normals), np.concatenate(faces))


def link_as_glb(shapes: Sequence[Shape], ghost: bool = False) -> bytes:
    """Make a binary glTF of a link's shapes in the link's frame.

    Args:
        shapes: at least one.
        ghost: draw it in one translucent colour instead of its own ones.
    """
    by_colour: dict[Colour, list[Surface]] = {}
    for shape in shapes:
        by_colour.setdefault(_GHOST if ghost else shape.colour, []).append(surface_of(shape))
    metallic, roughness = (0.0, 1.0) if ghost else (_METALLIC, _ROUGHNESS)
    return glb([Part(*join(surfaces), colour, metallic, roughness) for colour, surfaces in by_colour.items()])


def _cone(r0: float, z0: float, r1: float, z1: float, segments: int) -> Surface:
    around = np.linspace(0.0, 2.0 * math.pi, segments + 1)
    cos, sin, one = np.cos(around), np.sin(around), np.ones(segments + 1)
    slope = np.array([z1 - z0, r0 - r1]) / math.hypot(z1 - z0, r0 - r1)
    vertices = np.concatenate(
        [np.stack([r0 * cos, r0 * sin, z0 * one], axis=1), np.stack([r1 * cos, r1 * sin, z1 * one], axis=1)]
    )
    normals = np.stack([slope[0] * cos, slope[0] * sin, slope[1] * one], axis=1)
    faces = []
    for j in range(segments):
        k = j + segments + 1
        if r0 > 0.0:
            faces.append((j, j + 1, k + 1))
        if r1 > 0.0:
            faces.append((j, k + 1, k))
    return Surface(vertices, np.concatenate([normals, normals]), np.array(faces))


def _flat(corners: Sequence[np.ndarray], direction: np.ndarray) -> Surface:
    """Make the face of a convex body of which the corners lie farthest in a direction."""
    farthest = max(float(corner @ direction) for corner in corners)
    face = np.array([corner for corner in corners if corner @ direction > farthest - 1e-9])
    normal = direction / np.linalg.norm(direction)
    # in turn around the normal, so that the triangles face outward
    first = face[0] - face.mean(axis=0)
    second = np.cross(normal, first)
    turn = np.argsort([math.atan2(side @ second, side @ first) for side in face - face.mean(axis=0)])
    triangles = np.array([(0, i, i + 1) for i in range(1, len(face) - 1)])
    return Surface(face[turn], np.tile(normal, (len(face), 1)), triangles)
