# SPDX-License-Identifier: Apache-2.0
"""A running stack, and the verbs as a user calls them."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from domain_coordinator import domain_id

LIMIT_S = 90.0


class Stack:
    """`./manipulator3d up` in a ROS domain of its own."""

    def __init__(self, domain: int, *arguments: str) -> None:
        self.env = dict(os.environ, ROS_DOMAIN_ID=str(domain))
        self.lines: list[str] = []
        command = [sys.executable, "-m", "manipulator3d.cli", "up", *arguments]
        self.process = subprocess.Popen(
            command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(line.rstrip("\n") for line in self.process.stdout)

    def verb(self, *arguments: str, timeout: float = LIMIT_S) -> "subprocess.CompletedProcess[str]":
        """Run a verb against this stack."""
        command = [sys.executable, "-m", "manipulator3d.cli", *arguments]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=timeout)

    def start_verb(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a verb against this stack and go on."""
        command = [sys.executable, "-m", "manipulator3d.cli", *arguments]
        return subprocess.Popen(command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait_until_ready(self) -> None:
        """Wait until the arm is ready for a goal."""
        self.wait_for(lambda: '"mode": "idle"' in self.verb("status", "--json").stdout)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition, with a limit that shows the stack's output when it is not met."""
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < deadline, "condition not met; the stack printed:\n" + "\n".join(self.lines)
            time.sleep(0.05)

    def pids(self) -> list[int]:
        """Processes of the stack's nodes."""
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in listed.stdout.split()]

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(LIMIT_S)
        self._reader.join()
        return code

    def end(self) -> None:
        """Stop what still runs."""
        if self.process.poll() is None:
            self.interrupt()


@pytest.fixture(scope="module")
def domain() -> Iterator[int]:
    with domain_id() as number:
        yield number


@pytest.fixture(scope="module")
def mock_stack(domain: int) -> Iterator[Stack]:
    stack = Stack(domain, "hardware:=mock")
    try:
        stack.wait_until_ready()
        yield stack
    finally:
        stack.end()


@pytest.fixture(scope="session")
def stack_class() -> type[Stack]:
    """For stacks of another scope."""
    return Stack


@pytest.fixture
def start_verb() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start verbs in this process's own ROS domain; what still runs at the end is interrupted."""
    verbs: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "manipulator3d.cli", *arguments]
        verbs.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        return verbs[-1]

    yield start
    for verb in verbs:
        if verb.poll() is None:
            verb.send_signal(signal.SIGINT)
            verb.wait(LIMIT_S)
        assert verb.stderr is not None
        verb.stderr.close()


@pytest.fixture(scope="session")
def make_stack() -> Callable[..., Stack]:
    """The class Stack: starts `up` in a domain with arguments; whoever makes one ends it."""
    return Stack


@pytest.fixture
def start_stack() -> Iterator[Callable[..., Stack]]:
    """Start further stacks, each in a domain of its own."""
    stacks: list[Stack] = []
    domains = []

    def start(*arguments: str) -> Stack:
        manager = domain_id()
        domains.append(manager)
        stacks.append(Stack(manager.__enter__(), *arguments))
        return stacks[-1]

    try:
        yield start
    finally:
        for stack in stacks:
            stack.end()
        for manager in domains:
            manager.__exit__(None, None, None)
