# SPDX-License-Identifier: Apache-2.0
"""Tool point, frames, Jacobian and manipulability against the DH product, pinocchio and differences."""

from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_kinematics import (
    ArmModel,
    DHChain,
    condition_number,
    forward_kinematics,
    jacobian,
    manipulability,
    named_frames,
)

ANGLE = st.floats(-7.0, 7.0)
LENGTH = st.floats(0.01, 2.0)
OFFSET = st.floats(-1.0, 1.0)


def dh_product(arm: ArmModel, q: Any) -> np.ndarray:
    """The table of the class ArmModel, written out."""
    pose = np.eye(4)
    rows = (
        (q[0], arm.base_height, arm.shoulder_offset, np.pi / 2),
        (q[1], 0.0, arm.upper_arm, 0.0),
        (q[2], arm.lateral_offset, arm.forearm, 0.0),
    )
    for theta, d, a, alpha in rows:
        turn, twist = np.eye(4), np.eye(4)
        turn[:2, :2] = [[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]]
        twist[1:3, 1:3] = [[np.cos(alpha), -np.sin(alpha)], [np.sin(alpha), np.cos(alpha)]]
        turn[2, 3], twist[0, 3] = d, a
        pose = pose @ turn @ twist
    return pose


def pin_angles(model: Any, q: np.ndarray) -> np.ndarray:
    return pin.integrate(model, pin.neutral(model), q)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.tuples(ANGLE, ANGLE, ANGLE), LENGTH, LENGTH, OFFSET, OFFSET, OFFSET)
def test_tool_point_closes_against_the_dh_product(
    q: tuple[float, float, float], upper_arm: float, forearm: float, height: float, lateral: float, shoulder: float
) -> None:
    arm = ArmModel("any", height, upper_arm, lateral, forearm, shoulder_offset=shoulder)
    expected = dh_product(arm, q)[:3, 3]
    assert forward_kinematics(arm, q) == pytest.approx(expected, abs=1e-12)
    assert DHChain.from_arm(arm).forward(q)[:3, 3] == pytest.approx(expected, abs=1e-12)


def test_the_contract_s_formula(profile_arm: ArmModel) -> None:
    q0, q1, q2 = 0.3, 0.9, -1.4
    d, radial = profile_arm.lateral_offset, profile_arm.upper_arm * np.cos(q1) + profile_arm.forearm * np.cos(q1 + q2)
    expected = (
        radial * np.cos(q0) + d * np.sin(q0),
        radial * np.sin(q0) - d * np.cos(q0),
        profile_arm.base_height + profile_arm.upper_arm * np.sin(q1) + profile_arm.forearm * np.sin(q1 + q2),
    )
    assert forward_kinematics(profile_arm, (q0, q1, q2)) == pytest.approx(expected, abs=1e-15)


def test_frames_and_jacobian_agree_with_pinocchio(urdf: str, urdf_arm: ArmModel) -> None:
    model = pin.buildModelFromXML(urdf)
    data = model.createData()
    tool, elbow = (model.getFrameId(name) for name in (urdf_arm.tool_frame, urdf_arm.elbow_frame))
    for q in np.random.default_rng(0).uniform(-3, 3, (60, 3)):
        angles = pin_angles(model, q)
        pin.framesForwardKinematics(model, data, angles)
        frames = named_frames(urdf_arm, q)
        assert forward_kinematics(urdf_arm, q) == pytest.approx(data.oMf[tool].translation, abs=1e-12)
        assert frames[urdf_arm.tool_frame] == pytest.approx(data.oMf[tool].homogeneous, abs=1e-12)
        assert frames[urdf_arm.elbow_frame] == pytest.approx(data.oMf[elbow].homogeneous, abs=1e-12)
        expected = pin.computeFrameJacobian(model, data, angles, tool, pin.LOCAL_WORLD_ALIGNED)
        assert jacobian(urdf_arm, q) == pytest.approx(expected, abs=1e-12)


