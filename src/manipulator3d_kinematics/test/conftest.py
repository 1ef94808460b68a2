# SPDX-License-Identifier: Apache-2.0
"""Arms that the tests of kinematics share."""

from collections.abc import Callable
from math import pi

import pytest

from manipulator3d_description.robot_description import robot_description
from manipulator3d_kinematics import ArmModel

# Other names, axes of either sign, joint frames turned against the links, offsets everywhere, inertias with products.
_INERTIA = '<inertia ixx=".1" iyy=".2" izz=".25" ixy=".01" ixz=".02" iyz=".03"/>'
_LIMIT = 'velocity="1" effort="5"'
_ODD = f"""<robot name="odd"><link name="world"/>
<link name="stand"><inertial><mass value="2"/><origin xyz=".01 .02 .03"/>{_INERTIA}</inertial></link>
<link name="l1"><inertial><mass value="2"/><origin xyz=".01 .02 .03" rpy=".1 .2 .3"/>{_INERTIA}</inertial></link>
<link name="l2"><inertial><mass value="1.3"/><origin xyz=".11 .02 .03" rpy=".1 .2 .3"/>{_INERTIA}</inertial></link>
<link name="l3"><inertial><mass value=".7"/><origin xyz=".01 .12 .03" rpy="1 .2 .3"/>{_INERTIA}</inertial></link>
<link name="tcp"><inertial><mass value=".2"/>{_INERTIA}</inertial></link>
<joint name="mounting" type="fixed"><parent link="world"/><child link="stand"/>
  <origin xyz=".1 .2 .3" rpy="BASE"/></joint>
<joint name="j1" type="revolute"><parent link="stand"/><child link="l1"/><origin xyz="0 0 .1" rpy="0 0 .4"/>
  <axis xyz="0 0 -1"/><limit lower="-2.5" upper="2.8" {_LIMIT}/></joint>
<joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz=".03 .02 .05" rpy="{pi / 2} 0 .2"/>
  <axis xyz="0 0 -1"/><limit lower="-1" upper="2" {_LIMIT}/></joint>
<joint name="j3" type="revolute"><parent link="l2"/><child link="l3"/><origin xyz=".25 .05 .02" rpy="0 0 .3"/>
  <axis xyz="0 0 1"/><limit lower="-2.7" upper="2.5" {_LIMIT}/></joint>
<joint name="tip" type="fixed"><parent link="l3"/><child link="tcp"/>
  <origin xyz=".1 .15 .03" rpy=".3 .2 .1"/></joint></robot>"""


def odd_urdf_text(rpy: str = "0 0 .7") -> str:
    return _ODD.replace("BASE", rpy)


_URDFS: dict[str, Callable[[], str]] = {
    "capstone": lambda: robot_description("capstone"),
    "classic": lambda: robot_description("classic"),
    "odd": odd_urdf_text,
    "ceiling": lambda: odd_urdf_text(f"{pi} 0 .7"),
    "tilted": lambda: odd_urdf_text(".5 .9 .7"),
}


@pytest.fixture
def odd_urdf() -> Callable[..., str]:
    return odd_urdf_text


@pytest.fixture(params=list(_URDFS), scope="module")
def urdf(request: pytest.FixtureRequest) -> str:
    return _URDFS[request.param]()


@pytest.fixture(scope="module")
def urdf_arm(urdf: str) -> ArmModel:
    return ArmModel.from_urdf(urdf)


@pytest.fixture(params=["capstone", "classic"], scope="module")
def profile_arm(request: pytest.FixtureRequest) -> ArmModel:
    return ArmModel.profile(request.param)
