# SPDX-License-Identifier: Apache-2.0
"""The client beneath the Python interface against servers that misbehave, and the drawing plane."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from domain_coordinator import domain_id
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.action import ActionServer
from rclpy.task import Future
from std_srvs.srv import Trigger

from manipulator3d.drawing_plane import plane_orientation
from manipulator3d.nodes import stack_client
from manipulator3d.nodes.spinning_node import SpinningNode
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d.stack_error import StackError
from manipulator3d_interfaces.action import Home
from manipulator3d_node.error_code import ErrorCode

directions = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3).filter(lambda v: np.linalg.norm(v) > 0.1)


@pytest.fixture
def server() -> Iterator[SpinningNode]:
    """A node beside the client, in a domain of their own."""
    with domain_id() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        patch.setattr(stack_client, "_ANSWER_TIMEOUTS_S", (0.2, 0.3))
        patch.setattr(stack_client, "_WATCH_S", 0.1)
        with SpinningNode("", "server") as node:
            yield node


def test_a_service_that_never_answers_is_given_up_and_named(server: SpinningNode) -> None:
    called = threading.Event()

    async def never(_request: Trigger.Request, _response: Trigger.Response) -> Trigger.Response:
        called.set()
        await Future(executor=server.node.executor)
        raise AssertionError("the future is never done")

    server.node.create_service(Trigger, "pause", never)
    with StackClient(find_timeout_s=30.0) as client:
        with pytest.raises(
            StackError, match=r"service /pause was found but gave no answer in 2 tries within 0\.5 s"
        ) as error:
            client.call(Trigger, "pause", Trigger.Request())
        assert error.value.code == ErrorCode.TIMEOUT
    assert called.wait(30.0)


def test_a_server_that_goes_away_in_the_middle_ends_the_wait(server: SpinningNode) -> None:
    running = threading.Event()

    async def run(_handle: object) -> Home.Result:
        running.set()
        await Future(executor=server.node.executor)
        raise AssertionError("the future is never done")

    action = ActionServer(server.node, Home, "home", run)
    with StackClient(find_timeout_s=30.0) as client:
        patience = pytest.MonkeyPatch()
        patience.setattr(stack_client, "_ANSWER_TIMEOUTS_S", (30.0,))
        goal = client.send_goal(Home, "home", Home.Goal())
        patience.undo()
        assert running.wait(30.0)
        with pytest.raises(StackError, match=r"the goal on home has no result after 0\.3 s"):
            goal.wait(0.3)
        server.run(action.destroy)
        with pytest.raises(StackError, match="the server of action home went away while its goal was running") as error:
            goal.wait(60.0)
        assert error.value.code == ErrorCode.LINK_DOWN


def test_closing_the_client_ends_all_waits(server: SpinningNode) -> None:
    errors: list[BaseException | None] = []
    client = StackClient(find_timeout_s=300.0)
    goal = client.begin(Home, "nowhere", Home.Goal())
    waiter = threading.Thread(target=lambda: errors.append(goal.accepted.exception(60.0)))
    waiter.start()
    client.close()
    waiter.join(60.0)
    assert [type(error) for error in errors] == [StackError]
    assert "was closed before the answer came" in str(errors[0])


def test_what_a_callback_raises_reaches_the_one_who_waits(server: SpinningNode) -> None:
    def fail() -> None:
        raise RuntimeError("callback failed")

    server.node.create_timer(0.01, fail)
    with pytest.raises(RuntimeError, match="callback failed"):
        server.spin_until(lambda: False, 60.0)


@settings(max_examples=100, deadline=None)
@given(normal=directions, along=directions)
def test_the_plane_has_the_normal_as_its_z_axis_and_the_direction_in_its_x_axis(
    normal: list[float], along: list[float]
) -> None:
    x, y, z, w = plane_orientation(normal, along)
    assert x * x + y * y + z * z + w * w == pytest.approx(1.0)

    def turned(v: np.ndarray) -> np.ndarray:
        u = np.array([x, y, z])
        return v + 2.0 * np.cross(u, np.cross(u, v) + w * v)

    up = np.array(normal) / np.linalg.norm(normal)
    assert turned(np.array([0.0, 0.0, 1.0])) == pytest.approx(up, abs=1e-9)
    in_plane = np.array(along) - (np.array(along) @ up) * up
    if np.linalg.norm(in_plane) > 1e-3:
        assert turned(np.array([1.0, 0.0, 0.0])) == pytest.approx(in_plane / np.linalg.norm(in_plane), abs=1e-6)


def test_a_direction_along_the_normal_gives_way_to_another_axis() -> None:
    x, y, z, w = plane_orientation([2.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    # x axis of the plane to y, y axis to z, z axis to x: a third of a turn about the diagonal
    assert (x, y, z, w) == pytest.approx((0.5, 0.5, 0.5, 0.5))
    with pytest.raises(ValueError, match="normal: expected a direction of three finite numbers"):
        plane_orientation([np.nan, 0.0, 1.0], [1.0, 0.0, 0.0])
