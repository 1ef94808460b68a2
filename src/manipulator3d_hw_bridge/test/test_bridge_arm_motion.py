# SPDX-License-Identifier: Apache-2.0
"""Commands, homing and parking against a board in virtual time."""

import itertools

import pytest

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.board_status import DriveMode, HomeProgress
from manipulator3d_hw_bridge.home_goal import HomeGoal
from manipulator3d_hw_bridge.messages import Fault, Flag, Mode
from manipulator3d_node.error_code import ErrorCode

HOME = (0.0, 1.2, -1.6)


def status(rig):
    return rig.session.status


def sent(rig, kind):
    return [message for message in rig.board.received if isinstance(message, kind)]


# Commands


def test_commands_are_forwarded_ahead_of_their_time_in_the_boards_clock(rig):
    rig.arm()
    assert rig.stream(0.5) == []
    setpoints = sent(rig, messages.Setpoint)
    assert len(setpoints) == 50
    steps = [(b.time - a.time) % 2**32 for a, b in itertools.pairwise(setpoints)]
    assert all(step == pytest.approx(10_000, abs=410) for step in steps)
    ahead = (setpoints[-1].time - rig.board.ticks(rig.now)) * 1e-6
    assert ahead == pytest.approx(0.09, abs=0.01)
    rig.run(0.12)
    assert rig.board.position[0] == pytest.approx(0.2 * 0.49)
    assert rig.board.fault is Fault.NONE


def test_after_a_stream_the_arm_is_held_and_silence_is_no_fault(rig):
    rig.arm()
    rig.stream(0.3)
    assert status(rig).mode is DriveMode.TRACK
    rig.run(1.0)
    assert status(rig).mode is DriveMode.HOLD
    rig.connected = False
    rig.run(0.3)
    assert rig.board.fault is Fault.NONE


def test_while_tracking_the_board_hears_the_bridge_within_the_silence(rig):
    rig.arm()
    rig.stream(0.3)
    gaps = []
    for _ in range(200):
        rig.run(0.002)
        gaps.append(rig.now - rig.board.last_heard)
    assert max(gaps) < 0.05
    assert rig.board.fault is Fault.NONE


def test_a_new_stream_after_a_pause_is_followed(rig):
    rig.arm()
    rig.stream(0.3)
    for pause in (0.25, 0.4, 1.5):
        rig.run(pause)
        assert rig.stream(0.3, rig.board.position, (0.0, 0.1, 0.0)) == []
        rig.run(0.12)
        assert rig.board.velocity == pytest.approx((0.0, 0.1, 0.0))


@pytest.mark.parametrize(
    ("ahead", "text"),
    [
        (-0.05, "applies 50 ms ago; stamp commands ahead of their time, 0.1 s is usual"),
        (0.5, "applies 0.500 s ahead; at most 0.3 s is possible"),
    ],
)
def test_a_command_for_the_wrong_time_is_refused(rig, ahead, text):
    rig.arm()
    assert rig.session.motion.command(rig.now, rig.now + ahead, HOME, (0.0,) * 3) == text


def test_a_stream_must_begin_where_the_arm_is(rig):
    rig.arm()
    refusal = rig.session.motion.command(rig.now, rig.now + 0.1, (0.5, 1.2, -1.6), (0.0,) * 3)
    assert refusal == (
        "base_yaw: the stream begins at 0.500 rad, 0.500 rad from the measured 0.000 rad; at most 0.2 rad is "
        "possible: begin where the arm is"
    )
    assert sent(rig, messages.Setpoint) == []


def test_commands_out_of_order_hint_at_a_second_publisher(rig):
    rig.arm()
    rig.stream(0.1)
    refusal = rig.session.motion.command(rig.now, rig.now + 0.05, HOME, (0.0,) * 3)
    assert refusal.endswith("is there a second publisher on joint_commands?")


def test_commands_are_refused_while_the_bridge_is_not_active(rig):
    rig.run_until(lambda: rig.session.connected)
    refusal = rig.session.motion.command(rig.now, rig.now + 0.1, HOME, (0.0,) * 3)
    assert refusal == "the bridge is not active; activate it first"


