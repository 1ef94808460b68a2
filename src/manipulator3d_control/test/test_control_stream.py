# SPDX-License-Identifier: Apache-2.0
"""The stream of setpoints in virtual time: evenly stamped, ahead of its time, and calm when the computer is not."""

import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from manipulator3d_control.command_stream import CommandStream
from manipulator3d_control.motion import Setpoint
from manipulator3d_control.motion_player import MotionPlayer
from manipulator3d_control.point_to_point import point_to_point
from manipulator3d_kinematics import ArmModel

ARM = ArmModel.profile("capstone")
TARGET = np.array([1.5, 0.9, -1.2])
LEAD, DT = 0.15, 0.01


class Bench:
    """A stream whose ticks and time the test drives."""

    def __init__(self) -> None:
        self.time = 100.0
        self.sent: list[tuple[float, float, Setpoint]] = []
        self.outcomes: list[bool] = []
        self.stream = CommandStream(
            lambda stamp, setpoint: self.sent.append((self.time, stamp, setpoint)), lambda: self.time, 100.0, LEAD
        )

    def begin(self, scale: float = 1.0) -> None:
        self.stream.begin(Setpoint(ARM.home, np.zeros(3)), scale)

    def play(self) -> None:
        self.stream.play(MotionPlayer(ARM, point_to_point(ARM, ARM.home, TARGET)), self.outcomes.append)

    def tick(self, count: int = 1) -> None:
        for _ in range(count):
            self.stream.tick()
            self.time += DT

    def run(self, limit: int = 3000) -> None:
        for _ in range(limit):
            if self.outcomes:
                return
            self.tick()
        raise AssertionError(f"not done after {limit} ticks")

    @property
    def stamps(self) -> list[float]:
        return [stamp for _, stamp, _ in self.sent]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_nothing_is_sent_without_a_goal(bench: Bench) -> None:
    bench.tick(5)
    assert not bench.sent
    bench.begin()
    bench.tick(5)
    assert [setpoint.position.tolist() for _, _, setpoint in bench.sent] == [ARM.home.tolist()] * 5
    bench.stream.end()
    bench.tick(5)
    assert len(bench.sent) == 5


def test_setpoints_are_stamped_evenly_and_ahead(bench: Bench) -> None:
    bench.begin()
    bench.play()
    bench.run()
    assert bench.outcomes == [True]
    assert np.diff(bench.stamps) == pytest.approx(np.full(len(bench.sent) - 1, DT))
    assert all(stamp - sent == pytest.approx(LEAD) for sent, stamp, _ in bench.sent)
    assert bench.sent[-1][2].position == pytest.approx(TARGET)


def test_a_delay_within_the_lead_changes_no_setpoint(bench: Bench) -> None:
    undisturbed = Bench()
    for one in (bench, undisturbed):
        one.begin()
        one.play()
    bench.tick(20)
    bench.time += 0.9 * LEAD
    bench.run()
    undisturbed.run()
    assert bench.stamps == pytest.approx(undisturbed.stamps)
    for (_, _, disturbed), (_, _, expected) in zip(bench.sent, undisturbed.sent, strict=True):
        assert disturbed.position == pytest.approx(expected.position)
    assert bench.stream.delay == 0.0


def test_after_a_longer_delay_the_motion_goes_on_from_rest(bench: Bench) -> None:
    bench.begin()
    bench.play()
    bench.tick(25)
    before = bench.sent[-1]
    assert np.max(np.abs(before[2].velocity)) > 0.1
    bench.time += 0.3
    bench.tick(1)
    assert len(bench.sent) == 25
    assert bench.stream.delay == pytest.approx(0.3, abs=0.02)
    # the node's thread sleeps until the new stamp less the lead
    bench.time += 0.25
    bench.run()
    assert bench.outcomes == [True]
    assert not bench.stream.broken
    restart = bench.sent[25]
    assert np.max(np.abs(restart[2].velocity)) < 0.01
    assert restart[1] - before[1] > 0.4
    assert np.max(np.abs(restart[2].position - before[2].position)) < 0.3
    assert bench.sent[-1][2].position == pytest.approx(TARGET)
    for (_, t0, a), (_, t1, b) in pairwise(bench.sent[25:]):
        assert np.all(np.abs(b.position - a.position) <= ARM.velocity * (t1 - t0) * 1.001)


