# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics: round trips, completeness, edges, reasons."""

import dataclasses
from math import hypot, inf, isclose, nan, pi, tau
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_kinematics import (
    ArmModel,
    IkStatus,
    forward_kinematics,
    inverse_kinematics,
    inverse_kinematics_batch,
    link_frames,
)

CAPSTONE = ArmModel.profile("capstone")
CLASSIC = ArmModel.profile("classic")
UNIT = st.floats(0.0, 1.0)


def random_positions(arm: ArmModel, count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(arm.lower, arm.upper, (count, 3))


def keeps_floor(arm: ArmModel, q: np.ndarray) -> bool:
    heights = forward_kinematics(arm, q)[2], (link_frames(arm, q)[2] @ arm.elbow_pose)[2, 3]
    return min(heights) >= arm.floor_z


def same_angles(a: Any, b: Any) -> bool:
    return all(isclose(np.remainder(x - y + pi, tau), pi, abs_tol=1e-6) for x, y in zip(a, b, strict=True))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.tuples(UNIT, UNIT, UNIT), st.sampled_from([CAPSTONE, CLASSIC]))
def test_every_position_is_found_among_the_solutions(part: tuple[float, float, float], arm: ArmModel) -> None:
    q = arm.lower + np.array(part) * (arm.upper - arm.lower)
    target = forward_kinematics(arm, q)
    if not keeps_floor(arm, q):
        return
    result = inverse_kinematics(arm, target)
    assert result.status is IkStatus.REACHED
    assert result.error is not None
    assert result.error <= 1e-9
    for solution in result.alternatives:
        assert forward_kinematics(arm, solution) == pytest.approx(target, abs=1e-9)
        assert np.all(solution >= arm.lower)
        assert np.all(solution <= arm.upper)
    on_axis = arm.lateral_offset == 0.0 and hypot(target[0], target[1]) < 1e-6
    singular = abs(np.sin(q[2])) < 1e-6
    assert on_axis or singular or any(same_angles(solution, q) for solution in result.alternatives)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.tuples(*[st.floats(-pi, pi)] * 3),
    st.floats(0.05, 1.0),
    st.floats(0.05, 1.0),
    st.floats(-0.3, 0.3),
    st.floats(-0.3, 0.3),
)
def test_random_geometries_close(
    q: tuple[float, float, float], upper_arm: float, forearm: float, lateral: float, shoulder: float
) -> None:
    arm = ArmModel("any", 0.2, upper_arm, lateral, forearm, shoulder_offset=shoulder, floor_z=-inf)
    target = forward_kinematics(arm, q)
    result = inverse_kinematics(arm, target, seed=q)
    assert result.status is IkStatus.REACHED
    assert all(np.abs(forward_kinematics(arm, s) - target).max() <= 2e-9 for s in result.alternatives)


def test_interior_targets_close_to_rounding(urdf_arm: ArmModel) -> None:
    for q in random_positions(urdf_arm, 200):
        result = inverse_kinematics(
            dataclasses.replace(urdf_arm, floor_z=-inf), forward_kinematics(urdf_arm, q), seed=q
        )
        assert result.q == pytest.approx(q, abs=1e-7)
        assert result.error is not None
        assert result.error < 1e-12


