# SPDX-License-Identifier: Apache-2.0
import itertools
import math

import pytest
from firmware_paths import rest_to_rest, steady
from virtual_board import ACCELERATION, HOME

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Fault, Mode, Reason

# Joints of a pick of the mission.
PICK = (-0.7653, 0.3376, -1.4687)
COUNT = 2 * math.pi / 8384


def track(host):
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(100)
    host.do(messages.SetMode(mode=Mode.TRACK))


def rest_after(host, limit_ms):
    """Let time pass silently until nothing moves; return how long it took in ms."""
    for ms in range(limit_ms):
        if max(abs(v) for v in host.port.observe().velocity) < 1e-6:
            return ms
        host.run(1)
    raise AssertionError(f"still moving after {limit_ms} ms")


def test_a_motion_is_followed_within_a_few_counts(host):
    track(host)
    path, errors = rest_to_rest(HOME, PICK, 1.3), []

    def compare(time, seen):
        if 0.0 <= time <= 1.3:
            errors.append([a - b for a, b in zip(path(time)[0], seen.position, strict=True)])

    host.follow(path, 1.3, each=compare)
    assert max(abs(e) for row in errors for e in row) < 4 * COUNT
    for joint in range(3):
        assert math.sqrt(sum(row[joint] ** 2 for row in errors) / len(errors)) < 1.5 * COUNT
    assert host.state.mode == Mode.TRACK
    assert not [m for m in host.received if isinstance(m, messages.Refuse)]


def test_the_end_is_reached_within_two_counts_and_held(host):
    track(host)
    host.follow(rest_to_rest(HOME, PICK, 1.3), 1.3)
    host.run_alive(500)
    assert host.port.observe().position == pytest.approx(PICK, abs=2 * COUNT)
    assert host.state.position == pytest.approx(PICK, abs=2 * COUNT)


def test_jitter_of_the_host_does_not_reach_the_motors(make_host):
    def positions(jitter):
        host = make_host()
        host.configure()
        track(host)
        start = host.port_time() + 0.1
        path, seen, sent = rest_to_rest(HOME, PICK, 1.3), [], 0
        for ms in range(1500):
            # the jittery host sends nothing for 60 ms, then everything that is due
            if ms % (60 if jitter else 10) == 0:
                host.send(messages.SynchroniseClock(token=0))
                while sent <= 130 and sent * 10 <= ms + 30:
                    position, velocity = path(sent / 100)
                    time = round((start + sent / 100) * 1e6)
                    host.send(messages.Setpoint(time=time, position=tuple(position), velocity=tuple(velocity)))
                    sent += 1
            host.run(1)
            seen.append(tuple(host.port.observe().position))
        assert not [m for m in host.received if isinstance(m, messages.Refuse)]
        return seen

    assert max(math.dist(a, b) for a, b in zip(positions(False), positions(True), strict=True)) < COUNT


@pytest.mark.parametrize("silence", [100, 500])
def test_silence_of_the_host_brings_the_arm_to_rest(make_host, silence):
    host = make_host()
    host.configure(messages.BoardConfiguration(command_silence=silence))
    track(host)
    velocity = (1.6, -0.8, 1.2)
    host.follow(steady(HOME, velocity), 0.8, lead=0.02)
    before = host.port.observe()
    assert max(abs(v) for v in before.velocity) > 1.4
    # The queue is empty at once, so the arm brakes then; the fault comes after the silence.
    brake = max(abs(v) / a for v, a in zip(velocity, ACCELERATION, strict=True))
    assert rest_after(host, 2000) < 20 + 1e3 * brake + 60
    host.run(silence + 20)
    assert (host.state.mode, host.state.fault) == (Mode.FAULT, Fault.COMMAND_SILENCE)
    assert rest_after(host, 10) == 0


