# SPDX-License-Identifier: Apache-2.0
"""The closest point: no allowed position is nearer."""

import dataclasses
from collections.abc import Callable
from math import inf, pi
from typing import Any

import numpy as np
import pytest

from manipulator3d_kinematics import (
    ArmModel,
    DHChain,
    IkStatus,
    ccd,
    forward_kinematics,
    inverse_kinematics,
)
from manipulator3d_kinematics.profile import rotation_from_rpy

TARGETS = np.random.default_rng(7).uniform([-0.7, -0.7, -0.4], [0.7, 0.7, 0.8], (40, 3))


def test_no_sampled_position_is_nearer(profile_arm: ArmModel) -> None:
    arm = profile_arm
    axes = [np.linspace(low, high, count) for low, high, count in zip(arm.lower, arm.upper, (61, 45, 45), strict=True)]
    q = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points = forward_kinematics(arm, q)
    kept = (points[:, 2] >= 0.0) & (arm.base_height + arm.upper_arm * np.sin(q[:, 1]) >= 0.0)
    for target in TARGETS:
        result = inverse_kinematics(arm, target, allow_closest=True)
        assert result.error is not None
        assert result.q is not None
        nearest = np.sqrt(((points[kept] - target) ** 2).sum(axis=1).min())
        assert result.error <= nearest + 1e-9
        # the grid has a point within this of any position
        assert nearest - result.error < 0.05
        achieved = forward_kinematics(arm, result.q)
        assert np.linalg.norm(achieved - target) == pytest.approx(result.error)
        assert achieved[2] >= -2e-9
        assert np.all((result.q >= arm.lower) & (result.q <= arm.upper))


def test_without_a_floor_it_is_as_near_as_coordinate_descent_gets(profile_arm: ArmModel) -> None:
    arm = dataclasses.replace(profile_arm, floor_z=-inf)
    chain = DHChain.from_arm(arm)
    for target in TARGETS[:20]:
        closest = inverse_kinematics(arm, target, allow_closest=True)
        assert closest.error is not None
        assert closest.error == pytest.approx(ccd(chain, target, arm.home, tolerance=1e-9).error, abs=1e-6)


def test_message_tells_reason_and_distance() -> None:
    arm = ArmModel.profile("classic")
    result = inverse_kinematics(arm, (0.6, 0.0, 0.0), allow_closest=True)
    assert result.status is IkStatus.CLOSEST
    assert result.q == pytest.approx([0.0, 0.0, 0.0], abs=1e-7)
    assert result.message == (
        "target (0.600, 0.000, 0.000) m is 0.15 m farther from the shoulder than the arm reaches (0.450 m); "
        "the closest point is 0.15 m away"
    )


def test_target_below_the_floor_is_answered_on_the_floor() -> None:
    arm = ArmModel.profile("capstone")
    result = inverse_kinematics(arm, (0.2, 0.1, -0.1), allow_closest=True)
    assert result.status is IkStatus.CLOSEST
    assert result.achieved == pytest.approx((0.2, 0.1, 0.0), abs=1e-8)


@pytest.mark.parametrize("elbow", ["down", "up"])
def test_the_elbow_asked_for_is_kept(elbow: str) -> None:
    arm = ArmModel.profile("capstone")
    for target in TARGETS[:15]:
        result = inverse_kinematics(arm, target, elbow, allow_closest=True)
        assert result.q is not None
        assert result.q[2] * (1.0 if elbow == "down" else -1.0) >= -1e-8


@pytest.mark.parametrize("away", [1e2, 1e4, 1e9, 1e160, 1e300])
def test_far_targets_are_answered_stretched_toward_them(away: float) -> None:
    arm = ArmModel.profile("classic")
    direction = np.array([0.6, -0.48, 0.64])
    result = inverse_kinematics(arm, away * direction, allow_closest=True)
    assert result.achieved == pytest.approx(arm.reach * direction, abs=1e-5)
    assert result.error == pytest.approx(away - arm.reach)


def mounted(name: str, roll: float, pitch: float, height: float, **fields: Any) -> ArmModel:
    mount = np.eye(4)
    mount[:3, :3] = rotation_from_rpy(roll, pitch, 0.4)
    mount[:3, 3] = (0.1, -0.2, height)
    return dataclasses.replace(ArmModel.profile(name), mount=mount, **fields)


OVER_A_TILTED_FLOOR: dict[str, Callable[[Callable[[str], str]], ArmModel]] = {
    "slope": lambda _: mounted("capstone", 0.3, -0.2, 0.0),
    "wall": lambda _: mounted("capstone", 0.0, pi / 2, 0.2),
    "ceiling": lambda _: mounted("capstone", pi, 0.0, 0.45),
    "nearly upright": lambda _: mounted("classic", 1e-4, 0.0, 0.1),
    "steep, without limits": lambda _: mounted("classic", 1.1, 0.5, 0.05, lower=-inf, upper=inf),
    "other axes": lambda odd_urdf: ArmModel.from_urdf(odd_urdf(".5 .9 .7")),
}