def test_no_reachable_cell_is_refused_and_no_refused_cell_is_reachable(profile_arm: ArmModel) -> None:
    """Against brute force: the tool points of a grid over all joints, binned."""
    axes = [np.linspace(low, high, 61) for low, high in zip(profile_arm.lower[1:], profile_arm.upper[1:], strict=True)]
    q = np.stack(np.meshgrid([0.0], *axes, indexing="ij"), axis=-1).reshape(-1, 3)
    shoulder_up = profile_arm.base_height + profile_arm.upper_arm * np.sin(q[:, 1])
    points = forward_kinematics(profile_arm, q)
    kept = (points[:, 2] >= 0.0) & (shoulder_up >= 0.0)
    _, status = inverse_kinematics_batch(profile_arm, points[kept], "auto")
    assert not status.any()
    # what is refused has no point of the fine grid near it
    targets = np.random.default_rng(1).uniform([-0.1, -0.1, 0.0], [0.5, 0.1, 0.6], (3000, 3))
    turned = targets[inverse_kinematics_batch(profile_arm, targets, "auto")[1] != 0]
    cylinder = np.column_stack((np.hypot(turned[:, 0], turned[:, 1]), turned[:, 2]))
    reached = np.column_stack((np.hypot(points[kept, 0], points[kept, 1]), points[kept, 2]))
    facing = np.abs(np.arctan2(turned[:, 1], turned[:, 0])) < 1.0
    step = 0.02
    occupied = {(int(w / step), int(z / step)) for w, z in reached}
    # a refused target may share a cell of the boundary with reached ones, but not one whose whole neighbourhood is
    # reached
    for w, z in cylinder[facing]:
        column, row = int(w / step), int(z / step)
        neighbours = {(column + i, row + j) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        assert not neighbours <= occupied


@pytest.mark.parametrize("elbow", ["down", "up", "auto"])
@pytest.mark.parametrize("widened", [False, True])
def test_batch_answers_as_the_scalar_function(urdf_arm: ArmModel, elbow: str, widened: bool) -> None:
    arm = urdf_arm
    if widened:
        arm = dataclasses.replace(arm, lower=[-9.0, -8.0, -inf], upper=[9.0, 8.0, inf])
    near = forward_kinematics(arm, np.random.default_rng(5).uniform(-3, 3, (300, 3)))
    targets = np.concatenate((near, np.random.default_rng(6).uniform(-0.6, 0.8, (300, 3))))
    q, status = inverse_kinematics_batch(arm, targets, elbow)
    for target, row, code in zip(targets, q, status, strict=True):
        result = inverse_kinematics(arm, target, elbow)
        assert result.status == code
        if result.q is None:
            assert np.isnan(row).all()
        else:
            assert row == pytest.approx(result.q, abs=1e-12)


def test_batch_of_none_is_none() -> None:
    q, status = inverse_kinematics_batch(CAPSTONE, np.zeros((0, 3)))
    assert (q.shape, status.shape) == ((0, 3), (0,))


def test_batch_names_the_row_that_is_not_finite() -> None:
    with pytest.raises(ValueError, match=r"targets: row 1 \[0\.1, nan, 0\.2\] has a number that is not finite"):
        inverse_kinematics_batch(CAPSTONE, [[0.1, 0.1, 0.1], [0.1, nan, 0.2]])


def test_elbow_down_has_a_positive_elbow_angle() -> None:
    target = (0.05, 0.2, 0.3)
    down, up = (inverse_kinematics(CAPSTONE, target, elbow) for elbow in ("down", "up"))
    assert down.q is not None
    assert up.q is not None
    assert (down.elbow, up.elbow) == ("down", "up")
    assert down.q[2] > 0.0 > up.q[2]


def test_mission_joints_are_found_from_home() -> None:
    q = inverse_kinematics(CAPSTONE, (0.25, -0.15, 0.16), seed=CAPSTONE.home).q
    assert q == pytest.approx([-0.7653, 0.7205, -1.5698], abs=1e-4)


def test_seed_picks_the_nearest_in_travel_time() -> None:
    target = (0.15, 0.1, 0.3)
    solutions = inverse_kinematics(CLASSIC, target).alternatives
    assert len(solutions) == 4
    for solution in solutions:
        assert inverse_kinematics(CLASSIC, target, seed=solution + 0.05).q == pytest.approx(solution)
    ordered = inverse_kinematics(CLASSIC, target, seed=solutions[2]).alternatives
    times = [np.sum(((s - solutions[2]) / CLASSIC.velocity) ** 2) for s in ordered]
    assert times == sorted(times)


def test_an_angle_and_its_equal_by_a_whole_turn_are_one_solution() -> None:
    behind = forward_kinematics(CLASSIC, (pi, 0.5, 0.7))
    near_minus = inverse_kinematics(CLASSIC, behind, seed=(-3.0, 0.5, 0.7))
    near_plus = inverse_kinematics(CLASSIC, behind, seed=(3.0, 0.5, 0.7))
    assert near_minus.q == pytest.approx([-pi, 0.5, 0.7])
    assert near_plus.q == pytest.approx([pi, 0.5, 0.7])
    assert len(near_plus.alternatives) == len(inverse_kinematics(CLASSIC, (0.3, 0.0, behind[2])).alternatives)
    wide = dataclasses.replace(CLASSIC, lower=[-9.0, -1.5, -2.9], upper=[9.0, 3.1, 2.9])
    far = forward_kinematics(wide, (8.5, 0.5, 0.7))
    assert inverse_kinematics(wide, far, seed=(8.0, 0.5, 0.7)).q == pytest.approx([8.5, 0.5, 0.7])
    assert inverse_kinematics(wide, far, seed=(2.0, 0.5, 0.7)).q == pytest.approx([8.5 - tau, 0.5, 0.7])


@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (0.6, 0.0, 0.8), (0.0, 0.6, 0.8), (-0.5, 0.5, 0.70710678)])
@pytest.mark.parametrize("beyond", [-1e-12, 0.0, 1e-12, 9e-10])
def test_full_stretch_within_rounding_is_reached(direction: tuple[float, float, float], beyond: float) -> None:
    scale = (CLASSIC.reach + beyond) / float(np.linalg.norm(direction))
    result = inverse_kinematics(CLASSIC, scale * np.array(direction))
    assert result.status is IkStatus.REACHED
    assert result.q is not None
    assert result.error is not None
    assert result.error <= 1e-9


