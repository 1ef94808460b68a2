# SPDX-License-Identifier: Apache-2.0
"""The serial port: finding it, opening it, reading and writing bytes. The only module that knows pyserial."""

import errno
import getpass
import os
import select
import termios
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import serial
import serial.tools.list_ports

AUTO = "auto"
BAUD = 115200

# USB vendor and product of the Mega 2560, from boards.txt of the Arduino core: Arduino SA and Arduino SRL.
_ARDUINO = (0x2341, 0x2A03)
_MEGA = (
    (0x2341, 0x0010), (0x2341, 0x0042), (0x2341, 0x0210), (0x2341, 0x0242), (0x2A03, 0x0010), (0x2A03, 0x0042)
)  # fmt: skip
# Clones are behind a CH340 by WCH, seldom behind a converter by FTDI, Silicon Labs or Prolific, as much else is.
_WCH = 0x1A86
_CONVERTERS = (_WCH, 0x0403, 0x10C4, 0x067B)

list_ports = serial.tools.list_ports.comports

# s that a write may take before the link counts as dead: 30 frames of 63 bytes at 115200 baud take 0.17 s.
_WRITE_LIMIT = 0.5


class LinkError(Exception):
    """The port cannot be opened or has failed; the text names the port, the cause and the remedy."""


class SerialLink:
    """An open serial port or pseudo-terminal, used by one thread.

    Args:
        port: device file; a link to one is followed.

    Raises:
        LinkError: the port cannot be opened.
    """

    def __init__(self, port: str) -> None:
        self.port = port
        try:
            self._serial = serial.Serial(port, BAUD, timeout=0, write_timeout=_WRITE_LIMIT, exclusive=True)
        except (OSError, serial.SerialException, ValueError, termios.error) as error:
            raise LinkError(explain_open_failure(port, error)) from error
        try:
            _keep_dtr_after_close(self._serial.fileno())
        except (OSError, termios.error) as error:
            self._serial.close()
            raise LinkError(explain_open_failure(port, error)) from error
        # A pty has no modem lines, so opening it resets no board.
        self.is_pseudo_terminal = os.path.realpath(port).startswith("/dev/pts/")

    def __enter__(self) -> "SerialLink":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, timeout: float, wake: int | None = None) -> bytes:
        """Return the bytes that have arrived, waiting for the first; empty when none came.

        Args:
            timeout: s, longest wait.
            wake: a file descriptor that ends the wait when it becomes readable.

        Raises:
            LinkError: the device is gone.
        """
        try:
            watched = [self._serial.fileno()] if wake is None else [self._serial.fileno(), wake]
            ready, _, _ = select.select(watched, [], [], max(timeout, 0.0))
            if self._serial.fileno() not in ready:
                return b""
            data: bytes = os.read(self._serial.fileno(), 4096)
        except BlockingIOError:
            return b""
        except (OSError, serial.SerialException, TypeError, ValueError) as error:
            raise LinkError(f"{self.port}: reading failed ({error}); check the cable and the board's power") from error
        if not data:
            raise LinkError(f"{self.port}: the device is gone; plug the board in again")
        return data

    def write(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            LinkError: the device is gone, or takes no bytes for half a second.
        """
        try:
            self._serial.write(data)
        except serial.SerialTimeoutException as error:
            raise LinkError(f"{self.port}: took no bytes for {_WRITE_LIMIT} s; reconnect the board") from error
        except (OSError, serial.SerialException) as error:
            raise LinkError(f"{self.port}: writing failed ({error}); check the cable and the board's power") from error

    def drain(self, limit: float) -> None:
        """Wait until everything written has left the port, at most `limit` s."""
        deadline = time.monotonic() + limit
        try:
            while self._serial.out_waiting and time.monotonic() < deadline:
                time.sleep(0.002)
        except OSError as error:
            raise LinkError(f"{self.port}: writing failed ({error}); check the cable and the board's power") from error

    def close(self) -> None:
        """Close the port; a second call does nothing."""
        self._serial.close()


def candidates(port: str, find: Callable[[], Iterable] = list_ports) -> list[str]:
    """List the device files to try for a `port` parameter.

    Args:
        port: a device file, or "auto" for every board with the USB identity of a Mega 2560 or of a CH340.
        find: lists the ports of this computer with `device`, `vid` and `pid`.

    Raises:
        LinkError: "auto", and no such board is plugged in.
    """
    if port != AUTO:
        return [port]
    ports = list(find())
    found = sorted(info.device for info in ports if (info.vid, info.pid) in _MEGA or info.vid == _WCH)
    if not found:
        others = ", ".join(sorted(info.device + _usb_name(info) for info in ports)) or "none"
        raise LinkError(
            f"port auto: no Arduino Mega 2560 and no CH340 is plugged in (serial ports here: {others}); "
            "plug the board in, or name its port with port:=/dev/…"
        )
    return found


def usb_refusal(port: str, find: Callable[[], Iterable] = list_ports) -> str:
    """Say why the device at a port cannot be a Mega 2560; empty when it may be one, or has no USB identity.

    Args:
        port: device file, or a link to one.
        find: lists the ports of this computer with `device`, `vid` and `pid`.
    """
    for info in find():
        if info.vid is None or os.path.realpath(info.device) != os.path.realpath(port):
            continue
        if (info.vid, info.pid) in _MEGA or info.vid in _CONVERTERS:
            return ""
        kind = "another Arduino" if info.vid in _ARDUINO else "another device"
        return f"{port}: {kind}{_usb_name(info)}, not an Arduino Mega 2560; name the port of the board"
    return ""


def _usb_name(info: Any) -> str:
    """Return the USB identity in brackets, empty for a port without one."""
    if info.vid is None:
        return ""
    product = getattr(info, "product", None)
    return f" ({info.vid:04x}:{info.pid:04x}{f', {product}' if product else ''})"


def stable_name(port: str, by_id: Path = Path("/dev/serial/by-id")) -> str:
    """Return the by-id link of a device file, which stays the same when it comes back under another name.

    A port without such a link (a pseudo-terminal, or a link that was given as such) is returned as it is.
    """
    if not by_id.is_dir() or Path(port).is_symlink():
        return port
    target = os.path.realpath(port)
    for link in sorted(by_id.iterdir()):
        if os.path.realpath(link) == target:
            return str(link)
    return port


def explain_open_failure(port: str, error: Exception) -> str:
    """Say in one line why a port does not open and what to do."""
    number = _error_number(error)
    if number == errno.ENOENT or not os.path.exists(port):
        return f"{port}: no such port; plug the board in, or find it with port:=auto or under /dev/serial/by-id"
    if number in (errno.EACCES, errno.EPERM):
        return (
            f"{port}: permission denied for user {_user()}; run `sudo usermod -aG dialout {_user()}`, "
            "then log out and in again"
        )
    if number in (errno.EBUSY, errno.EWOULDBLOCK, errno.EAGAIN):
        return f"{port}: in use by {_holders(port) or 'another program'}; close it (a serial monitor? a second bridge?)"
    if number in (errno.ENOTTY, errno.EINVAL):
        return f"{port}: not a serial port; name the board's device, or use port:=auto"
    if number in (errno.EIO, errno.ENXIO, errno.ENODEV):
        return f"{port}: the device does not answer ({os.strerror(number)}); unplug the board and plug it in again"
    return f"{port}: cannot be opened ({error}); check the cable and name the port with port:=/dev/…"


def _error_number(error: BaseException | None) -> int | None:
    """Find the system's error number in an exception or in the one it was raised from."""
    while error is not None:
        number = error.args[0] if isinstance(error, OSError | termios.error) and error.args else None
        if isinstance(number, int):
            return number
        error = error.__cause__ or error.__context__
    return None


def _keep_dtr_after_close(descriptor: int) -> None:
    """Clear HUPCL, so that closing and opening the port again does not pulse DTR and reset the board."""
    attributes = termios.tcgetattr(descriptor)
    attributes[2] &= ~termios.HUPCL
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)


def _holders(port: str) -> str:
    """Name the processes that have the port open, as far as this user may see them."""
    target = os.path.realpath(port)
    names = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int(process.name) != os.getpid() and any(
                os.path.realpath(link) == target for link in (process / "fd").iterdir()
            ):
                names.append(f"{_program(process)} (process {process.name})")
        except OSError:
            continue  # ended meanwhile, or belongs to another user
    return ", ".join(names)


def _program(process: Path) -> str:
    """Return the name of what a process runs: of a Python program its script or module."""
    name = (process / "comm").read_text().strip()
    words = (process / "cmdline").read_text().split("\0")
    if name.startswith("python") and len(words) > 2:
        if words[1] == "-m":
            return words[2].rpartition(".")[2]
        return Path(next((word for word in words[1:] if not word.startswith("-")), "")).name or name
    return name


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
