# SPDX-License-Identifier: Apache-2.0
"""The driver's thread against a board behind a pseudo-terminal; every wait is for a condition."""

import os
import pty
import select
import threading
import time
import tty

import pytest

from manipulator3d_hw_bridge import board_driver
from manipulator3d_hw_bridge.board_driver import BoardDriver
from manipulator3d_hw_bridge.board_status import LinkState, Measurement, Notice, StatusChanged
from manipulator3d_hw_bridge.frame_codec import FrameDecoder
from manipulator3d_hw_bridge.link_traffic import Direction
from manipulator3d_hw_bridge.messages import Mode, State
from manipulator3d_hw_bridge.serial_link import LinkError
from manipulator3d_hw_bridge.session import Session
from manipulator3d_node.error_code import ErrorCode

LIMIT = 30.0


def wait_until(condition, what):
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT} s: {what}"
        time.sleep(0.005)


class PluggedBoard:
    """A fake board behind a link to a pseudo-terminal; `unplug` and `plug` take the terminal away and bring another."""

    def __init__(self, board, link):
        self.board = board
        self.link = link
        self._lock = threading.Lock()
        self._master = None
        self._ended = threading.Event()
        self.plug()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def plug(self):
        master, port = pty.openpty()
        tty.setraw(port)
        with self._lock:
            self._master, self._port = master, port
            self.link.unlink(missing_ok=True)
            self.link.symlink_to(os.ttyname(port))

    def unplug(self):
        with self._lock:
            master, self._master = self._master, None
            self.link.unlink()
            os.close(self._port)
            os.close(master)

    def close(self):
        self._ended.set()
        self._thread.join()
        if self._master is not None:
            self.unplug()

    def _run(self):
        while not self._ended.is_set():
            with self._lock:
                self._serve()
            time.sleep(0.002)

    def _serve(self):
        now = time.monotonic()
        if self._master is not None and select.select([self._master], [], [], 0.0)[0]:
            self.board.receive(now, os.read(self._master, 4096))
        self.board.last_heard = max(self.board.last_heard, now - 0.05)  # the silence is the session's test
        self.board.advance(now)
        data = self.board.take_output()
        if self._master is not None and data:
            os.write(self._master, data)


class Driven:
    """A driver with its events."""

    def __init__(self, settings, find_ports):
        self.events = []
        self.session = Session(settings)
        self.traffic = {direction: bytearray() for direction in Direction}
        self.driver = BoardDriver(
            self.session, find_ports, self.events.append, 0.0, lambda way, data: self.traffic[way].extend(data)
        )
        self.driver.start()
        self.driver.call(lambda session, now: session.arm(now))

    def statuses(self):
        return [event.status for event in list(self.events) if isinstance(event, StatusChanged)]

    def link(self):
        statuses = self.statuses()
        return statuses[-1].link if statuses else LinkState.CLOSED

    def measurements(self):
        return [event for event in list(self.events) if isinstance(event, Measurement)]

    def notices(self):
        return [event.text for event in list(self.events) if isinstance(event, Notice)]


@pytest.fixture
def board(tmp_path, fake_board):
    fake_board.boot(time.monotonic(), homed=True)
    plugged = PluggedBoard(fake_board, tmp_path / "board")
    yield plugged
    plugged.close()


@pytest.fixture
def driven(board, board_settings_of):
    driven = Driven(board_settings_of(0.5), lambda: [str(board.link)])
    yield driven
    driven.driver.stop()


def test_it_connects_arms_measures_and_leaves_the_board_let_go(board, driven):
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed")
    wait_until(lambda: len(driven.measurements()) > 20, "20 measurements")
    assert board.board.mode is Mode.HOLD
    driven.driver.stop()
    assert board.board.mode is Mode.IDLE
    assert driven.link() is LinkState.CLOSED
    assert driven.notices()[-1] == f"{board.link}: closed"


def test_a_board_unplugged_and_plugged_in_again_is_used_again(board, driven):
    for _ in range(2):
        wait_until(lambda: driven.link() is LinkState.ARMED, "armed")
        board.unplug()
        wait_until(lambda: driven.link() is LinkState.CLOSED, "closed")
        count = len(driven.measurements())
        assert driven.statuses()[-1].fault is ErrorCode.LINK_DOWN
        wait_until(lambda: any("no such port; plug the board in" in text for text in driven.notices()), "told")
        assert len(driven.measurements()) == count
        board.plug()
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed again")
    wait_until(lambda: len(driven.measurements()) > count, "measured again")


