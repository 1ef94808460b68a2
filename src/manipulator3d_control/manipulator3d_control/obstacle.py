# SPDX-License-Identifier: Apache-2.0
"""What paths keep clear of: boxes, spheres and cylinders, and how far segments are from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manipulator3d_control.path import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_node.error_code import ErrorCode

# halvings of a segment in the search for its nearest point; 0.4 m of it are located to 2e-8 m
_HALVINGS = 24
# more would make planning slow
_MOST_OBSTACLES = 100
_UNIT_TOLERANCE = 0.01
_SIZES = {"box": ("x", "y", "z"), "sphere": ("radius",), "cylinder": ("height", "radius")}


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A solid that stands still.

    Attributes:
        name: as messages call it.
        shape: "box", "sphere" or "cylinder".
        size: m; lengths along x, y and z of a box, the radius of a sphere, height along z and radius of a cylinder.
        pose: shape (4, 4), of its centre in the base frame.
    """

    name: str
    shape: str
    size: tuple[float, ...]
    pose: Array

    @property
    def centre(self) -> Array:
        """Shape (3,), m, in the base frame."""
        return self.pose[:3, 3]

    @property
    def bounding_radius(self) -> float:
        """Radius of the sphere around the centre that contains it, m."""
        if self.shape == "box":
            return 0.5 * float(np.linalg.norm(self.size))
        return self.size[0] if self.shape == "sphere" else float(np.hypot(0.5 * self.size[0], self.size[1]))

    @property
    def half_extents(self) -> Array:
        """Half of the lengths of the box around it that is aligned with the base frame, shape (3,), m."""
        turn = self.pose[:3, :3]
        if self.shape == "box":
            return np.asarray(np.abs(turn) @ (0.5 * np.array(self.size)))
        if self.shape == "sphere":
            return np.full(3, self.size[0])
        height, radius = self.size
        along = np.abs(turn[:, 2])
        return np.asarray(0.5 * height * along + radius * np.sqrt(np.maximum(1.0 - along**2, 0.0)))

    def nearest(self, points: Array) -> Array:
        """Points of the solid nearest to given ones, both of shape (N, 3), m, in the base frame; inside, the same."""
        local = (points - self.centre) @ self.pose[:3, :3]
        return np.asarray(self._nearest_local(local) @ self.pose[:3, :3].T + self.centre)

    def _nearest_local(self, points: Array) -> Array:
        if self.shape == "box":
            half = 0.5 * np.array(self.size)
            return np.clip(points, -half, half)
        if self.shape == "sphere":
            distance = np.sqrt(np.einsum("ij,ij->i", points, points))
            return points * (self.size[0] / np.maximum(distance, self.size[0]))[:, None]
        height, radius = self.size
        across = np.hypot(points[:, 0], points[:, 1])
        near = points * (radius / np.maximum(across, radius))[:, None]
        near[:, 2] = np.clip(points[:, 2], -0.5 * height, 0.5 * height)
        return near

    def segment_distances(self, start: Array, end: Array, halvings: int = _HALVINGS) -> tuple[Array, Array]:
        """Find how far segments are from the solid.

        The distance of a point to a convex solid is convex along a segment; the sign of its slope is that of the
        direction on the way from the nearest point of the solid, so the segment is halved towards its nearest point.

        Args:
            start, end: shape (N, 3), m, in the base frame.
            halvings: each makes the result more exact.

        Returns:
            Distances of shape (N,), m, no larger than the true ones and by at most the segment's length / 2**halvings
            smaller, 0 for a segment that enters the solid; and the nearest points of the segments, shape (N, 3).
        """
        turn = self.pose[:3, :3]
        local, step = (start - self.centre) @ turn, (end - start) @ turn
        low, high = np.zeros(len(start)), np.ones(len(start))
        for _ in range(halvings):
            middle = 0.5 * (low + high)
            point = local + middle[:, None] * step
            receding = np.einsum("ij,ij->i", point - self._nearest_local(point), step) >= 0.0
            high = np.where(receding, middle, high)
            low = np.where(receding, low, middle)
        point = local + high[:, None] * step
        apart = np.linalg.norm(point - self._nearest_local(point), axis=1)
        uncertain = (high - low) * np.linalg.norm(step, axis=1)
        return np.maximum(apart - uncertain, 0.0), start + high[:, None] * (end - start)