@pytest.mark.parametrize("bend", [0.0, pi])
def test_a_straight_or_folded_elbow_comes_back_exactly(urdf_arm: ArmModel, bend: float) -> None:
    """Rounding of the target leaves no trace in the elbow angle, one at a time and in a batch."""
    arm = dataclasses.replace(urdf_arm, lower=np.full(3, -5.0), upper=np.full(3, 5.0), floor_z=-inf)
    q = np.random.default_rng(8).uniform(-3, 3, (100, 3))
    q[:, 2] = arm.joint_angles(np.array([0.0, 0.0, bend]))[2]
    targets = forward_kinematics(arm, q)
    # next to the inner cylinder the radius itself is known to half of the digits alone
    local = (targets - arm.mount[:3, 3]) @ arm.mount[:3, :3]
    away = local[:, 0] ** 2 + local[:, 1] ** 2 > arm.lateral_offset**2 + 0.02**2
    targets, q = targets[away], q[away]
    assert len(targets) > 30
    batch, status = inverse_kinematics_batch(arm, targets, "auto")
    assert not status.any()
    for target, row, straight in zip(targets, batch, q, strict=True):
        result = inverse_kinematics(arm, target, seed=straight)
        assert result.q is not None
        assert result.error is not None
        assert np.remainder(result.q[2] - straight[2] + 1.0, tau) == pytest.approx(1.0, abs=1e-14)
        assert result.error <= 1e-14
        assert row == pytest.approx(inverse_kinematics(arm, target).q, abs=1e-12)


def test_a_little_more_than_full_stretch_is_refused() -> None:
    result = inverse_kinematics(CLASSIC, (CLASSIC.reach + 2e-9, 0.0, 0.0))
    assert result.status is IkStatus.TOO_FAR
    assert not result
    assert result.q is None


def free(upper_arm: float = 0.25, forearm: float = 0.2, lateral: float = 0.0) -> ArmModel:
    return ArmModel("free", 0.3, upper_arm, lateral, forearm, floor_z=-inf)


@pytest.mark.parametrize("inside", [-1e-12, 0.0, 9e-10])
def test_full_fold_within_rounding_is_reached(inside: float) -> None:
    result = inverse_kinematics(free(), (0.05 - inside, 0.0, 0.3))
    assert result.status is IkStatus.REACHED
    assert result.q is not None
    assert abs(result.q[2]) == pytest.approx(pi, abs=1e-4)


def test_target_on_the_yaw_axis_leaves_the_yaw_to_the_seed() -> None:
    target = (0.0, 0.0, 0.3)
    without = inverse_kinematics(CLASSIC, target)
    assert without.q is not None
    assert without.q[0] == 0.0
    assert without.message == "the target lies on the yaw axis, where any angle of base_yaw serves"
    seeded = inverse_kinematics(CLASSIC, target, seed=(1.1, 0.5, 0.5))
    assert seeded.q is not None
    assert seeded.q[0] == 1.1
    assert {len(without.alternatives), len(seeded.alternatives)} == {2}


@pytest.mark.parametrize("tiny", [1e-16, 1e-13, 1e-9, 5e-324])
def test_tiny_coordinates_are_exact_and_quiet(tiny: float) -> None:
    with np.errstate(all="raise"):
        result = inverse_kinematics(CLASSIC, (tiny, -tiny, 0.3))
    assert result.error is not None
    assert result.error <= 1e-12


