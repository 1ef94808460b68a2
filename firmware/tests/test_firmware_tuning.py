# SPDX-License-Identifier: Apache-2.0
"""The motors of the plant, found through the firmware and the wire alone, and gains designed for them and tried."""

import dataclasses
import math

import numpy as np
import pytest
from firmware_paths import rest_to_rest
from virtual_board import HOME, joint_configuration

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.link_traffic import Direction, TrafficReader
from manipulator3d_hw_bridge.loop_design import suggest_gains
from manipulator3d_hw_bridge.messages import Mode
from manipulator3d_hw_bridge.motor_model import identify_motor
from manipulator3d_hw_bridge.tuning_record import TuningRecord, commanded_motion

COUNTS = 8384 / (2 * math.pi)
# of plant.cpp, at the joint: ohm, V s/rad, kg m², N m, share of the load
WINDING, CONSTANT, ROTOR, COULOMB, LOAD_FRICTION = 12.0 / 5.5, 1.45, 0.06, 0.5, 0.35
AMPLITUDE = 0.4


def plant_motor(joint, supply, position):
    """Gain, time constant, friction and load of a joint of the default arm: rods, a mass at the tool, gravity."""
    l1, l2, d = 0.220, 0.180, -0.065
    m1, m2, mt, turret = 0.45, 0.25, 0.05, 0.002
    reach_1, reach_2 = math.cos(position[1]), math.cos(position[1] + position[2])
    upper, fore = m1 * l1**2 / 3, m2 * l2**2 / 3
    elbow_mass = m2 + mt
    across = (m2 / 2 + mt) * l1 * l2
    inertia = {
        0: turret + elbow_mass * d**2 + upper * reach_1**2 + elbow_mass * (l1 * reach_1) ** 2
        + 2 * across * reach_1 * reach_2 + (fore + mt * l2**2) * reach_2**2,
        1: upper + elbow_mass * l1**2 + fore + mt * l2**2 + 2 * across * math.cos(position[2]),
        2: fore + mt * l2**2,
    }[joint] + ROTOR  # fmt: skip
    elbow_torque = (m2 / 2 + mt) * 9.81 * l2 * reach_2
    torque = [0.0, (m1 / 2 + elbow_mass) * 9.81 * l1 * reach_1 + elbow_torque, elbow_torque][joint]
    drive_per_torque = WINDING / (CONSTANT * supply)
    return {
        "gain": supply / CONSTANT,
        "time_constant": inertia * WINDING / CONSTANT**2,
        "friction": (COULOMB + LOAD_FRICTION * abs(torque)) * drive_per_torque,
        "load": torque * drive_per_torque,
    }


def recorded(make_host, joint, arm, **gains):
    """What the line tells of a joint that moves there and back with three durations; the others stand still."""
    host = make_host(arm=arm)
    for number in range(3):
        host.do(joint_configuration(number, **(gains if number == joint else {})))
    host.do(messages.BoardConfiguration())
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(100)
    host.do(messages.SetMode(mode=Mode.TRACK))
    record, reader, port = TuningRecord(joint), TrafficReader(), host.port
    write, read = port.write, port.read

    def passing(direction, data):
        for passage in reader.feed(direction, data):
            record.take(passage)
        return data

    port.write = lambda data: write(passing(Direction.TO_BOARD, data))
    port.read = lambda: passing(Direction.FROM_BOARD, read())
    there = [angle + AMPLITUDE * (number == joint) for number, angle in enumerate(HOME)]
    for duration in (0.7, 1.0, 1.6) * 2:
        for path in (rest_to_rest(HOME, there, duration), rest_to_rest(there, HOME, duration)):
            host.follow(path, duration + 0.1)
            host.run_alive(60)
    assert host.state.mode == Mode.TRACK
    assert not [message for message in host.received if isinstance(message, messages.Refuse)]
    return record


def tracking_error(record):
    """RMS in rad of the measured distance from the command in motion."""
    states = np.array(record.states)
    commanded = commanded_motion(np.array(record.setpoints), states[:, 0])
    moving = commanded.known & (np.abs(commanded.velocity) > 1e-3)
    return float(np.sqrt(np.mean((commanded.position - states[:, 1])[moving] ** 2)))


@pytest.mark.parametrize(("joint", "supply"), [(0, 12.0), (1, 12.0), (2, 12.0), (1, 7.0)])
def test_a_motor_is_found_and_its_suggested_gains_follow_at_least_as_well(make_host, joint, supply):
    arm = f"supply_voltage={supply}\n"
    record = recorded(make_host, joint, arm)
    found = identify_motor(record, 40.0, 0.8)
    middle = [angle + AMPLITUDE / 2 * (number == joint) for number, angle in enumerate(HOME)]
    true = plant_motor(joint, supply, middle)
    assert found.gain == pytest.approx(true["gain"], rel=0.06)
    assert found.time_constant == pytest.approx(true["time_constant"], rel=0.15)
    assert found.friction == pytest.approx(true["friction"], rel=0.05)
    assert found.load == pytest.approx(true["load"], abs=0.01)

    assert record.tracking_error() == pytest.approx(tracking_error(record))
    gains = suggest_gains(found, COUNTS)
    again = recorded(make_host, joint, arm, **dataclasses.asdict(gains))
    # with the motors that the defaults are for nothing is lost; with other ones much is won
    assert tracking_error(again) <= (1.02 if supply == 12.0 else 0.7) * tracking_error(record)
