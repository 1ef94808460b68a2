# SPDX-License-Identifier: Apache-2.0
"""The emulated board as a child process: finding its program, starting it, and an end that leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from manipulator3d_hw_bridge.board_settings import Arm, Wiring, arm_file

PROGRAM = "manipulator3d_emulator"
VARIABLE = "MANIPULATOR3D_EMULATOR"

_PACKAGE = "manipulator3d_hw_bridge"

# The kernel kills the child when the parent ends (PR_SET_PDEATHSIG = 1 survives exec). Asked for between fork and
# exec it would have to run in a process with other threads; so a fresh interpreter asks and then becomes the program.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent has ended already")
os.execv(sys.argv[2], sys.argv[2:])
"""


class EmulatorError(Exception):
    """The emulator cannot be found or started; the text names what is missing and the remedy."""


def find_emulator(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the emulator's program: named by MANIPULATOR3D_EMULATOR, else installed, else built in this checkout.

    Raises:
        EmulatorError: there is none; lists the places looked at.
    """
    named = environment.get(VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise EmulatorError(f"{VARIABLE}={named}: no such program; build firmware/ or unset the variable")
        return Path(named)
    prefixes = [prefix for prefix in environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    places = [Path(prefix) / "lib" / _PACKAGE / PROGRAM for prefix in prefixes]
    places += [parent / "firmware" / "build" / PROGRAM for parent in Path(__file__).resolve().parents]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    raise EmulatorError(
        f"{PROGRAM} is not built: neither {VARIABLE} nor lib/{_PACKAGE} of a sourced installation nor firmware/build "
        "has it; run ./manipulator3d test or build firmware/ with cmake, or use hardware:=sim"
    )


class EmulatorProcess:
    """An emulated board behind a pseudo-terminal; it never outlives the thread that started it.

    The arm stands at its home position, which the board knows.

    Args:
        program: path of the emulator.
        arm, wiring: which arm, and how it is connected.
        arguments: more of them for the emulator.
    """

    def __init__(self, program: Path, arm: Arm, wiring: Wiring, arguments: Sequence[str] = ()) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="manipulator3d-")
        self.port = os.path.join(self._folder.name, "board")
        description = Path(self._folder.name) / "arm"
        description.write_text(arm_file(arm, wiring))
        start = ",".join(f"{float(position):.9g}" for position in arm.home)
        command = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), str(program)]
        command += ["--link", self.port, "--arm-file", str(description), "--start", start, "--homed", *arguments]
        # In a session of its own: a Ctrl-C for the bridge must not take the board away before it is disarmed.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )

    @property
    def running(self) -> bool:
        """True until the process has ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def wait_ready(self, limit: float = 10.0) -> None:
        """Wait for the pseudo-terminal.

        Raises:
            EmulatorError: it has ended, or is not there after `limit` s.
        """
        deadline = time.monotonic() + limit
        while not os.path.exists(self.port):
            if not self.running:
                raise EmulatorError(f"{PROGRAM} ended with code {self._process.returncode} before its port was there")
            if time.monotonic() > deadline:
                raise EmulatorError(f"{PROGRAM}: its port {self.port} is not there after {limit:g} s")
            time.sleep(0.01)

    def command(self, text: str) -> None:
        """Give the emulator a command, such as "reset" or "unplug 1"; `manipulator3d_emulator --help` lists them."""
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode() + b"\n")
        self._process.stdin.flush()

    def stop(self, limit: float = 5.0) -> None:
        """End the process: asked first, killed after `limit` s; a second call does nothing."""
        self._process.terminate()
        try:
            self._process.wait(limit)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._folder.cleanup()
