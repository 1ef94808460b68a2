# SPDX-License-Identifier: Apache-2.0
import pytest

from manipulator3d_hw_bridge.backoff import Backoff


def test_waits_double_up_to_the_longest_and_start_anew_after_a_success():
    backoff = Backoff(first=0.2, longest=1.0)
    assert [backoff.next() for _ in range(5)] == [0.2, 0.4, 0.8, 1.0, 1.0]
    backoff.reset()
    assert backoff.next() == 0.2


@pytest.mark.parametrize(("first", "longest", "factor"), [(0.0, 1.0, 2.0), (2.0, 1.0, 2.0), (0.1, 1.0, 0.5)])
def test_a_wait_that_would_not_grow_is_refused(first, longest, factor):
    with pytest.raises(ValueError, match="is not a growing wait"):
        Backoff(first, longest, factor)
