# SPDX-License-Identifier: Apache-2.0
"""Which joint states become transforms."""

import math
from itertools import pairwise

import pytest

from manipulator3d_description.joint_state_filter import JointStateFilter

SECOND = 1_000_000_000


def test_unknown_and_not_finite_joints_are_left_out() -> None:
    filter_ = JointStateFilter(["a", "b", "c"], 0)
    passed = filter_.passing(["a", "other", "b", "c"], [1.0, 2.0, math.nan, -math.inf], 1, 1)
    assert passed == {"a": 1.0}
    assert filter_.not_finite == ("b", "c")
    assert filter_.passing(["b"], [3.0], 1, 2) == {"b": 3.0}
    assert filter_.not_finite == ()


def test_only_newer_stamps_pass() -> None:
    filter_ = JointStateFilter(["a"], 0)
    assert filter_.passing(["a"], [1.0], 5, 10) == {"a": 1.0}
    assert filter_.passing(["a"], [2.0], 5, 11) == {}
    assert filter_.passing(["a"], [3.0], 4, 12) == {}
    assert filter_.passing(["a"], [4.0], 6, 13) == {"a": 4.0}


def test_each_joint_has_its_own_last_stamp() -> None:
    filter_ = JointStateFilter(["a", "b"], 0)
    filter_.passing(["a"], [1.0], 10, 10)
    assert filter_.passing(["a", "b"], [2.0, 3.0], 8, 11) == {"b": 3.0}


def test_the_rate_is_bounded() -> None:
    filter_ = JointStateFilter(["a"], SECOND // 10)
    stamps = [number * SECOND // 100 for number in range(1, 101)]
    passed = [stamp for stamp in stamps if filter_.passing(["a"], [0.0], stamp, stamp)]
    assert len(passed) == 10
    assert all(later - sooner == SECOND // 10 for sooner, later in pairwise(passed))


def test_a_clock_that_jumps_back_starts_anew() -> None:
    filter_ = JointStateFilter(["a"], 0)
    filter_.passing(["a"], [1.0], 100 * SECOND, 100 * SECOND)
    assert filter_.passing(["a"], [2.0], 1 * SECOND, 1 * SECOND) == {"a": 2.0}


def test_names_without_positions_are_refused() -> None:
    with pytest.raises(ValueError, match="a joint state has 2 names and 1 positions; send one for each"):
        JointStateFilter(["a"], 0).passing(["a", "b"], [1.0], 1, 1)
