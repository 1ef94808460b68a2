# SPDX-License-Identifier: Apache-2.0
"""The RViz configuration shows robot, frames and markers, also to an RViz that starts late."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PACKAGE = Path(__file__).resolve().parents[1]
MANAGER = yaml.safe_load((PACKAGE / "rviz" / "manipulator3d.rviz").read_text(encoding="utf-8"))["Visualization Manager"]
DISPLAYS = {display["Class"].rpartition("/")[2]: display for display in MANAGER["Displays"]}


def topics(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key.endswith("Topic") and isinstance(value, dict):
                yield value["Value"]
            yield from topics(value)
    elif isinstance(node, list):
        for value in node:
            yield from topics(value)


def test_all_displays_are_there_and_enabled() -> None:
    assert set(DISPLAYS) == {"Grid", "RobotModel", "TF", "MarkerArray", "InteractiveMarkers"}
    assert all(display["Enabled"] for display in DISPLAYS.values())
    assert MANAGER["Global Options"]["Fixed Frame"] == "base_link"


@pytest.mark.parametrize(("display", "key"), [("RobotModel", "Description Topic"), ("MarkerArray", "Topic")])
def test_latched_topics_are_received_late(display: str, key: str) -> None:
    topic = DISPLAYS[display][key]
    assert topic["Durability Policy"] == "Transient Local"
    assert topic["Reliability Policy"] == "Reliable"


def test_targets_can_be_grabbed_because_the_workspace_around_them_is_off_at_first() -> None:
    assert DISPLAYS["MarkerArray"]["Namespaces"] == {"workspace": False}
    assert DISPLAYS["InteractiveMarkers"]["Interactive Markers Namespace"] == "targets"
    assert MANAGER["Tools"][0]["Class"] == "rviz_default_plugins/Interact"


def test_topics_follow_the_namespace() -> None:
    assert sorted(topics(MANAGER)) == ["clicked_point", "markers", "robot_description"]


def test_the_view_suits_a_desktop_arm() -> None:
    assert DISPLAYS["Grid"]["Cell Size"] == 0.1
    assert DISPLAYS["TF"]["Marker Scale"] == 0.2
    assert 0.5 <= MANAGER["Views"]["Current"]["Distance"] <= 1.5
    assert [view["Name"] for view in MANAGER["Views"]["Saved"]] == ["Front", "Side", "Top"]


def test_every_launch_argument_is_used() -> None:
    source = (PACKAGE / "launch" / "display.launch.py").read_text(encoding="utf-8")
    declared = [
        ast.literal_eval(node.args[0])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "DeclareLaunchArgument"
    ]
    assert declared == ["arm", "gui", "rviz", "namespace", "tf_prefix"]
