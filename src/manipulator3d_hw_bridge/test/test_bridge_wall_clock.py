# SPDX-License-Identifier: Apache-2.0
import itertools
import random

import pytest

from manipulator3d_hw_bridge.wall_clock import WallClock


class Computer:
    """Clocks of a computer that puts a thread aside now and then."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.now = 500.0
        self.epoch = 1.7e9

    def _pass(self):
        self.now += 0.02 if self.random.random() < 0.2 else 2e-6

    def monotonic(self):
        self._pass()
        return self.now

    def wall(self):
        self._pass()
        return self.now + self.epoch


@pytest.mark.parametrize("seed", range(10))
def test_even_stamps_give_even_times_although_the_thread_is_put_aside(seed):
    computer = Computer(seed)
    clock = WallClock(computer.wall, computer.monotonic)
    for _ in range(100):
        clock.to_monotonic(0.0)
    times = [clock.to_monotonic(1.7e9 + 600.0 + 0.01 * i) for i in range(200)]
    for before, after in itertools.pairwise(times):
        assert after - before == pytest.approx(0.01, abs=1e-5)
    assert times[0] == pytest.approx(600.0, abs=1e-4)
    assert clock.to_stamp(600.0) == pytest.approx(1.7e9 + 600.0, abs=1e-4)


@pytest.mark.parametrize("step", [-3600.0, -0.1, 0.1, 3600.0])
def test_a_wall_clock_that_is_set_is_followed(step):
    computer = Computer(0)
    clock = WallClock(computer.wall, computer.monotonic)
    for _ in range(50):
        clock.to_monotonic(0.0)
    computer.epoch += step
    for _ in range(50):
        clock.to_monotonic(0.0)
    assert clock.to_monotonic(1.7e9 + step + 700.0) == pytest.approx(700.0, abs=2e-3)
