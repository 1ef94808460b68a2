# SPDX-License-Identifier: Apache-2.0
"""Programs that run side by side and end together."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from manipulator3d.process_group import ProcessGroup

LIMIT_S = 30.0
# says that it is ready, and notes its end in a file
POLITE = """
import pathlib, signal, sys
def end(number, frame):
    with pathlib.Path(sys.argv[1]).open("a") as log: log.write(sys.argv[2] + "\\n")
    sys.exit(0)
signal.signal(signal.SIGINT, end)
print("ready")
while True: signal.pause()
"""


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.fixture
def lines() -> list[str]:
    return []


def test_output_is_prefixed_and_programs_end_in_reverse_order(tmp_path: Path, lines: list[str]) -> None:
    group = ProcessGroup(lines.append)
    log = tmp_path / "ends"
    for name in ("first", "second"):
        group.start(name, [sys.executable, "-c", POLITE, str(log), name], os.environ)
    wait_for(lambda: {"[first] ready", "[second] ready"} <= set(lines))
    assert group.ended() is None
    group.stop()
    assert log.read_text().split() == ["second", "first"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("raise SystemExit(3)", "part ended with exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "part was ended by signal SIGKILL"),
    ],
)
def test_the_end_of_a_required_program_is_explained(lines: list[str], code: str, text: str) -> None:
    group = ProcessGroup(lines.append)
    group.start("part", [sys.executable, "-c", code], os.environ)
    wait_for(lambda: group.ended() is not None)
    assert group.ended() == text
    group.stop()


def test_the_end_of_an_optional_program_is_no_end(lines: list[str]) -> None:
    group = ProcessGroup(lines.append)
    group.start("extra", [sys.executable, "-c", "print('bye')"], os.environ, required=False)
    wait_for(lambda: "[extra] bye" in lines)
    assert group.ended() is None
    group.stop()


def test_a_program_that_ignores_signals_is_killed(monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    quick = ((signal.SIGINT, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, LIMIT_S))
    monkeypatch.setattr("manipulator3d.process_group._GRACE_S", quick)
    stubborn = (
        "import signal, os\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "print('pid', os.getpid())\nwhile True: signal.pause()"
    )
    group = ProcessGroup(lines.append)
    group.start("stubborn", [sys.executable, "-c", stubborn], os.environ)
    wait_for(lambda: bool(lines))
    group.stop()
    assert not is_alive(int(lines[0].split()[-1]))
    assert "[stubborn] did not end 0.2 s after SIGTERM" in lines


def test_no_program_outlives_a_killed_group(tmp_path: Path) -> None:
    parent_code = (
        "import os, sys, time\n"
        "from manipulator3d.process_group import ProcessGroup\n"
        "group = ProcessGroup(lambda line: print(line, flush=True))\n"
        "code = 'import os, signal; print(os.getpid()); signal.pause()'\n"
        "group.start('child', [sys.executable, '-c', code], os.environ)\n"
        "time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", parent_code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline().split()[-1])
    assert is_alive(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_for(lambda: not is_alive(child))
