# SPDX-License-Identifier: Apache-2.0
"""Chains of paths whose corners are rounded, so that the arm need not stop in them.

Near a corner both paths are cut and joined by a polynomial of degree 7 that has the joint angles and the first three
derivatives of either path where it leaves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manipulator3d_control.joint_path import check_positions
from manipulator3d_control.path import Path, path_through
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_kinematics import ArmModel, forward_kinematics

# a path between two corners is cut by at most this share of it on either side
_LARGEST_SHARE = 0.5
_SAMPLES = 100
# the largest deviation lies where both legs are equally far, at a kink of the distance; samples must come near it
_ROUNDING_SAMPLES = 500


@dataclass(frozen=True)
class BlendedPath:
    """A chain of paths.

    Attributes:
        path: the whole.
        corners: path parameters in the middle of each rounding, shape (n - 1,) for n paths.
        deviation: largest distance of the tool from the paths with their corners, m.
    """

    path: Path
    corners: Array
    deviation: float


def blended(arm: ArmModel, paths: Sequence[Path], radius: float) -> BlendedPath:
    """Join paths and round the corners between them.

    Args:
        arm: the arm.
        paths: each begins where the one before ends; of positive length.
        radius: how far from a corner the tool may leave its path, m, above 0; less where a path is short.

    Raises:
        PathError: a rounding leaves a joint's limits or goes below the floor.
    """
    lengths = [path.length for path in paths]
    before = [_reversed_distance(arm, path, radius) for path in paths[:-1]]
    after = [_distance(arm, path, radius) for path in paths[1:]]
    scale, start = 1.0, 0.0
    pieces: list[Path] = []
    corners, ends, deviation = [], 0.0, 0.0
    for i, path in enumerate(paths):
        last = i == len(paths) - 1
        end = lengths[i] if last else lengths[i] - before[i]
        if end > start:
            pieces.append(path.part(start, end, scale))
            ends += pieces[-1].length
        if last:
            break
        # so scaled, the next path is cut by as much as this one, and one speed fits both
        next_scale = scale * before[i] / after[i]
        length = 2.0 * before[i] * scale
        states = np.stack(
            [_scaled(path, end, scale), _scaled(paths[i + 1], after[i], next_scale)],
            axis=1,
        )
        rounding = path_through(np.array([0.0, length]), states)
        check_positions(arm, rounding.joints(np.linspace(0.0, length, _SAMPLES)), "rounded corner")
        pieces.append(rounding)
        corners.append(ends + 0.5 * length)
        ends += length
        deviation = max(deviation, _deviation(arm, rounding, (path, end, lengths[i]), (paths[i + 1], 0.0, after[i])))
        scale, start = next_scale, after[i]
    return BlendedPath(pieces[0].followed_by(*pieces[1:]), np.array(corners), deviation)


def _scaled(path: Path, s: float, scale: float) -> Array:
    return path.derivatives([s])[:, 0] / (scale ** np.arange(4))[:, None]


def _distance(arm: ArmModel, path: Path, radius: float) -> float:
    """Path parameter at which the tool is `radius` from the start, at most half the length."""
    s = np.linspace(0.0, _LARGEST_SHARE * path.length, _SAMPLES)
    return _reach(s, forward_kinematics(arm, path.joints(s)), radius)


def _reversed_distance(arm: ArmModel, path: Path, radius: float) -> float:
    s = np.linspace(0.0, _LARGEST_SHARE * path.length, _SAMPLES)
    return _reach(s, forward_kinematics(arm, path.joints(path.length - s)), radius)


def _reach(s: Array, points: Array, radius: float) -> float:
    away = np.linalg.norm(points - points[0], axis=1)
    beyond = np.flatnonzero(away > radius)
    if not beyond.size:
        return float(s[-1])
    i = int(beyond[0])
    return float(s[i - 1] + (s[i] - s[i - 1]) * (radius - away[i - 1]) / (away[i] - away[i - 1]))


def _deviation(arm: ArmModel, rounding: Path, *legs: tuple[Path, float, float]) -> float:
    rounded = forward_kinematics(arm, rounding.joints(np.linspace(0.0, rounding.length, _ROUNDING_SAMPLES)))
    sharp = np.concatenate(
        [forward_kinematics(arm, path.joints(np.linspace(start, end, _SAMPLES))) for path, start, end in legs]
    )
    return float(np.max(np.min(np.linalg.norm(rounded[:, None] - sharp, axis=2), axis=1)))
