# SPDX-License-Identifier: Apache-2.0
"""The orientation of a plane to draw in."""

from collections.abc import Sequence

import numpy as np

_PARALLEL = 1e-6


def plane_orientation(normal: Sequence[float], along: Sequence[float]) -> tuple[float, float, float, float]:
    """Turn a frame so that its z axis is `normal` and its x axis is `along` as seen in the plane.

    The quaternion is that of the rotation matrix with these axes as columns, by the numerically safe choice among the
    four forms of Shepperd's method (1978).

    Args:
        normal: shape (3,), of any length but 0.
        along: shape (3,), of any length but 0; where it is parallel to the normal, that axis of the base is
            taken which is farthest from the normal.

    Returns:
        Unit quaternion x, y, z, w.

    Raises:
        ValueError: a direction of length 0, or numbers that are not finite.
    """
    z, x = _direction(normal, "normal"), _direction(along, "along")
    x = x - (x @ z) * z
    if np.linalg.norm(x) < _PARALLEL:
        farthest = np.eye(3)[np.argmin(np.abs(z))]
        x = farthest - (farthest @ z) * z
    x /= np.linalg.norm(x)
    turn = np.column_stack([x, np.cross(z, x), z])
    # outer product of the quaternion (x, y, z, w) with itself, times four
    trace = np.trace(turn)
    product = turn + turn.T + (1.0 - trace) * np.eye(3)
    skew = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    outer = np.block([[product, skew[:, None]], [skew[None, :], np.array([[1.0 + trace]])]])
    largest = int(np.argmax(np.diag(outer)))
    quaternion = outer[largest] / (2.0 * np.sqrt(outer[largest, largest]))
    return tuple(float(part) for part in quaternion)  # type: ignore[return-value]


def _direction(vector: Sequence[float], name: str) -> np.ndarray:
    direction = np.asarray(vector, dtype=float)
    length = float(np.linalg.norm(direction))
    if direction.shape != (3,) or not np.isfinite(length) or length == 0.0:
        raise ValueError(f"{name}: expected a direction of three finite numbers that is not zero, got {vector!r}")
    return direction / length