def test_jacobian_agrees_with_central_differences(urdf_arm: ArmModel) -> None:
    step = 1e-5
    for q in np.random.default_rng(2).uniform(-3, 3, (20, 3)):
        columns = [
            (forward_kinematics(urdf_arm, q + dq) - forward_kinematics(urdf_arm, q - dq)) / (2 * step)
            for dq in step * np.eye(3)
        ]
        assert jacobian(urdf_arm, q)[:3] == pytest.approx(np.array(columns).T, abs=1e-9)


def test_many_positions_give_the_same_as_one_at_a_time(urdf_arm: ArmModel) -> None:
    q = np.random.default_rng(3).uniform(-3, 3, (50, 3))
    for function in (forward_kinematics, jacobian, manipulability, condition_number):
        single = np.array([function(urdf_arm, row) for row in q])
        # the ratio of singular values loses digits where it is large
        expected = pytest.approx(single, rel=1e-9 if function is condition_number else 0.0, abs=1e-12)
        assert function(urdf_arm, q) == expected
        assert function(urdf_arm, q.tolist()) == expected


@pytest.mark.parametrize("kind", [np.float32, np.float64, int])
@pytest.mark.parametrize("form", [tuple, list, np.array])
def test_any_numbers_give_double_precision_in_a_new_array(kind: Any, form: Any) -> None:
    arm = ArmModel.profile("capstone")
    q = [kind(angle) for angle in (1.3, -2.2, 3.1)]
    exact = [float(angle) for angle in q]
    assert forward_kinematics(arm, form(q)) == pytest.approx(dh_product(arm, exact)[:3, 3], abs=1e-15)
    for function in (forward_kinematics, jacobian):
        result = function(arm, form(q))
        assert result.dtype == np.float64
        assert result == pytest.approx(function(arm, np.array([exact]))[0], abs=1e-15)
        kept = result.copy()
        result[0] = 9.0
        assert np.array_equal(function(arm, form(q)), kept)


def test_manipulability_is_the_determinant(urdf_arm: ArmModel) -> None:
    for q in np.random.default_rng(4).uniform(-3, 3, (20, 3)):
        matrix = jacobian(urdf_arm, q)[:3]
        assert manipulability(urdf_arm, q) == pytest.approx(abs(np.linalg.det(matrix)), abs=1e-14)
        assert condition_number(urdf_arm, q) == pytest.approx(np.linalg.cond(matrix), rel=1e-6)


@pytest.mark.parametrize("q", [(0.3, 0.5, 0.0), (0.0, 0.5, np.pi)])
def test_stretched_and_folded_arms_are_singular(q: tuple[float, float, float]) -> None:
    arm = ArmModel.profile("capstone")
    assert manipulability(arm, q) == pytest.approx(0.0, abs=1e-17)
    assert condition_number(arm, q) > 1e14


@pytest.mark.parametrize(
    ("q", "text"),
    [
        ((1.0, 2.0), "q: expected three numbers"),
        ((1.0, 10**400, 2.0), "q: expected three numbers"),
        (("a", "b", "c"), "q: expected three numbers"),
        (np.zeros((2, 2, 3)), r"q: expected three numbers, got an array of shape \(2, 2, 3\)"),
        ((0.0,) * 1000, r"q: expected three numbers, got \(0\.0, 0\.0, 0\.0, 0\.0, 0\.0, 0\.0, \.\.\.\)$"),
        ((0.0, np.nan, 0.0), "is not finite"),
        ((0.0, 0.0, np.inf), "is not finite"),
        ("abc", "q: expected three numbers|is not finite|must be real"),
        ([[0.0, 1.0]], r"q: expected shape \(N, 3\)"),
        ([[0.0, 1.0, 2.0], [0.0, np.inf, 1.0]], "q: row 1 .* is not finite"),
    ],
)
def test_wrong_positions_raise(q: Any, text: str) -> None:
    for function in (forward_kinematics, jacobian):
        with pytest.raises(ValueError, match=text):
            function(ArmModel.profile("capstone"), q)
