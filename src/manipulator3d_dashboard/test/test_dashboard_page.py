# SPDX-License-Identifier: Apache-2.0
"""The page without a browser: what it holds, and that it sends nothing while nothing changes."""

import dataclasses
import queue
from collections.abc import Iterator

import numpy as np
import pytest

from manipulator3d_dashboard.arm_state import ArmState, Command, Mode
from manipulator3d_dashboard.marker import Marker, MarkerKind
from manipulator3d_dashboard.page import Page
from manipulator3d_dashboard.pose import Pose
from manipulator3d_dashboard.target import check_target, default_targets
from manipulator3d_dashboard.urdf_drawing import drawing_from_urdf
from manipulator3d_description.robot_description import robot_description
from manipulator3d_kinematics import ArmModel

JOINTS = {"base_yaw": 0.3, "shoulder_pitch": 1.0, "elbow_pitch": -1.2}
IDLE = ArmState(joints=JOINTS, joints_age=0.0, status_age=0.0, mode=Mode.IDLE, homed=True)
POINTS = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.1, 0.1, 0.0], [0.1, 0.1, 0.1]], dtype=np.float32)


@pytest.fixture(scope="module")
def urdf() -> str:
    return robot_description("capstone")


@pytest.fixture
def page() -> Iterator[Page]:
    page = Page("127.0.0.1", 0, "", "", lambda _request: None)
    yield page
    page.close()


def nodes(page: Page) -> set[str]:
    return set(page._server.scene._handle_from_node_name)


def sent(page: Page) -> int:
    return page._server._websock_server._broadcast_buffer.message_counter


def marker(kind: MarkerKind, frame: str = "base_link", key: tuple[str, int] = ("path", 1), **changes: object) -> Marker:
    plain = Marker(
        key,
        kind,
        frame,
        Pose((0.1, 0.2, 0.3)),
        (0.01, 0.02, 0.03),
        (1.0, 0.5, 0.0, 1.0),
        POINTS,
        np.empty((0, 4)),
        "text",
    )
    return dataclasses.replace(plain, **changes)


@pytest.mark.parametrize("arm", ["capstone", "classic"])
def test_the_first_targets_can_be_reached(arm: str) -> None:
    model = ArmModel.from_urdf(robot_description(arm))
    for point in default_targets(model):
        assert check_target(model, point).reachable


def test_an_unreachable_target_is_refused_with_its_reason(page: Page, urdf: str) -> None:
    task = page.task()
    assert page.refusal(task) == "no arm is known yet; publish a URDF on robot_description"
    page.set_robot(drawing_from_urdf(urdf), ArmModel.from_urdf(urdf))
    task = page.task()
    assert page.refusal(task) == ""
    reason = page.refusal(dataclasses.replace(task, start=(0.9, 0.0, 0.2)))
    assert reason.startswith("START (0.900, 0.000, 0.200) m: ")
    assert "farther from the shoulder" in reason
    assert page.refusal(dataclasses.replace(task, goal=(0.2, 0.2, -0.1))).startswith("GOAL (0.200, 0.200, -0.100) m: ")
    reason = page.refusal(dataclasses.replace(task, goal=(0.2, float("nan"), 0.1)))
    assert reason.endswith("not a number; give x, y and z in m")


def test_nothing_is_sent_while_nothing_changes(page: Page, urdf: str) -> None:
    page.set_robot(drawing_from_urdf(urdf), ArmModel.from_urdf(urdf))
    page.put_marker(marker(MarkerKind.SPHERE))
    page._next_text = 0.0
    page.show(IDLE, {})
    before = sent(page)
    for _ in range(5):
        page._next_text = 0.0
        page.show(IDLE, {})
        page.put_marker(marker(MarkerKind.SPHERE))
    assert sent(page) == before
    page.show(dataclasses.replace(IDLE, joints={**JOINTS, "base_yaw": 0.4}), {})
    assert sent(page) > before


def test_another_robot_takes_the_place_of_the_first_and_keeps_targets_and_markers(page: Page, urdf: str) -> None:
    page.set_robot(drawing_from_urdf(urdf), ArmModel.from_urdf(urdf))
    page.put_marker(marker(MarkerKind.SPHERE, frame="tool0"))
    page._panel.set_target("START", (0.2, 0.1, 0.1))
    other = robot_description("classic")
    page.set_robot(drawing_from_urdf(other), ArmModel.from_urdf(other))
    assert page.task().start == (0.2, 0.1, 0.1)
    hanging = [name for name in nodes(page) if name.endswith("marker_path_1")]
    assert len(hanging) == 1
    assert "/tool0/" in hanging[0]


@pytest.mark.parametrize("kind", list(MarkerKind))
def test_every_kind_of_marker_is_drawn_and_taken_off(page: Page, urdf: str, kind: MarkerKind) -> None:
    page.set_robot(drawing_from_urdf(urdf), ArmModel.from_urdf(urdf))
    bare = nodes(page)
    for colours in (np.empty((0, 4)), np.ones((4, 4))):
        page.put_marker(marker(kind, colours=colours))
        assert nodes(page) - bare == {"/arm/base_link/marker_path_1"}
    page.remove_marker(("path", 1))
    assert nodes(page) == bare


def test_markers_on_unknown_links_are_left_out_and_old_ones_expire(page: Page, urdf: str) -> None:
    page.set_robot(drawing_from_urdf(urdf), ArmModel.from_urdf(urdf))
    bare = nodes(page)
    page.put_marker(marker(MarkerKind.CUBE, frame="elsewhere"))
    assert nodes(page) == bare
    page.put_marker(marker(MarkerKind.CUBE, frame="", lifetime=1e-9))
    assert nodes(page) != bare
    page._next_text = 0.0
    page.show(IDLE, {})
    assert nodes(page) == bare


def test_markers_that_came_before_the_robot_are_drawn_with_it(page: Page, urdf: str) -> None:
    page.put_marker(marker(MarkerKind.CUBE))
    page.set_robot(drawing_from_urdf(urdf), ArmModel.from_urdf(urdf))
    assert "/arm/base_link/marker_path_1" in nodes(page)


def test_each_command_has_a_button_that_calls_back_with_it() -> None:
    pressed: queue.SimpleQueue[Command] = queue.SimpleQueue()
    page = Page("127.0.0.1", 0, "", "", pressed.put)
    try:
        for command in Command:
            # assigning presses the button, and viser calls back from its own thread
            page._panel._buttons[command].value = True
            assert pressed.get(timeout=30) is command
    finally:
        page.close()
