# SPDX-License-Identifier: Apache-2.0
"""The arm model from profiles and URDFs."""

import dataclasses
import pickle
from collections.abc import Callable
from math import pi
from pathlib import Path

import numpy as np
import pytest

from manipulator3d_description.robot_description import robot_description
from manipulator3d_kinematics import ArmModel, forward_kinematics, inverse_kinematics, link_frames, named_frames
from manipulator3d_kinematics.profile import profile_path


@pytest.mark.parametrize("name", ["capstone", "classic"])
def test_urdf_and_profile_give_the_same_arm(name: str) -> None:
    of_urdf, of_profile = ArmModel.from_urdf(robot_description(name)), ArmModel.profile(name)
    for field in dataclasses.fields(ArmModel):
        one, other = getattr(of_urdf, field.name), getattr(of_profile, field.name)
        if field.name == "bodies":
            for body, same in zip(one, other, strict=True):
                assert body.mass == pytest.approx(same.mass, abs=1e-12)
                assert np.allclose(body.centre, same.centre, atol=1e-12)
                assert np.allclose(body.inertia, same.inertia, atol=1e-12)
        elif field.name != "fixed_frames":
            assert np.allclose(one, other, atol=1e-15) if isinstance(one, np.ndarray) else one == pytest.approx(other)
    assert of_urdf.is_plain


def test_capstone_has_the_numbers_of_the_documents() -> None:
    arm = ArmModel.profile("capstone")
    assert (arm.base_height, arm.upper_arm, arm.lateral_offset, arm.forearm) == (0.150, 0.220, -0.065, 0.180)
    assert arm.velocity.tolist() == [2.0, 1.5, 2.0]
    assert arm.home.tolist() == [0.0, 1.2, -1.6]


def test_rods_have_their_moments_about_the_joint() -> None:
    arm = ArmModel.profile("capstone")
    body = arm.bodies[1]
    assert body.inertia[1, 1] == pytest.approx(body.mass * 0.22**2 / 12)
    assert body.inertia[1, 1] + body.mass * body.centre[0] ** 2 == pytest.approx(body.mass * 0.22**2 / 3)


def test_profile_by_a_wrong_name_lists_the_profiles() -> None:
    with pytest.raises(ValueError, match="there is no arm profile 'capstan'; profiles: capstone, classic"):
        ArmModel.profile("capstan")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("upper_arm: 0.220", "upper_arm: -0.220"), "upper_arm is -0.22 m; it must be above 0"),
        (("upper_arm: 0.220", "upper_arm: long"), r"geometry\.upper_arm is 'long'; expected a finite number"),
        (("  forearm: 0.180", "  fore: 0.180"), r"geometry\.forearm is missing; expected a number"),
        (("    upper: 2.9", "    upper: .nan"), r"joints\.base_yaw\.upper is nan; expected a finite number"),
        (("    upper: 2.9", "    upper: -2.9"), "base_yaw has the lower limit -2.9 rad and the upper limit -2.9 rad"),
    ],
)
def test_bad_profile_is_refused(tmp_path: Path, change: tuple[str, str], text: str) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(profile_path("capstone").read_text().replace(*change))
    with pytest.raises(ValueError, match=text):
        ArmModel.from_yaml(path)


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, "cannot read the arm profile"), ("a: [", "is not YAML"), ("- 1", "has no fields; expected name, geometry")],
)
def test_unreadable_profile_is_refused(tmp_path: Path, content: str | None, text: str) -> None:
    path = tmp_path / "arm.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=text):
        ArmModel.from_yaml(path)


def test_chain_is_found_by_structure(odd_urdf: Callable[..., str]) -> None:
    arm = ArmModel.from_urdf(odd_urdf())
    assert arm.joint_names == ("j1", "j2", "j3")
    assert (arm.base_frame, arm.elbow_frame, arm.tool_frame) == ("world", "l3", "tcp")
    assert arm.fixed_frames.keys() == {"world", "stand"}
    assert arm.acceleration.tolist() == [4.0, 4.0, 4.0]
    assert arm.jerk.tolist() == [32.0, 32.0, 32.0]


def test_fingers_behind_the_elbow_are_no_joints_of_the_arm() -> None:
    finger = """<link name="finger"/><joint name="slide" type="prismatic"><parent link="forearm_link"/><child
    link="finger"/> <axis xyz="0 1 0"/><limit lower="0" upper="1" velocity="1" effort="1"/></joint></robot>"""
    arm = ArmModel.from_urdf(robot_description("capstone").replace("</robot>", finger))
    assert arm.tool_frame == "tool0"
    assert arm.forearm == pytest.approx(0.18)


