# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a URDF, and where."""

import math

import numpy as np
import pytest

from manipulator3d_dashboard.urdf_drawing import drawing_from_urdf
from manipulator3d_description.robot_description import robot_description

SMALL = """
<robot name="small">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="ground"/>
  <link name="mast">
    <visual>
      <origin xyz="0 0 0.5"/><geometry><cylinder radius="0.1" length="1"/></geometry><material name="red"/>
    </visual>
    <visual><geometry><mesh filename="package://x/y.stl"/></geometry></visual>
  </link>
  <link name="slide"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
  <joint name="lift" type="prismatic">
    <parent link="mast"/><child link="slide"/><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><axis xyz="2 0 0"/>
  </joint>
  <joint name="turn" type="continuous"><parent link="ground"/><child link="mast"/><axis xyz="0 0 1"/></joint>
</robot>
"""


def matrix_product(q: np.ndarray, height: float, upper: float, offset: float, fore: float) -> np.ndarray:
    """Tool point by the arm's DH table."""
    product = np.eye(4)
    for theta, d, a, alpha in ((q[0], height, 0, math.pi / 2), (q[1], 0, upper, 0), (q[2], offset, fore, 0)):
        ct, st, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
        product = product @ np.array(
            [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]]
        )
    return product[:3, 3]


def test_joints_come_in_the_order_of_the_tree_whatever_the_order_of_the_file() -> None:
    drawing = drawing_from_urdf(SMALL)
    assert drawing.root == "ground"
    assert [joint.name for joint in drawing.joints] == ["turn", "lift"]
    assert drawing.paths() == {"ground": "ground", "mast": "ground/mast", "slide": "ground/mast/slide"}


def test_shapes_have_size_place_and_colour_and_a_mesh_is_named_as_not_drawn() -> None:
    drawing = drawing_from_urdf(SMALL)
    (mast,) = drawing.shapes["mast"]
    assert (mast.kind, mast.size, mast.pose.position) == ("cylinder", (0.1, 1.0), (0.0, 0.0, 0.5))
    assert mast.colour == (1.0, 0.0, 0.0, 1.0)
    assert drawing.shapes["slide"][0].size == (1.0, 2.0, 3.0)
    assert drawing.not_drawn == ("mast: a mesh is not drawn; the page draws boxes, cylinders and spheres",)


def test_a_prismatic_joint_moves_along_its_axis_in_its_own_frame() -> None:
    drawing = drawing_from_urdf(SMALL)
    place = drawing.link_pose("slide", {"turn": math.pi / 2, "lift": 0.25}).position
    # the axis x of the joint points along y after its own turn, and along -x after the mast's
    np.testing.assert_allclose(place, (-0.25, 0.0, 1.0), atol=1e-12)


def test_the_tool_of_the_drawn_arm_is_where_the_dh_table_puts_it() -> None:
    drawing = drawing_from_urdf(robot_description("capstone"))
    random = np.random.default_rng(4)
    for q in random.uniform(-2.5, 2.5, size=(50, 3)):
        positions = dict(zip(("base_yaw", "shoulder_pitch", "elbow_pitch"), q, strict=True))
        expected = matrix_product(q, 0.150, 0.220, -0.065, 0.180)
        np.testing.assert_allclose(drawing.link_pose("tool0", positions).position, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        ("no xml", "robot_description is not XML"),
        ("<sdf/>", "robot_description starts with <sdf>; expected <robot>, the root of a URDF"),
        (
            "<robot><link name='a'/><link name='b'/></robot>",
            "robot_description: 2 links are carried by no joint (a, b)",
        ),
        (
            "<robot><link name='a'/><link name='b'/><joint name='j' type='fixed'><child link='b'/></joint></robot>",
            "robot_description: joint j names no parent link",
        ),
        (
            "<robot><link name='a'><visual><geometry><sphere radius='big'/></geometry></visual></link></robot>",
            "robot_description: sphere radius is 'big'; expected 1 numbers",
        ),
        (
            "<robot><link name='a'><visual><origin xyz='0 nan 0'/><geometry><sphere radius='1'/></geometry></visual>"
            "</link></robot>",
            "robot_description: origin xyz is '0 nan 0'; expected 3 finite numbers",
        ),
    ],
)
def test_what_is_no_robot_is_refused_with_its_reason(xml: str, text: str) -> None:
    with pytest.raises(ValueError, match="robot_description") as error:
        drawing_from_urdf(xml)
    assert text in str(error.value)
