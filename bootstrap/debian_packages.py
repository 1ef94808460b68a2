# SPDX-License-Identifier: Apache-2.0
"""Installs the Debian packages that the set-up and the tests need."""

import os
import shutil
import sysconfig
from pathlib import Path

from bootstrap.console import StepError, run_step, say

# Why each is there, and what shows that it is there already.
BUILD_PACKAGES = {
    "g++": "compiles the interfaces and the emulated board",
    "cmake": "builds the interfaces and the emulated board",
    "make": "runs the builds of cmake",
    "python3-venv": "makes the virtual environment",
    "python3-dev": "headers for the Python side of the interfaces",
}
TEST_PACKAGES = {
    "gcc-avr": "compiles the firmware for the board",
    "avr-libc": "C library of the board",
    "arduino-core-avr": "Arduino core that the firmware is built with",
    "libsimavr-dev": "runs the firmware's binary in the tests",
    "libelf-dev": "reads the firmware's binary",
    "liburdfdom-tools": "check_urdf, which judges the arm's description",
    "git": "lists the files that the tests check",
}
# Tests skip what they lack of these; not every distribution has them under this name.
OPTIONAL_TEST_PACKAGES = {"chromium": "opens the page in the tests"}
FIRMWARE_PACKAGES = {name: TEST_PACKAGES[name] for name in ("gcc-avr", "avr-libc", "arduino-core-avr")} | {
    "avrdude": "writes the firmware to the board",
}


def missing_packages(wanted: dict[str, str]) -> list[str]:
    """List those of `wanted` that are not there."""
    return [name for name in wanted if not _is_there(name)]


def install_packages(wanted: dict[str, str], log: Path) -> None:
    """Install what is missing of `wanted`, with sudo where the user is not root.

    Raises:
        StepError: no rights, no apt-get, or the installation failed; holds the line to run.
    """
    missing = missing_packages(wanted)
    if not missing:
        return
    line = f"apt-get install --no-install-recommends {' '.join(missing)}"
    reasons = "\n".join(f"  {name}: {wanted[name]}" for name in missing)
    if shutil.which("apt-get") is None:
        raise StepError(f"these Debian packages or their like are missing:\n{reasons}\ninstall them and run again")
    prefix = _root_prefix()
    if prefix is None:
        raise StepError(f"these Debian packages are missing:\n{reasons}\nrun this once, then run again:\n  sudo {line}")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    run_step("Reading Debian's package lists", [*prefix, "apt-get", "update"], log, env)
    command = [*prefix, "apt-get", "install", "-y", "--no-install-recommends", *missing]
    run_step(f"Installing {', '.join(missing)}", command, log, env)


def install_optional_packages(wanted: dict[str, str], log: Path) -> None:
    """Install what is missing of `wanted` where that works, else say what is left out."""
    for name in missing_packages(wanted):
        try:
            install_packages({name: wanted[name]}, log)
        except StepError:
            say(f"Going on without {name} ({wanted[name]}); tests that need it are skipped")


def _root_prefix() -> list[str] | None:
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    # -n: without a password or not at all; a prompt would hang where nobody sits
    return ["sudo", "-n"] if os.system("sudo -n true >/dev/null 2>&1") == 0 else None


def _is_there(package: str) -> bool:
    program = {
        "g++": "g++",
        "cmake": "cmake",
        "make": "make",
        "gcc-avr": "avr-gcc",
        "liburdfdom-tools": "check_urdf",
        "git": "git",
        "chromium": "chromium",
        "avrdude": "avrdude",
    }.get(package)
    if program is not None:
        return shutil.which(program) is not None
    if package == "python3-venv":
        return _importable("ensurepip") and _importable("venv")
    if package == "python3-dev":
        return Path(sysconfig.get_path("include"), "Python.h").is_file()
    paths = {
        "avr-libc": ["/usr/lib/avr/include/avr/io.h"],
        "arduino-core-avr": ["/usr/share/arduino/hardware/arduino/avr/cores/arduino/Arduino.h"],
        "libsimavr-dev": ["/usr/include/simavr/sim_avr.h"],
        "libelf-dev": ["/usr/include/libelf.h"],
    }[package]
    return all(Path(path).exists() for path in paths)


def _importable(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None