@pytest.mark.parametrize("huge", [1e9, 1e160, 1.7e308])
def test_huge_coordinates_are_too_far(huge: float) -> None:
    assert inverse_kinematics(CAPSTONE, (huge, -huge, huge)).status is IkStatus.TOO_FAR
    assert inverse_kinematics_batch(CAPSTONE, [[huge, -huge, huge]])[1].tolist() == [IkStatus.TOO_FAR]


def test_straight_up_is_reached() -> None:
    result = inverse_kinematics(CLASSIC, (0.0, 0.0, CLASSIC.reach))
    assert result.q == pytest.approx([0.0, pi / 2, 0.0], abs=1e-7)


def test_inside_the_cylinder_is_too_close() -> None:
    result = inverse_kinematics(CAPSTONE, (0.03, 0.04, 0.3))
    assert result.status is IkStatus.TOO_CLOSE
    assert result.message == (
        "target (0.030, 0.040, 0.300) m is 0.015 m inside the cylinder of radius 0.065 m around the yaw axis, "
        "which the lateral offset keeps out of reach; move it outward or allow the closest point"
    )
    on_it = inverse_kinematics(CAPSTONE, (0.065, 0.0, 0.4))
    assert on_it.status is IkStatus.REACHED
    assert on_it.error is not None
    assert on_it.error < 1e-12


def test_equal_links_reach_the_shoulder_itself() -> None:
    arm = free(0.2, 0.2)
    for target in ((0.0, 0.0, 0.3), (1e-16, 0.0, 0.3), (1e-12, 0.0, 0.3 + 1e-12), (1e-6, 1e-6, 0.3)):
        result = inverse_kinematics(arm, target, seed=(0.3, 0.4, 2.0))
        assert result.status is IkStatus.REACHED
        assert result.error is not None
        assert result.error < 1e-12
    exact = inverse_kinematics(arm, (0.0, 0.0, 0.3), seed=(0.3, 0.4, 2.0))
    assert exact.q == pytest.approx([0.3, 0.4, pi])


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_a_single_limit_hit_within_rounding_is_that_limit(side: str) -> None:
    limit = 0.7 if side == "lower" else -0.7
    limits = {"lower": np.full(3, -inf), "upper": np.full(3, inf)} | {side: np.full(3, limit)}
    arm = dataclasses.replace(free(), **limits)
    for q0, slip in ((0.1, 1e-12), (0.1, -1e-12), (0.3, 0.0)):
        q = np.array([limit + q0 * np.sign(limit), limit, limit])
        target = forward_kinematics(arm, q + np.array([0.0, slip, -slip]))
        result = inverse_kinematics(arm, target, seed=q)
        assert result.q == pytest.approx(q, abs=1e-9)
        assert np.all((result.q >= arm.lower) & (result.q <= arm.upper))
        many, _ = inverse_kinematics_batch(arm, [target], "down" if side == "lower" else "up")
        one = inverse_kinematics(arm, target, "down" if side == "lower" else "up").q
        assert many[0] == pytest.approx(one, abs=1e-12)


def test_limits_hit_within_rounding_are_clipped_to_the_limit() -> None:
    corner = forward_kinematics(CAPSTONE, CAPSTONE.upper)
    result = inverse_kinematics(CAPSTONE, corner * (1.0 + 1e-13), seed=CAPSTONE.upper)
    assert result.q is not None
    assert np.all(result.q <= CAPSTONE.upper)
    assert result.q == pytest.approx(CAPSTONE.upper, abs=1e-9)


@pytest.mark.parametrize(
    ("target", "elbow", "status", "text"),
    [
        ((0.5, 0.0, 0.2), "auto", IkStatus.TOO_FAR,
         "target (0.500, 0.000, 0.200) m is 0.09827 m farther from the shoulder than the arm reaches (0.400 m); "
         "move it closer or allow the closest point"),
        ((0.07, 0.0, 0.15), "auto", IkStatus.TOO_CLOSE,
         "target (0.070, 0.000, 0.150) m is 0.01402 m nearer to the shoulder than the folded arm reaches (0.040 m); "
         "move it outward or allow the closest point"),
        ((0.2, 0.0, -0.1), "auto", IkStatus.BELOW_FLOOR,
         "target (0.200, 0.000, -0.100) m lies 0.1 m below the floor (z = 0.000 m); "
         "raise it or allow the closest point"),
        ((-0.3, 0.0, 0.1), "up", IkStatus.JOINT_LIMIT,
         "target (-0.300, 0.000, 0.100) m needs base_yaw at 2.923 rad, 0.02319 rad above its upper limit of 2.900 rad; "
         "move the target or allow the closest point"),
        ((0.3, 0.0, 0.01), "down", IkStatus.JOINT_LIMIT,
         "target (0.300, 0.000, 0.010) m needs shoulder_pitch at 3.032 rad, 0.4323 rad above its upper limit of "
         "2.600 rad; elbow up reaches it"),
    ],
)  # fmt: skip
def test_refusals_name_the_figures_and_the_remedy(
    target: tuple[float, float, float], elbow: str, status: IkStatus, text: str
) -> None:
    result = inverse_kinematics(CAPSTONE, target, elbow)
    assert (result.status, result.message) == (status, text)


