# SPDX-License-Identifier: Apache-2.0
"""The session against a board in virtual time: the link faults that users of other projects reported, and the rest."""

import itertools
import random

import pytest

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.board_status import DriveMode, Health, LinkState, Measurement, StatusChanged
from manipulator3d_hw_bridge.home_goal import HomeGoal
from manipulator3d_hw_bridge.messages import Fault, Mode
from manipulator3d_node.error_code import ErrorCode

HOME = (0.0, 1.2, -1.6)


def status(rig):
    return rig.session.status


def sent(rig, kind):
    return [message for message in rig.board.received if isinstance(message, kind)]


# Handshake


def test_a_board_is_identified_configured_and_armed(rig):
    rig.arm()
    assert status(rig).link is LinkState.ARMED
    assert status(rig).mode is DriveMode.HOLD
    assert status(rig).homed
    assert status(rig).fault is ErrorCode.SUCCESS
    assert len(sent(rig, messages.JointConfiguration)) == 3
    assert rig.board.configuration[1].lower == pytest.approx(-0.5)
    assert rig.board.configuration["board"].command_silence == 100


def test_a_board_that_holds_our_configuration_is_left_alone(rig):
    rig.arm()
    rig.board.received.clear()
    rig.session.link_lost(rig.now, "unplugged")
    rig.session.link_opened(rig.now, "/dev/ttyACM0", 0.0)
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)
    assert sent(rig, messages.JointConfiguration) == []
    assert sent(rig, messages.SetMode) == []
    assert status(rig).mode is DriveMode.HOLD


def test_a_driven_board_with_another_configuration_is_let_go_first(make_rig):
    rig = make_rig()
    rig.arm()
    rig.board.configuration[0] = messages.JointConfiguration(joint=0)
    rig.session.link_lost(rig.now, "killed")
    rig.session.link_opened(rig.now, "/dev/ttyACM0", 0.0)
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)
    modes = [message.mode for message in sent(rig, messages.SetMode)]
    assert modes[-3:] == [Mode.HOLD, Mode.IDLE, Mode.HOLD]
    assert rig.board.configuration[0].home_position == pytest.approx(-2.9)


def test_another_protocol_refuses_motion_and_names_both(rig):
    rig.board.protocol = 0x4F1C09AA
    rig.session.arm(rig.now)
    rig.run(3.0)
    assert status(rig).fault is ErrorCode.PROTOCOL_MISMATCH
    assert status(rig).fault_message == (
        f"/dev/ttyACM0: firmware speaks protocol 4f1c09aa, this bridge {messages.PROTOCOL_HASH:08x}; "
        "flash firmware/ from this checkout"
    )
    assert "speaks protocol" in rig.session.motion.command(rig.now, rig.now + 0.1, HOME, (0.0,) * 3)
    assert rig.of(Measurement) == []
    assert {type(message) for message in rig.board.received} == {messages.Identify}
    assert rig.notices().count(status(rig).fault_message) == 1
    assert rig.ask(lambda done: rig.session.set_gripper(rig.now, True, done)).code is ErrorCode.PROTOCOL_MISMATCH


def test_a_board_flashed_anew_is_taken_without_a_restart_of_the_bridge(rig):
    rig.board.protocol = 0x4F1C09AA
    rig.session.arm(rig.now)
    rig.run(2.0)
    rig.board.protocol = messages.PROTOCOL_HASH
    rig.board.restart(rig.now)
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)


def test_a_device_that_does_not_answer_is_named_with_the_remedy(rig):
    rig.board.mute = True
    rig.run_until(lambda: rig.session.failure is not None)
    assert rig.session.failure.startswith("/dev/ttyACM0: no manipulator3d firmware answers; another device")
    assert "name its port with port:=" in rig.session.failure


def test_a_board_that_boots_is_not_spoken_to_until_it_speaks(make_rig):
    rig = make_rig(quiet=5.0)
    rig.board.mute = True
    rig.run(1.5)
    assert rig.board.received == []
    rig.board.mute = False
    rig.board.restart(rig.now)
    rig.run_until(lambda: rig.session.connected, 1.0)


def test_boot_loader_noise_is_never_read_as_data(make_rig):
    rig, noise = make_rig(quiet=5.0), random.Random(3)
    rig.board.mute = True
    for _ in range(100):
        rig.session.receive(rig.now, noise.randbytes(40))
        rig.run(0.01)
    assert rig.of(Measurement) == []
    assert status(rig).link is LinkState.OPENING
    rig.board.mute = False
    rig.board.restart(rig.now)
    rig.session.arm(rig.now)
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)


# Every wait has a limit


