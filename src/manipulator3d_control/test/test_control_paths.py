# SPDX-License-Identifier: Apache-2.0
"""Paths: on the line, on one branch, refused with the place."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from manipulator3d_control.joint_path import elbow_heights, plan_joint_path
from manipulator3d_control.path import PathError
from manipulator3d_control.tool_path import plan_tool_line
from manipulator3d_kinematics import ArmModel, IkStatus, inverse_kinematics

ARM = ArmModel.profile("capstone")
Array = NDArray[np.float64]


def tool_point(q: Array) -> Array:
    """Tool point of the capstone arm from its DH table."""
    reach, offset = 0.22 * math.cos(q[1]) + 0.18 * math.cos(q[1] + q[2]), -0.065
    return np.array(
        [
            reach * math.cos(q[0]) + offset * math.sin(q[0]),
            reach * math.sin(q[0]) - offset * math.cos(q[0]),
            0.15 + 0.22 * math.sin(q[1]) + 0.18 * math.sin(q[1] + q[2]),
        ]
    )


def joints_at(x: float, y: float, z: float, elbow: str = "up") -> Array:
    found = inverse_kinematics(ARM, np.array([x, y, z]), elbow=elbow)
    assert found.q is not None
    return found.q


def test_the_tool_stays_on_the_line_between_the_checked_samples() -> None:
    start, end = np.array([0.25, -0.15, 0.16]), np.array([0.20, 0.20, 0.20])
    line = plan_tool_line(ARM, start, end, joints_at(*start))
    assert line.length == pytest.approx(np.linalg.norm(end - start))
    direction = (end - start) / line.length
    for s in np.linspace(0.0, line.length, 331):
        q = line.joints([s])[0]
        assert tool_point(q) == pytest.approx(start + direction * s, abs=1e-7)
        assert q[2] < 0.0


def test_the_slope_of_a_line_is_the_derivative_of_its_joints() -> None:
    start, end = np.array([0.25, -0.15, 0.06]), np.array([0.10, -0.20, 0.30])
    line = plan_tool_line(ARM, start, end, joints_at(*start))
    direction, step = (end - start) / line.length, 1e-6
    for s in np.linspace(0.01, line.length - 0.01, 17):
        numerical = (joints_at(*(start + direction * (s + step))) - joints_at(*(start + direction * (s - step)))) / (
            2.0 * step
        )
        assert line.derivatives([s])[1, 0] == pytest.approx(numerical, abs=1e-5)


def test_a_line_out_of_reach_is_refused_with_fraction_and_point() -> None:
    start = np.array([0.25, 0.0, 0.20])
    with pytest.raises(PathError, match=r"at \d+% of the line, \(0\.\d+, 0\.000, 0\.200\) m: ") as caught:
        plan_tool_line(ARM, start, np.array([0.60, 0.0, 0.20]), joints_at(*start))
    assert caught.value.status == IkStatus.TOO_FAR
    # the shell ends where (x² - offset²) + (z - 0.15)² = 0.4²
    reach = math.sqrt(0.4**2 - 0.05**2 + 0.065**2)
    assert caught.value.fraction == pytest.approx((reach - 0.25) / 0.35, abs=0.01)


def test_a_line_through_the_column_is_refused() -> None:
    start = np.array([0.2, 0.0, 0.25])
    with pytest.raises(PathError, match="of the line"):
        plan_tool_line(ARM, start, np.array([-0.2, 0.0, 0.25]), joints_at(*start))


def test_a_line_below_the_floor_is_refused() -> None:
    start = np.array([0.25, 0.0, 0.05])
    with pytest.raises(PathError) as caught:
        plan_tool_line(ARM, start, np.array([0.25, 0.0, -0.05]), joints_at(*start))
    assert caught.value.status == IkStatus.BELOW_FLOOR
    assert caught.value.fraction == pytest.approx(0.5, abs=0.05)


def test_a_line_to_its_own_start_has_no_length() -> None:
    start = np.array([0.25, 0.0, 0.2])
    line = plan_tool_line(ARM, start, start, joints_at(*start))
    assert line.length == 0.0
    assert tool_point(line.start) == pytest.approx(start, abs=1e-9)
    assert not line.derivatives([0.0])[1:].any()


def test_a_joint_path_is_straight_in_joint_space() -> None:
    start, end = np.array([0.0, 1.2, -1.6]), np.array([1.0, 0.7, -1.2])
    path = plan_joint_path(ARM, start, end)
    assert path.length == 1.0
    assert path.joints([0.25])[0] == pytest.approx(start + 0.25 * (end - start))
    assert path.end == pytest.approx(end)


def test_a_joint_target_beyond_a_limit_is_refused_by_name() -> None:
    with pytest.raises(PathError, match=r"elbow_pitch: 2\.7 rad is above its upper limit of 2\.6 rad") as caught:
        plan_joint_path(ARM, ARM.home, np.array([0.0, 1.0, 2.7]))
    assert caught.value.status == IkStatus.JOINT_LIMIT


def test_a_joint_path_below_the_floor_is_refused_with_its_depth() -> None:
    with pytest.raises(PathError, match=r"below the floor at 0\.000 m") as caught:
        plan_joint_path(ARM, ARM.home, np.array([0.0, -0.5, -0.9]))
    assert caught.value.status == IkStatus.BELOW_FLOOR


def test_an_arm_that_stands_below_the_floor_may_rise() -> None:
    below = np.array([0.0, -0.4, -0.9])
    assert tool_point(below)[2] < 0.0
    assert plan_joint_path(ARM, below, ARM.home).length > 0.0


def test_elbow_heights_agree_with_the_dh_table() -> None:
    angles = np.array([[0.3, 0.4, 1.0], [-1.0, -0.3, 2.0]])
    assert elbow_heights(ARM, angles) == pytest.approx(0.15 + 0.22 * np.sin(angles[:, 1]))
