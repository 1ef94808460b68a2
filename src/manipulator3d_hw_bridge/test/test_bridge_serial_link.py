# SPDX-License-Identifier: Apache-2.0
import errno
import os
import pty
import subprocess
import sys
import termios
import tty
from types import SimpleNamespace

import pytest

from manipulator3d_hw_bridge import serial_link
from manipulator3d_hw_bridge.serial_link import (
    LinkError,
    SerialLink,
    candidates,
    explain_open_failure,
    stable_name,
    usb_refusal,
)


@pytest.fixture
def terminal():
    """A pseudo-terminal: the board's end (descriptor) and the port's name."""
    board, port = pty.openpty()
    tty.setraw(port)
    yield board, os.ttyname(port)
    os.close(board)
    os.close(port)


def test_bytes_pass_both_ways_unchanged(terminal):
    board, port = terminal
    every_byte = bytes(range(256))
    with SerialLink(port) as link:
        link.write(every_byte)
        assert os.read(board, 1000) == every_byte
        os.write(board, every_byte)
        received = b""
        while len(received) < 256:
            received += link.read(30.0)
        assert received == every_byte
        assert link.read(0.0) == b""


def test_a_pseudo_terminal_is_known_as_one_through_a_link(terminal, tmp_path):
    name = tmp_path / "board"
    name.symlink_to(terminal[1])
    with SerialLink(str(name)) as link:
        assert link.is_pseudo_terminal


def test_another_descriptor_ends_the_wait(terminal):
    wake_read, wake_write = os.pipe()
    os.write(wake_write, b"\0")
    with SerialLink(terminal[1]) as link:
        assert link.read(30.0, wake_read) == b""
    os.close(wake_read)
    os.close(wake_write)


def test_closing_the_port_does_not_drop_dtr_and_so_resets_no_board(terminal):
    _, port = terminal
    with SerialLink(port):
        descriptor = os.open(port, os.O_RDWR | os.O_NOCTTY)
        try:
            assert not termios.tcgetattr(descriptor)[2] & termios.HUPCL
        finally:
            os.close(descriptor)


def test_a_vanished_board_is_an_error_with_the_port_and_a_remedy():
    board, port_descriptor = pty.openpty()
    tty.setraw(port_descriptor)
    port = os.ttyname(port_descriptor)
    os.close(port_descriptor)
    with SerialLink(port) as link:
        os.close(board)
        with pytest.raises(LinkError, match=rf"^{port}: (reading failed|the device is gone).*(plug|cable)"):
            link.read(30.0)


def test_a_missing_port_names_it_and_where_to_look():
    with pytest.raises(LinkError, match=r"^/dev/no-such-board: no such port; plug the board in, or find it with port"):
        SerialLink("/dev/no-such-board")


def test_a_port_in_use_names_who_has_it(terminal):
    _, port = terminal
    program = "import os, sys; os.open(sys.argv[1], os.O_RDWR); print(flush=True); sys.stdin.read()"
    holder = [sys.executable, "-c", program, port, "port_holder"]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"\n"
        with (
            SerialLink(port),
            pytest.raises(LinkError, match=rf"^{port}: in use by .*process {process.pid}.*; close it"),
        ):
            SerialLink(port)


@pytest.mark.parametrize(
    ("comm", "command", "name"),
    [
        ("python3", ("/usr/bin/python3", "/opt/ros/lib/bridge_node", "--ros-args"), "bridge_node"),
        ("python3.11", ("python3.11", "-m", "manipulator3d_hw_bridge.nodes.bridge_node"), "bridge_node"),
        ("python3", ("python3", "-E", "/home/a/monitor.py", "x"), "monitor.py"),
        ("minicom", ("minicom", "-D", "/dev/ttyACM0"), "minicom"),
    ],
)
def test_a_program_is_named_by_what_it_runs(comm, command, name, tmp_path):
    (tmp_path / "comm").write_text(comm + "\n")
    (tmp_path / "cmdline").write_text("\0".join(command) + "\0")
    assert serial_link._program(tmp_path) == name


