# SPDX-License-Identifier: Apache-2.0
"""Starts viser behind a door: on one port that was free, for those alone whom the door lets pass."""

import contextlib
import http
import io
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import viser
import viser.infra
import websockets.asyncio.server
from viser import _messages
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from manipulator3d_dashboard.door import Door, Refusal, Welcome, page_headers

Handler = Callable[[Any, Request], Response | None]


class PageServer(viser.ViserServer):
    """An empty page that is served; what a spectator's browser asks for is not heard.

    Args:
        door: decides who comes in, and who steers.
        host: address.
        label: title of the panel.

    Attributes:
        open_to_spectators: ids of the panel's elements that a spectator may use.
    """

    def __init__(self, door: Door, host: str, label: str) -> None:
        self._door = door
        self.open_to_spectators: set[str] = set()
        super().__init__(host=host, port=0, label=label, verbose=False)
        server = self._websock_server
        # viser offers every browser a tunnel through a server of its makers
        for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
            server.unregister_handler(message)
        handle = server._handle_incoming_message

        async def handle_what_may_be(client_id: Any, message: Any) -> None:
            harmless = isinstance(message, _messages.ViewerCameraMessage)
            harmless |= isinstance(message, _messages.GuiUpdateMessage) and message.uuid in self.open_to_spectators
            if harmless or self.may_steer(client_id):
                await handle(client_id, message)

        # every message that a browser sends comes through here
        server._handle_incoming_message = handle_what_may_be  # type: ignore[method-assign]

    def may_steer(self, client_id: int) -> bool:
        """Whether a connected browser may do more than watch."""
        connection = self._websock_server._live_connections.get(client_id)
        if connection is None or connection.request is None:
            return False
        return self._door.may_steer(_headers(connection.request))


def open_page(host: str, port: int, token: str, label: str, spectator_token: str = "") -> PageServer:
    """Serve an empty page.

    Args:
        host, port, token, spectator_token: as in Door; port 0 takes any free one.
        label: title of the panel.

    Raises:
        ValueError: the door refuses host or token, or the port cannot be had; names it and the remedy.
    """
    listener = listen(host, port)
    try:
        door = Door(host, listener.getsockname()[1], token, spectator_token)
        with _served_through(door, listener):
            server = PageServer(door, host, label)
    except BaseException:
        listener.close()
        raise
    if server.get_port() != listener.getsockname()[1]:
        server.stop()
        raise RuntimeError(f"viser {viser.__version__} went around the door of the page; install viser 1.1")
    return server


def listen(host: str, port: int) -> socket.socket:
    """Take a TCP port.

    Raises:
        ValueError: it cannot be had; names address, port, reason and remedy.
    """
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise ValueError(
            f"port {port} on {host or 'every address'} cannot be opened ({reason}); end the program that has it, "
            "or set the parameters host and port"
        ) from error


@contextlib.contextmanager
def _served_through(door: Door, listener: socket.socket) -> Iterator[None]:
    """While it lasts, the server that viser starts listens on `listener`, and the door sees each request first."""
    original = websockets.asyncio.server.serve

    def serve(handler: Any, _host: str, _port: int, *, process_request: Handler, **options: Any) -> Any:
        return original(handler, sock=listener, process_request=_guarded(door, process_request), **options)

    # viser has no setting for this; it looks the function up when it starts its thread, and waits for it
    websockets.asyncio.server.serve = serve  # type: ignore[misc,assignment]
    try:
        # viser's greeting names an address that may not be the one to open
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        websockets.asyncio.server.serve = original  # type: ignore[misc]


def _guarded(door: Door, handler: Handler) -> Handler:
    def process(connection: Any, request: Request) -> Response | None:
        headers = _headers(request)
        verdict = door.judge(request.path, headers)
        if isinstance(verdict, Refusal):
            return _answer(verdict.status, verdict.reason, {})
        if isinstance(verdict, Welcome):
            return _answer(303, "", {"Set-Cookie": verdict.cookie, "Location": verdict.location})
        response = handler(connection, request)
        if response is not None:
            for name, value in page_headers(headers.get("host", "")).items():
                response.headers[name] = value
        return response

    return process


def _headers(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.raw_items()}


def _answer(status: int, text: str, headers: dict[str, str]) -> Response:
    body = f"{text}\n".encode()
    common = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status, http.HTTPStatus(status).phrase, Headers(**(common | headers)), body)
