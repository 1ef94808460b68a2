# SPDX-License-Identifier: Apache-2.0
"""Commands and states of a whole pick-and-place, recorded from the topics and held against limits, lines and plan."""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from manipulator3d.cli.motion import pick_place_goal
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_control.mission import PickPlaceRequest, plan_pick_place
from manipulator3d_interfaces.action import PickPlace
from manipulator3d_kinematics import ArmModel

PICK, PLACE, HEIGHT = (0.25, -0.15, 0.06), (0.20, 0.20, 0.08), 0.08
# the default of blend_radius
RADIUS = 0.05
HOME = (0.0, 1.2, -1.6)
VELOCITY = np.array([2.0, 1.5, 2.0])
ACCELERATION = np.array([8.0, 6.0, 8.0])
JERK = np.array([60.0, 50.0, 60.0])


def tool_points(joints: np.ndarray) -> np.ndarray:
    """Tool points of the capstone arm from its DH table, shape (N, 3)."""
    q0, q1, q2 = joints.T
    reach, offset = 0.22 * np.cos(q1) + 0.18 * np.cos(q1 + q2), -0.065
    return np.stack(
        [
            reach * np.cos(q0) + offset * np.sin(q0),
            reach * np.sin(q0) - offset * np.cos(q0),
            0.15 + 0.22 * np.sin(q1) + 0.18 * np.sin(q1 + q2),
        ],
        axis=1,
    )


def distance_to_segment(points: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    share = np.clip((points - start) @ (end - start) / np.dot(end - start, end - start), 0.0, 1.0)
    return np.linalg.norm(points - (start + share[:, None] * (end - start)), axis=1)


class Recording(NamedTuple):
    """What was published during one cycle."""

    commands: list[JointState]
    states: list[JointState]


@pytest.fixture(scope="module")
def recording(domain: int, mock_stack: Any) -> Recording:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(domain))
        return recorded_cycle()


@pytest.fixture(scope="module")
def commands(recording: Recording) -> list[JointState]:
    return recording.commands


def recorded_cycle() -> Recording:
    with StackClient() as client:
        received = Recording([], [])
        client.node.create_subscription(JointState, "joint_commands", received.commands.append, 1000)
        client.node.create_subscription(JointState, "joint_states", received.states.append, 1000)
        client.spin_until(lambda: client.node.count_publishers("joint_commands") == 1, 30.0)
        # the discovery of this new subscription by the publisher cannot be seen from here; a first goal shows it
        goal = pick_place_goal(PICK, PLACE)
        goal.approach_height = HEIGHT
        while not received.commands or not received.states:
            result = client.send_goal(PickPlace, "pick_place", goal).wait(60.0)
            assert result.success, result.message
        received.commands.clear()
        received.states.clear()
        result = client.send_goal(PickPlace, "pick_place", goal).wait(60.0)
        assert result.success, result.message
        # what was published before the result may still be on its way
        client.spin_until(lambda: False, 0.5)
        return received


def stamps_of(messages: list[JointState]) -> np.ndarray:
    return np.array([message.header.stamp.sec + message.header.stamp.nanosec * 1e-9 for message in messages])


def test_commands_are_stamped_evenly_and_none_is_missing(commands: list[JointState]) -> None:
    stamps = np.array([message.header.stamp.sec * 10**9 + message.header.stamp.nanosec for message in commands])
    assert len(commands) > 350
    steps = np.diff(stamps)
    assert np.all(np.abs(steps - 10_000_000) < 2_000) or held_up(steps)


def held_up(steps: np.ndarray) -> bool:
    """Whether all uneven steps are pauses after the computer held the stream up; these are marked by their length."""
    uneven = steps[np.abs(steps - 10_000_000) >= 2_000]
    return bool(np.all(uneven > 150_000_000))


