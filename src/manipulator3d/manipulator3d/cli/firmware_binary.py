# SPDX-License-Identifier: Apache-2.0
"""Builds the board's binary with avr-gcc, and tells how much of the Mega it takes."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from manipulator3d.stack_error import StackError

NAME = "manipulator3d_firmware"
# The ATmega2560 has 256 KiB of flash, of which the boot loader takes 8, and 8 KiB of RAM.
_FLASH, _RAM = 253952, 8192
_SECTIONS = {"flash": (".text", ".data"), "RAM": (".data", ".bss", ".noinit")}
# lines of the compiler's output that an error shows
_SHOWN_LINES = 20
_INSTALL = "install what it needs: sudo apt-get install --no-install-recommends make gcc-avr avr-libc arduino-core-avr"


@dataclass(frozen=True)
class Memory:
    """How much of one memory the binary takes; the stack, which grows in the RAM, comes on top.

    Attributes:
        name: flash or RAM.
        used, available: bytes.
    """

    name: str
    used: int
    available: int


def build_binary() -> Path:
    """Build the binary of this checkout, or find it up to date; return the path of the ELF file, the HEX beside it.

    Raises:
        StackError: no checkout, a program is missing, or the build failed; shows the end of its output.
    """
    root = os.environ.get("MANIPULATOR3D_ROOT", "")
    source = Path(root, "firmware")
    if not root or not (source / "Makefile").is_file():
        raise StackError("the firmware's sources are not here; run ./manipulator3d firmware in a checkout")
    build = Path(root, ".manipulator3d", "firmware", "avr")
    for program in ("make", "avr-g++"):
        if shutil.which(program) is None:
            raise StackError(f"the firmware cannot be built: {program} is missing; {_INSTALL}")
    command = ["make", "--no-print-directory", "-C", str(source), f"BUILD={build}", f"-j{os.cpu_count() or 1}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        end = "\n".join(done.stdout.splitlines()[-_SHOWN_LINES:])
        raise StackError(f"{end}\nthe firmware does not build (make ended with {done.returncode}); {_INSTALL}")
    return build / f"{NAME}.elf"


def memory_use(elf: Path) -> list[Memory]:
    """Return what a binary takes of flash and RAM.

    Raises:
        StackError: avr-size is missing or fails, or the binary is larger than the board.
    """
    try:
        command = ["avr-size", "-A", str(elf)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError as error:
        raise StackError(f"the size is not known: avr-size is missing; {_INSTALL}") from error
    except subprocess.CalledProcessError as error:
        raise StackError(f"{elf}: avr-size ended with {error.returncode}: {error.stderr.strip()}") from error
    sizes = {}
    for line in text.splitlines():
        columns = line.split()
        if len(columns) == 3 and columns[0].startswith("."):
            sizes[columns[0]] = int(columns[1])
    memory = [
        Memory(name, sum(sizes.get(section, 0) for section in _SECTIONS[name]), available)
        for name, available in (("flash", _FLASH), ("RAM", _RAM))
    ]
    for one in memory:
        if one.used > one.available:
            raise StackError(f"the firmware takes {one.used} bytes of {one.name}; the Mega 2560 has {one.available}")
    return memory
