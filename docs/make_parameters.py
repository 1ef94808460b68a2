# SPDX-License-Identifier: Apache-2.0
"""Writes docs/parameters.md from the nodes' own declarations: `python docs/make_parameters.py [--check]`."""

import sys
from pathlib import Path

from manipulator3d.nodes.recorder import RecorderParameters
from manipulator3d_control.nodes.arm_simulator import SimulatorParameters
from manipulator3d_control.nodes.motion_parameters import MotionParameters
from manipulator3d_dashboard.parameters import DashboardParameters
from manipulator3d_description.nodes.state_publisher import StatePublisherParameters
from manipulator3d_hw_bridge.bridge_parameters import BridgeParameters
from manipulator3d_kinematics.nodes.kinematics_node import KinematicsParameters
from manipulator3d_node.parameter import ParameterSpec, parameter_specs

_PAGE = Path(__file__).with_name("parameters.md")
_NODES: dict[str, type] = {
    "motion_server": MotionParameters,
    "kinematics_node": KinematicsParameters,
    "arm_simulator": SimulatorParameters,
    "bridge_node": BridgeParameters,
    "dashboard_node": DashboardParameters,
    "recorder": RecorderParameters,
    "robot_state_publisher (the stand-in)": StatePublisherParameters,
}
_HEAD = """# Parameters of the nodes

`ros2 param describe NODE NAME` says the same. All are set at the start of a node; a value that is not allowed ends it
with a message that names the value and the bounds. `docs/make_parameters.py` writes this page.
"""


def page() -> str:
    """The page's text."""
    parts = [_HEAD]
    for node, parameters in _NODES.items():
        parts.append(f"\n## {node}\n\n| parameter | default | unit | allowed | meaning |\n|---|---|---|---|---|\n")
        parts += [_row(spec) for spec in parameter_specs(parameters)]
    return "".join(parts)


def _row(spec: ParameterSpec) -> str:
    default = "" if spec.default in ("", ()) else f"`{spec.default}`"
    return f"| `{spec.name}` | {default} | {spec.unit} | {spec.bounds} | {spec.description} |\n"


def main() -> int:
    """Write the page, or with --check tell whether it is up to date; returns the exit code."""
    if sys.argv[1:] == ["--check"]:
        if _PAGE.read_text() == page():
            return 0
        print("docs/parameters.md is not up to date; run python docs/make_parameters.py", file=sys.stderr)
        return 1
    _PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