@pytest.mark.parametrize("case", list(OVER_A_TILTED_FLOOR))
def test_above_a_tilted_floor_no_position_is_nearer(case: str, odd_urdf: Callable[[str], str]) -> None:
    arm = OVER_A_TILTED_FLOOR[case](odd_urdf)
    assert not arm.is_upright
    rng = np.random.default_rng(11)
    lower, upper = np.maximum(arm.lower, -pi), np.minimum(arm.upper, pi)
    q = rng.uniform(lower, upper, (50_000, 3))
    q = q[np.all(heights(arm, q) >= arm.floor_z, axis=1)]
    points = forward_kinematics(arm, q)
    centre = arm.mount[:3, 3]
    for target in centre + rng.uniform(-0.8, 0.8, (6, 3)):
        result = inverse_kinematics(arm, target, allow_closest=True)
        assert result.error is not None
        assert result.q is not None
        distances = np.sqrt(((points - target) ** 2).sum(axis=1))
        assert result.error <= distances.min() + 1e-9
        assert distances.min() - result.error < 0.05
        # no position around the answer is nearer, nor a position around the nearest samples that goes downhill
        starts = np.vstack((result.q, q[np.argsort(distances)[:5]]))
        assert result.error <= descended(arm, starts, target, rng) + 1e-9
        assert forward_kinematics(arm, result.q) == pytest.approx(np.array(result.achieved), abs=1e-14)
        assert np.all(heights(arm, result.q[np.newaxis]) >= arm.floor_z - 2e-9)
        assert np.all((result.q >= arm.lower) & (result.q <= arm.upper))


def heights(arm: ArmModel, q: np.ndarray) -> np.ndarray:
    """Heights of tool and elbow; the elbow is the tool point of an arm whose forearm has next to no length."""
    elbow = dataclasses.replace(arm, forearm=1e-15)
    return np.column_stack((forward_kinematics(arm, q)[:, 2], forward_kinematics(elbow, q)[:, 2]))


def descended(arm: ArmModel, q: np.ndarray, target: np.ndarray, rng: np.random.Generator) -> float:
    """The least distance that random steps of shrinking size find from each of several positions."""
    best = np.full(len(q), np.inf)
    step = 0.2
    while step > 1e-7:
        tried = q[:, np.newaxis] + np.concatenate((np.zeros((len(q), 1, 3)), rng.normal(0, step, (len(q), 40, 3))), 1)
        tried = np.clip(tried, arm.lower, arm.upper)
        flat = tried.reshape(-1, 3)
        distance = np.sqrt(((forward_kinematics(arm, flat) - target) ** 2).sum(axis=1))
        distance[~np.all(heights(arm, flat) >= arm.floor_z, axis=1)] = np.inf
        distance = distance.reshape(len(q), -1)
        index = distance.argmin(axis=1)
        improved = distance.min(axis=1)
        q, step = tried[np.arange(len(q)), index], step * (0.95 if (improved < best - 1e-12).any() else 0.5)
        best = np.minimum(best, improved)
    return float(best.min())


def test_a_target_below_a_tilted_floor_is_answered_at_its_foot_on_the_floor() -> None:
    arm = mounted("capstone", 0.3, -0.2, 0.0)
    x, y, _ = forward_kinematics(arm, arm.home)
    result = inverse_kinematics(arm, (x, y, -0.1), allow_closest=True)
    assert (result.status, result.achieved) == (IkStatus.CLOSEST, pytest.approx((x, y, 0.0), abs=1e-9))
    assert result.message.endswith("lies 0.1 m below the floor (z = 0.000 m); the closest point is 0.1 m away")


def test_a_tilted_arm_without_a_floor_is_as_near_as_coordinate_descent_gets(odd_urdf: Callable[[str], str]) -> None:
    free = dataclasses.replace(ArmModel.from_urdf(odd_urdf(".5 .9 .7")), floor_z=-inf)
    found = inverse_kinematics(free, (2.0, 0.0, 2.0), allow_closest=True)
    assert found.error == pytest.approx(ccd(DHChain.from_arm(free), (2.0, 0.0, 2.0), free.home).error, abs=1e-6)


def test_joints_without_limits_have_a_closest_point() -> None:
    arm = dataclasses.replace(ArmModel.profile("classic"), lower=-inf, upper=[inf, inf, 2.0])
    for target, expected in (((-0.6, 0.0, 0.3), np.hypot(0.6, 0.3) - arm.reach), ((0.2, 0.3, -0.1), 0.1)):
        result = inverse_kinematics(arm, target, allow_closest=True)
        assert result.status is IkStatus.CLOSEST
        assert result.error == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("roll", [0.0, 1.2])
def test_an_arm_that_is_wholly_below_the_floor_has_no_closest_point(roll: float) -> None:
    result = inverse_kinematics(mounted("capstone", roll, 0.0, -2.0), (0.1, 0.0, 6.0), allow_closest=True)
    assert result.status is IkStatus.TOO_FAR
    assert result.q is None
    assert result.message.endswith(
        "arm reaches (0.400 m); no joint position keeps limits and floor: lower floor_z, or raise the arm's base"
    )


def test_reached_targets_are_not_replaced() -> None:
    assert (
        inverse_kinematics(ArmModel.profile("capstone"), (0.2, 0.1, 0.2), allow_closest=True).status is IkStatus.REACHED
    )


def test_seed_decides_between_mirror_images() -> None:
    arm = ArmModel.profile("classic")
    for yaw in (0.5, -2.0):
        result = inverse_kinematics(arm, (0.0, 0.0, 0.9), seed=(yaw, 1.5, 0.0), allow_closest=True)
        assert result.error == pytest.approx(0.45)
