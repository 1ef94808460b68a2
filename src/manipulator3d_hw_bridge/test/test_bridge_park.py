# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_hw_bridge.park import park_path

VELOCITY = (2.0, 1.5, 2.0)
ACCELERATION = (8.0, 6.0, 8.0)
JOINTS = st.tuples(*[st.floats(-2.5, 2.5)] * 3)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(start=JOINTS, end=JOINTS)
def test_parking_starts_and_ends_at_rest_and_keeps_half_of_the_limits(start, end):
    path = park_path(start, end, VELOCITY, ACCELERATION)
    assert path.at(0.0) == (start, pytest.approx((0.0,) * 3))
    assert path.at(path.duration + 1.0) == (pytest.approx(end), pytest.approx((0.0,) * 3))
    dt = max(path.duration, 1e-3) / 500
    before, speed_before = path.at(0.0)
    for i in range(1, 501):
        positions, velocities = path.at(i * dt)
        for j in range(3):
            assert abs(velocities[j]) <= 0.5 * VELOCITY[j] * (1 + 1e-9)
            assert abs(positions[j] - before[j]) <= 0.5 * VELOCITY[j] * dt * (1 + 1e-9)
            assert abs(velocities[j] - speed_before[j]) <= 0.5 * ACCELERATION[j] * dt * (1 + 1e-6) + 1e-12
        before, speed_before = positions, velocities


def test_parking_where_the_arm_is_takes_no_time():
    path = park_path((0.0, 1.0, 2.0), (0.0, 1.0, 2.0), VELOCITY, ACCELERATION)
    assert path.duration == 0.0
    assert path.at(0.0) == ((0.0, 1.0, 2.0), (0.0, 0.0, 0.0))
