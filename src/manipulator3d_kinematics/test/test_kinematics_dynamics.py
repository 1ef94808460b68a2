# SPDX-License-Identifier: Apache-2.0
"""Equations of motion against pinocchio, and what must hold of any arm."""

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from manipulator3d_kinematics import (
    ArmModel,
    coriolis,
    forward_dynamics,
    gravity,
    inverse_dynamics,
    jacobian,
    mass_matrix,
    mechanical_energy,
    motion_step,
)

STATES = np.random.default_rng(0).uniform(-2.5, 2.5, (60, 3, 3))


def test_every_term_agrees_with_pinocchio(urdf: str, urdf_arm: ArmModel) -> None:
    model = pin.buildModelFromXML(urdf)
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    data = model.createData()
    for q, qd, third in STATES:
        upper = np.triu(pin.crba(model, data, q))
        expected = upper + np.triu(upper, 1).T
        assert mass_matrix(urdf_arm, q) == pytest.approx(expected, abs=1e-10)
        product = pin.computeCoriolisMatrix(model, data, q, qd) @ qd
        assert coriolis(urdf_arm, q, qd) @ qd == pytest.approx(product, abs=1e-10)
        assert gravity(urdf_arm, q) == pytest.approx(pin.computeGeneralizedGravity(model, data, q), abs=1e-10)
        assert inverse_dynamics(urdf_arm, q, qd, third) == pytest.approx(pin.rnea(model, data, q, qd, third), abs=1e-10)
        accelerations = pin.aba(model, data, q, qd, third)
        assert forward_dynamics(urdf_arm, q, qd, third) == pytest.approx(accelerations, rel=1e-10, abs=1e-10)


def test_terms_add_up(urdf_arm: ArmModel) -> None:
    for q, qd, qdd in STATES[:20]:
        tau = mass_matrix(urdf_arm, q) @ qdd + coriolis(urdf_arm, q, qd) @ qd + gravity(urdf_arm, q)
        assert inverse_dynamics(urdf_arm, q, qd, qdd) == pytest.approx(tau, abs=1e-12)
        assert forward_dynamics(urdf_arm, q, qd, tau) == pytest.approx(qdd, rel=1e-9, abs=1e-9)


def test_coriolis_matrix_is_that_of_the_christoffel_symbols(urdf_arm: ArmModel) -> None:
    step = 1e-6
    for q, qd, _ in STATES[:20]:
        rate = (mass_matrix(urdf_arm, q + step * qd) - mass_matrix(urdf_arm, q - step * qd)) / (2.0 * step)
        skew = rate - 2.0 * coriolis(urdf_arm, q, qd)
        assert skew + skew.T == pytest.approx(np.zeros((3, 3)), abs=1e-7)


def test_many_states_give_the_same_as_one_at_a_time(urdf_arm: ArmModel) -> None:
    q, qd, third = STATES.transpose(1, 0, 2)
    for function, arguments in (
        (mass_matrix, (q,)),
        (gravity, (q,)),
        (coriolis, (q, qd)),
        (inverse_dynamics, (q, qd, third)),
        (forward_dynamics, (q, qd, third)),
    ):
        single = np.array([function(urdf_arm, *rows) for rows in zip(*arguments, strict=True)])
        assert function(urdf_arm, *arguments) == pytest.approx(single, rel=1e-12, abs=1e-12)


def test_one_state_with_many_torques_is_spread() -> None:
    arm = ArmModel.profile("capstone")
    tau = np.random.default_rng(1).uniform(-1, 1, (7, 3))
    many = forward_dynamics(arm, arm.home, (0.1, 0.2, 0.3), tau)
    assert many == pytest.approx(np.array([forward_dynamics(arm, arm.home, (0.1, 0.2, 0.3), row) for row in tau]))


