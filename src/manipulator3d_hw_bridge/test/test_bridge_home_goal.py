# SPDX-License-Identifier: Apache-2.0
import math

import pytest

from manipulator3d_hw_bridge.command_check import JointBounds
from manipulator3d_hw_bridge.home_goal import HomeGoal, HomeGoalRefused, check_home_goal

NAMES = ("base_yaw", "shoulder_pitch", "elbow_pitch")
BOUNDS = JointBounds(NAMES, (-2.9, -0.5, -2.6), (2.9, 2.6, 2.6), (2.0, 1.5, 2.0))


@pytest.mark.parametrize(
    ("joints", "set_here", "positions", "goal"),
    [
        ((), False, (), HomeGoal((0, 1, 2), None)),
        (("elbow_pitch", "base_yaw"), False, (), HomeGoal((0, 2), None)),
        ((), True, (), HomeGoal((0, 1, 2), (0.0, 0.0, 0.0))),
        (("elbow_pitch", "base_yaw"), True, (-1.6, 0.1), HomeGoal((2, 0), (-1.6, 0.1))),
    ],
)
def test_a_goal_is_put_into_the_boards_terms(joints, set_here, positions, goal):
    assert check_home_goal(BOUNDS, joints, set_here, positions) == goal


@pytest.mark.parametrize(
    ("joints", "set_here", "positions", "text"),
    [
        (("wrist",), False, (), "joint wrist is unknown; this arm has base_yaw, shoulder_pitch, elbow_pitch"),
        (("base_yaw", "base_yaw"), False, (), "each may be named once"),
        ((), False, (0.0, 0.0, 0.0), "positions are given without set_here"),
        ((), True, (0.0,), "1 positions for 3 joints"),
        (("elbow_pitch",), True, (2.7,), "elbow_pitch: a position of 2.7 rad is not within its limits of -2.6 to 2.6"),
        (("elbow_pitch",), True, (math.nan,), "elbow_pitch: a position of nan rad is not within its limits"),
        (("shoulder_pitch",), True, (-0.6,), "shoulder_pitch: a position of -0.6 rad"),
    ],
)
def test_a_wrong_goal_is_refused_by_field_and_remedy(joints, set_here, positions, text):
    with pytest.raises(HomeGoalRefused, match=text):
        check_home_goal(BOUNDS, joints, set_here, positions)
