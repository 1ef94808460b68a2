# SPDX-License-Identifier: Apache-2.0
"""The page: its load and memory while the arm moves, and the time from a click to what it commands.

The browsers are connections that speak the page's protocol and read all that comes, so that drawing, which is the
browsers' own work, takes nothing from the processor that is measured.
"""

import contextlib
import os
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import viser
import zstandard
from domain_coordinator import domain_id
from geometry_msgs.msg import TwistStamped
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from benchmarks.kinematics import row
from benchmarks.process_usage import Usage, usage_below
from manipulator3d.bringup import RunningProcesses
from manipulator3d.cli.demo import wait_for_arm
from manipulator3d.cli.motion import pick_place_goal
from manipulator3d.launch_arguments import LaunchArguments
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.action import PickPlace

_MEASURED_S, _SETTLE_S = 10.0, 2.0
_BROWSERS = {1: 0.12, 3: 0.20}
_MEMORY_GOAL_MB, _CLICK_GOAL_MS = 90.0, 100.0
_CLICKS, _WAIT_S = 40, 30.0
_JOG_BUTTON = "Z +"


def rows() -> list[dict[str, Any]]:
    """Measure with hardware:=mock at 30 pictures a second."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with domain_id() as number:
        os.environ["ROS_DOMAIN_ID"] = str(number)
        arguments = LaunchArguments(hardware="mock", dashboard=True, dashboard_port=str(port))
        with RunningProcesses(arguments, lambda line: None) as processes, StackClient() as client:
            wait_for_arm(client, processes)
            if not client.spin_until(lambda: _is_open(port), _WAIT_S):
                raise RuntimeError(f"the page is not served on port {port} within {_WAIT_S:g} s")
            return [*_click_rows(client, port), *_load_rows(client, port)]


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Browser:
    """A connection that reads all that the page sends."""

    def __init__(self, port: int) -> None:
        self._socket = connect(
            f"ws://127.0.0.1:{port}",
            origin=Origin(f"http://127.0.0.1:{port}"),
            subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
            max_size=None,
            proxy=None,
        )
        self.buttons: dict[str, str] = {}
        self.megabytes = 0.0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        camera = {"wxyz": [1, 0, 0, 0], "position": [0, 0, 0], "look_at": [1, 0, 0], "up_direction": [0, 0, 1]}
        size = {"image_height": 480, "image_width": 640, "fov": 1.0, "near": 0.1, "far": 10.0}
        self.send("ViewerCameraMessage", **camera, **size)

    def send(self, kind: str, **fields: Any) -> None:
        """Send one of viser's messages."""
        self._socket.send(msgspec.msgpack.encode({"type": kind, **fields}))

    def close(self) -> None:
        """Leave the page."""
        self._socket.close()
        self._reader.join()

    def _read(self) -> None:
        unpacker = zstandard.ZstdDecompressor()
        with contextlib.suppress(ConnectionClosed):
            while True:
                data = self._socket.recv(decode=False)
                self.megabytes += len(data) / 1e6
                if _JOG_BUTTON not in self.buttons:
                    # sizes of the text before and after packing, then the text
                    length = int.from_bytes(data[8:16], "little")
                    for message in msgspec.msgpack.decode(unpacker.decompress(data[16 : 16 + length]))["messages"]:
                        if message["type"] == "GuiButtonMessage":
                            self.buttons[message["props"]["label"]] = message["uuid"]


@contextlib.contextmanager
def _browsers(port: int, count: int) -> Iterator[list[Browser]]:
    browsers = [Browser(port) for _ in range(count)]
    try:
        yield browsers
    finally:
        for browser in browsers:
            browser.close()


def _load_rows(client: StackClient, port: int) -> list[dict[str, Any]]:
    goal = pick_place_goal((0.25, -0.15, 0.06), (0.20, 0.20, 0.08))
    goal.cycles = 0
    running = client.send_goal(PickPlace, "pick_place", goal)
    measured = []
    for count, limit in _BROWSERS.items():
        with _browsers(port, count) as browsers:
            client.spin_until(lambda: False, _SETTLE_S)
            before, started, read = _dashboard(), time.monotonic(), browsers[0].megabytes
            client.spin_until(lambda: False, _MEASURED_S)
            after, elapsed = _dashboard(), time.monotonic() - started
            read = browsers[0].megabytes - read
        load = (after.cpu_s - before.cpu_s) / elapsed
        name = f"{count} browser{'s' if count > 1 else ''}, arm in motion"
        measured += [
            row(f"{name}: load", load, "of a core", f"{limit:g} of a core", load / limit, 1.0),
            row(
                f"{name}: memory",
                after.memory_mb,
                "MB",
                f"{_MEMORY_GOAL_MB:g} MB",
                after.memory_mb / _MEMORY_GOAL_MB,
                1.0,
            ),
            row(f"{name}: sent to each", 1e3 * read / elapsed, "kB/s", "", None, None),
        ]
    if running.done():
        raise RuntimeError(f"the motion ended while it was measured: {running.wait().message}")
    running.cancel()
    return measured


def _dashboard() -> Usage:
    return next(usage for usage in usage_below(os.getpid()).values() if usage.name == "dashboard_node")


def _click_rows(client: StackClient, port: int) -> list[dict[str, Any]]:
    arrived: list[float] = []

    def on_twist(message: TwistStamped) -> None:
        if message.twist.linear.z:
            arrived.append(time.monotonic())

    listener = client.node.create_subscription(TwistStamped, "jog_twist", on_twist, 10)
    client.spin_until(lambda: listener.get_publisher_count() > 0, _WAIT_S)
    delays = []
    with _browsers(port, 1) as (browser,):
        if not client.spin_until(lambda: _JOG_BUTTON in browser.buttons, _WAIT_S):
            raise RuntimeError(f"the page shows no button {_JOG_BUTTON}")
        # a click that meets the page while it is still being sent waits for its end
        client.spin_until(lambda: False, _SETTLE_S)
        button = browser.buttons[_JOG_BUTTON]
        for _ in range(_CLICKS):
            before, sent = len(arrived), time.monotonic()
            browser.send("GuiButtonHoldMessage", uuid=button, frequency=20.0)
            if not client.spin_until(lambda before=before: len(arrived) > before, _WAIT_S):
                raise RuntimeError("a held jog button was not answered by jog_twist")
            delays.append(1e3 * (arrived[before] - sent))
            browser.send("GuiUpdateMessage", uuid=button, updates={"value": True})
            client.spin_until(lambda: False, 0.05)
    client.node.destroy_subscription(listener)
    median, worst = statistics.median(delays), max(delays)
    goal = f"{_CLICK_GOAL_MS:g} ms"
    return [
        row("click to command, median", median, "ms", goal, median / _CLICK_GOAL_MS, 1.0),
        row(f"click to command, worst of {_CLICKS}", worst, "ms", "", None, None),
    ]
