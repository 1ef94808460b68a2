# SPDX-License-Identifier: Apache-2.0
"""The torques that go with the commands, against the work that the motion takes."""

import numpy as np
import pytest

from manipulator3d_control.feed_forward import FeedForward
from manipulator3d_control.joint_path import plan_joint_motion
from manipulator3d_control.motion import Setpoint
from manipulator3d_control.motion_player import MotionPlayer
from manipulator3d_kinematics import ArmModel, forward_kinematics, jacobian, mechanical_energy

ARM = ArmModel.profile("capstone")
START, END = ARM.home, np.array([1.0, 0.6, -0.9])
DT = 0.005


def setpoints() -> list[Setpoint]:
    """A motion that is slowed down and speeds up again."""
    player = MotionPlayer(ARM, plan_joint_motion(ARM, START, END))
    taken = [player.setpoint()]
    while not player.finished:
        if len(taken) in (30, 90):
            player.change_speed(0.4 if len(taken) == 30 else 1.0)
        taken.append(player.advance(DT))
    return taken


@pytest.mark.parametrize("holding", [False, True])
def test_their_work_is_the_energy_of_the_arm_and_of_what_it_holds(holding: bool) -> None:
    loaded = ARM.with_payload(0.4) if holding else ARM
    feed_forward = FeedForward(ARM, 0.4)
    path = setpoints()
    power = np.array([np.dot(feed_forward.torques(point, holding), point.velocity) for point in path])
    work = np.concatenate([[0.0], np.cumsum(0.5 * DT * (power[:-1] + power[1:]))])
    energy = np.array([mechanical_energy(loaded, point.position, point.velocity) for point in path])
    assert work == pytest.approx(energy - energy[0], abs=5e-3)


def test_the_acceleration_of_setpoints_is_that_of_the_commanded_velocity() -> None:
    path = setpoints()
    velocity = np.array([point.velocity for point in path])
    acceleration = np.array([point.acceleration for point in path])
    slopes = np.diff(velocity, axis=0) / DT
    # between two setpoints the acceleration changes by no more than the jerk limit allows
    assert np.all(np.abs(slopes - 0.5 * (acceleration[:-1] + acceleration[1:])) <= ARM.jerk * DT)


def test_a_held_object_adds_its_weight_at_the_tool() -> None:
    feed_forward = FeedForward(ARM, 0.4)
    point = Setpoint(END, np.zeros(3))
    added = np.subtract(feed_forward.torques(point, True), feed_forward.torques(point, False))
    # the principle of virtual work
    assert added == pytest.approx(jacobian(ARM, END)[:3].T @ [0.0, 0.0, 0.4 * 9.81], abs=1e-9)
    assert forward_kinematics(ARM, END)[0] > 0.0


def test_without_masses_in_the_description_no_torques_are_given() -> None:
    bare = ArmModel("bare", base_height=0.1, upper_arm=0.2, lateral_offset=0.0, forearm=0.2)
    assert FeedForward(bare, 0.4).torques(Setpoint(np.zeros(3), np.zeros(3)), True) == []
