# SPDX-License-Identifier: Apache-2.0
"""The tree of frames: transforms against matrices, and what each broken URDF is answered with."""

import math

import numpy as np
import pytest
import yaml

from manipulator3d_description.robot_description import robot_description
from manipulator3d_description.share_folder import share_folder
from manipulator3d_description.urdf_tree import Transform, UrdfTree, quaternion_from_rpy, rotated


def matrix(transform: Transform) -> np.ndarray:
    x, y, z, w = transform.rotation
    result = np.eye(4)
    result[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    result[:3, 3] = transform.translation
    return result


def pose_of(tree: UrdfTree, tip: str, positions: dict[str, float]) -> np.ndarray:
    by_child = {transform.child: transform for transform in tree.fixed() + tree.moving(positions)}
    pose = np.eye(4)
    while tip != tree.root:
        pose = matrix(by_child[tip]) @ pose
        tip = by_child[tip].parent
    return pose


def urdf(joints: str, links: str = "a b") -> str:
    return "<robot>" + "".join(f'<link name="{name}"/>' for name in links.split()) + joints + "</robot>"


def joint(attributes: str = 'name="j" type="revolute"', inside: str = "", ends: str = "a b") -> str:
    parent, child = ends.split()
    return f'<joint {attributes}><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


@pytest.mark.parametrize("arm", ["capstone", "classic"])
def test_transforms_multiply_out_to_the_dh_formula(arm: str) -> None:
    tree = UrdfTree(robot_description(arm, "left_"))
    assert tree.root == "left_base_link"
    geometry = yaml.safe_load((share_folder() / "config" / "arms" / f"{arm}.yaml").read_text())["geometry"]
    for q0, q1, q2 in np.random.default_rng(3).uniform(-math.pi, math.pi, (200, 3)):
        pose = pose_of(tree, "left_tool0", {"base_yaw": q0, "shoulder_pitch": q1, "elbow_pitch": q2})
        reach = geometry["upper_arm"] * math.cos(q1) + geometry["forearm"] * math.cos(q1 + q2)
        height = geometry["upper_arm"] * math.sin(q1) + geometry["forearm"] * math.sin(q1 + q2)
        d = geometry["lateral_offset"]
        expected = [
            reach * math.cos(q0) + d * math.sin(q0),
            reach * math.sin(q0) - d * math.cos(q0),
            geometry["base_height"] + height,
        ]
        assert np.abs(pose[:3, 3] - expected).max() < 1e-14


def test_rpy_turns_about_fixed_axes() -> None:
    turn = quaternion_from_rpy(math.pi / 2, 0.0, math.pi / 2)
    # x stays under the roll and the yaw takes it to y; the roll takes y to z, which the yaw leaves
    assert rotated(turn, (1.0, 0.0, 0.0)) == pytest.approx((0.0, 1.0, 0.0))
    assert rotated(turn, (0.0, 1.0, 0.0)) == pytest.approx((0.0, 0.0, 1.0))


def test_prismatic_joint_slides_along_its_axis_in_the_turned_frame() -> None:
    inside = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="2 0 0"/>'
    tree = UrdfTree(urdf(joint('name="j" type="prismatic"', inside)))
    (transform,) = tree.moving({"j": 0.5})
    assert transform.translation == pytest.approx((1.0, 2.5, 3.0))


def test_axis_is_x_where_none_is_given_and_is_normalised() -> None:
    for inside in ("", '<axis xyz="5 0 0"/>'):
        (transform,) = UrdfTree(urdf(joint('name="j" type="continuous"', inside))).moving({"j": math.pi / 2})
        assert transform.rotation == pytest.approx((math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))


def test_a_mimic_follows_its_leader() -> None:
    leader = joint()
    follower = joint('name="k" type="prismatic"', '<mimic joint="j" multiplier="-2" offset="0.1"/>', "a c")
    tree = UrdfTree(urdf(leader + follower, "a b c"))
    transforms = {transform.child: transform for transform in tree.moving({"j": 0.3, "k": 9.0})}
    assert transforms["c"].translation == pytest.approx((-0.5, 0.0, 0.0))


def test_joints_without_a_known_position_give_no_transform() -> None:
    tree = UrdfTree(robot_description("capstone"))
    transforms = tree.moving({"base_yaw": 0.2, "somebody_elses_joint": 1.0, "tool0_fixed": 1.0})
    assert [transform.child for transform in transforms] == ["turret_link"]


MISTAKES = [
    ("name: capstone", "robot_description is not XML: .*; expected a URDF"),
    ("<sdf/>", "root element <sdf>; a URDF has <robot>"),
    ("<robot/>", "robot_description has no link"),
    (urdf("<joint/>"), "a joint has no name"),
    (urdf('<joint name="j" type="fixed"/>'), "a parent of joint j has no link"),
    (urdf(joint('name="j" type="floating"')), "joint j is of the type floating; this publisher knows fixed, revolute"),
    (urdf(joint(ends="a c")), "joint j names the link c, which robot_description does not have"),
    (urdf(joint() + joint()), "joint j stands twice in robot_description; rename one"),
    (urdf("", "a a"), "link a stands twice in robot_description; rename one"),
    (urdf("", "a b"), "no joint's child: a, b; a URDF has one"),
    (urdf(joint() + joint('name="k" type="fixed"')), "link b is the child of two joints; a URDF is a tree"),
    (urdf(joint() + joint('name="k" type="fixed"', ends="b a")), "no joint's child: none; a URDF has one"),
    (
        urdf(joint() + joint('name="k" type="fixed"', ends="b a"), "a b c"),
        "the joints around link a form a ring; a URDF is a tree",
    ),
    (urdf(joint(inside='<axis xyz="0 0 0"/>')), "joint j has the axis 0 0 0; give it a direction"),
    (urdf(joint(inside='<axis xyz="0 1"/>')), "joint j: xyz='0 1' has 2 numbers; expected 3"),
    (urdf(joint(inside='<origin xyz="0 nan 0"/>')), "joint j: xyz is 'nan'; expected a finite number"),
    (urdf(joint(inside='<origin rpy="0 up 0"/>')), "joint j: rpy is 'up'; expected a finite number"),
    (urdf(joint(inside='<mimic joint="k"/>')), "joint j mimics k, which is not a joint with a position of its own"),
]


@pytest.mark.parametrize(("xml", "text"), MISTAKES)
def test_a_broken_urdf_is_named(xml: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        UrdfTree(xml)
