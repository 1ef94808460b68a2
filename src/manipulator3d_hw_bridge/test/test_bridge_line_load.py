# SPDX-License-Identifier: Apache-2.0
"""The line's load: that of the busier direction, since the last look."""

import pytest

from manipulator3d_hw_bridge.line_load import LineLoad
from manipulator3d_hw_bridge.link_traffic import Direction


def test_the_busier_direction_counts_and_each_look_begins_anew() -> None:
    load = LineLoad(115200, now=10.0)
    for _ in range(100):
        load.add(Direction.FROM_BOARD, 32)
        load.add(Direction.TO_BOARD, 25)
    assert load.take(now=11.0) == pytest.approx(100.0 * 3200 / 11520)
    load.add(Direction.TO_BOARD, 1152)
    assert load.take(now=13.0) == pytest.approx(5.0)
    assert load.take(now=14.0) == 0.0
    assert load.take(now=14.0) == 0.0
