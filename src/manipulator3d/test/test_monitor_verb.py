# SPDX-License-Identifier: Apache-2.0
"""The verb `monitor` beside a node that publishes what a bridge would, and at a serial line."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context

from manipulator3d.cli.monitor import main
from manipulator3d.stack_error import StackError
from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.frame_codec import encode_frame
from manipulator3d_interfaces.msg import LinkTraffic

LIMIT_S = 60.0
STATE = messages.State(
    time=5_000_000, position=(0.5, 1.2, -1.6), velocity=(0.0, 0.0, 0.0), mode=1, fault=0, fault_joint=255, flags=7
)  # fmt: skip
GRIP = messages.SetGripper(closed=1)


class Monitor:
    """The verb as a process whose lines are read as they come."""

    def __init__(self, domain: int, *arguments: str) -> None:
        command = [sys.executable, "-m", "manipulator3d.cli", "monitor", *arguments]
        env = dict(os.environ, ROS_DOMAIN_ID=str(domain))
        self.process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(line.rstrip("\n") for line in self.process.stdout)

    def end(self, interrupt: bool = True) -> tuple[int, str]:
        """Press Ctrl-C if asked; return the exit code and stderr."""
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(LIMIT_S)
        self._reader.join(LIMIT_S)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()


class Line:
    """A bridge's publisher of its traffic."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node("line", context=self.context)
        self.publisher = self.node.create_publisher(LinkTraffic, "link_traffic", 500)
        self.sequence = 0

    def publish(self, direction: int, data: bytes) -> None:
        message = LinkTraffic(direction=direction, data=data)
        message.header.stamp.sec = 1_700_000_000
        self.publisher.publish(message)

    def publish_until(self, monitor: Monitor, count: int) -> None:
        """Publish one frame each way again and again until the monitor has shown so many lines."""
        deadline = time.monotonic() + LIMIT_S
        while len(monitor.lines) < count:
            assert time.monotonic() < deadline, monitor.lines
            assert monitor.process.poll() is None, monitor.end(False)
            self.sequence += 1
            self.publish(LinkTraffic.FROM_BOARD, encode_frame(STATE, self.sequence))
            self.publish(LinkTraffic.TO_BOARD, encode_frame(GRIP, self.sequence))
            time.sleep(0.02)

    def close(self) -> None:
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def line(domain: int) -> Iterator[Line]:
    made = Line(domain)
    yield made
    made.close()


def test_both_directions_are_shown_and_written_to_a_file_until_ctrl_c(domain: int, line: Line, tmp_path: Path) -> None:
    file = tmp_path / "traffic.txt"
    monitor = Monitor(domain, "--file", str(file))
    line.publish_until(monitor, 8)
    code, told = monitor.end()
    assert code == 0, told
    clock = time.strftime("%H:%M:%S", time.localtime(1_700_000_000))
    assert all(text.startswith(f"{clock}.000000  ") for text in monitor.lines)
    shown = {text[17:].split()[0]: text for text in monitor.lines}
    assert "State" in shown["board"]
    assert "position 0.500000 1.200000 -1.600000 rad" in shown["board"]
    assert shown["host"].endswith("closed 1")
    assert file.read_text().splitlines() == monitor.lines
    assert "frames to the board" in told


def test_json_of_chosen_messages_until_the_bridge_ends(domain: int, line: Line) -> None:
    monitor = Monitor(domain, "--json", "--only", "SetGripper")
    line.publish_until(monitor, 3)
    line.node.destroy_publisher(line.publisher)
    code, told = monitor.end(interrupt=False)
    assert code == 1
    assert "the bridge that published /link_traffic has ended" in told
    answers = [json.loads(text) for text in monitor.lines]
    assert {answer["message"] for answer in answers} == {"SetGripper"}
    assert answers[0]["direction"] == "to_board"
    assert answers[0]["time"] == 1_700_000_000.0
    assert answers[0]["fields"] == {"closed": 1}


def test_a_port_is_listened_to_without_a_word_and_bad_frames_are_shown(domain: int, tmp_path: Path) -> None:
    board, line = pty.openpty()
    tty.setraw(line)
    monitor = Monitor(domain, "--port", os.ttyname(line))
    deadline, sequence = time.monotonic() + LIMIT_S, 0
    while not any("bad frame: 03 04 05" in text for text in monitor.lines):
        assert time.monotonic() < deadline, monitor.lines
        assert monitor.process.poll() is None, monitor.end(False)
        sequence += 1
        os.write(board, encode_frame(STATE, sequence) + b"\x03\x04\x05\0")
        time.sleep(0.02)
    code, told = monitor.end()
    assert code == 0, told
    assert any("board → host   State" in text for text in monitor.lines)
    os.set_blocking(board, False)
    with pytest.raises(BlockingIOError):
        os.read(board, 1)
    os.close(board)
    os.close(line)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--port", "/dev/no-such-board"], "/dev/no-such-board: no such port"),
        (["--file", "/no/such/folder/file"], "/no/such/folder/file: cannot be written (No such file or directory)"),
    ],
)
def test_what_cannot_be_done_is_told(arguments: list[str], text: str) -> None:
    with pytest.raises(StackError) as error:
        main("monitor", arguments)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--only", "Stat"], "there is no message 'Stat'; the messages are Identify, "),
        (["--duration", "-1"], "--duration -1 s is not above 0"),
        (["--duration", "nan"], "--duration nan s is not above 0"),
    ],
)
def test_senseless_options_are_wrong_usage(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main("monitor", arguments)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err