def test_the_bridge_may_be_started_before_the_board(tmp_path, fake_board, board_settings_of):
    link = tmp_path / "board"
    driven = Driven(board_settings_of(0.5), lambda: [str(link)])
    wait_until(lambda: any("no such port" in text for text in driven.notices()), "told")
    outcomes = []
    driven.driver.call(lambda session, now: session.emergency_stop(now, outcomes.append))
    wait_until(lambda: outcomes, "refused")
    assert outcomes[0].code is ErrorCode.LINK_DOWN
    fake_board.boot(time.monotonic(), homed=True)
    plugged = PluggedBoard(fake_board, link)
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed")
    driven.driver.stop()
    plugged.close()


def test_an_exception_in_the_driver_is_a_fault_state_and_not_its_end(board, driven):
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed")

    def broken(_session, _now):
        raise ZeroDivisionError("a mistake")

    driven.driver.call(broken)
    text = "driver failed: ZeroDivisionError: a mistake; please report it with the log above"
    wait_until(lambda: any(status.fault_message == text for status in driven.statuses()), "told")
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed again")


def test_ports_are_tried_in_turn_until_a_board_answers(tmp_path, board, board_settings_of):
    silent_master, silent_port = pty.openpty()
    tty.setraw(silent_port)
    driven = Driven(board_settings_of(0.5), lambda: [os.ttyname(silent_port), str(board.link)])
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed")
    assert any("no manipulator3d firmware answers" in text for text in driven.notices())
    assert driven.statuses()[-1].port == str(board.link)
    driven.driver.stop()
    os.close(silent_master)
    os.close(silent_port)


def test_nothing_to_try_is_told_and_tried_again(board_settings_of, board):
    answers = iter(["port auto: no board with a USB vendor of 2341 is plugged in"] * 2)

    def find():
        text = next(answers, None)
        if text is not None:
            raise LinkError(text)
        return [str(board.link)]

    driven = Driven(board_settings_of(0.5), find)
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed")
    assert driven.notices()[0].startswith("port auto: no board")
    driven.driver.stop()


def test_all_bytes_of_both_directions_are_passed_on(board, driven):
    wait_until(lambda: len(driven.measurements()) > 20, "20 measurements")
    driven.driver.stop()
    to_board, from_board = FrameDecoder(), FrameDecoder()
    asked = [frame.message for frame in to_board.feed(bytes(driven.traffic[Direction.TO_BOARD]))]
    received = board.board.received
    assert len(received) > 8
    assert asked[: len(received)] == received
    told = [frame.message for frame in from_board.feed(bytes(driven.traffic[Direction.FROM_BOARD]))]
    assert sum(isinstance(message, State) for message in told) >= len(driven.measurements())
    assert (to_board.bad, from_board.bad) == (0, 0)


def test_requests_after_the_end_are_refused(board, driven):
    driven.driver.stop()
    outcomes = []
    driven.driver.call(lambda session, now: session.set_gripper(now, True, outcomes.append))
    wait_until(lambda: outcomes, "refused")
    assert outcomes[0].code is ErrorCode.LINK_DOWN


def test_a_board_that_does_not_let_go_does_not_hold_up_the_end(board, driven, monkeypatch):
    monkeypatch.setattr(board_driver, "_LEAVE_LIMIT", 0.2)
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed")
    board.board.mute = True
    driven.driver.stop()
    assert driven.link() is LinkState.CLOSED


def test_a_second_bridge_at_the_same_port_is_told_and_takes_over_when_the_first_ends(board, driven, board_settings_of):
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed")
    second = Driven(board_settings_of(0.5), lambda: [str(board.link)])
    wait_until(lambda: any("in use by" in text for text in second.notices()), "told")
    assert second.statuses()[-1].fault is ErrorCode.LINK_DOWN
    count = len(driven.measurements())
    wait_until(lambda: len(driven.measurements()) > count + 20, "the first goes on")
    assert driven.link() is LinkState.ARMED
    driven.driver.stop()
    wait_until(lambda: second.link() is LinkState.ARMED, "the second has it")
    second.driver.stop()


def test_a_board_that_comes_back_under_another_name_is_found_by_its_lasting_one(board, board_settings_of, monkeypatch):
    monkeypatch.setattr(board_driver, "stable_name", lambda _port: str(board.link))
    first = os.path.realpath(board.link)
    driven = Driven(board_settings_of(0.5), lambda: [first])
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed")
    board.unplug()
    wait_until(lambda: driven.link() is LinkState.CLOSED, "closed")
    others = []
    while not os.path.exists(first):  # another device gets the old name
        others += pty.openpty()
    board.plug()
    assert os.path.realpath(board.link) != first
    wait_until(lambda: driven.link() is LinkState.ARMED, "armed again")
    assert driven.statuses()[-1].port == str(board.link)
    driven.driver.stop()
    for descriptor in others:
        os.close(descriptor)
