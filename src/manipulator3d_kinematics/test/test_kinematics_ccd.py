# SPDX-License-Identifier: Apache-2.0
"""Cyclic coordinate descent against the closed form, and on chains that have none."""

import dataclasses
from math import pi
from typing import Any

import numpy as np
import pytest

from manipulator3d_kinematics import ArmModel, DHChain, ccd, forward_kinematics

SEVEN = DHChain(
    d=np.array([0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.126]),
    a=np.zeros(7),
    alpha=np.array([-pi / 2, pi / 2, pi / 2, -pi / 2, -pi / 2, pi / 2, 0.0]),
    lower=np.full(7, -2.9),
    upper=np.full(7, 2.9),
)
PLANAR = DHChain(d=np.zeros(3), a=np.array([0.2, 0.2, 0.1]), alpha=np.zeros(3))


@pytest.mark.parametrize("spread", [0.3, 10.0])
def test_every_reachable_target_of_an_arm_is_reached(profile_arm: ArmModel, spread: float) -> None:
    arm = profile_arm
    chain = DHChain.from_arm(arm)
    rng = np.random.default_rng(3)
    for q in rng.uniform(arm.lower, arm.upper, (400, 3)):
        start = np.clip(q + rng.uniform(-spread, spread, 3), arm.lower, arm.upper)
        target = forward_kinematics(arm, q)
        result = ccd(chain, target, start)
        assert result.reached, f"target {target} from {start}: {result.message}"
        assert np.linalg.norm(forward_kinematics(arm, result.q) - target) <= 1e-4
        assert np.all((result.q >= arm.lower) & (result.q <= arm.upper))


def test_chain_of_any_arm_has_its_tool_point(urdf_arm: ArmModel) -> None:
    chain = DHChain.from_arm(urdf_arm)
    for q in np.random.default_rng(4).uniform(-2, 2, (10, 3)):
        assert chain.forward(q)[:3, 3] == pytest.approx(forward_kinematics(urdf_arm, q), abs=1e-14)
        _, _, tip = chain.axes(q.tolist())
        assert tip == pytest.approx(forward_kinematics(urdf_arm, q), abs=1e-14)


def test_a_redundant_chain_reaches() -> None:
    rng = np.random.default_rng(5)
    for q in rng.uniform(-2.9, 2.9, (60, 7)):
        target = SEVEN.forward(q)[:3, 3]
        result = ccd(SEVEN, target, np.full(7, 0.1))
        assert result.reached, result.message
        assert SEVEN.forward(result.q)[:3, 3] == pytest.approx(target, abs=1e-4)


@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (-0.6, 0.8, 0.0), (0.0, -1.0, 0.0)])
def test_a_target_out_of_reach_ends_stretched_toward_it(direction: tuple[float, float, float]) -> None:
    result = ccd(PLANAR, 0.9 * np.array(direction), (0.3, 0.5, -0.4))
    assert not result.reached
    assert result.error == pytest.approx(0.4, abs=1e-9)
    assert PLANAR.forward(result.q)[:3, 3] == pytest.approx(0.5 * np.array(direction), abs=1e-5)
    assert result.message.startswith("nearest point found is 0.4 m from the target after ")


@pytest.mark.parametrize("along", [0.35, 0.05, -0.2])
def test_it_escapes_from_a_target_on_the_line_through_all_joints(along: float) -> None:
    result = ccd(PLANAR, (along, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert result.reached
    if along > 0.0:
        assert result.escaped
        assert "having stood still and gone on from another position" in result.message


def test_limits_are_kept_and_told() -> None:
    chain = dataclasses.replace(PLANAR, lower=np.array([-0.3, -0.2, -0.2]), upper=np.array([0.3, 0.2, 0.2]))
    result = ccd(chain, (0.0, 0.5, 0.0), (0.0, 0.0, 0.0))
    assert not result.reached
    assert result.limits_active == (True, True, True)
    assert result.q == pytest.approx([0.3, 0.2, 0.2])
    assert result.message.endswith("at a limit: joint 0, 1, 2")


def test_a_start_at_the_target_needs_no_sweep() -> None:
    q = (0.3, 0.4, 0.5)
    result = ccd(PLANAR, PLANAR.forward(q)[:3, 3], q)
    assert (result.sweeps, result.reached, result.escaped) == (0, True, False)


def test_sweeps_are_limited() -> None:
    result = ccd(PLANAR, (3.0, 0.0, 0.0), (0.5, 0.5, 0.5), max_sweeps=3)
    assert result.sweeps == 3


def test_whole_turns_are_taken_where_a_limit_is_in_the_way() -> None:
    chain = DHChain(d=np.zeros(1), a=np.array([1.0]), alpha=np.zeros(1), lower=np.array([0.5]), upper=np.array([6.0]))
    result = ccd(chain, (np.cos(5.9), np.sin(5.9), 0.0), (0.6,))
    assert result.q == pytest.approx([5.9])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"target": (0.1, np.nan, 0.0)}, "target: .* not finite"),
        ({"q0": (0.0, 0.0)}, r"q: expected shape \(3,\), got \(2,\)"),
        ({"q0": (0.0, np.inf, 0.0)}, "q: .* not finite"),
        ({"tolerance": 0.0}, "must be above 0"),
        ({"max_sweeps": 0}, "must be above 0"),
    ],
)
def test_wrong_arguments_raise(change: dict[str, Any], text: str) -> None:
    arguments = {"target": (0.1, 0.2, 0.0), "q0": (0.0, 0.0, 0.0)} | change
    with pytest.raises(ValueError, match=text):
        ccd(PLANAR, **arguments)


def test_crossed_limits_raise() -> None:
    with pytest.raises(ValueError, match="chain: joint 1 has the lower limit 1 rad above the upper, 0 rad"):
        dataclasses.replace(PLANAR, lower=np.array([0.0, 1.0, 0.0]), upper=np.array([0.0, 0.0, 0.0]))
