# SPDX-License-Identifier: Apache-2.0
"""The closest point: no allowed position is nearer."""

import dataclasses
from collections.abc import Callable
from math import inf

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


def test_a_tilted_arm_has_a_closest_point_without_a_floor_alone(odd_urdf: Callable[[str], str]) -> None:
    arm = ArmModel.from_urdf(odd_urdf(".5 .9 .7"))
    refused = inverse_kinematics(arm, (2.0, 0.0, 2.0), allow_closest=True)
    assert refused.status is IkStatus.TOO_FAR
    assert refused.message.endswith("; the closest point above a floor is found for an upright yaw axis alone")
    free = dataclasses.replace(arm, floor_z=-inf)
    found = inverse_kinematics(free, (2.0, 0.0, 2.0), allow_closest=True)
    assert found.error == pytest.approx(ccd(DHChain.from_arm(free), (2.0, 0.0, 2.0), free.home).error, abs=1e-6)


def test_reached_targets_are_not_replaced() -> None:
    assert (
        inverse_kinematics(ArmModel.profile("capstone"), (0.2, 0.1, 0.2), allow_closest=True).status is IkStatus.REACHED
    )


def test_seed_decides_between_mirror_images() -> None:
    arm = ArmModel.profile("classic")
    for yaw in (0.5, -2.0):
        result = inverse_kinematics(arm, (0.0, 0.0, 0.9), seed=(yaw, 1.5, 0.0), allow_closest=True)
        assert result.error == pytest.approx(0.45)
