# SPDX-License-Identifier: Apache-2.0
"""Arm profiles: what is read, and what each mistake in one is answered with."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from manipulator3d_description.arm_profile import JOINT_NAMES, load_profile, profile_names, profile_path


def changed(profile: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    """A copy of the profile with one field set, as `joints.base_yaw.lower`; the value `...` takes the field away."""
    profile = copy.deepcopy(profile)
    *parents, last = field.split(".")
    place = profile
    for parent in parents:
        place = place[parent]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return profile


def written(folder: Path, profile: Any) -> str:
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(profile), encoding="utf-8")
    return str(path)


def test_both_profiles_come_with_the_package() -> None:
    assert profile_names() == ["capstone", "classic"]


def test_capstone_has_the_numbers_of_the_real_arm() -> None:
    profile = load_profile("capstone")
    assert profile["name"] == "capstone"
    assert profile["geometry"] == {"base_height": 0.150, "upper_arm": 0.220, "lateral_offset": -0.065, "forearm": 0.180}
    joints = [profile["joints"][name] for name in JOINT_NAMES]
    assert [(joint["lower"], joint["upper"]) for joint in joints] == [(-2.9, 2.9), (-0.5, 2.6), (-2.6, 2.6)]
    assert [joint["velocity"] for joint in joints] == [2.0, 1.5, 2.0]
    assert [joint["acceleration"] for joint in joints] == [8.0, 6.0, 8.0]
    assert [joint["jerk"] for joint in joints] == [60.0, 50.0, 60.0]
    assert [joint["home"] for joint in joints] == [0.0, 1.2, -1.6]
    assert {joint["counts_per_revolution"] for joint in joints} == {8384}


def test_classic_has_its_own_lengths_and_limits_and_the_same_rates() -> None:
    classic, capstone = load_profile("classic"), load_profile("capstone")
    assert classic["geometry"] == {"base_height": 0.0, "upper_arm": 0.25, "lateral_offset": 0.0, "forearm": 0.20}
    limits = [(classic["joints"][name]["lower"], classic["joints"][name]["upper"]) for name in JOINT_NAMES]
    assert limits == [pytest.approx((-3.14159265, 3.14159265)), pytest.approx((-1.57079633, 3.14159265)), (-2.9, 2.9)]
    for name in JOINT_NAMES:
        for rate in ("velocity", "acceleration", "jerk"):
            assert classic["joints"][name][rate] == capstone["joints"][name][rate]


def test_a_profile_of_ones_own_is_taken_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, changed(load_profile("capstone"), "geometry.upper_arm", 0.3))
    assert load_profile(path)["geometry"]["upper_arm"] == 0.3
    monkeypatch.chdir(tmp_path)
    assert profile_path("own.yaml") == Path(path)


@pytest.mark.parametrize("arm", ["capstan", "missing/arm.yaml", "", ".."])
def test_a_missing_profile_lists_those_there_are(arm: str) -> None:
    with pytest.raises(ValueError, match=r"there is no .*; the profiles are capstone, classic, or give the path"):
        load_profile(arm)


MISTAKES = [
    ("geometry", ..., "field geometry is missing; take it over from capstone.yaml and set its value"),
    ("geometry.forearm", ..., "field geometry.forearm is missing; take it over from capstone.yaml and set its value"),
    ("joints.elbow_pitch.jerk", ..., "field joints.elbow_pitch.jerk is missing"),
    (
        "geometry.uper_arm",
        0.2,
        "field geometry.uper_arm is unknown; allowed here: base_height, upper_arm, lateral_offset",
    ),
    (
        "joints.wrist_roll",
        {},
        "field joints.wrist_roll is unknown; allowed here: base_yaw, shoulder_pitch, elbow_pitch",
    ),
    ("name", 7, "field name is 7 (int); expected a text"),
    ("name", " ", "field name is ' ' (str); expected a text"),
    ("geometry", 3.0, "field geometry is 3.0 (float); expected the fields base_height, upper_arm"),
    ("geometry.upper_arm", -0.22, "field geometry.upper_arm is -0.22 m; expected a number above zero"),
    ("geometry.upper_arm", 0.0, "field geometry.upper_arm is 0.0 m; expected a number above zero"),
    ("geometry.base_height", -0.1, "field geometry.base_height is -0.1 m; expected zero or above"),
    ("geometry.forearm", "long", "field geometry.forearm is 'long' (str); expected a number in m"),
    ("geometry.forearm", "1e-1", "expected a number in m (YAML takes 1e-3 for a text; write 1.0e-3)"),
    ("geometry.forearm", True, "field geometry.forearm is True (bool); expected a number in m"),
    ("geometry.forearm", None, "field geometry.forearm is empty; expected a number in m"),
    ("geometry.lateral_offset", float("nan"), "field geometry.lateral_offset is nan m; expected a finite number"),
    ("floor_z", float("inf"), "field floor_z is inf m; expected a finite number"),
    ("masses.tool", 0, "field masses.tool is 0 kg; expected a number above zero"),
    ("mounting.xyz", [0.0, 0.0], "field mounting.xyz is [0.0, 0.0] (list); expected three numbers in m"),
    ("mounting.rpy", [0.0, "x", 0.0], "field mounting.rpy[1] is 'x' (str); expected a number in rad"),
    ("joints.base_yaw.effort", 0.0, "field joints.base_yaw.effort is 0.0 N·m; expected a number above zero"),
    ("joints.base_yaw.friction", -0.1, "field joints.base_yaw.friction is -0.1 N·m; expected zero or above"),
    ("joints.base_yaw.counts_per_revolution", 8384.5, "is 8384.5 counts; expected a whole number above zero"),
    ("joints.base_yaw.counts_per_revolution", 0, "is 0 counts; expected a whole number above zero"),
    (
        "joints.elbow_pitch.lower",
        2.6,
        "joints.elbow_pitch: lower is 2.6 rad and upper is 2.6 rad; lower must be below upper",
    ),
    (
        "joints.elbow_pitch.lower",
        3.0,
        "joints.elbow_pitch: lower is 3.0 rad and upper is 2.6 rad; lower must be below upper",
    ),
    (
        "joints.shoulder_pitch.home",
        -0.6,
        "joints.shoulder_pitch: home is -0.6 rad; it must lie between lower, -0.5 rad, and upper, 2.6 rad",
    ),
    ("gripper.length", 0.18, "gripper.length is 0.18 m; it must be shorter than geometry.forearm, 0.18 m"),
]


@pytest.mark.parametrize(("field", "value", "text"), MISTAKES)
def test_a_mistake_is_named_with_its_file_and_field(tmp_path: Path, field: str, value: Any, text: str) -> None:
    path = written(tmp_path, changed(load_profile("capstone"), field, value))
    with pytest.raises(ValueError, match=f"^{re.escape(path)}: .*{re.escape(text)}"):
        load_profile(path)


@pytest.mark.parametrize("profile", [None, [1, 2], "capstone"])
def test_a_file_without_fields_is_refused(tmp_path: Path, profile: Any) -> None:
    with pytest.raises(ValueError, match=r"the profile is .*; expected the fields name, geometry"):
        load_profile(written(tmp_path, profile))


def test_a_file_that_is_not_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("geometry: [1, 2", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^{path} cannot be read as YAML"):
        load_profile(str(path))