def test_the_boards_refusal_of_a_setpoint_is_told(rig):
    rig.arm()
    rig.stream(0.1)
    for _ in range(5):
        setpoint = messages.Setpoint(time=0, position=HOME, velocity=(0.0,) * 3)
        rig.board._refuse(setpoint, 9, messages.Reason.JOINT_LIMIT, 2)
        rig.run(0.05)
    told = [
        text for text in rig.notices() if text.startswith("elbow_pitch: the board refused Setpoint: the setpoint or")
    ]
    assert len(told) == 1
    assert told[0].endswith("(1 setpoints refused so far)")
    rig.run(1.0)
    rig.board._refuse(setpoint, 9, messages.Reason.JOINT_LIMIT, 2)
    rig.run(0.05)
    assert rig.notices()[-1].endswith("(6 setpoints refused so far)")


# Homing


def test_homing_reports_its_steps_and_ends_with_known_positions(rig):
    rig.arm()
    rig.board.homed = Flag(0)
    outcomes = []
    rig.session.motion.home(rig.now, HomeGoal((0, 2), None), outcomes.append)
    rig.run(0.5)
    assert sent(rig, messages.Home)[-1].joints == 0b101
    assert status(rig).mode is DriveMode.HOMING
    rig.board._send(messages.HomeProgress(joint=2, step=messages.HomeStep.SLOW_APPROACH, position=-0.25))
    rig.run(0.1)
    assert rig.of(HomeProgress)[-1] == HomeProgress("elbow_pitch", "slow approach", -0.25)
    assert outcomes == []
    assert rig.board.fault is Fault.NONE
    rig.board.mode, rig.board.homed = Mode.HOLD, Flag.HOMED_0 | Flag.HOMED_1 | Flag.HOMED_2
    rig.run(0.1)
    assert outcomes[0].ok


def test_cancelled_homing_holds_and_says_that_positions_are_unknown(rig):
    rig.arm()
    outcomes = []
    rig.session.motion.home(rig.now, HomeGoal((0, 1, 2), None), outcomes.append)
    rig.run(0.2)
    rig.session.motion.cancel_home(rig.now)
    rig.run(0.2)
    assert outcomes[0].code is ErrorCode.CANCELED
    assert status(rig).mode is DriveMode.HOLD
    assert not status(rig).homed


def test_homing_that_is_cancelled_before_it_begins_ends_at_once(rig):
    rig.arm()
    outcomes = []
    rig.session.motion.home(rig.now, HomeGoal((0, 1, 2), None), outcomes.append)
    rig.session.motion.cancel_home(rig.now)
    rig.run(0.3)
    assert outcomes[0].code is ErrorCode.CANCELED
    assert rig.board.mode is Mode.HOLD


def test_homing_that_fails_says_which_joint(rig):
    rig.arm()
    outcomes = []
    rig.session.motion.home(rig.now, HomeGoal((0, 1, 2), None), outcomes.append)
    rig.run(0.2)
    rig.board.latch(Fault.HOMING_FAILED, 1)
    rig.run(0.1)
    assert outcomes[0].code is ErrorCode.HOMING_FAILED
    assert outcomes[0].message.startswith("shoulder_pitch: a home switch was not found")


def test_a_second_homing_is_refused_and_commands_wait(rig):
    rig.arm()
    rig.session.motion.home(rig.now, HomeGoal((0,), None), lambda _outcome: None)
    rig.run(0.1)
    outcome = rig.ask(lambda done: rig.session.motion.home(rig.now, HomeGoal((1,), None), done))
    assert outcome.code is ErrorCode.BUSY
    rig.board.homed = Flag.HOMED_0 | Flag.HOMED_1 | Flag.HOMED_2
    rig.run(0.05)
    assert rig.session.motion.command(rig.now, rig.now + 0.1, HOME, (0.0,) * 3) == "the arm is homing"


# Parking


def test_parking_moves_to_the_home_position(rig):
    rig.arm()
    rig.stream(1.0)
    rig.run(1.0)
    assert rig.board.position[0] > 0.15
    assert rig.ask(lambda done: rig.session.motion.park(rig.now, done)).ok
    assert rig.board.position == pytest.approx(HOME, abs=1e-5)


def test_parking_without_known_positions_is_refused(rig):
    rig.arm()
    rig.board.homed = Flag(0)
    rig.run(0.05)
    assert rig.ask(lambda done: rig.session.motion.park(rig.now, done)).code is ErrorCode.NOT_HOMED