def test_payload_pulls_at_the_tool(urdf_arm: ArmModel) -> None:
    """Its weight is felt through the Jacobian, its inertia as m JᵀJ."""
    loaded = urdf_arm.with_payload(0.3)
    for q, _, _ in STATES[:10]:
        matrix = jacobian(urdf_arm, q)[:3]
        weight = matrix.T @ [0.0, 0.0, 0.3 * 9.81]
        assert gravity(loaded, q) - gravity(urdf_arm, q) == pytest.approx(weight, abs=1e-12)
        assert mass_matrix(loaded, q) - mass_matrix(urdf_arm, q) == pytest.approx(0.3 * matrix.T @ matrix, abs=1e-12)


def test_gravity_is_the_slope_of_the_potential_energy(urdf_arm: ArmModel) -> None:
    step = 1e-5
    for q, _, _ in STATES[:10]:
        slope = [
            (mechanical_energy(urdf_arm, q + dq, np.zeros(3)) - mechanical_energy(urdf_arm, q - dq, np.zeros(3)))
            / (2 * step)
            for dq in step * np.eye(3)
        ]
        assert gravity(urdf_arm, q) == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("speed", [(1.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_energy_is_kept_in_free_swing_for_ten_seconds(speed: tuple[float, float, float]) -> None:
    arm = ArmModel.profile("capstone")
    q, qd = (0.0, 1.2, -1.6), speed
    before = mechanical_energy(arm, q, qd)
    for _ in range(20_000):
        q, qd = motion_step(arm, q, qd, (0.0, 0.0, 0.0), 0.0005)
    assert abs(mechanical_energy(arm, q, qd) - before) <= 1e-6


def test_a_step_follows_the_equations_of_motion(urdf_arm: ArmModel) -> None:
    dt = 1e-4
    for q, qd, tau in STATES[:10].tolist():
        acceleration = forward_dynamics(urdf_arm, q, qd, tau)
        moved, gained = motion_step(urdf_arm, q, qd, tau, dt)
        assert (np.array(gained) - qd) / dt == pytest.approx(acceleration, rel=2e-2, abs=0.5)
        assert moved == pytest.approx(np.array(q) + dt * np.array(qd) + dt * dt / 2.0 * acceleration, abs=1e-9)


def test_a_massless_joint_is_refused() -> None:
    arm = dataclasses.replace(ArmModel.profile("capstone"), bodies=ArmModel("bare", 0.1, 0.2, 0.0, 0.2).bodies)
    with pytest.raises(
        ValueError, match="capstone: a joint moves no mass; give every link of the description an <inert"
    ):
        forward_dynamics(arm, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (((0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), "q: expected three numbers"),
        (((0.0, 1.0, 0.0), (0.0, np.nan, 0.0), (0.0, 0.0, 0.0)), "qd: .* not finite"),
        (((0.0, 1.0, 0.0), (0.0, 0.0, 0.0), (np.inf, -np.inf, 0.0)), "(qdd|tau): .* not finite"),
        (
            ([[0.0, 1.0, 0.0], [0.0]], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
            r"q: expected an array of numbers of shape \(N, 3",
        ),
        (((0.0, 1.0, 0.0), (0.0, 0.0, 0.0), ("a", "b", "c")), "(qdd|tau): expected three numbers"),
        (
            ([[0.0, 1.0, 0.0]] * 2, [[0.0, 0.0, 0.0]] * 3, (0.0, 0.0, 0.0)),
            r"rows: q 2, qd 3, (qdd|tau) 1; expected one row or equally many of each",
        ),
        (((0.0, 1.0, 0.0), (0.0, 0.0, 0.0), [[0.0, np.inf, 0.0]]), "(qdd|tau): row 0 .* not finite"),
    ],
)
def test_wrong_states_raise(arguments: Any, text: str) -> None:
    for function in (inverse_dynamics, forward_dynamics):
        with pytest.raises(ValueError, match=text):
            function(ArmModel.profile("capstone"), *arguments)
