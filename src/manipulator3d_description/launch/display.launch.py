# SPDX-License-Identifier: Apache-2.0
"""Shows an arm in RViz, without driver and motion: sliders move its joints."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from manipulator3d_description.arm_profile import load_profile
from manipulator3d_description.robot_description import robot_description
from manipulator3d_description.share_folder import share_folder

ARGUMENTS = (
    DeclareLaunchArgument(
        "arm",
        default_value="capstone",
        description="arm profile by name (capstone, classic) or the path of a YAML file",
    ),
    DeclareLaunchArgument(
        "gui",
        default_value="true",
        choices=["true", "false"],
        description="start joint_state_publisher_gui with a slider for each joint; false shows joint_states of others",
    ),
    DeclareLaunchArgument(
        "rviz",
        default_value="true",
        choices=["true", "false"],
        description="start RViz with the project's configuration",
    ),
    DeclareLaunchArgument("namespace", default_value="", description="namespace of all nodes and topics"),
    DeclareLaunchArgument("tf_prefix", default_value="", description="text before every frame name, such as left_"),
)


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the nodes follow from their values."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=_nodes)])


def _nodes(context, *_args, **_kwargs):  # type: ignore[no-untyped-def]
    arm, gui, rviz, namespace, prefix = (context.launch_configurations[argument.name] for argument in ARGUMENTS)
    description = ParameterValue(robot_description(arm, prefix), value_type=str)
    nodes = [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            namespace=namespace,
            parameters=[{"robot_description": description}],
        )
    ]
    if gui == "true":
        home = {f"zeros.{name}": joint["home"] for name, joint in load_profile(arm)["joints"].items()}
        nodes.append(
            Node(
                package="joint_state_publisher_gui",
                executable="joint_state_publisher_gui",
                namespace=namespace,
                parameters=[home],
                on_exit=Shutdown(reason="the sliders are closed"),
            )
        )
    if rviz == "true":
        nodes.append(
            Node(
                package="rviz2",
                executable="rviz2",
                namespace=namespace,
                arguments=["-d", str(share_folder() / "rviz" / "manipulator3d.rviz"), "-f", f"{prefix}base_link"],
                on_exit=Shutdown(reason="RViz is closed"),
            )
        )
    return nodes
