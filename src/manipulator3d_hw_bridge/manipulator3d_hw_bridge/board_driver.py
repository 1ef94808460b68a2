# SPDX-License-Identifier: Apache-2.0
"""The thread between the port and the session: opens, reads, writes, and tries again after every failure."""

import contextlib
import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable

from manipulator3d_hw_bridge.backoff import Backoff
from manipulator3d_hw_bridge.link_traffic import Direction
from manipulator3d_hw_bridge.serial_link import LinkError, SerialLink, stable_name
from manipulator3d_hw_bridge.session import Event, Session

_log = logging.getLogger(__name__)

# s; longest pause of the loop, so that a missed wake-up is no more than a hiccup.
_LONGEST_WAIT = 0.1
# s; what a shutdown may take for hold and disarm, each of which may be repeated on a bad line.
_LEAVE_LIMIT = 2.0


class BoardDriver:
    """Keeps a session connected to a board.

    The session belongs to the thread; everybody else asks for something by `call`. Whatever goes wrong here, the
    thread says so, closes the port and begins anew after the back-off.

    Args:
        session: protocol with the board.
        find_ports: lists the device files to try; may raise LinkError.
        on_event: takes the session's events, in the driver's thread.
        boot_quiet: s that a board, reset by the opening of its port, is left alone to boot; a pseudo-terminal
            resets nothing.
        on_traffic: takes the direction and the bytes of every writing and reading, in the driver's thread.
    """

    def __init__(
        self,
        session: Session,
        find_ports: Callable[[], list[str]],
        on_event: Callable[[Event], None],
        boot_quiet: float,
        on_traffic: Callable[[Direction, bytes], None] = lambda _direction, _data: None,
    ) -> None:
        self._session = session
        self._find_ports = find_ports
        self._on_event = on_event
        self._boot_quiet = boot_quiet
        self._on_traffic = on_traffic
        self._backoff = Backoff()
        self._calls: deque[Callable[[Session, float], None]] = deque()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._stopping = threading.Event()
        self._lock = threading.RLock()
        self._ended = False
        self._attempt = 0
        self._stable_port: str | None = None
        self._thread = threading.Thread(target=self._run, name="board_driver", daemon=True)

    def start(self) -> None:
        """Begin to look for the board."""
        self._thread.start()

    def call(self, request: Callable[[Session, float], None]) -> None:
        """Have `request(session, now)` run in the driver's thread, soon; may be called from any thread.

        After the end it runs here and now: the session then refuses it.
        """
        with self._lock:
            if not self._ended:
                self._calls.append(request)
                self._wake()
                return
        request(self._session, time.monotonic())
        self._deliver()

    def stop(self) -> None:
        """Have the board hold and disarm, close the port and end the thread; a second call does nothing."""
        with self._lock:
            if self._ended:
                return
            self._stopping.set()
            self._wake()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            self._ended = True
            self._run_calls()
            os.close(self._wake_read)
            os.close(self._wake_write)
        self._deliver()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # the pipe is full, so the thread is about to wake
            os.write(self._wake_write, b"\0")

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._serve(self._next_port())
            except LinkError as error:
                self._lost(str(error))
            except Exception as error:
                _log.exception("the board driver failed")
                self._lost(f"driver failed: {type(error).__name__}: {error}; please report it with the log above")
            if not self._stopping.is_set():
                self._pause(self._backoff.next())

    def _lost(self, reason: str) -> None:
        self._session.link_lost(time.monotonic(), reason)
        self._deliver()

    def _next_port(self) -> str:
        """Return the port to try now: each candidate in turn, the last good one under its lasting name."""
        if self._stable_port is not None and os.path.exists(self._stable_port):
            return self._stable_port
        ports = self._find_ports()
        port = ports[self._attempt % len(ports)]
        self._attempt += 1
        return port

    def _serve(self, port: str) -> None:
        """Run the session on one port until it is lost or the driver stops."""
        with SerialLink(port) as link:
            quiet = 0.0 if link.is_pseudo_terminal else self._boot_quiet
            self._session.link_opened(time.monotonic(), port, quiet)
            while not self._stopping.is_set():
                self._turn(link)
                if self._session.connected:
                    self._backoff.reset()
                    self._stable_port = stable_name(port)
            self._leave(link)

    def _turn(self, link: SerialLink) -> None:
        """Run the session once: requests and deadlines, bytes out, wait for bytes in, events."""
        self._run_calls()
        now = time.monotonic()
        self._session.advance(now)
        self._send(link)
        self._deliver()
        wait = min(max(self._session.next_deadline() - time.monotonic(), 0.0), _LONGEST_WAIT)
        data = link.read(wait, self._wake_read)
        if data:
            self._on_traffic(Direction.FROM_BOARD, data)
            self._session.receive(time.monotonic(), data)
            self._send(link)
        self._deliver()
        if self._session.failure is not None:
            self._stable_port = None
            raise LinkError(self._session.failure)

    def _leave(self, link: SerialLink) -> None:
        """Hold, then disarm; the board does both by itself when it does not hear us."""
        deadline = time.monotonic() + _LEAVE_LIMIT
        self._session.disarm(time.monotonic())
        while not self._session.at_rest and time.monotonic() < deadline:
            self._turn(link)
        link.drain(0.2)
        self._session.link_lost(time.monotonic(), f"{link.port}: closed")
        self._deliver()

    def _send(self, link: SerialLink) -> None:
        data = self._session.take_output()
        if data:
            link.write(data)
            self._on_traffic(Direction.TO_BOARD, data)

    def _run_calls(self) -> None:
        with contextlib.suppress(BlockingIOError):  # nothing to read: the wait ended by itself
            os.read(self._wake_read, 4096)
        while self._calls:
            self._calls.popleft()(self._session, time.monotonic())

    def _deliver(self) -> None:
        for event in self._session.take_events():
            self._on_event(event)

    def _pause(self, wait: float) -> None:
        """Wait for the next attempt, still answering requests: without a link the session refuses them."""
        deadline = time.monotonic() + wait
        while not self._stopping.is_set() and (left := deadline - time.monotonic()) > 0.0:
            select.select([self._wake_read], [], [], left)
            self._run_calls()
            self._deliver()
