# SPDX-License-Identifier: Apache-2.0
"""The served page, asked over HTTP and WebSocket without a browser."""

import contextlib
import http.client
import queue
import socket
import time
from collections.abc import Iterator

import msgspec
import pytest
import viser
import websockets.exceptions
import websockets.sync.client
from viser import _messages

from manipulator3d_dashboard.page_server import open_page

TOKEN = "a-token-of-some-length"


@pytest.fixture
def page() -> Iterator[viser.ViserServer]:
    server = open_page("127.0.0.1", 0, "", "test")
    yield server
    server.stop()


@pytest.fixture
def guarded_page() -> Iterator[viser.ViserServer]:
    server = open_page("127.0.0.1", 0, TOKEN, "test")
    yield server
    server.stop()


def get(server: viser.ViserServer, path: str = "/", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.get_port(), timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def open_websocket(server: viser.ViserServer, origin: str | None, **headers: str) -> bytes:
    """Connect as viser's page does, and give the first bytes that come."""
    with websockets.sync.client.connect(
        f"ws://127.0.0.1:{server.get_port()}",
        origin=origin,
        subprotocols=[f"viser-v{viser.__version__}"],
        additional_headers=headers,
        max_size=None,
        proxy=None,
    ) as connection:
        return connection.recv(timeout=30)


def test_the_page_may_load_from_nowhere_else(page: viser.ViserServer) -> None:
    status, headers, body = get(page)
    assert status == 200
    assert "<html" in body.lower()
    policy = headers["content-security-policy"]
    assert f"connect-src 'self' ws://127.0.0.1:{page.get_port()}" in policy
    assert "frame-ancestors 'none'" in policy
    assert " *" not in policy
    assert "https:" not in policy


def test_another_host_or_origin_is_refused(page: viser.ViserServer) -> None:
    status, _, body = get(page, Host="evil.example")
    assert (status, body.strip()) == (
        403,
        "Host evil.example is not this computer; open the page as http://127.0.0.1",
    )
    assert get(page, Origin="http://evil.example")[0] == 403
    own = f"http://127.0.0.1:{page.get_port()}"
    assert open_websocket(page, own)
    for origin in ("http://evil.example", None):
        with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
            open_websocket(page, origin)
        assert refused.value.response.status_code == 403


def test_a_missing_or_wrong_token_is_refused(guarded_page: viser.ViserServer) -> None:
    own = f"http://127.0.0.1:{guarded_page.get_port()}"
    assert get(guarded_page)[0] == 401
    assert get(guarded_page, "/?token=wrong-token-of-length")[0] == 401
    for cookie in ({}, {"Cookie": f"manipulator3d_{guarded_page.get_port()}=wrong"}):
        with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
            open_websocket(guarded_page, own, **cookie)
        assert refused.value.response.status_code == 401
    status, headers, _ = get(guarded_page, f"/?token={TOKEN}")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"].partition(";")[0]
    assert get(guarded_page, Cookie=cookie)[0] == 200
    assert open_websocket(guarded_page, own, Cookie=cookie)


def test_a_busy_port_is_an_error_and_not_another_port(page: viser.ViserServer) -> None:
    with pytest.raises(ValueError, match="cannot be opened") as error:
        open_page("127.0.0.1", page.get_port(), "", "test")
    assert str(error.value) == (
        f"port {page.get_port()} on 127.0.0.1 cannot be opened (Address already in use); end the program that has it, "
        "or set the parameters host and port"
    )


def test_a_refused_door_leaves_the_port_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(ValueError, match="parameter token"):
        open_page("127.0.0.1", port, "short", "test")
    socket.create_server(("127.0.0.1", port)).close()


def test_no_browser_can_ask_for_a_tunnel(page: viser.ViserServer) -> None:
    handlers = page._websock_server._incoming_handlers
    assert _messages.ShareUrlRequest not in handlers
    assert _messages.GuiUpdateMessage in handlers


def test_what_a_spectator_asks_for_is_not_heard() -> None:
    watching = "a-token-for-watching"
    server = open_page("127.0.0.1", 0, TOKEN, "test", watching)
    try:
        pressed: queue.SimpleQueue[str] = queue.SimpleQueue()
        buttons = {name: server.gui.add_button(name) for name in ("stop", "theme")}
        for name, button in buttons.items():
            button.on_click(lambda _event, name=name: pressed.put(name))
        server.open_to_spectators.add(buttons["theme"]._impl.uuid)
        cookie = f"manipulator3d_{server.get_port()}="
        with connected(server, cookie + watching) as spectator, connected(server, cookie + TOKEN) as operator:
            for name in ("stop", "theme"):
                spectator.send(press(buttons[name]))
            assert pressed.get(timeout=30) == "theme"
            operator.send(press(buttons["stop"]))
            assert pressed.get(timeout=30) == "stop"
            assert pressed.empty()
    finally:
        server.stop()


@contextlib.contextmanager
def connected(server: viser.ViserServer, cookie: str) -> Iterator[websockets.sync.client.ClientConnection]:
    """A browser's connection that has told its camera, as viser asks of it."""
    port = server.get_port()
    known = set(server.get_clients())
    with websockets.sync.client.connect(
        f"ws://127.0.0.1:{port}",
        origin=f"http://127.0.0.1:{port}",
        subprotocols=[f"viser-v{viser.__version__}"],
        additional_headers={"Cookie": cookie},
        max_size=None,
        proxy=None,
    ) as connection:
        camera = _messages.ViewerCameraMessage(
            wxyz=(1.0, 0.0, 0.0, 0.0),
            position=(0.0, 0.0, 0.0),
            image_height=100,
            image_width=100,
            fov=1.0,
            near=0.1,
            far=10.0,
            look_at=(1.0, 0.0, 0.0),
            up_direction=(0.0, 0.0, 1.0),
        )
        connection.send(packed(camera))
        limit = time.monotonic() + 30.0
        while set(server.get_clients()) == known:
            assert time.monotonic() < limit, "the server does not take the browser in"
            time.sleep(0.01)
        yield connection


def press(button: viser.GuiButtonHandle) -> bytes:
    return packed(_messages.GuiUpdateMessage(button._impl.uuid, {"value": True}))


def packed(message: _messages.Message) -> bytes:
    return msgspec.msgpack.encode({"type": type(message).__name__, **vars(message)})
