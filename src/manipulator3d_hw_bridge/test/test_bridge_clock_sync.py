# SPDX-License-Identifier: Apache-2.0
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_hw_bridge.clock_sync import BoardTime, ClockSync, StreamClock


class Board:
    """A board clock of its own offset and drift, reached over a line with random delays."""

    def __init__(self, offset, drift, seed=0):
        self.offset = offset
        self.drift = drift
        self.random = random.Random(seed)

    def at(self, host):
        return (host - self.offset) / (1.0 + self.drift)

    def exchange(self, sync, host, spread=2e-3):
        there = 1e-3 + self.random.expovariate(1.0 / spread)
        back = 1e-3 + self.random.expovariate(1.0 / spread)
        sync.add(host, self.at(host + there), host + there + back)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(offset=st.floats(-1e5, 1e5), drift=st.floats(-0.005, 0.005), seed=st.integers(0, 1000))
def test_offset_and_drift_of_a_real_resonator_are_found_within_the_round_trip(offset, drift, seed):
    board, sync = Board(offset, drift, seed), ClockSync()
    for i in range(60):
        board.exchange(sync, 100.0 + 0.5 * i)
    assert sync.steps == 0
    assert sync.drift == pytest.approx(drift, abs=3e-4)
    for ahead in (0.0, 0.1, 0.5):
        host = 129.5 + ahead
        assert sync.to_host(board.at(host)) == pytest.approx(host, abs=2e-3)
        assert sync.to_board(host) == pytest.approx(board.at(host), abs=2e-3)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 1000), drift=st.floats(-0.005, 0.005), spread=st.floats(1e-4, 2e-2))
def test_host_times_of_growing_board_times_never_run_backwards(seed, drift, spread):
    board, sync = Board(-3.0, drift, seed), ClockSync()
    last = float("-inf")
    for i in range(400):
        host = 10.0 + 0.05 * i
        if i % 10 == 0:
            board.exchange(sync, host, spread)
        stamp = sync.to_host(board.at(host))
        assert stamp >= last
        last = stamp


@settings(max_examples=50, deadline=None, derandomize=True)
@given(seed=st.integers(0, 1000))
def test_to_board_is_the_inverse_of_to_host(seed):
    board, sync = Board(5.0, 0.002, seed), ClockSync()
    for i in range(20):
        board.exchange(sync, float(i))
    assert sync.to_board(sync.to_host(30.0)) == pytest.approx(30.0, abs=1e-9)


@pytest.mark.parametrize("step", [-40.0, -0.2, 0.2, 40.0])
def test_a_stepped_board_clock_is_followed_at_once(step):
    board, sync = Board(0.0, 1e-3), ClockSync()
    for i in range(20):
        board.exchange(sync, 0.5 * i)
    board.offset += step
    board.exchange(sync, 10.0)
    assert sync.steps == 1
    assert sync.to_board(10.1) == pytest.approx(board.at(10.1), abs=5e-3)


def test_slow_exchanges_do_not_spoil_the_estimate():
    board, sync = Board(2.0, 0.0), ClockSync()
    for i in range(20):
        board.exchange(sync, 0.5 * i, spread=1e-4)
    sync.add(10.0, board.at(10.0), 10.3)
    assert sync.steps == 0
    assert sync.to_board(10.3) == pytest.approx(board.at(10.3), abs=1e-3)
    assert sync.round_trip == pytest.approx(0.3)
    assert sync.uncertainty < 2e-3


def test_quality_is_unknown_before_the_first_exchange():
    sync = ClockSync()
    assert not sync.synchronised
    assert sync.uncertainty == float("inf")


def test_an_exchange_received_before_it_was_sent_is_refused():
    with pytest.raises(ValueError, match="before it was sent"):
        ClockSync().add(2.0, 0.0, 1.0)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(start=st.integers(0, 2**32 - 1), steps=st.lists(st.integers(0, 2**30), min_size=1, max_size=50))
def test_board_time_grows_across_the_wrap_of_its_counter(start, steps):
    clock, ticks = BoardTime(), start
    assert clock.seconds(ticks) == pytest.approx(start * 1e-6)
    for step in steps:
        ticks += step
        assert clock.seconds(ticks % 2**32) == pytest.approx(ticks * 1e-6)


def test_a_reading_that_arrives_out_of_order_across_the_wrap_keeps_its_own_time():
    clock = BoardTime()
    clock.seconds(2**32 - 1000)
    assert clock.seconds(1000) == pytest.approx((2**32 + 1000) * 1e-6)
    assert clock.seconds(2**32 - 500) == pytest.approx((2**32 - 500) * 1e-6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(step=st.one_of(st.floats(-0.3, -0.01), st.floats(0.01, 0.3)))
def test_a_stream_stays_continuous_when_the_clock_estimate_steps(step):
    board, sync = Board(0.0, 0.0), ClockSync()
    for i in range(10):
        board.exchange(sync, 0.5 * i - 4.5, spread=1e-4)
    stream = StreamClock(sync)
    last = stream.to_board(1.0)
    assert stream.rate == 1.0
    board.offset += step
    board.exchange(sync, 1.0, spread=1e-4)
    for i in range(1, 3000):
        now = stream.to_board(1.0 + 0.01 * i)
        assert 0.0096 - 1e-9 <= now - last <= 0.0104 + 1e-9
        assert stream.rate == pytest.approx((now - last) / 0.01)
        last = now
    assert last == pytest.approx(board.at(1.0 + 0.01 * 2999), abs=2e-3)


def test_a_new_stream_starts_with_the_present_estimate():
    board, sync = Board(0.0, 0.0), ClockSync()
    board.exchange(sync, 0.0, spread=1e-4)
    stream = StreamClock(sync)
    stream.to_board(1.0)
    board.offset += 0.2
    board.exchange(sync, 1.0, spread=1e-4)
    assert stream.to_board(2.0) == pytest.approx(board.at(2.0), abs=2e-3)