def test_silence_in_mid_motion_with_a_full_queue_brakes_after_the_silence(host):
    track(host)
    path = steady(HOME, (1.6, 0.0, 0.0))
    start = host.port_time() + 0.05
    for k in range(36):
        position, velocity = path(k / 20)
        host.send(messages.Setpoint(time=round((start + k / 20) * 1e6), position=position, velocity=velocity))
        host.run(10)
    stopped_after = rest_after(host, 2000)
    assert stopped_after < 100 + 1e3 * 1.6 / ACCELERATION[0] + 60
    assert host.port.observe().fault == Fault.COMMAND_SILENCE


def test_an_empty_queue_at_speed_brakes_within_the_limits_and_counts(host):
    track(host)
    host.follow(steady(HOME, (1.6, 0.0, 0.0)), 0.6, lead=0.02)
    speeds = []
    for _ in range(40):
        host.send(messages.SynchroniseClock(token=0))
        for _ in range(10):
            host.run(1)
            speeds.append(host.port.observe().velocity[0])
    assert speeds[-1] == 0.0
    assert max(a - b for a, b in zip(speeds[:-20], speeds[20:], strict=True)) < 0.02 * ACCELERATION[0] * 1.5
    assert host.state.mode == Mode.TRACK
    host.run_alive(1000)
    assert host.last(messages.Health).underflows == 1


def test_hold_brakes_and_refuses_further_setpoints(host):
    track(host)
    path = steady(HOME, (1.2, 0.0, 0.0))
    host.follow(path, 0.5, lead=0.02)
    host.do(messages.SetMode(mode=Mode.HOLD))
    assert rest_after(host, 400) < 1e3 * 1.2 / ACCELERATION[0] + 60
    now = round(host.port_time() * 1e6)
    setpoint = messages.Setpoint(time=now + 50000, position=host.state.position, velocity=(0.0, 0.0, 0.0))
    assert host.refused(setpoint) == Reason.WRONG_MODE
    assert host.state.mode == Mode.HOLD


@pytest.mark.parametrize(
    ("ahead", "position", "velocity", "reason", "joint"),
    [
        (-0.01, HOME, (0.0, 0.0, 0.0), Reason.LATE, 255),
        (0.1, (0.5, 1.2, -1.6), (0.0, 0.0, 0.0), Reason.JUMP, 0),
        (0.1, (0.0, 1.2, -2.7), (0.0, 0.0, 0.0), Reason.JOINT_LIMIT, 2),
        (0.1, HOME, (0.0, 1.8, 0.0), Reason.SPEED_LIMIT, 1),
        (0.1, (0.0, 1.2, -2.5), (0.0, 0.0, -1.9), Reason.JOINT_LIMIT, 2),
        (3.0, HOME, (0.0, 0.0, 0.0), Reason.TOO_FAR_AHEAD, 255),
    ],
)
def test_an_impossible_setpoint_is_refused_with_its_reason(host, ahead, position, velocity, reason, joint):
    track(host)
    time = round((host.port_time() + ahead) * 1e6)
    answer = host.request(messages.Setpoint(time=time, position=position, velocity=velocity))
    assert (answer.reason, answer.joint) == (reason, joint)
    host.run_alive(200)
    assert host.port.observe().position == pytest.approx(HOME, abs=2 * COUNT)


def test_forty_setpoints_wait_and_one_more_is_refused(host):
    track(host)
    start = host.port_time() + 0.2
    refusals = []
    for k in range(42):
        # the first of them begins only then, so that none leaves the queue meanwhile
        time = round((start + 1.0 + k / 100) * 1e6)
        host.send(messages.Setpoint(time=time, position=HOME, velocity=(0.0, 0.0, 0.0)))
        refusals += [m.reason for m in host.run(8) if isinstance(m, messages.Refuse)]
    assert refusals == [Reason.QUEUE_FULL] * 2
    host.run_alive(100)
    assert host.last(messages.Report).queue_depth == 40
    host.run_alive(1500)
    assert host.last(messages.Report).queue_depth == 0
    assert host.state.mode == Mode.TRACK


