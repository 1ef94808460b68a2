# SPDX-License-Identifier: Apache-2.0
"""The launch file and `up` start the same nodes; needs ROS 2's launch."""

from pathlib import Path
from typing import Any

import pytest

from manipulator3d.launch_arguments import ARGUMENTS

LAUNCH_FILE = Path(__file__).resolve().parents[1] / "launch" / "bringup.launch.py"
launch_ros = pytest.importorskip("launch_ros", reason="ROS 2's launch_ros is not installed (the wheels have none)")


@pytest.fixture
def description() -> Any:
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    return get_launch_description_from_python_launch_file(str(LAUNCH_FILE))


def test_the_arguments_are_those_of_up(description: Any) -> None:
    declared = {argument.name: argument for argument in description.get_launch_arguments()}
    assert set(declared) == {argument.name for argument in ARGUMENTS}
    for argument in ARGUMENTS:
        assert "".join(part.text for part in declared[argument.name].default_value) == argument.default
        assert declared[argument.name].description.startswith(argument.description)


def test_the_nodes_are_those_of_up(description: Any) -> None:
    from launch import LaunchContext
    from launch.actions import OpaqueFunction
    from launch_ros.actions import Node

    context = LaunchContext()
    context.launch_configurations.update({argument.name: argument.default for argument in ARGUMENTS})
    context.launch_configurations["hardware"] = "mock"
    function = next(entity for entity in description.entities if isinstance(entity, OpaqueFunction))
    nodes = [entity for entity in function.execute(context) if isinstance(entity, Node)]
    assert [node.node_executable for node in nodes][1:] == ["arm_simulator", "kinematics_node", "motion_server"]