@pytest.mark.parametrize(
    "kind", [messages.ReadJoint, messages.JointConfiguration, messages.ReadBoard, messages.SynchroniseClock]
)
def test_a_handshake_message_without_answer_ends_in_time_and_is_named_with_the_port(rig, kind):
    rig.board.deaf_to = (kind,)
    rig.run_until(lambda: rig.session.failure is not None, 5.0)
    assert rig.session.failure.startswith(f"/dev/ttyACM0: no answer to {kind.__name__} after 10 attempts in 1 s")


@pytest.mark.parametrize(
    ("kind", "request_of"),
    [
        (messages.SetGripper, lambda rig: lambda done: rig.session.set_gripper(rig.now, True, done)),
        (messages.EmergencyStop, lambda rig: lambda done: rig.session.emergency_stop(rig.now, done)),
        (messages.ResetFault, lambda rig: lambda done: rig.session.reset_fault(rig.now, done)),
        (messages.Home, lambda rig: lambda done: rig.session.motion.home(rig.now, HomeGoal((0,), None), done)),
        (messages.SetHere, lambda rig: lambda done: rig.session.motion.home(rig.now, HomeGoal((0,), (0.0,)), done)),
    ],
)
def test_a_request_without_answer_ends_in_time_and_is_named_with_the_port(rig, kind, request_of):
    rig.arm()
    rig.board.deaf_to = (kind,)
    outcome = rig.ask(request_of(rig))
    assert outcome.code is ErrorCode.LINK_DOWN
    assert outcome.message.startswith(f"/dev/ttyACM0: no answer to {kind.__name__} after 10 attempts in 1 s")


def test_a_silent_board_is_noticed_and_joint_states_stop_at_once(rig):
    rig.arm()
    rig.board.mute = True
    rig.run(0.02)
    before = len(rig.of(Measurement))
    rig.run_until(lambda: rig.session.failure is not None, 2.0)
    assert len(rig.of(Measurement)) == before
    assert rig.session.failure.startswith("/dev/ttyACM0: no word from the board for 0.5 s")


def test_a_bridge_that_was_starved_does_not_blame_the_board(rig):
    rig.arm()
    rig.now += 3.0
    rig.run(0.1)
    assert rig.session.failure is None


def test_requests_without_a_link_are_refused_at_once(rig):
    rig.session.link_lost(rig.now, "/dev/ttyACM0: the device is gone; plug the board in again")
    for request in (rig.session.emergency_stop, rig.session.reset_fault):
        outcomes = []
        request(rig.now, outcomes.append)
        assert outcomes[0].code is ErrorCode.LINK_DOWN
        assert "plug the board in again" in outcomes[0].message
    assert "plug the board in" in rig.session.motion.command(rig.now, rig.now + 0.1, HOME, (0.0,) * 3)


def test_a_lost_link_ends_what_waits_and_says_why(rig):
    rig.arm()
    outcomes = []
    rig.session.set_gripper(rig.now, True, outcomes.append)
    rig.session.motion.home(rig.now, HomeGoal((0,), None), outcomes.append)
    rig.session.link_lost(rig.now, "/dev/ttyACM0: gone")
    assert [outcome.message for outcome in outcomes] == ["/dev/ttyACM0: gone"] * 2
    assert status(rig).link is LinkState.CLOSED
    assert status(rig).fault is ErrorCode.LINK_DOWN
    assert status(rig).fault_message == "/dev/ttyACM0: gone"
    assert not status(rig).homed


# A bad line


@pytest.mark.parametrize("seed", range(5))
def test_a_spoiled_line_costs_frames_but_no_request_and_no_link(rig, seed):
    noise = random.Random(seed)

    def spoil(data, _to_board):
        data = bytearray(data)
        for i in range(len(data)):
            if noise.random() < 0.003:
                data[i] = noise.randrange(256)
        return bytes(byte for byte in data if noise.random() > 0.001)

    rig.spoil = spoil
    rig.arm()
    for closed in (True, False) * 5:
        assert rig.ask(lambda done, closed=closed: rig.session.set_gripper(rig.now, closed, done)).ok
        rig.run(0.1)
        assert rig.board.gripper == closed
    assert status(rig).link is LinkState.ARMED
    times = [measurement.time for measurement in rig.of(Measurement)]
    assert times == sorted(set(times))
    for measurement in rig.of(Measurement):
        assert measurement.position == pytest.approx(HOME)


def test_a_repeated_request_is_carried_out_once(rig):
    rig.arm()
    dropped = []

    def lose_first_acknowledgement(data, to_board):
        if not to_board and not dropped and any(True for _ in sent(rig, messages.SetGripper)):
            dropped.append(data)
            return b""
        return data

    rig.spoil = lose_first_acknowledgement
    assert rig.ask(lambda done: rig.session.set_gripper(rig.now, True, done)).ok
    assert len(sent(rig, messages.SetGripper)) == 2