def test_the_drive_changes_by_no_more_than_its_slew_and_stays_below_its_limit(make_host):
    host = make_host()
    host.configure(slew=20, drive_limit=0.5, tracking_error=1.0, stall_time=10000)
    track(host)
    host.port.command("stuck 0 1")
    path, drives = rest_to_rest(HOME, (0.3, 1.2, -1.6), 0.6), []
    host.follow(path, 0.6, each=lambda _, seen: drives.append(seen.drive[0]))
    host.port.command("stuck 0 0")
    host.follow(rest_to_rest((0.3, 1.2, -1.6), HOME, 0.8), 0.8, each=lambda _, seen: drives.append(seen.drive[0]))
    # 20 /s is 16 of 800 PWM steps in a control tick of 1 ms
    assert max(abs(new - old) for old, new in itertools.pairwise(drives)) == pytest.approx(16 / 800, abs=1e-9)
    assert max(map(abs, drives)) == pytest.approx(0.5, abs=1e-9)


def test_a_joint_that_was_blocked_does_not_shoot_beyond_its_place_afterwards(make_host):
    host = make_host()
    host.configure(tracking_error=1.0, stall_time=10000, velocity=4.0)
    track(host)
    host.port.command("stuck 0 1")
    host.follow(rest_to_rest(HOME, (0.06, 1.2, -1.6), 0.6), 0.6)
    # with this error the integral would grow by 48 a second, to a hundred times full drive
    host.run_alive(2000)
    assert host.port.observe().drive[0] == pytest.approx(1.0, abs=0.002)
    host.port.command("stuck 0 0")
    furthest = 0.0
    for _ in range(50):
        host.run_alive(20)
        furthest = max(furthest, host.port.observe().position[0])
    assert host.state.mode == Mode.TRACK
    assert host.port.observe().position[0] == pytest.approx(0.06, abs=3 * COUNT)
    assert furthest < 0.06 + 0.03


def test_the_dead_band_is_made_up_for_when_a_joint_sets_off(make_host):
    def worst(deadband):
        host = make_host()
        # without integral, so that nothing else makes up for friction
        host.configure(deadband=deadband, integral=0.0)
        track(host)
        errors, path = [], steady(HOME, (0.1, 0.0, 0.0))
        host.follow(
            path, 1.0, each=lambda t, seen: errors.append(abs(path(t)[0][0] - seen.position[0]) if t > 0.6 else 0.0)
        )
        return max(errors)

    assert worst(0.07) < 0.5 * worst(0.0)


def test_after_an_underflow_a_far_setpoint_is_refused_and_nothing_moves(host):
    track(host)
    host.follow(rest_to_rest(HOME, PICK, 1.3), 0.6, lead=0.02)
    host.run_alive(400)
    before = host.port.observe().position[0]
    time = round((host.port_time() + 0.1) * 1e6)
    assert host.refused(messages.Setpoint(time=time, position=PICK, velocity=(0.0, 0.0, 0.0))) == Reason.JUMP
    host.run_alive(300)
    assert host.port.observe().position[0] == pytest.approx(before, abs=2 * COUNT)


def test_tracking_needs_known_positions(make_host):
    host = make_host(homed=False)
    host.configure()
    host.do(messages.SetMode(mode=Mode.HOLD))
    assert host.refused(messages.SetMode(mode=Mode.TRACK)) == Reason.NOT_HOMED


def test_nothing_moves_by_a_change_of_mode(host):
    for mode in (Mode.HOLD, Mode.TRACK, Mode.HOLD, Mode.IDLE, Mode.TRACK):
        host.do(messages.SetMode(mode=mode))
        host.run_alive(100)
        assert host.port.observe().position == pytest.approx(HOME, abs=COUNT)


def test_a_payload_and_a_sagging_supply_change_little(make_host):
    host = make_host(arm="supply_resistance=0.3\npayload=0.2\n")
    host.configure()
    track(host)
    host.follow(rest_to_rest(HOME, PICK, 1.5), 1.5)
    host.run_alive(300)
    assert host.state.mode == Mode.TRACK
    assert host.port.observe().position == pytest.approx(PICK, abs=3 * COUNT)
