# SPDX-License-Identifier: Apache-2.0
"""Distances of segments to solids against another library, and what is refused as an obstacle."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_control.obstacle import Obstacle, checked_obstacles, quaternion, rotation
from manipulator3d_control.refusal import Refusal
from manipulator3d_node.error_code import ErrorCode

KINDS = {"box": 3, "sphere": 1, "cylinder": 2}


def random_pose(rng: np.random.Generator) -> np.ndarray:
    quaternion = rng.normal(size=4)
    pose = np.eye(4)
    pose[:3, :3] = rotation(quaternion / np.linalg.norm(quaternion))
    pose[:3, 3] = rng.uniform(-0.4, 0.4, 3)
    return pose


def random_obstacle(rng: np.random.Generator, kind: str) -> Obstacle:
    return Obstacle(kind, kind, tuple(rng.uniform(0.01, 0.3, KINDS[kind])), random_pose(rng))


def in_coal(coal: Any, obstacle: Obstacle) -> Any:
    size = obstacle.size
    if obstacle.shape == "box":
        return coal.Box(*size)
    return coal.Sphere(size[0]) if obstacle.shape == "sphere" else coal.Cylinder(size[1], size[0])


@pytest.mark.parametrize("kind", KINDS)
def test_distances_of_segments_agree_with_another_library(kind: str) -> None:
    coal = pytest.importorskip("coal", reason="coal, which comes with pin, is not installed")
    rng = np.random.default_rng(7)
    for _ in range(300):
        obstacle = random_obstacle(rng, kind)
        start = rng.uniform(-0.5, 0.5, 3)
        end = start + rng.normal(size=3) * 0.2
        # a capsule so thin that it is the segment
        axis = (end - start) / np.linalg.norm(end - start)
        across = np.linalg.svd(axis[None])[2][1:]
        turn = np.stack([across[0], np.cross(axis, across[0]), axis], axis=1)
        capsule = coal.Capsule(1e-6, float(np.linalg.norm(end - start)))
        result = coal.DistanceResult()
        coal.distance(
            in_coal(coal, obstacle), coal.Transform3s(obstacle.pose[:3, :3], obstacle.centre),
            capsule, coal.Transform3s(turn, 0.5 * (start + end)), coal.DistanceRequest(), result,
        )  # fmt: skip
        found, point = obstacle.segment_distances(start[None], end[None])
        assert found[0] == pytest.approx(max(result.min_distance + 1e-6, 0.0), abs=5e-6)
        assert np.linalg.norm(obstacle.nearest(point) - point) == pytest.approx(found[0], abs=1e-6)


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(KINDS)))
@settings(max_examples=60, deadline=None)
def test_no_point_of_a_segment_is_nearer_than_its_distance(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    obstacle = random_obstacle(rng, kind)
    start, end = rng.uniform(-0.5, 0.5, (2, 3))
    points = start + np.linspace(0.0, 1.0, 500)[:, None] * (end - start)
    apart = np.linalg.norm(obstacle.nearest(points) - points, axis=1)
    found = float(obstacle.segment_distances(start[None], end[None])[0][0])
    spacing = np.linalg.norm(end - start) / 499
    assert apart.min() - 0.5 * spacing - 1e-7 <= found <= apart.min()


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(KINDS)))
@settings(max_examples=60, deadline=None)
def test_an_obstacle_lies_within_its_bounds_and_touches_them(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    obstacle = random_obstacle(rng, kind)
    far = obstacle.nearest(obstacle.centre + 100.0 * np.vstack([np.eye(3), -np.eye(3)]))
    reach = np.abs(far - obstacle.centre)
    assert np.max(reach, axis=0) == pytest.approx(obstacle.half_extents, abs=1e-3)
    assert np.all(np.linalg.norm(far - obstacle.centre, axis=1) <= obstacle.bounding_radius + 1e-12)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_quaternions_and_matrices_say_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = rng.normal(size=4) * rng.choice([0.0, 1e-9, 1.0], 4)
    if np.linalg.norm(given) < 1e-12:
        return
    given /= np.linalg.norm(given)
    found = np.array(quaternion(rotation(given)))
    assert min(np.abs(found - given).max(), np.abs(found + given).max()) < 1e-12


def make(**fields: Any) -> tuple[Obstacle, ...]:
    given = {
        "names": ["wall", "post"],
        "shapes": ["box", "cylinder"],
        "sizes": [(0.1, 0.2, 0.3), (0.4, 0.02)],
        "positions": [(0.3, 0.0, 0.1), (0.0, 0.3, 0.2)],
        "quaternions": [(0.0, 0.0, 0.0, 1.0)] * 2,
        "base_pose": np.eye(4),
    }
    return checked_obstacles(**(given | fields))


def test_obstacles_are_placed_in_the_base_frame() -> None:
    half = math.sqrt(0.5)
    frame = np.eye(4)
    frame[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    frame[:3, 3] = (1.0, 0.0, 0.0)
    wall, post = make(base_pose=frame, quaternions=[(0.0, 0.0, 0.0, 1.0), (half, 0.0, 0.0, half)])
    # turned by a quarter about z and moved by 1 m along x
    assert wall.centre == pytest.approx([1.0, 0.3, 0.1])
    assert wall.half_extents == pytest.approx([0.1, 0.05, 0.15])
    assert post.centre == pytest.approx([0.7, 0.0, 0.2])
    # the post lies along its frame's y, which is the base's x
    assert post.half_extents == pytest.approx([0.2, 0.02, 0.02])


NAN, INFINITY = math.nan, math.inf
REFUSED = [
    ({"names": ["wall"]}, "1 names, 2 shapes and 2 poses; give one of each for an obstacle"),
    ({"names": ["wall", ""]}, r"names\[1\] is empty; give each obstacle a name"),
    ({"names": ["wall", "wall"]}, "two obstacles are named 'wall'; give each a name of its own"),
    ({"shapes": ["box", "CONE"]}, "obstacle 'post' is of the shape CONE; give BOX, SPHERE or CYLINDER"),
    ({"sizes": [(0.1, 0.2), (0.4, 0.02)]}, r"obstacle 'wall': 2 dimensions; a box has 3 \(x, y, z\)"),
    ({"sizes": [(0.1, 0.2, 0.0), (0.4, 0.02)]}, "obstacle 'wall': z is 0 m; give a finite length above 0 m"),
    ({"sizes": [(0.1, 0.2, 0.3), (0.4, -0.02)]}, "obstacle 'post': radius is -0.02 m; give a finite length above 0"),
    ({"sizes": [(0.1, NAN, 0.3), (0.4, 0.02)]}, "obstacle 'wall': y is nan m"),
    ({"sizes": [(0.1, 0.2, 0.3), (INFINITY, 0.02)]}, "obstacle 'post': height is inf m"),
    ({"positions": [(0.3, NAN, 0.1), (0.0, 0.3, 0.2)]}, "obstacle 'wall': position.y is nan m; give a finite number"),
    ({"quaternions": [(0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 0.0)]}, "'post': its orientation has the norm 0; give"),
    ({"quaternions": [(0.0, 0.0, NAN, 1.0), (0.0, 0.0, 0.0, 1.0)]}, "'wall': its orientation has the norm nan; give"),
]


@pytest.mark.parametrize(("fields", "text"), REFUSED, ids=[text[:30] for _, text in REFUSED])
def test_a_bad_obstacle_is_refused_by_name(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(Refusal, match=text) as caught:
        make(**fields)
    assert caught.value.code is ErrorCode.INVALID_INPUT


def test_more_obstacles_than_can_be_planned_around_are_refused() -> None:
    with pytest.raises(Refusal, match="101 obstacles; give at most 100"):
        make(
            names=[str(i) for i in range(101)], shapes=["sphere"] * 101, sizes=[(0.01,)] * 101,
            positions=[(1.0, 0.0, 0.0)] * 101, quaternions=[(0.0, 0.0, 0.0, 1.0)] * 101,
        )  # fmt: skip
