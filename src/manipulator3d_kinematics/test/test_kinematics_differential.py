# SPDX-License-Identifier: Apache-2.0
"""Joint velocities for tool velocities."""

import numpy as np
import pytest

from manipulator3d_kinematics import ArmModel, forward_kinematics, jacobian, velocity_inverse_kinematics
from manipulator3d_kinematics.differential import DAMPED_BELOW, DAMPING

CAPSTONE = ArmModel.profile("capstone")


def test_away_from_singularities_the_tool_moves_as_asked() -> None:
    rng = np.random.default_rng(0)
    checked = 0
    for q in rng.uniform(CAPSTONE.lower * 0.8, CAPSTONE.upper * 0.8, (100, 3)):
        wanted = rng.uniform(-0.05, 0.05, 3)
        result = velocity_inverse_kinematics(CAPSTONE, q, wanted)
        if result.damping or result.scale < 1.0:
            continue
        checked += 1
        step = 1e-6
        moved = (forward_kinematics(CAPSTONE, q + step * result.qd) - forward_kinematics(CAPSTONE, q)) / step
        assert moved == pytest.approx(wanted, abs=1e-5)
        assert result.velocity == pytest.approx(wanted, abs=1e-12)
    assert checked > 50


@pytest.mark.parametrize("elbow", [0.0, 1e-12, 1e-6, 1e-3, 0.05])
def test_velocities_stay_within_limits_at_full_stretch(elbow: float) -> None:
    result = velocity_inverse_kinematics(CAPSTONE, (0.0, 0.6, elbow), (1.0, 0.5, 1.0))
    assert np.all(np.abs(result.qd) <= CAPSTONE.velocity + 1e-12)
    assert result.velocity == pytest.approx(jacobian(CAPSTONE, (0.0, 0.6, elbow))[:3] @ result.qd)
    if elbow < 0.01:
        assert result.damping == pytest.approx(DAMPING, rel=1e-2)


def test_damping_sets_in_without_a_step() -> None:
    elbows = np.linspace(0.02, 0.4, 2000)
    results = [velocity_inverse_kinematics(CAPSTONE, (0.2, 0.5, elbow), (0.002, 0.0, 0.003)) for elbow in elbows]
    sigmas = [result.smallest_singular_value for result in results]
    assert min(sigmas) < DAMPED_BELOW < max(sigmas)
    assert np.abs(np.diff([result.qd for result in results], axis=0)).max() < 2e-4


def test_direction_is_kept_when_a_joint_is_too_slow() -> None:
    q, wanted = (0.3, 1.0, -1.2), np.array([3.0, -2.0, 1.0])
    result = velocity_inverse_kinematics(CAPSTONE, q, wanted)
    assert 0.0 < result.scale < 1.0
    assert result.velocity == pytest.approx(result.scale * wanted)
    assert np.max(np.abs(result.qd) / CAPSTONE.velocity) == pytest.approx(1.0)


def test_a_joint_at_its_limit_is_held_and_the_others_do_what_they_can() -> None:
    q = np.array([0.0, 1.0, CAPSTONE.upper[2]])
    outward = jacobian(CAPSTONE, q)[:3, 2] * 0.1
    result = velocity_inverse_kinematics(CAPSTONE, q, outward)
    assert result.held == (False, False, True)
    assert result.qd[2] == 0.0
    assert outward @ result.velocity > 0.0
    back = velocity_inverse_kinematics(CAPSTONE, q, -outward)
    assert back.held == (False, False, False)
    assert back.qd[2] < 0.0


def test_near_a_limit_a_joint_is_slow_enough_to_stop_before_it() -> None:
    room = 0.01
    q = (CAPSTONE.upper[0] - room, 1.0, -1.2)
    result = velocity_inverse_kinematics(CAPSTONE, q, jacobian(CAPSTONE, q)[:3, 0] * 2.0)
    assert result.qd[0] == pytest.approx(np.sqrt(2.0 * CAPSTONE.acceleration[0] * room))


def test_no_velocity_asked_gives_none() -> None:
    result = velocity_inverse_kinematics(CAPSTONE, CAPSTONE.upper, (0.0, 0.0, 0.0))
    assert result.qd.tolist() == [0.0, 0.0, 0.0]


def test_velocity_that_is_not_finite_raises() -> None:
    with pytest.raises(ValueError, match=r"velocity: .* not finite"):
        velocity_inverse_kinematics(CAPSTONE, (0.0, 1.0, -1.0), (0.0, np.inf, 0.0))
