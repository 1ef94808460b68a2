# SPDX-License-Identifier: Apache-2.0
"""Joint angles by name, request figures, quaternions."""

from math import inf, nan

import numpy as np
import pytest

from manipulator3d_kinematics import ArmModel
from manipulator3d_kinematics.joint_positions import ordered_positions
from manipulator3d_kinematics.quaternion import quaternion
from manipulator3d_kinematics.request_statistics import RequestStatistics

ARM = ArmModel.profile("capstone")
NAMES = ["elbow_pitch", "base_yaw", "shoulder_pitch"]


def test_names_may_come_in_any_order() -> None:
    assert ordered_positions(ARM, NAMES, [3.0, 1.0, 2.0], "seed") == (1.0, 2.0, 3.0)


def test_without_names_the_order_is_the_chain_s() -> None:
    assert ordered_positions(ARM, [], [1.0, 2.0, 3.0], "seed") == (1.0, 2.0, 3.0)


def test_nothing_given_is_none() -> None:
    assert ordered_positions(ARM, [], [], "seed") is None


@pytest.mark.parametrize(
    ("names", "positions", "text"),
    [
        ([], [1.0], r"seed: 1 positions; expected 3 \(base_yaw, shoulder_pitch, elbow_pitch\)"),
        (NAMES, [], "seed: 3 names with 0 positions; expected one position for each"),
        (NAMES[:2], [1.0, 2.0], "seed: 2 positions; expected 3"),
        (
            ["wrist", *NAMES[:2]],
            [1.0, 2.0, 3.0],
            "seed: unknown joint 'wrist'; the joints are base_yaw, shoulder_pitch, e",
        ),
        ([NAMES[0], *NAMES[:2]], [1.0, 2.0, 3.0], "seed: joint 'elbow_pitch' is named twice"),
        (NAMES, [nan, 1.0, 2.0], "seed: elbow_pitch is nan rad; expected a finite angle"),
        ([], [0.0, inf, 2.0], "seed: shoulder_pitch is inf rad; expected a finite angle"),
    ],
)
def test_what_is_wrong_is_named(names: list[str], positions: list[float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ordered_positions(ARM, names, positions, "seed")


def test_figures_of_requests() -> None:
    figures = RequestStatistics()
    for latency, success in ((0.001, True), (0.003, False), (0.002, True)):
        figures.add(latency, success)
    assert (figures.count, figures.failures, figures.max_latency) == (3, 1, 0.003)
    assert figures.mean_latency == pytest.approx(0.002)


def test_quaternion_turns_as_its_matrix() -> None:
    rng = np.random.default_rng(0)
    for turn in [*rng.normal(size=(50, 4)), *np.eye(4), *(np.eye(4) + 1e-9)]:
        w, x, y, z = turn / np.linalg.norm(turn)
        matrix = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        found = np.array(quaternion(matrix))
        assert abs(found @ (w, x, y, z)) == pytest.approx(1.0)
        assert found[0] >= 0.0
        assert np.linalg.norm(found) == pytest.approx(1.0)