def test_no_joint_exceeds_its_limits(commands: list[JointState]) -> None:
    stamps = stamps_of(commands)
    position = np.array([message.position for message in commands])
    velocity = np.array([message.velocity for message in commands])
    even = np.abs(np.diff(stamps) - 0.01) < 1e-5
    difference = np.diff(position, axis=0)[even] / 0.01
    assert np.all(np.abs(velocity) <= VELOCITY)
    assert np.all(np.abs(difference) <= VELOCITY)
    acceleration = np.diff(velocity, axis=0)[even] / 0.01
    assert np.all(np.abs(acceleration) <= ACCELERATION)
    both = even[:-1] & even[1:]
    jerk = np.diff(np.diff(velocity, axis=0), axis=0)[both] / 0.01**2
    assert np.all(np.abs(jerk) <= JERK * 1.001)
    # the velocities are those of the positions
    mean = (velocity[:-1] + velocity[1:])[even] / 2.0
    assert np.max(np.abs(mean - difference)) < 0.002


def test_the_tool_keeps_to_straight_lines_but_for_rounded_corners(commands: list[JointState]) -> None:
    points = tool_points(np.array([message.position for message in commands]))
    up = np.array([0.0, 0.0, HEIGHT])
    pick, place = np.array(PICK), np.array(PLACE)
    home = tool_points(np.array([HOME]))[0]
    corners = [home, pick + up, pick, pick + up, place + up, place, place + up]
    # the way home is a joint-space move: it begins in the middle of the rounded corner above the place point
    at_place = int(np.argmin(np.linalg.norm(points - place, axis=1)))
    last = at_place + int(np.argmin(np.linalg.norm(points[at_place:] - corners[-1], axis=1)))
    points, all_points = points[: last + 1], points
    lines = np.min([distance_to_segment(points, a, b) for a, b in itertools.pairwise(corners)], axis=0)
    to_corners = np.min([np.linalg.norm(points - corner, axis=1) for corner in (pick + up, place + up)], axis=0)
    assert np.max(lines[to_corners > RADIUS + 1e-6]) <= 1e-5
    # a corner of two lines that meet at a right angle is passed at an eighth of the radius or less
    assert np.max(lines) <= 0.2 * RADIUS
    for corner in (pick, place, home):
        assert np.min(np.linalg.norm(all_points - corner, axis=1)) < 1e-6


def test_the_measured_arm_is_where_it_is_commanded_at_the_time_of_the_measurement(recording: Recording) -> None:
    stamps, measured_at = stamps_of(recording.commands), stamps_of(recording.states)
    commanded = np.array([message.position for message in recording.commands])
    measured = np.array([message.position for message in recording.states])
    during = (measured_at > stamps[0]) & (measured_at < stamps[-1])
    # where the stream was held up, the arm braked in between
    before = np.searchsorted(stamps, measured_at) - 1
    during &= np.diff(stamps, append=np.inf)[before] < 0.0101
    assert np.count_nonzero(during) > 300
    at = measured_at[during]
    expected = np.stack([np.interp(at, stamps, commanded[:, joint]) for joint in range(3)], axis=1)
    # the arm interpolates by cubics, this by straight lines
    assert np.max(np.abs(measured[during] - expected)) < 2e-4
    speed = np.abs(np.diff(measured[during], axis=0)) / np.diff(at)[:, None]
    assert np.all(speed <= VELOCITY * 1.001)


def test_the_motion_takes_as_long_as_planned(commands: list[JointState]) -> None:
    if np.any(np.abs(np.diff(stamps_of(commands)) - 0.01) > 1e-5):
        pytest.skip("this computer held the stream up, so it went on from rest in between")
    request = PickPlaceRequest(np.array(PICK), np.array(PLACE), HEIGHT, blend_radius=RADIUS)
    arm = ArmModel.profile("capstone")
    mission = plan_pick_place(arm, request, arm.home)
    velocity = np.array([message.velocity for message in commands])
    moving = 0.01 * np.count_nonzero(np.max(np.abs(velocity), axis=1) > 0.0)
    planned = sum(move.motion.duration for move in mission.moves)
    # each motion ends between two ticks
    assert moving == pytest.approx(planned, abs=0.01 * len(mission.moves) + 0.01)