_FIRST = '"><parent link="stand"'


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("robot", "sdf"), "the robot description's element is <sdf>; expected <robot>"),
        (('lower="-2.5"', 'lower="x"'), "joint j1: limit: lower is 'x'; expected a number"),
        (('<axis xyz="0 0 1"/>', '<axis xyz="0 1 0"/>'), "joint j3 has the axis .* expected it parallel to that of j2"),
        ((f'rpy="{pi / 2} 0 .2"', 'rpy="0 0 .2"'), "joint j2 has the axis .* it perpendicular to that of j1"),
        ((f"revolute{_FIRST}", f"fixed{_FIRST}"), r"expected 3 turning joints, found 2 \(j2, j3\)"),
        ((f"revolute{_FIRST}", f"prismatic{_FIRST}"), "expected 3 turning joints, found 2"),
        (('<parent link="l1"/>', '<parent link="stand"/>'), "joint j1 is not in series with joint j3"),
        (('<child link="tcp"/>', '<child link="cup"/>'), "joint tip names the link 'cup', which the URDF"),
        (('<origin xyz=".25 .05 .02"', '<origin xyz="0 0 .02"'), "the link behind joint j2 is 0 m long"),
        (('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>'), "joint j3: its axis is .*; expected a direction"),
        (('<mass value=".7"/>', '<mass value="nan"/>'), "mass of l3: value is 'nan'; expected a finite number"),
    ],
)  # fmt: skip
def test_urdf_that_is_no_such_arm_is_refused(odd_urdf: Callable[..., str], change: tuple[str, str], text: str) -> None:
    xml = odd_urdf()
    assert change[0] in xml
    with pytest.raises(ValueError, match=text):
        ArmModel.from_urdf(xml.replace(*change))


def test_a_path_instead_of_a_urdf_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not XML .*; publish the expanded URDF, not a path or a xacro file"):
        ArmModel.from_urdf("/home/user/arm.xacro")


@pytest.mark.parametrize("field", ["lower", "velocity", "mount"])
def test_wrong_shapes_raise(field: str) -> None:
    with pytest.raises(ValueError, match=f"capstone: {field}: expected shape"):
        dataclasses.replace(ArmModel.profile("capstone"), **{field: [1.0, 2.0]})


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ArmModel.profile("capstone").upper[0] = 9.0


def test_another_tool_moves_the_tool_point_alone(urdf_arm: ArmModel) -> None:
    tip = np.array([0.02, 0.03, -0.04])
    arm = urdf_arm.with_tool(tip)
    for q in np.random.default_rng(1).uniform(-2, 2, (20, 3)):
        forearm = link_frames(urdf_arm, q)[2]
        expected = forearm @ [*(tip + np.array([urdf_arm.forearm, 0, 0])), 1.0]
        assert forward_kinematics(arm, q) == pytest.approx(expected[:3], abs=1e-14)
        assert named_frames(arm, q)[arm.tool_frame][:3, 3] == pytest.approx(expected[:3], abs=1e-14)
        for name in (arm.elbow_frame, arm.tool_frame):
            same = named_frames(urdf_arm, q)[name][:3, :3]
            assert named_frames(arm, q)[name][:3, :3] == pytest.approx(same, abs=1e-14)


def test_negative_payload_is_refused() -> None:
    with pytest.raises(ValueError, match="payload: -1 kg; it must be finite and at least 0"):
        ArmModel.profile("capstone").with_payload(-1.0)


def test_a_mounted_profile_stands_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    text = profile_path("capstone").read_text()
    moved = text.replace("xyz: [0.0, 0.0, 0.0]", "xyz: [0.5, 0.0, 0.0]").replace(
        "rpy: [0.0, 0.0, 0.0]", f"rpy: [0, 0, {pi / 2}]"
    )
    path.write_text(moved)
    arm = ArmModel.from_yaml(path)
    x, y, z = forward_kinematics(ArmModel.profile("capstone"), (0.1, 0.2, 0.3))
    assert forward_kinematics(arm, (0.1, 0.2, 0.3)) == pytest.approx([0.5 - y, x, z], abs=1e-15)
    assert inverse_kinematics(arm, (0.5 - y, x, z), seed=(0.1, 0.2, 0.3)).angles == pytest.approx((0.1, 0.2, 0.3))


def test_a_used_arm_can_be_pickled(urdf_arm: ArmModel) -> None:
    expected = forward_kinematics(urdf_arm, (0.1, 0.2, 0.3))
    inverse_kinematics(urdf_arm, expected)
    again = pickle.loads(pickle.dumps(urdf_arm))
    assert np.array_equal(forward_kinematics(again, (0.1, 0.2, 0.3)), expected)
