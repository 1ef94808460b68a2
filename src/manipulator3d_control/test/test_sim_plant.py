# SPDX-License-Identifier: Apache-2.0
"""The simulated mechanism and its joint controllers, against energy and a finer integration."""

import dataclasses

import numpy as np
import pytest

from manipulator3d_control.arm_plant import LONGEST_STEP, ArmPlant
from manipulator3d_control.command_buffer import Joints, Knot
from manipulator3d_control.joint_controller import JointController
from manipulator3d_kinematics import ArmModel, forward_dynamics, gravity, mechanical_energy

CAPSTONE = ArmModel.profile("capstone")
FREE = dataclasses.replace(
    CAPSTONE, damping=np.zeros(3), friction=np.zeros(3), lower=np.full(3, -np.inf), upper=np.full(3, np.inf)
)
REST = (0.0, 0.0, 0.0)
PERIOD = 0.002


def test_a_frictionless_arm_swings_with_constant_energy() -> None:
    start = (0.3, 0.4, -0.7)
    plant = ArmPlant(FREE, start)
    plant.velocity = (1.0, 0.0, 0.0)
    energy = mechanical_energy(FREE, start, plant.velocity)
    swing = energy - mechanical_energy(FREE, (0.0, -np.pi / 2.0, 0.0), REST)
    for _ in range(2500):
        plant.step(REST, LONGEST_STEP)
        assert abs(mechanical_energy(FREE, plant.position, plant.velocity) - energy) < 1e-3 * swing


def test_a_fall_agrees_with_a_finer_integration_of_the_equations_of_motion() -> None:
    start = (0.3, 0.9, -0.7)
    state = np.array([*start, 0.5, 0.0, 0.0])

    def rate(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[3:], forward_dynamics(FREE, x[:3], x[3:], REST)])

    plant = ArmPlant(FREE, start)
    plant.velocity = (0.5, 0.0, 0.0)
    for _ in range(150):
        plant.step(REST, LONGEST_STEP)
    # Heun's method with a fortieth of the step
    h = LONGEST_STEP / 40.0
    for _ in range(150 * 40):
        slope = rate(state)
        state = state + 0.5 * h * (slope + rate(state + h * slope))
    assert plant.position == pytest.approx(state[:3], abs=1e-5)
    assert plant.velocity == pytest.approx(state[3:], abs=1e-4)


def test_friction_brings_the_arm_to_rest_hanging() -> None:
    plant = ArmPlant(dataclasses.replace(CAPSTONE, lower=FREE.lower, upper=FREE.upper), (0.0, -1.0, 0.3))
    plant.velocity = (1.0, 0.0, 0.0)
    for _ in range(3000):
        plant.step(REST, LONGEST_STEP)
    assert plant.velocity == pytest.approx(REST, abs=0.01)
    # no joint is farther from hanging than friction holds it
    assert np.all(np.abs(gravity(CAPSTONE, plant.position)) <= CAPSTONE.friction + 0.01)


def test_a_joint_stops_at_its_limit() -> None:
    plant = ArmPlant(CAPSTONE, (2.8, 1.2, -1.6))
    for _ in range(250):
        plant.step((1.0, *gravity(CAPSTONE, plant.position)[1:].tolist()), LONGEST_STEP)
        assert plant.position[0] <= 2.9
    assert plant.position[0] == 2.9
    assert plant.velocity[0] <= 1.0 * LONGEST_STEP / 0.004


def test_an_arm_without_masses_is_refused() -> None:
    massless = ArmModel("bare", base_height=0.1, upper_arm=0.2, lateral_offset=0.0, forearm=0.2)
    with pytest.raises(
        ValueError, match="bare: a joint moves no mass; give every link of the description an <inertial>"
    ):
        ArmPlant(massless, REST)


def settle(arm: ArmModel, start: Joints, target: Joints, seconds: float) -> tuple[ArmPlant, list[Joints]]:
    """Step the setpoint to the target and let the arm go there."""
    plant = ArmPlant(arm, start)
    controller = JointController(CAPSTONE, Knot(0.0, start, REST))
    torques = []
    for _ in range(round(seconds / PERIOD)):
        torque = controller.torque(Knot(0.0, target, REST), plant.position, plant.velocity, PERIOD)
        torques.append(torque)
        for _ in range(round(PERIOD / LONGEST_STEP)):
            plant.step(torque, LONGEST_STEP)
    return plant, torques


@pytest.mark.parametrize(
    "start",
    [(0.0, 1.2, -1.6), (0.0, 0.0, 0.0), (1.0, 1.57, 0.0), (-2.0, 0.5, 2.5), (0.5, 2.5, -2.5)],
    ids=["home", "stretched", "upright", "folded up", "folded over"],
)
def test_every_pose_is_reached_and_held(start: Joints) -> None:
    target = tuple(q + 0.03 for q in start)
    plant, torques = settle(CAPSTONE, start, target, 1.5)
    assert plant.position == pytest.approx(target, abs=1e-4)
    assert plant.velocity == pytest.approx(REST, abs=1e-3)
    # what holds the arm is its weight, within what friction takes
    assert torques[-1] == pytest.approx(gravity(CAPSTONE, target), abs=0.06)


def test_a_payload_that_the_controller_does_not_know_is_held_by_the_integral() -> None:
    start = (0.0, 0.3, 0.0)
    plant, _ = settle(CAPSTONE.with_payload(0.2), start, start, 2.0)
    assert plant.position == pytest.approx(start, abs=1e-3)


def test_torques_stay_within_the_effort_limits_and_do_not_wind_up() -> None:
    start = (0.0, 1.2, -1.6)
    plant, torques = settle(CAPSTONE, start, (1.5, 0.2, 1.0), 2.0)
    assert np.all(np.abs(torques) <= CAPSTONE.effort)
    assert np.any(np.abs(torques) == CAPSTONE.effort)
    assert plant.position == pytest.approx((1.5, 0.2, 1.0), abs=1e-3)
