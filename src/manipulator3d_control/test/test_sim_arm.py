# SPDX-License-Identifier: Apache-2.0
"""The simulated arm in virtual time: follows, stops, recovers, and says so."""

import math
import random

import pytest

from manipulator3d_control.command_buffer import CommandRefused, Joints
from manipulator3d_control.simulated_arm import MOCK, SIM, DriverMode, DriverStatus, Physics, SimulatedArm
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode

ARM = ArmModel.profile("capstone")
HOME = (0.0, 1.2, -1.6)
REST = (0.0, 0.0, 0.0)
PERIOD = 0.01
LEAD = 0.1
START = 1_000_000.0

BOTH = pytest.mark.parametrize("mode", [MOCK, SIM])


def swing(t: float) -> tuple[Joints, Joints]:
    """Out and back within the limits, from home at t = 0, in π s."""
    t = min(max(t, 0.0), math.pi)
    sizes = (0.6, 0.3, 0.5)
    return (
        tuple(h + a * (1.0 - math.cos(2.0 * t)) for h, a in zip(HOME, sizes, strict=True)),
        tuple(2.0 * a * math.sin(2.0 * t) for a in sizes),
    )


class Rig:
    """An arm at virtual time, with what it measured."""

    def __init__(self, mode: str) -> None:
        self.tick = 0
        self.arm = SimulatedArm(ARM, mode, START)
        self.readings = [self.arm.reading]

    @property
    def now(self) -> float:
        return START + self.tick * PERIOD

    def command(self, position: Joints, velocity: Joints = REST) -> None:
        self.arm.command(self.now, self.now + LEAD, ARM.joint_names, position, velocity)

    def step(self) -> None:
        self.tick += 1
        self.readings.append(self.arm.advance(self.now))

    def rest(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.step()

    def swing(self, seconds: float) -> None:
        begin = self.now
        for _ in range(round(seconds / PERIOD)):
            self.command(*swing(self.now - begin))
            self.step()


@BOTH
def test_it_starts_at_home_and_holds(mode: str) -> None:
    rig = Rig(mode)
    rig.rest(1.0)
    for reading in rig.readings:
        assert reading.position == pytest.approx(HOME, abs=1e-3)
    assert rig.arm.reading.time == rig.now
    assert rig.arm.status == DriverStatus(DriverMode.HOLD, ErrorCode.SUCCESS, "", False)


def test_mock_is_the_command_whose_stamp_is_due() -> None:
    rig = Rig(MOCK)
    rig.swing(3.5)
    for reading in rig.readings:
        position, velocity = swing(reading.time - LEAD - START)
        assert reading.position == pytest.approx(position, abs=1e-6)
        assert reading.velocity == pytest.approx(velocity, abs=1e-5)
        assert reading.effort == ()


def test_sim_follows_with_small_error_by_torques_within_limits() -> None:
    rig = Rig(SIM)
    rig.swing(3.5)
    for reading in rig.readings[1:]:
        assert reading.position == pytest.approx(swing(reading.time - LEAD - START)[0], abs=0.01)
        assert all(abs(torque) <= limit for torque, limit in zip(reading.effort, ARM.effort, strict=True))
    rig.rest(1.0)
    assert rig.arm.reading.position == pytest.approx(HOME, abs=1e-4)
    assert rig.arm.reading.velocity == pytest.approx(REST, abs=1e-3)


@BOTH
def test_status_says_when_commands_are_followed(mode: str) -> None:
    rig = Rig(mode)
    rig.swing(0.5)
    assert rig.arm.status.mode is DriverMode.TRACK
    rig.rest(0.5)
    assert rig.arm.status.mode is DriverMode.HOLD


@BOTH
def test_an_emergency_stop_brakes_within_limits_and_latches(mode: str) -> None:
    rig = Rig(mode)
    rig.swing(0.8)
    moving = rig.arm.reading
    rig.arm.emergency_stop()
    for _ in range(100):
        with pytest.raises(CommandRefused, match="the emergency stop was pressed; make sure that all is safe"):
            rig.command(*swing(0.9))
        rig.step()
    rest = rig.arm.reading
    assert rest.velocity == pytest.approx(REST, abs=1e-3)
    for start, end, speed, strength in zip(
        moving.position, rest.position, moving.velocity, ARM.acceleration, strict=True
    ):
        # a bit of way for the slowest joint's braking time, shared by all
        assert 0.0 <= end - start <= speed * 0.2 + 0.01
        assert end - start >= 0.9 * speed * speed / (2.0 * strength)
    status = rig.arm.status
    assert (status.mode, status.fault) == (DriverMode.FAULT, ErrorCode.ESTOP)
    assert "call reset_fault" in status.fault_message


@BOTH
def test_a_reset_moves_nothing_until_a_new_stream_begins_where_the_arm_is(mode: str) -> None:
    rig = Rig(mode)
    rig.swing(0.8)
    rig.arm.emergency_stop()
    begin = rig.now - 0.8
    rested: Joints = ()
    for tick in range(200):  # the old stream goes on all the time
        if tick == 100:
            rested = rig.arm.reading.position
            assert rig.arm.reset_fault()
            assert rig.arm.status == DriverStatus(DriverMode.HOLD, ErrorCode.SUCCESS, "", False)
        with pytest.raises(CommandRefused):
            rig.command(*swing(rig.now - begin))
        rig.step()
    assert rig.arm.reading.position == pytest.approx(rested, abs=1e-3)
    rig.rest(0.3)
    with pytest.raises(CommandRefused, match="begin where the arm is"):
        rig.command(HOME)
    rig.rest(0.3)
    assert rig.arm.reading.position == pytest.approx(rested, abs=1e-3)
    target = tuple(q + 0.02 for q in rig.arm.reading.position)
    rig.command(target)
    assert rig.arm.status.mode is DriverMode.TRACK
    rig.rest(1.0)
    assert rig.arm.reading.position == pytest.approx(target, abs=1e-3)


def test_a_reset_without_a_fault_says_so() -> None:
    assert not Rig(MOCK).arm.reset_fault()


def test_the_gripper_acts_in_an_emergency_too() -> None:
    rig = Rig(MOCK)
    rig.arm.set_gripper(True)
    assert rig.arm.status.gripper_closed
    rig.arm.emergency_stop()
    rig.arm.set_gripper(False)
    assert not rig.arm.status.gripper_closed


def test_a_second_publisher_is_reported_until_it_is_gone() -> None:
    arm = Rig(MOCK).arm
    arm.report_publishers(2)
    assert arm.status.fault is ErrorCode.SUCCESS
    assert arm.status.fault_message == (
        "2 publishers on joint_commands; the arm follows one stream: end all but one of the programs that command it"
    )
    arm.report_publishers(0)
    assert arm.status.fault_message == ""


@BOTH
@pytest.mark.parametrize("jump", [-50.0, 50.0])
def test_a_jump_of_the_clock_moves_nothing(mode: str, jump: float) -> None:
    rig = Rig(mode)
    rig.swing(0.8)
    before = rig.arm.reading.position
    rig.tick += round(jump / PERIOD)
    rig.readings.append(rig.arm.advance(rig.now))
    assert rig.arm.reading.time == rig.now
    assert rig.arm.reading.position == before
    rig.rest(1.0)
    assert rig.arm.reading.position == pytest.approx(before, abs=1e-3)
    target = tuple(q + 0.02 for q in rig.arm.reading.position)
    rig.command(target)
    rig.rest(1.0)
    assert rig.arm.reading.position == pytest.approx(target, abs=1e-3)


@BOTH
def test_no_time_no_change(mode: str) -> None:
    rig = Rig(mode)
    rig.swing(0.5)
    reading = rig.arm.reading
    assert rig.arm.advance(rig.now) is reading


@BOTH
def test_ticks_at_uneven_times_follow_the_same_motion(mode: str) -> None:
    rig = Rig(mode)
    times = random.Random(4)
    now = START
    sent = 0
    while now < START + 3.0:
        while START + sent * PERIOD <= now:
            stamp = START + sent * PERIOD + LEAD
            rig.arm.command(now, stamp, ARM.joint_names, *swing(sent * PERIOD))
            sent += 1
        now += times.choice([0.0005, 0.004, 0.01, 0.013, 0.06])
        assert rig.arm.advance(now).position == pytest.approx(swing(now - START - LEAD)[0], abs=0.01)


def test_sim_refuses_an_arm_without_masses_and_names_the_way_out() -> None:
    massless = ArmModel("bare", base_height=0.1, upper_arm=0.2, lateral_offset=0.0, forearm=0.2)
    SimulatedArm(massless, MOCK, START)
    with pytest.raises(ValueError, match=r"a joint moves no mass; .*; or run the arm with hardware:=mock"):
        SimulatedArm(massless, SIM, START)


def held_effort(physics: Physics, closed: bool, holding: bool) -> Joints:
    """Torques with which the arm holds its home position."""
    arm = SimulatedArm(ARM, SIM, START, physics)
    arm.set_gripper(closed)
    arm.report_holding(holding)
    for tick in range(60):
        reading = arm.advance(START + (tick + 1) * PERIOD)
    assert reading.position == pytest.approx(HOME, abs=1e-3)
    return reading.effort


def test_a_closed_gripper_with_an_object_bears_its_weight() -> None:
    physics = Physics(payload_mass=0.5)
    free = held_effort(physics, closed=False, holding=False)
    assert held_effort(physics, closed=True, holding=False) == pytest.approx(free, abs=1e-6)
    assert held_effort(physics, closed=False, holding=True) == pytest.approx(free, abs=1e-6)
    loaded = held_effort(physics, closed=True, holding=True)
    # by the lever arms of the tool, whose friction takes a part of any difference
    x, elbow = 0.22 * math.cos(1.2) + 0.18 * math.cos(-0.4), 0.18 * math.cos(-0.4)
    assert loaded[1] - free[1] == pytest.approx(0.5 * 9.81 * x, abs=0.05)
    assert loaded[2] - free[2] == pytest.approx(0.5 * 9.81 * elbow, abs=0.05)


def test_an_object_let_go_of_is_gone() -> None:
    arm = SimulatedArm(ARM, SIM, START, Physics(payload_mass=0.5))
    arm.set_gripper(True)
    arm.report_holding(True)
    efforts = []
    for tick in range(120):
        if tick == 60:
            arm.set_gripper(False)
        efforts.append(arm.advance(START + (tick + 1) * PERIOD).effort)
    assert efforts[59][1] - efforts[-1][1] > 1.0


def test_friction_can_be_given_instead_of_the_descriptions() -> None:
    changed = Physics(viscous_friction=(0.3, -1.0, 0.0), coulomb_friction=(-1.0, 0.2, -1.0)).applied_to(ARM)
    assert changed.damping == pytest.approx([0.3, 0.1, 0.0])
    assert changed.friction == pytest.approx([0.05, 0.2, 0.05])
    with pytest.raises(ValueError, match="viscous_friction has 2 numbers; give 3, one for each of base_yaw, shoulder_"):
        SimulatedArm(ARM, SIM, START, Physics(viscous_friction=(0.1, 0.1)))