def checked_obstacles(
    names: Sequence[str],
    shapes: Sequence[str],
    sizes: Sequence[Sequence[float]],
    positions: Sequence[Sequence[float]],
    quaternions: Sequence[Sequence[float]],
    base_pose: Array,
) -> tuple[Obstacle, ...]:
    """Make obstacles from what a client gave.

    Args:
        names: one for each.
        shapes: "box", "sphere", "cylinder", or the name of another shape, which is refused.
        sizes: m; see Obstacle.
        positions: m; of the centres, x y z.
        quaternions: orientations, x y z w.
        base_pose: shape (4, 4); pose of the frame of positions and orientations in the base frame.

    Raises:
        Refusal: INVALID_INPUT; names the obstacle and what is wrong with it.
    """
    if not len(names) == len(shapes) == len(positions) == len(sizes) == len(quaternions):
        raise _invalid(
            f"{len(names)} names, {len(shapes)} shapes and {len(positions)} poses; give one of each for an obstacle"
        )
    if len(names) > _MOST_OBSTACLES:
        raise _invalid(f"{len(names)} obstacles; give at most {_MOST_OBSTACLES}, with one box around small neighbours")
    seen: set[str] = set()
    for index, name in enumerate(names):
        if not name:
            raise _invalid(f"names[{index}] is empty; give each obstacle a name, messages call it by that")
        if name in seen:
            raise _invalid(f"two obstacles are named '{name}'; give each a name of its own")
        seen.add(name)
    return tuple(
        Obstacle(name, shape, _checked_size(name, shape, size), base_pose @ _checked_pose(name, position, quaternion))
        for name, shape, size, position, quaternion in zip(names, shapes, sizes, positions, quaternions, strict=True)
    )


def _checked_size(name: str, shape: str, size: Sequence[float]) -> tuple[float, ...]:
    if shape not in _SIZES:
        raise _invalid(f"obstacle '{name}' is of the shape {shape}; give BOX, SPHERE or CYLINDER")
    expected = _SIZES[shape]
    if len(size) != len(expected):
        raise _invalid(
            f"obstacle '{name}': {len(size)} dimensions; a {shape} has {len(expected)} ({', '.join(expected)})"
        )
    for what, value in zip(expected, size, strict=True):
        if not (np.isfinite(value) and value > 0.0):
            raise _invalid(f"obstacle '{name}': {what} is {value:g} m; give a finite length above 0 m")
    return tuple(float(value) for value in size)


def _checked_pose(name: str, position: Sequence[float], quaternion: Sequence[float]) -> Array:
    for axis, value in zip("xyz", position, strict=True):
        if not np.isfinite(value):
            raise _invalid(f"obstacle '{name}': position.{axis} is {value} m; give a finite number of metres")
    norm = float(np.linalg.norm(quaternion))
    if not abs(norm - 1.0) <= _UNIT_TOLERANCE:
        raise _invalid(f"obstacle '{name}': its orientation has the norm {norm:g}; give a unit quaternion (norm 1)")
    pose = np.eye(4)
    pose[:3, :3] = rotation(np.array(quaternion) / norm)
    pose[:3, 3] = position
    return pose


def rotation(quaternion: Array) -> Array:
    """Rotation matrix, shape (3, 3), of a unit quaternion x y z w."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def quaternion(turn: Array) -> tuple[float, float, float, float]:
    """Unit quaternion x y z w of a rotation matrix of shape (3, 3); the inverse of `rotation`."""
    # the largest of the four is found by its square, so that nothing is divided by a small number (Shepperd, 1978)
    x, y, z = np.diagonal(turn)
    squares = 0.25 * np.array([1.0 + x - y - z, 1.0 - x + y - z, 1.0 - x - y + z, 1.0 + x + y + z])
    largest = int(np.argmax(squares))
    s, d = turn + turn.T, turn - turn.T
    products = 0.25 * np.array(
        [
            [4.0 * squares[0], s[0, 1], s[0, 2], d[2, 1]],
            [s[0, 1], 4.0 * squares[1], s[1, 2], d[0, 2]],
            [s[0, 2], s[1, 2], 4.0 * squares[2], d[1, 0]],
            [d[2, 1], d[0, 2], d[1, 0], 4.0 * squares[3]],
        ]
    )
    a, b, c, w = (products[largest] / np.sqrt(squares[largest])).tolist()
    return a, b, c, w


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_INPUT, message)