def test_elbow_below_the_floor_is_refused() -> None:
    arm = dataclasses.replace(CLASSIC, lower=[-pi, -1.5, 0.0], upper=[pi, 1.5, 2.9])
    q = np.array([0.2, -0.4, 1.8])
    target = forward_kinematics(arm, q)
    assert target[2] > 0.0 > link_frames(arm, q)[2][2, 3]
    result = inverse_kinematics(arm, target)
    assert result.status is IkStatus.BELOW_FLOOR
    depth = -link_frames(arm, q)[2][2, 3]
    assert result.message.endswith(
        f": the elbow would be {depth:.4g} m below the floor (z = 0.000 m); raise the target or allow the closest point"
    )
    assert inverse_kinematics(dataclasses.replace(arm, floor_z=-inf), target).q == pytest.approx(q)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"p": (nan, 0.1, 0.2)}, r"target: \(nan, 0\.1, 0\.2\) has a number that is not finite"),
        ({"p": (0.1, -inf, 0.2)}, "target: .* not finite"),
        ({"p": (0.1, 0.2)}, "target: expected three numbers"),
        ({"p": (0.2, 0.1, 0.2), "seed": (0.0, nan, 0.0)}, "seed: .* not finite"),
        ({"p": (0.2, 0.1, 0.2), "seed": [0.0]}, "seed: expected three numbers"),
        ({"p": (0.2, 0.1, 0.2), "elbow": "left"}, "elbow: 'left' .* known: auto, down, up"),
        ({"p": (0.2, 0.1, 0.2), "preferred_elbow": "auto"}, "'auto' preferred is unknown"),
    ],
)
def test_wrong_arguments_raise(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        inverse_kinematics(CAPSTONE, **arguments)


def test_integers_and_arrays_are_targets_too() -> None:
    arm = free(1.0, 1.0)
    expected = inverse_kinematics(arm, (1.0, 1.0, 1.0)).q
    assert inverse_kinematics(arm, (1, 1, 1)).q == pytest.approx(expected)
    assert inverse_kinematics(arm, np.array([1, 1, 1])).q == pytest.approx(expected)
    assert inverse_kinematics(arm, np.ones(3, dtype=np.float32)).q == pytest.approx(expected)


@pytest.mark.parametrize(
    ("offset_sign", "height_sign", "low", "high"), [(-1, -1, 0.3, 0.45), (-1, 1, 0.1299, 0.1301), (1, 1, 0.0, 1e-15)]
)
def test_the_printed_closed_form_contradicts_its_table_in_two_signs(
    offset_sign: int, height_sign: int, low: float, high: float
) -> None:
    """The article's theta1 = atan2(y, x) − atan2(d, r) and s = −(z − L1), and the same with the signs turned."""
    arm, errors = CAPSTONE, []
    for q in random_positions(arm, 500) * (1.0, 1.0, 0.5) + (0.0, 0.0, 1.3):
        x, y, z = target = forward_kinematics(arm, q)
        d, l2, l3, rise = arm.lateral_offset, arm.upper_arm, arm.forearm, z - arm.base_height
        r = np.sqrt(x * x + y * y - d * d)
        cosine = (r * r + rise * rise - l2 * l2 - l3 * l3) / (2.0 * l2 * l3)
        theta3 = np.arctan2(np.sqrt(1.0 - cosine**2), cosine)
        theta1 = np.arctan2(y, x) + offset_sign * np.arctan2(d, r)
        theta2 = np.arctan2(height_sign * rise, r) - np.arctan2(l3 * np.sin(theta3), l2 + l3 * np.cos(theta3))
        errors.append(np.linalg.norm(forward_kinematics(arm, (theta1, theta2, theta3)) - target))
    assert low <= np.median(errors) <= high
