# SPDX-License-Identifier: Apache-2.0
"""The one declaration of the stack's nodes, and the command lines made from it."""

from pathlib import Path

import pytest
import yaml

from manipulator3d.launch_arguments import LaunchArguments
from manipulator3d.node_command import executable_path, is_installed, node_command
from manipulator3d.stack import NodeSpec, stack_nodes


def nodes_of(arguments: LaunchArguments, *installed: str) -> dict[str, NodeSpec]:
    specs = stack_nodes(arguments, "<robot/>", lambda package: package in installed, "arm.rviz")
    return {spec.name: spec for spec in specs}


def test_the_stand_in_runs_only_where_the_real_program_is_absent() -> None:
    assert nodes_of(LaunchArguments())["robot_state_publisher"].package == "manipulator3d_description"
    real = nodes_of(LaunchArguments(), "robot_state_publisher")["robot_state_publisher"]
    assert real.package == "robot_state_publisher"


@pytest.mark.parametrize(
    ("hardware", "program"),
    [("mock", "arm_simulator"), ("sim", "arm_simulator"), ("emulated", "bridge_node"), ("serial", "bridge_node")],
)
def test_hardware_chooses_the_driver(hardware: str, program: str) -> None:
    nodes = nodes_of(LaunchArguments(hardware=hardware))
    drivers = [spec for name, spec in nodes.items() if name in ("arm_simulator", "bridge_node")]
    assert [spec.executable for spec in drivers] == [program]
    assert drivers[0].parameters["hardware"] == hardware


def test_arguments_reach_their_nodes() -> None:
    arguments = LaunchArguments(hardware="serial", port="/dev/arm", preferred_elbow="up", use_sim_time=True)
    nodes = nodes_of(arguments)
    assert nodes["bridge_node"].parameters["port"] == "/dev/arm"
    assert nodes["kinematics_node"].parameters["preferred_elbow"] == "up"
    assert nodes["motion_server"].parameters["preferred_elbow"] == "up"
    assert all(spec.parameters["use_sim_time"] is True for spec in nodes.values())


def test_the_page_is_served_on_its_port_when_asked_for() -> None:
    assert "dashboard_node" not in nodes_of(LaunchArguments())
    page = nodes_of(LaunchArguments(dashboard=True, dashboard_port="9000"))["dashboard_node"]
    assert page.parameters["port"] == 9000


def test_rviz_starts_when_installed_and_is_refused_otherwise() -> None:
    nodes = nodes_of(LaunchArguments(rviz=True, tf_prefix="left_"), "rviz2")
    rviz = nodes["rviz2"]
    assert not nodes["target_markers"].required
    assert rviz.arguments == ("-d", "arm.rviz", "-f", "left_base_link")
    assert not rviz.required
    with pytest.raises(ValueError, match="rviz:=true needs rviz2, which is not installed"):
        nodes_of(LaunchArguments(rviz=True))


def install(prefix: Path, package: str, executable: str) -> dict[str, str]:
    program = prefix / "lib" / package / executable
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    marker = prefix / "share/ament_index/resource_index/packages" / package
    marker.parent.mkdir(parents=True)
    marker.touch()
    return {"AMENT_PREFIX_PATH": f"/nowhere:{prefix}"}


def test_node_command_names_node_namespace_level_and_parameters(tmp_path: Path) -> None:
    env = install(tmp_path, "pkg", "prog")
    spec = NodeSpec("pkg", "prog", "arm", {"text": "yes", "number": 2.0}, ("-d", "file"))
    command = node_command(spec, LaunchArguments(namespace="/left/arm/", log_level="warn"), tmp_path, env)
    file = tmp_path / "arm.yaml"
    assert command == [
        *(str(tmp_path / "lib/pkg/prog"), "-d", "file", "--ros-args", "-r", "__node:=arm"),
        *("-r", "__ns:=/left/arm", "--log-level", "warn", "--params-file", str(file)),
    ]
    # a text that looks like a truth value must stay a text
    assert yaml.safe_load(file.read_text()) == {"/**": {"ros__parameters": {"text": "yes", "number": 2.0}}}


def test_a_parameter_file_comes_after_the_stacks_own_so_that_it_wins(tmp_path: Path) -> None:
    env = install(tmp_path, "package", "program")
    spec = NodeSpec("package", "program", "name", {"rate": 1.0})
    command = node_command(spec, LaunchArguments(params_file="/etc/arm.yaml"), tmp_path, env)
    assert command[-4:] == ["--params-file", str(tmp_path / "name.yaml"), "--params-file", "/etc/arm.yaml"]


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    env = install(tmp_path, "pkg", "prog")
    with pytest.raises(ValueError, match=f"pkg has no program other below /nowhere, {tmp_path}"):
        executable_path(NodeSpec("pkg", "other", "n"), env)


def test_is_installed_reads_the_ament_index(tmp_path: Path) -> None:
    env = install(tmp_path, "pkg", "prog")
    assert is_installed("pkg", env)
    assert not is_installed("other", env)
