# SPDX-License-Identifier: Apache-2.0
"""Runs programs side by side: prefixes their output, stops all of them in order, leaves none behind."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

_PR_SET_PDEATHSIG = 1
# a node has this long to end after each signal
_GRACE_S = ((signal.SIGINT, 6.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
_POLL_S = 0.05


class ProcessGroup:
    """Programs that belong together.

    Args:
        show: receives each line of output, with the program's name in front.
    """

    def __init__(self, show: Callable[[str], None] | None = None) -> None:
        self._show = show or (lambda line: print(line, flush=True))
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._required: set[str] = set()
        self._readers: list[threading.Thread] = []
        self._libc = ctypes.CDLL(None)

    def start(self, name: str, command: Sequence[str], env: Mapping[str, str], required: bool = True) -> None:
        """Start a program in a session of its own, so that Ctrl-C reaches it through this group alone.

        Args:
            name: shown before its lines.
            command: program and arguments.
            env: its environment.
            required: its end is reported by `ended`.
        """
        process = subprocess.Popen(
            command,
            env=dict(env, PYTHONUNBUFFERED="1"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=self._die_with_parent,
        )
        self._processes[name] = process
        if required:
            self._required.add(name)
        reader = threading.Thread(target=self._read, args=(name, process), daemon=True)
        reader.start()
        self._readers.append(reader)

    def ended(self) -> str | None:
        """Tell which required program has ended and how, None while all run."""
        for name in self._required:
            code = self._processes[name].poll()
            if code is not None:
                if code < 0:
                    return f"{name} was ended by signal {signal.Signals(-code).name}"
                return f"{name} ended with exit code {code}"
        return None

    def stop(self) -> None:
        """Stop all programs, the last started first, with growing force; returns when none runs."""
        for name, process in reversed(self._processes.items()):
            for number, grace in _GRACE_S:
                if not self._signal(process, number):
                    break
                if self._wait(process, grace):
                    break
                self._show(f"[{name}] did not end {grace:g} s after {signal.Signals(number).name}")
        for reader in self._readers:
            reader.join(timeout=2.0)

    def _signal(self, process: "subprocess.Popen[str]", number: int) -> bool:
        if process.poll() is not None:
            return False
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _wait(self, process: "subprocess.Popen[str]", seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if process.poll() is not None:
                return True
            time.sleep(_POLL_S)
        return process.poll() is not None

    def _read(self, name: str, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._show(f"[{name}] {line.rstrip()}")

    def _die_with_parent(self) -> None:
        self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def show_on_stderr(line: str) -> None:
    """Print a line of a program on stderr."""
    print(line, file=sys.stderr, flush=True)
