# SPDX-License-Identifier: Apache-2.0
"""The URDF of each profile: accepted by others, and equal to formulas computed here from the profile."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from manipulator3d_description.robot_description import robot_description

PACKAGE = Path(__file__).resolve().parents[1]
PROFILES = sorted(path.stem for path in (PACKAGE / "config" / "arms").glob("*.yaml"))
Element = ElementTree.Element


@cache
def profile_of(arm: str) -> dict[str, Any]:
    return yaml.safe_load((PACKAGE / "config" / "arms" / f"{arm}.yaml").read_text(encoding="utf-8"))


@cache
def robot_of(arm: str, tf_prefix: str = "") -> Element:
    return ElementTree.fromstring(robot_description(arm, tf_prefix))


def found(parent: Element, path: str) -> Element:
    element = parent.find(path)
    assert element is not None, f"{parent.attrib} has no {path}"
    return element


def numbers(element: Element, attribute: str) -> list[float]:
    return [float(number) for number in element.attrib[attribute].split()]


def without_comments(xml: str) -> str:
    return ElementTree.canonicalize(xml.strip(), strip_text=True)


def translation(x: float, y: float, z: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    matrix = np.eye(4)
    matrix[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return matrix


def chain_product(robot: Element, tip: str, q: dict[str, float]) -> np.ndarray:
    """Multiply the joints from the root to `tip`."""
    by_child = {found(joint, "child").attrib["link"]: joint for joint in robot.findall("joint")}
    pose = np.eye(4)
    while tip in by_child:
        joint = by_child[tip]
        origin = found(joint, "origin")
        roll, pitch, yaw = numbers(origin, "rpy")
        local = translation(*numbers(origin, "xyz"))
        local = (
            local @ turn(np.array([0, 0, 1]), yaw) @ turn(np.array([0, 1, 0]), pitch) @ turn(np.array([1, 0, 0]), roll)
        )
        if joint.attrib["type"] != "fixed":
            local = local @ turn(np.array(numbers(found(joint, "axis"), "xyz")), q[joint.attrib["name"]])
        pose = local @ pose
        tip = found(joint, "parent").attrib["link"]
    return pose


def dh_product(geometry: dict[str, float], q: np.ndarray) -> np.ndarray:
    """Multiply the rows of the DH table: Rz(theta) Tz(d) Tx(a) Rx(alpha)."""
    table = (
        (q[0], geometry["base_height"], 0.0, np.pi / 2),
        (q[1], 0.0, geometry["upper_arm"], 0.0),
        (q[2], geometry["lateral_offset"], geometry["forearm"], 0.0),
    )
    pose = np.eye(4)
    for theta, d, a, alpha in table:
        pose = pose @ turn(np.array([0, 0, 1]), theta) @ translation(a, 0, d) @ turn(np.array([1, 0, 0]), alpha)
    return pose


@pytest.mark.parametrize("arm", PROFILES)
def test_chain_multiplies_out_to_the_dh_table(arm: str) -> None:
    generator = np.random.default_rng(7)
    robot = robot_of(arm)
    for q in generator.uniform(-np.pi, np.pi, (200, 3)):
        pose = chain_product(robot, "tool0", dict(zip(("base_yaw", "shoulder_pitch", "elbow_pitch"), q, strict=True)))
        expected = dh_product(profile_of(arm)["geometry"], q)
        assert np.abs(pose[:3, 3] - expected[:3, 3]).max() < 1e-14
        # the tool's x axis is the last DH frame's x axis, along the forearm
        assert np.abs(pose[:3, 0] - expected[:3, 0]).max() < 1e-14


def test_positive_pitch_raises_the_tool() -> None:
    level = chain_product(robot_of("capstone"), "tool0", {"base_yaw": 0.0, "shoulder_pitch": 0.0, "elbow_pitch": 0.0})
    assert level[:3, 3] == pytest.approx([0.400, 0.065, 0.150])
    for joint in ("shoulder_pitch", "elbow_pitch"):
        raised = {"base_yaw": 0.0, "shoulder_pitch": 0.0, "elbow_pitch": 0.0} | {joint: 0.1}
        assert chain_product(robot_of("capstone"), "tool0", raised)[2, 3] > 0.16


def test_mounting_moves_the_whole_arm(tmp_path: Path) -> None:
    profile = profile_of("capstone") | {"mounting": {"xyz": [0.1, 0.2, 0.3], "rpy": [0.4, -0.5, 0.6]}}
    path = tmp_path / "mounted.yaml"
    path.write_text(yaml.safe_dump(profile), encoding="utf-8")
    q = {"base_yaw": 0.3, "shoulder_pitch": 0.7, "elbow_pitch": -0.9}
    mounting = translation(0.1, 0.2, 0.3) @ turn(np.array([0, 0, 1]), 0.6) @ turn(np.array([0, 1, 0]), -0.5)
    mounting = mounting @ turn(np.array([1, 0, 0]), 0.4)
    expected = mounting @ dh_product(profile["geometry"], np.array(list(q.values())))
    robot = ElementTree.fromstring(robot_description(str(path)))
    assert np.abs(chain_product(robot, "tool0", q)[:3, 3] - expected[:3, 3]).max() < 1e-14
    assert numbers(found(robot, "joint[@name='pedestal_link_fixed']/origin"), "xyz") == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("arm", PROFILES)
def test_links_and_joints_are_those_of_the_contract(arm: str) -> None:
    robot = robot_of(arm)
    links = {link.attrib["name"] for link in robot.findall("link")}
    assert {"base_link", "turret_link", "upper_arm_link", "forearm_link", "tool0"} <= links
    moving = [joint.attrib["name"] for joint in robot.findall("joint") if joint.attrib["type"] == "revolute"]
    assert moving == ["base_yaw", "shoulder_pitch", "elbow_pitch"]
    assert robot.find("link[@name='base_link']/inertial") is None


@pytest.mark.parametrize("arm", PROFILES)
def test_joints_carry_limits_and_dynamics_of_the_profile(arm: str) -> None:
    robot = robot_of(arm)
    for name, joint in profile_of(arm)["joints"].items():
        limit = found(robot, f"joint[@name='{name}']/limit")
        dynamics = found(robot, f"joint[@name='{name}']/dynamics")
        assert {key: float(value) for key, value in limit.attrib.items()} == {
            key: joint[key] for key in ("lower", "upper", "velocity", "effort")
        }
        assert {key: float(value) for key, value in dynamics.attrib.items()} == {
            key: joint[key] for key in ("damping", "friction")
        }


@pytest.mark.parametrize("arm", PROFILES)
def test_one_element_carries_what_urdf_has_none_for(arm: str) -> None:
    (extra,) = robot_of(arm).findall("manipulator3d")
    profile = profile_of(arm)
    assert extra.attrib["name"] == arm
    assert float(extra.attrib["floor_z"]) == profile["floor_z"]
    home = {name: float(value) for name, value in found(extra, "home").attrib.items()}
    assert home == {name: joint["home"] for name, joint in profile["joints"].items()}
    for name, joint in profile["joints"].items():
        its = found(extra, f"joint[@name='{name}']").attrib
        assert (float(its["acceleration"]), float(its["jerk"])) == (joint["acceleration"], joint["jerk"])
        assert int(its["counts_per_revolution"]) == joint["counts_per_revolution"]


def assert_body(robot: Element, link: str, mass: float, centre: list[float], diagonal: list[float]) -> None:
    inertial = found(robot, f"link[@name='{link}']/inertial")
    assert numbers(found(inertial, "mass"), "value") == [mass]
    assert numbers(found(inertial, "origin"), "xyz") == pytest.approx(centre, abs=1e-15)
    inertia = {key: float(value) for key, value in found(inertial, "inertia").attrib.items()}
    assert [inertia[key] for key in ("ixx", "iyy", "izz")] == pytest.approx(diagonal, rel=1e-12)
    assert [inertia[key] for key in ("ixy", "ixz", "iyz")] == [0, 0, 0]


@pytest.mark.parametrize("arm", PROFILES)
def test_rods_have_the_masses_and_inertias_of_the_formulas(arm: str) -> None:
    profile, robot = profile_of(arm), robot_of(arm)
    rods = {
        "upper_arm": (profile["geometry"]["upper_arm"], profile["shape"]["upper_arm_radius"], 1),
        "forearm": (profile["geometry"]["forearm"], profile["shape"]["forearm_radius"], 1),
        # lies behind the tool point
        "tool": (profile["gripper"]["length"], profile["gripper"]["radius"], -1),
    }
    for name, (length, radius, direction) in rods.items():
        mass = profile["masses"][name]
        link = "suction_tool_link" if name == "tool" else f"{name}_link"
        across = mass * length**2 / 12
        assert_body(robot, link, mass, [direction * length / 2, 0, 0], [mass * radius**2 / 2, across, across])
        about_the_end = across + mass * (length / 2) ** 2
        assert about_the_end == pytest.approx(mass * length**2 / 3)


@pytest.mark.parametrize("arm", PROFILES)
def test_pedestal_and_turret_are_cylinders(arm: str) -> None:
    profile, robot = profile_of(arm), robot_of(arm)
    height, radius = profile["shape"]["stand_height"] / 2, profile["shape"]["stand_radius"]
    top = profile["geometry"]["base_height"]
    for name, middle in (("pedestal", top - 1.5 * height), ("turret", top - 0.5 * height)):
        mass = profile["masses"][name]
        across = mass * (3 * radius**2 + height**2) / 12
        assert_body(robot, f"{name}_link", mass, [0, 0, middle], [across, across, mass * radius**2 / 2])


@pytest.mark.parametrize("arm", PROFILES)
def test_only_the_named_bodies_have_mass(arm: str) -> None:
    masses = [float(mass.attrib["value"]) for mass in robot_of(arm).iter("mass")]
    assert sorted(masses) == sorted(profile_of(arm)["masses"].values())


@pytest.mark.parametrize("arm", PROFILES)
def test_each_link_has_one_colour_that_is_defined(arm: str) -> None:
    robot = robot_of(arm)
    defined = {material.attrib["name"] for material in robot.findall("material")}
    for link in robot.findall("link"):
        colours = {material.attrib["name"] for material in link.findall("visual/material")}
        assert len(colours) == (1 if link.find("visual") is not None else 0), link.attrib["name"]
        assert colours <= defined


@pytest.mark.parametrize("arm", PROFILES)
def test_collision_bodies_are_fewer_and_every_body_has_a_size(arm: str) -> None:
    robot = robot_of(arm)
    assert 0 < len(list(robot.iter("collision"))) < len(list(robot.iter("visual")))
    for cylinder in robot.iter("cylinder"):
        assert float(cylinder.attrib["radius"]) > 0
        assert float(cylinder.attrib["length"]) > 0
    for box in robot.iter("box"):
        assert min(numbers(box, "size")) > 0


@pytest.mark.parametrize("arm", PROFILES)
def test_check_urdf_accepts_it(arm: str, tmp_path: Path) -> None:
    program = shutil.which("check_urdf")
    if program is None:
        pytest.skip("there is no check_urdf; install liburdfdom-tools")
    path = tmp_path / "arm.urdf"
    path.write_text(robot_description(arm, "left_"), encoding="utf-8")
    result = subprocess.run([program, str(path)], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "root Link: left_base_link" in result.stdout
    assert "rror" not in result.stdout + result.stderr


def test_prefix_stands_before_every_link_and_no_joint() -> None:
    plain, prefixed = robot_of("capstone"), robot_of("capstone", "left_")
    links = [link.attrib["name"] for link in plain.findall("link")]
    assert [link.attrib["name"] for link in prefixed.findall("link")] == [f"left_{name}" for name in links]
    joints = [joint.attrib["name"] for joint in plain.findall("joint")]
    assert [joint.attrib["name"] for joint in prefixed.findall("joint")] == joints
    ends = [
        end.attrib["link"]
        for joint in prefixed.findall("joint")
        for end in (found(joint, "parent"), found(joint, "child"))
    ]
    assert all(end.startswith("left_") for end in ends)


@pytest.mark.parametrize("prefix", ["1_", "a b", "${x}", "$(env HOME)", "-", "ä"])
def test_a_prefix_that_is_no_name_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match=r"^tf_prefix '.*' is not a ROS name; use letters, digits, _ and /"):
        robot_description("capstone", prefix)


def test_a_broken_profile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("name: own", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^{path}: field geometry is missing"):
        robot_description(str(path))


def test_the_xacro_program_gives_the_same_description() -> None:
    command = [
        sys.executable,
        "-c",
        "import xacro; xacro.main()",
        str(PACKAGE / "urdf" / "manipulator3d.urdf.xacro"),
        "arm:=classic",
        "prefix:=l_",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert without_comments(result.stdout) == without_comments(robot_description("classic", "l_"))


def test_it_works_from_an_installed_package(tmp_path: Path) -> None:
    name = "manipulator3d_description"
    modules, share = tmp_path / "modules", tmp_path / "prefix" / "share" / name
    shutil.copytree(PACKAGE / name, modules / name)
    for folder in ("config", "urdf"):
        shutil.copytree(PACKAGE / folder, share / folder)
    marker = tmp_path / "prefix" / "share" / "ament_index" / "resource_index" / "packages" / name
    marker.parent.mkdir(parents=True)
    marker.touch()
    program = f"from {name} import robot_description as m; print(m.__file__); print(m.robot_description('classic'))"
    environment = os.environ | {
        "PYTHONPATH": f"{modules}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "AMENT_PREFIX_PATH": f"{tmp_path / 'prefix'}{os.pathsep}{os.environ.get('AMENT_PREFIX_PATH', '')}",
    }
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=environment,
        cwd=tmp_path,
    )
    module, _, description = result.stdout.partition("\n")
    assert module.startswith(str(modules))
    assert without_comments(description) == without_comments(robot_description("classic"))
