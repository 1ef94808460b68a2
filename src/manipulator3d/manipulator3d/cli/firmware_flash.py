# SPDX-License-Identifier: Apache-2.0
"""Writes the binary to the board with avrdude, after a look at the port."""

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from manipulator3d.stack_error import StackError
from manipulator3d_hw_bridge.serial_link import AUTO, LinkError, SerialLink, list_ports, usb_refusal

# The boot loader of the Mega 2560 speaks STK500v2, after a reset by DTR: avrdude's programmer "wiring".
_PROGRAMMER = ("-p", "atmega2560", "-c", "wiring", "-b", "115200", "-D")
# s; a whole Mega takes less than half a minute
_LIMIT_S = 180.0
_SHOWN_LINES = 12


def check_port(port: str, find: Callable[[], Iterable] = list_ports) -> None:
    """Look whether there is a board at a port that nobody uses.

    Args:
        port: device file.
        find: lists the ports of this computer.

    Raises:
        StackError: no such port, another device, a port in use, or no permission; says the remedy.
    """
    if port == AUTO:
        here = ", ".join(sorted(info.device for info in find())) or "none"
        raise StackError(f"flashing needs the board's own port, not auto; give --port, serial ports here: {here}")
    refusal = usb_refusal(port, find)
    if refusal:
        raise StackError(refusal)
    try:
        SerialLink(port).close()
    except LinkError as error:
        raise StackError(str(error)) from error


def flash(port: str, binary: Path) -> None:
    """Write a HEX file to the board and have avrdude read it back.

    Raises:
        StackError: avrdude is missing, failed, or did not end; shows the end of its output.
    """
    command = ["avrdude", *_PROGRAMMER, "-P", port, "-U", f"flash:w:{binary}:i"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_LIMIT_S)
    except FileNotFoundError as error:
        raise StackError("avrdude is missing; sudo apt-get install --no-install-recommends avrdude") from error
    except subprocess.TimeoutExpired as error:
        raise StackError(
            f"{port}: avrdude did not end within {_LIMIT_S:g} s; unplug the board and try again"
        ) from error
    if done.returncode != 0:
        end = "\n".join(done.stdout.splitlines()[-_SHOWN_LINES:])
        raise StackError(
            f"{end}\n{port}: avrdude ended with {done.returncode}; is it an Arduino Mega 2560 with its boot loader? "
            "Press its reset button as the flashing begins, or try another cable"
        )