def test_odd_frames_are_counted_and_skipped(rig):
    rig.arm()
    rig.session.receive(rig.now, b"\x02\x44\0\x07abcdef\0" + bytes([5, 1, 2, 3, 4, 0]))
    rig.run(1.1)
    rig.session.take_events()
    assert status(rig).link is LinkState.ARMED


@pytest.mark.parametrize(
    "message",
    [
        messages.State(time=0, position=HOME, velocity=(0.0,) * 3, mode=99, fault=0, fault_joint=255, flags=15),
        messages.State(time=0, position=HOME, velocity=(0.0,) * 3, mode=1, fault=99, fault_joint=255, flags=15),
        messages.HomeProgress(joint=7, step=0, position=0.0),
        messages.HomeProgress(joint=0, step=9, position=0.0),
    ],
)
def test_a_message_that_stands_for_nothing_is_skipped(rig, message):
    rig.arm()
    before = status(rig)
    rig.board._send(message)
    rig.run(0.05)
    assert status(rig) == before
    assert rig.session.failure is None


# Measurements


def test_measurements_carry_the_boards_time_100_times_a_second(rig):
    rig.arm()
    rig.events.clear()
    rig.run(2.0)
    times = [measurement.time for measurement in rig.of(Measurement)]
    assert len(times) == pytest.approx(200, abs=1)
    steps = [after - before for before, after in itertools.pairwise(times)]
    assert all(step == pytest.approx(0.01, abs=1e-3) for step in steps)
    assert 0.0 <= rig.now - times[-1] < 0.02


def test_health_is_reported_once_a_second_with_link_clock_and_encoders(rig):
    rig.arm()
    health = messages.Health(
        uptime=5000, loop_worst=120, overruns=0, illegal_transitions=(0, 3, 0), frames_bad=0, frames_lost=0,
        bytes_lost=0, setpoints_late=0, setpoints_refused=0, underflows=0, reset_cause=1,
    )  # fmt: skip
    rig.board._send(health)
    rig.run(0.1)
    rig.board._send(messages.Health(**{**vars(health), "illegal_transitions": (0, 10, 0)}))
    rig.run(0.1)
    report = rig.of(Health)[-1]
    assert report.groups["encoders"]["shoulder_pitch: illegal transitions"] == "10"
    assert report.groups["firmware"]["version"] == "1.2.3"
    assert float(report.groups["clock"]["round trip (ms)"]) < 5.0
    assert report.warnings["encoders"] == "illegal transitions in the last second: shoulder_pitch 7; check the wires"


# A restarted board


def test_a_board_restart_is_noticed_its_positions_are_unknown_and_it_is_armed_again(rig):
    rig.arm()
    rig.stream(0.3)
    rig.board.restart(rig.now)
    rig.run_until(lambda: status(rig).link is not LinkState.ARMED)
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)
    assert not status(rig).homed
    assert any("the board has restarted (external); its positions are not known" in text for text in rig.notices())
    refusal = rig.session.motion.command(rig.now, rig.now + 0.1, HOME, (0.0,) * 3)
    assert refusal == "the joint positions are not known; send a goal to home first"
    assert rig.ask(lambda done: rig.session.motion.home(rig.now, HomeGoal((0, 1, 2), HOME), done)).ok
    rig.run(0.3)
    assert status(rig).homed
    assert rig.stream(0.2) == []


def test_a_restart_whose_announcement_is_lost_is_noticed(rig):
    rig.arm()
    rig.board.boot_count += 1
    rig.board.boot(rig.now)
    rig.run_until(lambda: not status(rig).homed, 1.5)
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)


def test_a_restart_with_a_stored_configuration_is_noticed(rig):
    rig.arm()
    rig.board.stored = dict(rig.board.configuration)
    rig.board.boot_count += 1
    rig.board.boot(rig.now)
    rig.run(1.5)
    assert any("has restarted" in text for text in rig.notices())
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)


def test_measurements_go_on_forwards_after_a_restart(rig):
    rig.arm()
    rig.run(0.5)
    rig.board.restart(rig.now)
    rig.run(2.0)
    times = [measurement.time for measurement in rig.of(Measurement)]
    assert times == sorted(set(times))
    assert rig.now - times[-1] < 0.02