def test_a_file_that_is_no_serial_port_is_refused(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a port")
    with pytest.raises(LinkError, match="not a serial port; name the board's device"):
        SerialLink(str(file))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.EACCES, "permission denied for user .*; run `sudo usermod -aG dialout .*`, then log out and in again"),
        (errno.EBUSY, "in use by .*; close it"),
        (errno.EIO, "does not answer .*; unplug the board and plug it in again"),
        (errno.EMFILE, "cannot be opened .*; check the cable"),
    ],
)
def test_each_cause_of_a_failed_open_has_its_remedy(number, text, terminal):
    with pytest.raises(AssertionError, match=text):
        raise AssertionError(explain_open_failure(terminal[1], OSError(number, os.strerror(number))))


def ports(*identities):
    return lambda: [
        SimpleNamespace(device=device, vid=vid, pid=pid, product=product) for device, vid, pid, product in identities
    ]


def test_auto_finds_the_boards_by_their_usb_identity_and_leaves_other_devices_alone():
    find = ports(
        ("/dev/ttyUSB1", 0x1A86, 0x7523, None),
        ("/dev/ttyS0", None, None, None),
        ("/dev/ttyACM0", 0x2341, 0x0042, None),
        ("/dev/ttyUSB0", 0x0403, 0x6001, None),
        ("/dev/ttyACM1", 0x2341, 0x0043, "Arduino Uno"),
    )
    assert candidates("auto", find) == ["/dev/ttyACM0", "/dev/ttyUSB1"]


def test_auto_without_a_board_lists_what_there_is():
    find = ports(("/dev/ttyS0", None, None, None), ("/dev/ttyACM1", 0x2341, 0x0043, "Arduino Uno"))
    there = r"here: /dev/ttyACM1 \(2341:0043, Arduino Uno\), /dev/ttyS0\)"
    with pytest.raises(LinkError, match=rf"no Arduino Mega 2560 and no CH340 is plugged in .*{there}"):
        candidates("auto", find)


@pytest.mark.parametrize(
    ("vendor", "product", "refusal"),
    [
        (0x2341, 0x0042, ""),
        (0x1A86, 0x7523, ""),
        (0x0403, 0x6001, ""),
        (None, None, ""),
        (
            0x2341,
            0x0043,
            "PORT: another Arduino (2341:0043, thing), not an Arduino Mega 2560; name the port of the board",
        ),
        (
            0x12D1,
            0x1506,
            "PORT: another device (12d1:1506, thing), not an Arduino Mega 2560; name the port of the board",
        ),
    ],
)
def test_a_device_that_is_no_mega_is_told_by_its_usb_identity(vendor, product, refusal, tmp_path):
    device, link = tmp_path / "ttyACM0", tmp_path / "by-id"
    device.touch()
    link.symlink_to(device)
    find = ports(("/dev/ttyS0", 0x1111, 0x2222, None), (str(device), vendor, product, "thing"))
    assert usb_refusal(str(link), find) == refusal.replace("PORT", str(link))


def test_a_named_port_is_taken_as_it_is():
    assert candidates("/dev/ttyACM7", ports()) == ["/dev/ttyACM7"]


def test_a_device_is_remembered_by_its_id_and_found_again_under_another_name(tmp_path):
    by_id = tmp_path / "by-id"
    by_id.mkdir()
    first, second = tmp_path / "ttyACM0", tmp_path / "ttyACM1"
    first.touch()
    link = by_id / "usb-Arduino_Mega_2560_1234-if00"
    link.symlink_to(first)
    assert stable_name(str(first), by_id) == str(link)
    first.unlink()
    second.touch()
    link.unlink()
    link.symlink_to(second)
    assert os.path.realpath(stable_name(str(link), by_id)) == str(second)


def test_a_device_without_an_id_keeps_its_name(tmp_path):
    assert stable_name("/dev/pts/99", tmp_path / "absent") == "/dev/pts/99"


def test_a_board_that_takes_no_bytes_is_an_error(terminal, monkeypatch):
    monkeypatch.setattr(serial_link, "_WRITE_LIMIT", 0.05)
    with SerialLink(terminal[1]) as link, pytest.raises(LinkError, match="took no bytes for"):
        link.write(bytes(200_000))
