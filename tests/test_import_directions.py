# SPDX-License-Identifier: Apache-2.0
"""Which module may import what."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = sorted(path.parent.name for path in ROOT.glob("src/*/setup.py"))
# packages of ROS 2 that only modules below nodes/ and launch files may import
ROS = {"rclpy", "tf2_ros", "launch", "launch_ros", "builtin_interfaces", "rcl_interfaces", "std_srvs", "action_msgs"}
# what each package may import of the others, besides itself
ALLOWED = {
    "manipulator3d_node": {"manipulator3d_interfaces"},
    "manipulator3d_kinematics": {"manipulator3d_node", "manipulator3d_interfaces"},
    "manipulator3d_description": {"manipulator3d_node"},
    "manipulator3d_control": {"manipulator3d_kinematics", "manipulator3d_node", "manipulator3d_interfaces"},
    "manipulator3d_hw_bridge": {"manipulator3d_kinematics", "manipulator3d_node", "manipulator3d_interfaces"},
    "manipulator3d_dashboard": {"manipulator3d_kinematics", "manipulator3d_node", "manipulator3d_interfaces"},
}


def sources(package: str) -> list[Path]:
    return sorted((ROOT / "src" / package / package).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_only_nodes_import_ros(package: str) -> None:
    """The command line of the package manipulator3d is a ROS client throughout and may import messages, not rclpy."""
    wrong = []
    for path in sources(package):
        if "nodes" in path.parts:
            continue
        modules = set(imported(path))
        in_cli = package == "manipulator3d" and "cli" in path.parts
        ros = modules & ({"rclpy", "tf2_ros"} if in_cli else ROS)
        messages = set() if in_cli else {module for module in modules if module.endswith(("_msgs", "_interfaces"))}
        wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in sorted(ros | messages)]
    assert wrong == []


@pytest.mark.parametrize("package", [name for name in PACKAGES if name in ALLOWED])
def test_packages_import_one_way(package: str) -> None:
    wrong = []
    for path in sources(package):
        ours = {name for name in imported(path) if name.startswith("manipulator3d")} - {package}
        allowed = ALLOWED[package]
        if package == "manipulator3d_kinematics" and "nodes" not in path.parts:
            allowed = set()
        wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in sorted(ours - allowed)]
    assert wrong == []


def test_control_and_bridge_meet_only_on_topics() -> None:
    for package, other in (
        ("manipulator3d_control", "manipulator3d_hw_bridge"),
        ("manipulator3d_hw_bridge", "manipulator3d_control"),
    ):
        assert not any(other in set(imported(path)) for path in sources(package))


def test_the_rule_finds_an_offender(tmp_path: Path) -> None:
    offender = tmp_path / "module.py"
    offender.write_text("def f():\n    import rclpy.node\n    from std_srvs.srv import Trigger\n")
    assert set(imported(offender)) == {"rclpy", "std_srvs"}
