# SPDX-License-Identifier: Apache-2.0
"""Starts the stack: the arm's driver, kinematics, motion, and RViz where asked for."""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from manipulator3d.launch_arguments import ARGUMENTS, LaunchArguments, checked_arguments
from manipulator3d.node_command import is_installed
from manipulator3d.nodes.running_stack import running_stack
from manipulator3d.stack import NodeSpec, stack_nodes
from manipulator3d_description.robot_description import robot_description


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the nodes follow from their values."""
    declared = [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.description,
            choices=list(argument.choices) or None,
        )
        for argument in ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_nodes)])


def _nodes(context, *_args, **_kwargs):  # type: ignore[no-untyped-def]
    given = {argument.name: context.launch_configurations[argument.name] for argument in ARGUMENTS}
    arguments = checked_arguments(given)
    occupied = running_stack(arguments.namespace)
    if occupied:
        raise RuntimeError(occupied)
    share = get_package_share_directory("manipulator3d_description")
    rviz_config = os.path.join(share, "rviz", "manipulator3d.rviz")
    description = robot_description(arguments.arm, arguments.tf_prefix)
    specs = stack_nodes(arguments, description, lambda package: is_installed(package, os.environ), rviz_config)
    return [_node(spec, arguments) for spec in specs]


def _node(spec: NodeSpec, arguments: LaunchArguments) -> Node:
    # texts are wrapped: launch would otherwise read them as YAML
    parameters = {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in spec.parameters.items()
    }
    return Node(
        package=spec.package,
        executable=spec.executable,
        name=spec.name,
        namespace=arguments.namespace,
        parameters=[parameters, *([arguments.params_file] if arguments.params_file else [])],
        arguments=[*spec.arguments, "--ros-args", "--log-level", arguments.log_level],
        output="screen",
        on_exit=Shutdown(reason=f"{spec.name} has ended") if spec.required else None,
    )