def test_a_delay_of_more_than_a_second_ends_the_motion(bench: Bench) -> None:
    bench.begin()
    bench.play()
    bench.tick(25)
    bench.time += 1.5
    bench.tick(10)
    assert bench.outcomes == [False]
    assert bench.stream.broken
    assert len(bench.sent) == 25
    bench.begin()
    assert not bench.stream.broken
    assert bench.stream.delay == 0.0


def test_an_interruption_comes_to_rest_on_the_path(bench: Bench) -> None:
    bench.begin()
    bench.play()
    bench.tick(20)
    bench.stream.interrupt()
    assert bench.stream.stopping
    bench.run()
    assert bench.outcomes == [False]
    positions = np.array([setpoint.position for _, _, setpoint in bench.sent])
    accelerations = np.diff(positions, n=2, axis=0) / DT**2
    assert np.all(np.abs(accelerations) <= ARM.acceleration)
    assert not bench.sent[-1][2].velocity.any()
    share = (positions - ARM.home) / (TARGET - ARM.home)
    assert np.ptp(share, axis=1) == pytest.approx(np.zeros(len(share)), abs=1e-9)


def test_a_pause_holds_until_it_is_resumed(bench: Bench) -> None:
    bench.begin()
    bench.play()
    bench.tick(20)
    bench.stream.pause()
    assert bench.stream.speed_scale == 0.0
    bench.tick(300)
    assert not bench.outcomes
    held = bench.sent[-1][2].position
    assert bench.sent[-50][2].position == pytest.approx(held, abs=0.0)
    bench.stream.resume()
    bench.run()
    assert bench.outcomes == [True]


def test_a_pause_lengthens_a_rest_and_holds_the_next_motion(bench: Bench) -> None:
    bench.begin()
    bench.stream.rest(0.1, bench.outcomes.append)
    bench.stream.pause()
    bench.tick(100)
    assert not bench.outcomes
    bench.stream.resume()
    bench.run(limit=12)
    bench.outcomes.clear()
    bench.stream.pause()
    bench.play()
    bench.tick(100)
    assert bench.sent[-1][2].position == pytest.approx(ARM.home)
    bench.stream.interrupt()
    bench.run(limit=20)
    assert bench.outcomes == [False]


def test_what_is_asked_for_after_a_halt_is_done_at_once_and_moves_nothing(bench: Bench) -> None:
    bench.begin()
    bench.play()
    bench.tick(20)
    bench.stream.halt()
    bench.play()
    bench.stream.rest(1.0, bench.outcomes.append)
    bench.tick(20)
    assert bench.outcomes == [False, False, False]
    assert len(bench.sent) == 20


def test_after_a_halt_the_next_stream_begins_after_a_pause(bench: Bench) -> None:
    bench.begin()
    bench.tick(5)
    bench.stream.halt()
    halted = bench.time
    bench.stream.halt()
    bench.time += 0.05
    bench.begin()
    bench.stream.tick()
    assert bench.stamps[-1] == pytest.approx(halted + 0.5 + LEAD)
    bench.time += 10.0
    bench.begin()
    bench.stream.tick()
    assert bench.stamps[-1] == pytest.approx(bench.time + LEAD)


def test_the_speeds_of_goal_and_topic_multiply(bench: Bench) -> None:
    bench.stream.change_speed(0.5)
    bench.begin(0.4)
    bench.play()
    assert bench.stream.speed_scale == pytest.approx(0.2)
    bench.run()
    fastest = np.max(np.abs([setpoint.velocity for _, _, setpoint in bench.sent]), axis=0)
    assert np.all(fastest <= 0.2 * ARM.velocity)


def test_the_thread_streams_and_ends() -> None:
    done = threading.Event()
    sent: list[Setpoint] = []
    stream = CommandStream(lambda _stamp, setpoint: sent.append(setpoint), time.monotonic, 100.0, LEAD)
    stream.start()
    stream.begin(Setpoint(ARM.home, np.zeros(3)), 1.0)
    stream.rest(0.1, lambda _: done.set())
    assert done.wait(30.0)
    stream.close()
    assert len(sent) >= 10