# Faults


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_each_fault_is_told_with_joint_and_remedy_and_cleared_by_reset_alone(rig, fault):
    rig.arm()
    rig.stream(0.2)
    rig.board.latch(fault, 1)
    rig.run(0.05)
    assert status(rig).link is LinkState.FAULT
    assert status(rig).mode is DriveMode.FAULT
    assert status(rig).fault_message.startswith("shoulder_pitch: ")
    assert status(rig).fault_message.endswith("then call reset_fault")
    expected = {
        Fault.EMERGENCY_STOP: ErrorCode.ESTOP,
        Fault.EMERGENCY_STOP_INPUT: ErrorCode.ESTOP,
        Fault.HOMING_FAILED: ErrorCode.HOMING_FAILED,
    }
    assert status(rig).fault is expected.get(fault, ErrorCode.FIRMWARE_FAULT)
    rig.run(3.0)
    assert rig.board.fault is fault
    assert rig.ask(lambda done: rig.session.reset_fault(rig.now, done)).ok
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)


def test_after_a_stop_a_stream_that_goes_on_moves_nothing(rig):
    rig.arm()
    rig.stream(0.2)
    assert rig.ask(lambda done: rig.session.emergency_stop(rig.now, done)).ok
    assert rig.ask(lambda done: rig.session.reset_fault(rig.now, done)).ok
    count = len(sent(rig, messages.Setpoint))
    refusals = rig.stream(1.0, rig.board.position)
    assert len(refusals) == 100
    assert refusals[-1] == "the arm was stopped; it follows commands again after they pause for 0.2 s"
    assert len(sent(rig, messages.Setpoint)) == count
    rig.run(0.25)
    assert rig.stream(0.2, rig.board.position) == []


def test_an_emergency_stop_overtakes_what_waits(rig):
    rig.arm()
    rig.board.deaf_to = (messages.SetGripper,)
    outcomes = []
    rig.session.set_gripper(rig.now, True, outcomes.append)
    start = rig.now
    assert rig.ask(lambda done: rig.session.emergency_stop(rig.now, done)).ok
    assert rig.now - start < 0.05
    assert rig.board.fault is Fault.EMERGENCY_STOP


def test_a_fault_at_the_handshake_can_be_reset(rig):
    rig.arm()
    rig.session.link_lost(rig.now, "killed")
    rig.board.configuration[0] = messages.JointConfiguration(joint=0)
    rig.board.latch(Fault.STALL, 0)
    rig.session.link_opened(rig.now, "/dev/ttyACM0", 0.0)
    rig.run_until(lambda: status(rig).link is LinkState.FAULT)
    assert status(rig).fault is ErrorCode.FIRMWARE_FAULT
    assert rig.ask(lambda done: rig.session.reset_fault(rig.now, done)).ok
    rig.run_until(lambda: status(rig).link is LinkState.ARMED)


# The end


def test_disarming_in_mid_motion_holds_and_then_lets_go(rig):
    rig.arm()
    rig.stream(0.3)
    outcome = rig.ask(lambda done: rig.session.disarm(rig.now, done))
    assert outcome.ok
    assert rig.session.at_rest
    assert rig.board.mode is Mode.IDLE
    assert [message.mode for message in sent(rig, messages.SetMode)][-2:] == [Mode.HOLD, Mode.IDLE]
    rig.run(2.0)
    assert rig.board.mode is Mode.IDLE


def test_disarming_waits_while_the_arm_moves(rig):
    rig.arm()
    rig.board.moving = True
    rig.board.setpoints = [(rig.now + 0.5, HOME, (0.0,) * 3)]
    rig.session.disarm(rig.now)
    rig.run_until(lambda: rig.session.at_rest)
    assert rig.board.mode is Mode.IDLE


def test_a_board_that_holds_after_a_fault_is_let_go_too(rig):
    rig.arm()
    rig.board.latch(Fault.TRACKING_ERROR, 0)
    rig.run(0.05)
    assert rig.ask(lambda done: rig.session.disarm(rig.now, done)).ok
    assert rig.board.mode is Mode.IDLE
    assert not rig.board.driven


def test_a_board_that_does_not_let_go_is_told(rig):
    rig.arm()
    rig.board.deaf_to = (messages.SetMode,)
    assert not rig.ask(lambda done: rig.session.disarm(rig.now, done)).ok
    assert any(text.startswith("the motors stay driven: ") for text in rig.notices())


def test_the_status_changes_are_told_in_order(rig):
    rig.arm()
    links = []
    for event in rig.of(StatusChanged):
        if not links or links[-1] is not event.status.link:
            links.append(event.status.link)
    assert links == [LinkState.HANDSHAKE, LinkState.CONFIGURED, LinkState.ARMED] or links == [
        LinkState.OPENING,
        LinkState.HANDSHAKE,
        LinkState.CONFIGURED,
        LinkState.ARMED,
    ]
