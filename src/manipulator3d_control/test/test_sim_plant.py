# SPDX-License-Identifier: Apache-2.0
"""The simulated mechanism and its joint controllers, against energy and a finer integration."""

import dataclasses

import numpy as np
import pytest

from manipulator3d_control.arm_plant import LONGEST_STEP, ArmPlant
from manipulator3d_control.command_buffer import Joints, Knot
from manipulator3d_control.joint_controller import (
    COMPUTED_TORQUE,
    CONTROL_LAWS,
    PD,
    PD_GRAVITY,
    PID_GRAVITY,
    JointController,
)
from manipulator3d_kinematics import (
    ArmModel,
    RigidBody,
    forward_dynamics,
    gravity,
    mass_matrix,
    mechanical_energy,
)

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


@pytest.mark.parametrize("law", CONTROL_LAWS)
def test_a_law_without_friction_brings_a_joint_to_its_setpoint_as_its_poles_say(law: str) -> None:
    # a small step of the yaw joint alone, whose inertia does not change with it and which bears no weight
    start = (0.0, 1.2, -1.6)
    arm = dataclasses.replace(FREE, lateral_offset=0.0, bodies=tuple(planar(body) for body in CAPSTONE.bodies))
    step, w = 0.01, 40.0
    plant, controller = ArmPlant(arm, start), JointController(arm, Knot(0.0, start, REST), law)
    times = np.arange(150) * PERIOD
    # inverse Laplace transforms of w² / (s (s + w)²) and of (3 w² s + w³) / (s (s + w)³)
    x = w * times
    left = 1.0 + x - x**2 if law == PID_GRAVITY else 1.0 + x
    expected = step * (1.0 - np.exp(-x) * left)
    seen = []
    for _ in times:
        seen.append(plant.position[0])
        torque = controller.torque(Knot(0.0, (step, *start[1:]), REST), plant.position, plant.velocity, PERIOD)
        plant.step(torque, PERIOD)
    # the controller holds its torque for a period
    assert np.array(seen) == pytest.approx(expected, abs=0.08 * step)


def planar(body: RigidBody) -> RigidBody:
    """A body without products of inertia across the arm's plane."""
    x, _, z = body.centre
    return RigidBody(body.mass, np.array([x, 0.0, z]), np.diag(np.diag(body.inertia)))


def test_without_gravity_feed_forward_the_arm_sags_by_its_weight_over_the_gain() -> None:
    start = (0.0, 0.5, -0.5)
    plant = ArmPlant(dataclasses.replace(CAPSTONE, friction=np.zeros(3)), start)
    controller = JointController(CAPSTONE, Knot(0.0, start, REST), PD)
    for _ in range(1500):
        plant.step(controller.torque(Knot(0.0, start, REST), plant.position, plant.velocity, PERIOD), PERIOD)
    # at rest the torque of the error bears the weight
    stiffness = 40.0**2 * np.diagonal(mass_matrix(CAPSTONE, plant.position))
    sag = np.array(start) - plant.position
    assert sag * stiffness == pytest.approx(gravity(CAPSTONE, plant.position), abs=1e-3)
    assert sag[1] > 0.01


@pytest.mark.parametrize("law", [PD_GRAVITY, PID_GRAVITY, COMPUTED_TORQUE])
def test_laws_that_know_the_weight_hold_the_arm_where_it_is_to_be(law: str) -> None:
    start = (0.4, 0.3, -0.2)
    arm = CAPSTONE.with_payload(0.3)
    plant, controller = ArmPlant(arm, start), JointController(arm, Knot(0.0, start, REST), law)
    for _ in range(300):
        plant.step(controller.torque(Knot(0.0, start, REST), plant.position, plant.velocity, PERIOD), PERIOD)
    assert plant.position == pytest.approx(start, abs=1e-6)


def test_computed_torque_follows_a_fast_motion_of_all_joints_best() -> None:
    errors = {law: tracking_error(law) for law in CONTROL_LAWS}
    assert errors[COMPUTED_TORQUE] < 0.1 * errors[PD_GRAVITY]
    assert errors[COMPUTED_TORQUE] < errors[PID_GRAVITY] < errors[PD_GRAVITY] < errors[PD]


def tracking_error(law: str) -> float:
    """Largest distance of a joint from a swing of all joints near their limits, rad, without friction."""
    arm = dataclasses.replace(CAPSTONE, damping=np.zeros(3), friction=np.zeros(3))
    middle, sizes, w = np.array([0.0, 1.0, -1.2]), np.array([0.6, 0.4, 0.6]), 3.0
    plant = ArmPlant(arm, tuple(middle - sizes))
    controller = JointController(arm, Knot(0.0, plant.position, REST), law)
    worst = 0.0
    for tick in range(1000):
        t = tick * PERIOD
        position = tuple((middle - sizes * np.cos(w * t)).tolist())
        velocity = tuple((sizes * w * np.sin(w * t)).tolist())
        worst = max(worst, float(np.max(np.abs(np.array(position) - plant.position))))
        torque = controller.torque(Knot(t, position, velocity), plant.position, plant.velocity, PERIOD)
        plant.step(torque, PERIOD)
    return worst


def test_a_payload_let_go_of_in_motion_changes_no_velocity() -> None:
    plant = ArmPlant(FREE.with_payload(0.5), (0.0, 0.4, -0.7))
    plant.velocity = (1.0, 0.3, -0.5)
    plant.become(FREE)
    assert plant.velocity == (1.0, 0.3, -0.5)
    energy = mechanical_energy(FREE, plant.position, plant.velocity)
    for _ in range(100):
        plant.step(REST, LONGEST_STEP)
    assert mechanical_energy(FREE, plant.position, plant.velocity) == pytest.approx(energy, abs=1e-3)


def test_coulomb_friction_brakes_evenly_and_viscous_friction_by_a_share() -> None:
    # the yaw joint alone, of an arm that does not change its shape
    start = (0.0, 1.2, -1.6)
    inertia = float(mass_matrix(FREE, start)[0, 0])
    dry = ArmPlant(dataclasses.replace(FREE, friction=np.array([0.02, 1e3, 1e3])), start)
    dry.velocity = (2.0, 0.0, 0.0)
    hold = tuple(gravity(FREE, start).tolist())
    for _ in range(100):
        dry.step(hold, LONGEST_STEP)
    assert dry.velocity[0] == pytest.approx(2.0 - 0.02 / inertia * 0.2, rel=0.02)
    wet = ArmPlant(
        dataclasses.replace(FREE, damping=np.array([0.05, 0.0, 0.0]), friction=np.array([0, 1e3, 1e3])), start
    )
    wet.velocity = (2.0, 0.0, 0.0)
    for _ in range(100):
        wet.step(hold, LONGEST_STEP)
    assert wet.velocity[0] == pytest.approx(2.0 * np.exp(-0.05 / inertia * 0.2), rel=0.02)
