# SPDX-License-Identifier: Apache-2.0
"""START and GOAL for RViz over real ROS; RViz's side of the interactive markers is played by the test."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import domain_coordinator
import pytest
import rclpy
from geometry_msgs.msg import PointStamped
from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import InteractiveMarker, InteractiveMarkerFeedback

from manipulator3d_dashboard.nodes.target_markers import TargetMarkers
from manipulator3d_description.robot_description import robot_description
from manipulator3d_interfaces.action import PickPlace

# a range that the environment has chosen is kept; none means this computer
RANGE = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
LIMIT = 30.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class MarkerServer:
    """Keeps what the node shows, as interactive_markers' InteractiveMarkerServer does for RViz."""

    def __init__(self, _node: Node, _namespace: str) -> None:
        self.markers: dict[str, InteractiveMarker] = {}
        self.feedback: Any = None

    def insert(self, marker: InteractiveMarker, *, feedback_callback: Any) -> None:
        self.markers[marker.name] = marker
        self.feedback = feedback_callback

    def setPose(self, name: str, pose: Any) -> None:
        self.markers[name].pose = pose

    def applyChanges(self) -> None:
        pass

    def shutdown(self) -> None:
        self.markers.clear()


class Menu:
    """Keeps the entries, as interactive_markers' MenuHandler."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}

    def insert(self, title: str, *, callback: Any) -> None:
        self.entries[title] = callback

    def apply(self, _server: MarkerServer, _name: str) -> None:
        pass


class StandIn(Node):
    """The stack and the page, as far as they have to do with START and GOAL."""

    def __init__(self) -> None:
        super().__init__("stand_in")
        self.goals: list[PickPlace.Goal] = []
        self.told: list[PointStamped] = []
        self.stops = 0
        self.description = self.create_publisher(String, "robot_description", LATCHED)
        self.clicks = self.create_publisher(PointStamped, "clicked_point", 10)
        self.start = self.create_publisher(PointStamped, "target_start", LATCHED)
        self.create_subscription(PointStamped, "target_goal", self.told.append, LATCHED)
        ActionServer(self, PickPlace, "pick_place", self._pick_place)
        self.create_service(Trigger, "stop", self._on_stop)

    def _on_stop(self, _request: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        self.stops += 1
        return answer

    def _pick_place(self, handle: ServerGoalHandle) -> PickPlace.Result:
        self.goals.append(handle.request)
        handle.abort()
        return PickPlace.Result(error_code=202, message="a box is in the way")


class Bench:
    def __init__(self) -> None:
        self.executor = SingleThreadedExecutor()
        self.stand_in, self.node = StandIn(), TargetMarkers()
        for node in (self.stand_in, self.node):
            self.executor.add_node(node)

    def wait(self, condition: Callable[[], object]) -> None:
        limit = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < limit, f"not within {LIMIT:g} s"
            self.executor.spin_once(timeout_sec=0.02)

    @property
    def markers(self) -> dict[str, InteractiveMarker]:
        return self.node._markers._server.markers

    def drag(self, name: str, x: float, y: float, z: float) -> None:
        feedback = InteractiveMarkerFeedback(marker_name=name, event_type=InteractiveMarkerFeedback.POSE_UPDATE)
        place = feedback.pose.position
        place.x, place.y, place.z = x, y, z
        self.node._markers._server.feedback(feedback)

    def choose(self, entry: str) -> None:
        self.node._markers._menu.entries[entry](SimpleNamespace())

    def place_of(self, name: str) -> tuple[float, float, float]:
        place = self.markers[name].pose.position
        return (place.x, place.y, place.z)


@pytest.fixture(scope="module")
def domain() -> Iterator[None]:
    with domain_coordinator.domain_id() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", RANGE)
        rclpy.init()
        yield
        rclpy.try_shutdown()


@pytest.fixture(scope="module")
def running(domain: None) -> Iterator[Bench]:
    package = ModuleType("interactive_markers")
    server, menus = ModuleType("interactive_marker_server"), ModuleType("menu_handler")
    server.InteractiveMarkerServer, menus.MenuHandler = MarkerServer, Menu
    with pytest.MonkeyPatch.context() as patch:
        for module in (package, server, menus):
            prefix = "" if module is package else "interactive_markers."
            patch.setitem(sys.modules, prefix + module.__name__, module)
        bench = Bench()
    bench.stand_in.description.publish(String(data=robot_description("capstone")))
    bench.wait(lambda: set(bench.markers) == {"START", "GOAL"})
    bench.wait(lambda: bench.node._pick_place.server_is_ready() and bench.node._stop.service_is_ready())
    bench.wait(lambda: bench.stand_in.clicks.get_subscription_count() and bench.stand_in.start.get_subscription_count())
    yield bench
    bench.node.close()
    bench.executor.shutdown()
    bench.node.destroy_node()
    bench.stand_in.destroy_node()


@pytest.fixture
def bench(running: Bench) -> Bench:
    running.stand_in.told.clear()
    running.stand_in.goals.clear()
    return running


def point(x: float, y: float, z: float, frame: str = "base_link", stamp: int = 0) -> PointStamped:
    message = PointStamped()
    message.header.frame_id, message.header.stamp.sec = frame, stamp
    message.point.x, message.point.y, message.point.z = x, y, z
    return message


def test_markers_have_a_ball_to_grab_and_an_arrow_along_each_axis(bench: Bench) -> None:
    marker = bench.markers["START"]
    assert marker.header.frame_id == "base_link"
    assert [control.name for control in marker.controls] == ["grip", "x", "y", "z"]
    assert len(marker.controls[0].markers) == 1
    # the x axis of a control is the axis that it moves along
    for control, axis in zip(marker.controls[1:], ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
        q = control.orientation
        first_column = (
            1 - 2 * (q.y * q.y + q.z * q.z),
            2 * (q.x * q.y + q.w * q.z),
            2 * (q.x * q.z - q.w * q.y),
        )
        assert first_column == pytest.approx(axis, abs=1e-12)


def test_a_clicked_point_becomes_goal_and_the_others_hear_of_it(bench: Bench) -> None:
    bench.stand_in.clicks.publish(point(0.1, 0.25, 0.1))
    bench.wait(lambda: bench.stand_in.told)
    told = bench.stand_in.told[-1]
    assert (told.point.x, told.point.y, told.point.z, told.header.frame_id) == (0.1, 0.25, 0.1, "base_link")
    assert bench.place_of("GOAL") == (0.1, 0.25, 0.1)


def test_a_point_in_an_unknown_frame_is_refused_with_its_reason(
    bench: Bench, capfd: pytest.CaptureFixture[str]
) -> None:
    before = bench.place_of("GOAL")
    bench.stand_in.clicks.publish(point(0.1, 0.2, 0.3, frame="camera"))
    heard: list[str] = []

    def is_refused() -> bool:
        heard.append("".join(capfd.readouterr()))
        return "clicked_point: frame 'camera'" in "".join(heard)

    bench.wait(is_refused)
    assert bench.place_of("GOAL") == before
    assert bench.stand_in.told == []


def test_a_dragged_marker_tells_its_place_and_says_when_it_is_out_of_reach(bench: Bench) -> None:
    bench.drag("GOAL", 0.9, 0.0, 0.2)
    bench.wait(lambda: bench.stand_in.told)
    assert bench.stand_in.told[-1].point.x == 0.9
    assert bench.markers["GOAL"].description == "GOAL: out of reach"
    bench.drag("GOAL", 0.2, 0.2, 0.08)
    bench.wait(lambda: bench.stand_in.told[-1].point.x == 0.2)
    assert bench.markers["GOAL"].description == "GOAL"


def test_a_place_that_someone_else_has_set_is_taken_unless_it_is_older_or_no_place(bench: Bench) -> None:
    publish = bench.stand_in.start.publish
    publish(point(0.26, -0.1, 0.08, stamp=2_000_000_000))
    bench.wait(lambda: bench.place_of("START") == (0.26, -0.1, 0.08))
    publish(point(0.27, -0.1, 0.08, stamp=1_999_999_999))
    publish(point(float("nan"), -0.1, 0.08, stamp=2_000_000_001))
    publish(point(0.27, -0.1, 0.08, frame="camera", stamp=2_000_000_001))
    # one without a stamp counts when it comes, so it also ends the wait for those before it
    publish(point(0.25, -0.1, 0.08))
    places = set()

    def arrived() -> bool:
        places.add(bench.place_of("START"))
        return (0.25, -0.1, 0.08) in places

    bench.wait(arrived)
    assert places == {(0.26, -0.1, 0.08), (0.25, -0.1, 0.08)}


def test_the_menu_runs_the_task_between_the_markers_and_stops_it(bench: Bench) -> None:
    bench.drag("START", 0.25, -0.12, 0.07)
    bench.drag("GOAL", 0.2, 0.2, 0.08)
    bench.choose("Pick and place once")
    bench.wait(lambda: bench.stand_in.goals)
    (goal,) = bench.stand_in.goals
    assert (goal.pick.point.y, goal.place.point.y, goal.cycles) == (-0.12, 0.2, 1)
    bench.choose("Repeat until stopped")
    bench.wait(lambda: len(bench.stand_in.goals) == 2)
    assert bench.stand_in.goals[1].cycles == 0
    bench.choose("Stop")
    bench.wait(lambda: bench.stand_in.stops == 1)


def test_the_menu_sends_no_target_that_cannot_be_reached(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    bench.drag("GOAL", 0.9, 0.0, 0.2)
    bench.choose("Pick and place once")
    assert "GOAL (0.900, 0.000, 0.200) m: " in "".join(capfd.readouterr())
    bench.drag("GOAL", 0.2, 0.2, 0.08)
    bench.choose("Pick and place once")
    bench.wait(lambda: bench.stand_in.goals)
    assert [goal.place.point.x for goal in bench.stand_in.goals] == [0.2]


def test_without_interactive_markers_the_node_says_what_is_left(
    domain: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # None in the table of modules makes an import fail as if it were not installed
    monkeypatch.setitem(sys.modules, "interactive_markers", None)
    node = TargetMarkers()
    assert node._markers is None
    node.close()
    node.destroy_node()
    assert "the tool Publish Point sets GOAL all the same" in "".join(capfd.readouterr())
