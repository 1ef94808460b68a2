# SPDX-License-Identifier: Apache-2.0
"""A pick-and-place is a chain of moves, checked as a whole before the first."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from manipulator3d_control.ball import Ball
from manipulator3d_control.command_history import CommandHistory
from manipulator3d_control.mission import Mission, Move, PickPlaceRequest, plan_pick_place
from manipulator3d_control.phase import Phase
from manipulator3d_control.refusal import Refusal
from manipulator3d_kinematics import ArmModel, forward_kinematics
from manipulator3d_node.error_code import ErrorCode

ARM = ArmModel.profile("capstone")
PICK, PLACE = np.array([0.25, -0.15, 0.06]), np.array([0.20, 0.20, 0.08])
# points that either elbow reaches
BOTH_PICK, BOTH_PLACE = [0.30, -0.15, 0.20], [0.25, 0.20, 0.22]
START = np.array([0.4, 1.0, -1.2])


def plan(
    height: float = 0.1,
    elbow: str = "auto",
    start: NDArray[np.float64] = START,
    pick: list[float] | None = None,
    place: list[float] | None = None,
) -> Mission:
    points = PICK if pick is None else np.array(pick), PLACE if place is None else np.array(place)
    return plan_pick_place(ARM, PickPlaceRequest(*points, height, elbow), start)


def end(moves: Sequence[Move]) -> NDArray[np.float64]:
    return moves[-1].motion.sample(moves[-1].motion.duration).position


def beside_line(move: Move) -> float:
    """Largest distance of the tool from the straight line between the ends of a motion, m."""
    points = forward_kinematics(ARM, move.motion.sample(np.linspace(0.0, move.motion.duration, 200)).position)
    along = points - points[0]
    direction = along[-1] / np.linalg.norm(along[-1])
    return float(np.max(np.linalg.norm(along - np.outer(along @ direction, direction), axis=1)))


def test_the_phases_are_those_of_the_contract() -> None:
    assert [phase.name for move in plan().moves for phase, _ in move.phases] == [
        "HOME",
        "TO_PICK",
        "DESCEND_PICK",
        "LIFT",
        "TO_PLACE",
        "DESCEND_PLACE",
        "RETREAT",
        "TO_HOME",
    ]


def test_without_approach_height_the_arm_goes_straight_from_point_to_point() -> None:
    mission = plan(height=0.0)
    assert [phase.name for move in mission.moves for phase, _ in move.phases] == [
        "HOME",
        "TO_PICK",
        "TO_PLACE",
        "TO_HOME",
    ]
    assert mission.retreat is None
    assert forward_kinematics(ARM, end(mission.before_grasp)) == pytest.approx(PICK, abs=1e-9)
    assert forward_kinematics(ARM, end(mission.before_release)) == pytest.approx(PLACE, abs=1e-9)


@pytest.mark.parametrize("height", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("elbow", ["auto", "up", "down"])
def test_each_move_begins_where_the_last_one_ends(height: float, elbow: str) -> None:
    moves = plan(height, elbow, pick=BOTH_PICK, place=BOTH_PLACE).moves
    assert moves[0].motion.sample(0.0).position == pytest.approx(START)
    for before, after in pairwise(moves):
        assert after.motion.sample(0.0).position == pytest.approx(end([before]), abs=1e-6)
    assert end(moves) == pytest.approx(ARM.home)


def test_an_arm_at_home_needs_no_move_there() -> None:
    assert plan(start=ARM.home).to_home == ()


def test_transfers_are_straight_where_the_line_can_be_followed() -> None:
    assert all(beside_line(move) < 1e-6 for move in plan().before_release)


def test_a_transfer_around_the_column_is_made_in_joint_space() -> None:
    mission = plan(pick=[0.2, -0.2, 0.1], place=[-0.2, 0.2, 0.1])
    transfer = mission.before_release[1]
    assert transfer.phases == ((Phase.TO_PLACE, 0.0),)
    assert beside_line(transfer) > 0.1


def test_the_elbow_can_be_chosen() -> None:
    for elbow, sign in (("up", -1.0), ("down", 1.0)):
        assert sign * end(plan(elbow=elbow, pick=BOTH_PICK, place=BOTH_PLACE).before_grasp)[2] > 0.0


@pytest.mark.parametrize(
    ("points", "code", "text"),
    [
        ({"pick": [0.9, 0.0, 0.2]}, ErrorCode.TOO_FAR, "^pick point: .* m"),
        ({"place": [0.9, 0.0, 0.2]}, ErrorCode.TOO_FAR, "^place point: .* m"),
        ({"pick": [0.01, 0.0, 0.2]}, ErrorCode.TOO_CLOSE, "^pick point: .* m"),
        ({"place": [0.25, 0.0, -0.02]}, ErrorCode.BELOW_FLOOR, "^place point: .*floor"),
        ({"place": [0.2, 0.15, 0.42]}, ErrorCode.TOO_FAR, "^point above the place point: "),
    ],
)
def test_a_point_out_of_reach_is_refused_by_name(points: dict[str, list[float]], code: ErrorCode, text: str) -> None:
    with pytest.raises(Refusal) as caught:
        plan(pick=points.get("pick"), place=points.get("place"))
    assert caught.value.code == code
    assert re.search(text, str(caught.value)), str(caught.value)


def test_the_ball_is_grasped_within_its_tolerance_only() -> None:
    ball = Ball(0.01)
    assert ball.grasp(PICK) == np.inf
    ball.lay_ready(PICK)
    assert ball.grasp(PICK + np.array([0.0, 0.0, 0.02])) == pytest.approx(0.02)
    assert not ball.held
    assert ball.grasp(PICK + np.array([0.0, 0.0, 0.005])) == pytest.approx(0.005)
    assert ball.held


def test_a_held_ball_follows_the_tool_until_it_is_released() -> None:
    ball = Ball(0.01)
    ball.lay_ready(PICK)
    ball.carry(PLACE)
    assert ball.position == pytest.approx(PICK)
    ball.grasp(PICK)
    ball.carry(PLACE)
    ball.release()
    ball.carry(PICK)
    assert ball.position == pytest.approx(PLACE)
    assert not ball.held


def test_a_ball_put_by_hand_stays_until_it_is_grasped() -> None:
    ball = Ball(0.01)
    ball.put(PLACE)
    ball.lay_ready(PICK)
    assert ball.position == pytest.approx(PLACE)
    ball.grasp(PLACE)
    ball.release()
    ball.lay_ready(PICK)
    assert ball.position == pytest.approx(PICK)


def test_the_history_tells_the_command_of_a_time() -> None:
    history = CommandHistory()
    assert history.at(1.0) is None
    assert not history.deviation(1.0, np.ones(3)).any()
    for tick in range(400):
        history.add(0.01 * tick, np.full(3, 0.1 * tick))
    assert history.at(3.005) == pytest.approx(np.full(3, 30.05))
    assert history.at(9.0) == pytest.approx(np.full(3, 39.9))
    assert history.at(1.0) is None
    assert history.deviation(3.005, np.array([30.05, 30.15, 30.0])) == pytest.approx([0.0, 0.1, -0.05])


def test_in_a_pause_between_two_streams_nothing_is_commanded() -> None:
    history = CommandHistory()
    for time in (1.0, 1.01, 1.4, 1.41):
        history.add(time, np.full(3, time))
    assert history.at(1.005) == pytest.approx(np.full(3, 1.005))
    assert history.at(1.2) is None
    assert history.at(1.405) == pytest.approx(np.full(3, 1.405))
    history.clear()
    assert history.at(1.405) is None
