# SPDX-License-Identifier: Apache-2.0
"""Cross-section, volume, shell and picture of the reachable set."""

import dataclasses
import sys
from collections.abc import Callable
from math import inf, pi
from pathlib import Path

import numpy as np
import pytest

from manipulator3d_kinematics import ArmModel, forward_kinematics, inverse_kinematics_batch, workspace
from manipulator3d_kinematics.outline import outlines
from manipulator3d_kinematics.surface import surface
from manipulator3d_kinematics.workspace import section_reached
from manipulator3d_kinematics.workspace_plot import main
from manipulator3d_kinematics.workspace_shell import workspace_shell


def area(outline: np.ndarray) -> float:
    x, y = outline.T
    return float(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def test_volume_of_a_free_arm_is_that_of_the_shell() -> None:
    arm = ArmModel("free", 0.5, 0.22, 0.0, 0.18, lower=-inf, upper=inf, floor_z=-inf)
    found = workspace(arm)
    assert found.volume == pytest.approx(4 / 3 * pi * (0.4**3 - 0.04**3), rel=1e-3)
    # half rings: the whole and the hole touch the yaw axis, so there is one outline
    assert sum(area(outline) for outline in found.section) == pytest.approx(pi / 2 * (0.4**2 - 0.04**2), rel=3e-3)


def test_volume_agrees_with_solved_targets(profile_arm: ArmModel) -> None:
    reach = profile_arm.reach + 0.1
    low, high = np.array([-reach, -reach, -0.1]), np.array([reach, reach, 0.8])
    targets = np.random.default_rng(0).uniform(low, high, (200_000, 3))
    part = np.mean(inverse_kinematics_batch(profile_arm, targets, "auto")[1] == 0)
    assert workspace(profile_arm).volume == pytest.approx(part * np.prod(high - low), rel=0.02)


def test_cross_section_agrees_with_solved_targets(profile_arm: ArmModel) -> None:
    rng = np.random.default_rng(1)
    width, height = rng.uniform(0.0, 0.55, 3000), rng.uniform(0.0, 0.7, 3000)
    whole_turn = dataclasses.replace(
        profile_arm, lower=[-pi, *profile_arm.lower[1:]], upper=[pi, *profile_arm.upper[1:]]
    )
    targets = np.column_stack((width, np.zeros(3000), height))
    solved = inverse_kinematics_batch(whole_turn, targets, "auto")[1] == 0
    assert np.array_equal(section_reached(profile_arm, width, height), solved)


def test_outline_is_exact_at_its_corners(profile_arm: ArmModel) -> None:
    for outline in workspace(profile_arm).section:
        assert section_reached(profile_arm, *outline.T).all()
        middle = outline.mean(axis=0)
        assert not section_reached(profile_arm, *(outline + 1e-6 * (outline - middle)).T).all()


def test_outlines_of_a_ring_turn_opposite_ways() -> None:
    nodes = np.linspace(-2.0, 2.0, 81)

    def ring(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (np.hypot(x, y) <= 1.5) & (np.hypot(x, y) >= 0.5)

    areas = sorted(area(outline) for outline in outlines(ring, nodes, nodes))
    assert areas == pytest.approx([-pi * 0.25, pi * 2.25], rel=5e-3)


def test_an_empty_set_has_no_outline() -> None:
    nodes = np.linspace(0.0, 1.0, 5)
    assert outlines(lambda x, y: np.zeros(x.shape, dtype=bool), nodes, nodes) == []


def test_shell_is_on_the_boundary_of_what_is_reached(urdf_arm: ArmModel) -> None:
    triangles = workspace_shell(urdf_arm)
    assert len(triangles) % 3 == 0
    assert 1000 < len(triangles) < 60_000
    assert triangles[:, 2].min() >= urdf_arm.floor_z - 1e-9
    sample = triangles[:: len(triangles) // 200]
    axis = urdf_arm.mount[:3, 3]
    inside = sample + 1e-4 * (axis + urdf_arm.base_height * urdf_arm.mount[:3, 2] - sample)
    near = np.concatenate([sample + delta for delta in np.vstack((np.eye(3), -np.eye(3))) * 2e-3] + [inside, sample])
    reached = inverse_kinematics_batch(urdf_arm, near, "auto")[1].reshape(-1, len(sample)) == 0
    assert np.mean(reached.any(axis=0)) > 0.97
    if not urdf_arm.is_upright:
        assert np.mean(~reached.all(axis=0)) > 0.97


def test_surface_of_a_ball_has_its_area_and_is_closed() -> None:
    nodes = np.linspace(-1.3, 1.3, 27)
    triangles = surface(lambda points: np.linalg.norm(points - 0.013, axis=1) <= 1.0, nodes, nodes, nodes)
    assert np.linalg.norm(triangles - 0.013, axis=1) == pytest.approx(np.ones(len(triangles)), abs=1e-5)
    a, b, c = triangles.reshape(-1, 3, 3).transpose(1, 0, 2)
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0 == pytest.approx(4.0 * pi, rel=0.01)
    _, corner = np.unique(triangles.round(9), axis=0, return_inverse=True)
    sides = np.sort(corner.reshape(-1, 3)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    sides = sides[sides[:, 0] != sides[:, 1]]
    _, times = np.unique(sides, axis=0, return_counts=True)
    assert set(times.tolist()) <= {2, 4}


def test_a_cross_section_above_a_tilted_floor_is_refused(odd_urdf: Callable[[str], str]) -> None:
    tilted = ArmModel.from_urdf(odd_urdf(".5 .9 .7"))
    with pytest.raises(ValueError, match=r"odd: its yaw axis \(.*\) is tilted against the floor, .*workspace_shell"):
        workspace(tilted)


def test_without_a_floor_a_tilted_arm_reaches_as_much_as_an_upright_one(odd_urdf: Callable[[str], str]) -> None:
    tilted, upright = (
        dataclasses.replace(ArmModel.from_urdf(odd_urdf(rpy)), floor_z=-inf) for rpy in (".5 .9 .7", "0 0 .7")
    )
    assert workspace(tilted, 0.03).volume == pytest.approx(workspace(upright, 0.03).volume, rel=1e-3)
    sample = workspace_shell(tilted)[::40]
    nearer = sample + 1e-3 * (tilted.mount[:3, 3] + tilted.base_height * tilted.mount[:3, 2] - sample)
    assert np.mean(inverse_kinematics_batch(tilted, np.concatenate((sample, nearer)), "auto")[1] == 0) > 0.4


def test_reachable_points_are_within_the_outline_s_extent(profile_arm: ArmModel) -> None:
    q = np.random.default_rng(2).uniform(profile_arm.lower, profile_arm.upper, (2000, 3))
    points = forward_kinematics(profile_arm, q)
    heights = profile_arm.base_height + profile_arm.upper_arm * np.sin(q[:, 1])
    kept = points[(points[:, 2] > 0.0) & (heights > 0.0)]
    outline = np.concatenate(workspace(profile_arm).section)
    assert np.hypot(kept[:, 0], kept[:, 1]).max() <= outline[:, 0].max() + 1e-3
    assert kept[:, 2].max() <= outline[:, 1].max() + 1e-3


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "workspace.png"
    assert main(["capstone", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_wrong_usage_of_the_picture_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capstone"]) == 2
    assert "usage: python -m manipulator3d_kinematics.workspace_plot PROFILE FILE.png" in capsys.readouterr().err


def test_a_missing_matplotlib_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match="needs matplotlib; install it"):
        main(["capstone", str(tmp_path / "workspace.png")])


def test_cell_must_be_positive() -> None:
    with pytest.raises(ValueError, match="cell: 0 m; it must be above 0"):
        workspace(ArmModel.profile("capstone"), 0)
