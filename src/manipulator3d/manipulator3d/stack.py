# SPDX-License-Identifier: Apache-2.0
"""Which nodes make up the stack, with which parameters; the launch file and `up` both read it from here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from manipulator3d.launch_arguments import LaunchArguments

_SIMULATED = ("mock", "sim")


@dataclass(frozen=True)
class NodeSpec:
    """One node of the stack.

    Attributes:
        package, executable: what is started.
        name: the node's name.
        parameters: values by name.
        arguments: command line besides ROS arguments.
        required: the stack ends when this node ends.
    """

    package: str
    executable: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    required: bool = True


def stack_nodes(
    arguments: LaunchArguments, robot_description: str, is_installed: Callable[[str], bool], rviz_config: str
) -> list[NodeSpec]:
    """List the nodes in the order of their start; they are stopped in the reverse order.

    Args:
        arguments: the launch arguments.
        robot_description: URDF of the arm.
        is_installed: tells whether a ROS package is installed; decides between a program and its stand-in.
        rviz_config: path of the RViz configuration.

    Raises:
        ValueError: RViz is asked for and not installed.
    """
    common: dict[str, Any] = {"use_sim_time": arguments.use_sim_time}
    described = common | {"robot_description": robot_description}
    if is_installed("robot_state_publisher"):
        described["publish_frequency"] = 1000.0
        state_publisher = NodeSpec("robot_state_publisher", "robot_state_publisher", "robot_state_publisher", described)
    else:
        state_publisher = NodeSpec("manipulator3d_description", "state_publisher", "robot_state_publisher", described)
    nodes = [state_publisher, _driver(arguments, common)]
    if arguments.record:
        # started first and stopped last
        nodes.insert(0, NodeSpec("manipulator3d", "recorder", "recorder", common | {"output": arguments.record}))
    nodes.append(
        NodeSpec(
            "manipulator3d_kinematics",
            "kinematics_node",
            "kinematics_node",
            common | {"preferred_elbow": arguments.preferred_elbow},
        )
    )
    nodes.append(
        NodeSpec(
            "manipulator3d_control",
            "motion_server",
            "motion_server",
            common | {"preferred_elbow": arguments.preferred_elbow},
        )
    )
    if arguments.dashboard:
        page = common | {"port": int(arguments.dashboard_port)}
        nodes.append(NodeSpec("manipulator3d_dashboard", "dashboard_node", "dashboard_node", page))
    if arguments.rviz:
        if not is_installed("rviz2"):
            raise ValueError("rviz:=true needs rviz2, which is not installed; install it or leave the argument")
        nodes.append(NodeSpec("manipulator3d_dashboard", "target_markers", "target_markers", common, required=False))
        view = ("-d", rviz_config, "-f", f"{arguments.tf_prefix}base_link")
        nodes.append(NodeSpec("rviz2", "rviz2", "rviz2", common, view, required=False))
    return nodes


def _driver(arguments: LaunchArguments, common: dict[str, Any]) -> NodeSpec:
    if arguments.hardware in _SIMULATED:
        return NodeSpec(
            "manipulator3d_control", "arm_simulator", "arm_simulator", common | {"hardware": arguments.hardware}
        )
    parameters = common | {"hardware": arguments.hardware, "port": arguments.port}
    return NodeSpec("manipulator3d_hw_bridge", "bridge_node", "bridge_node", parameters)
