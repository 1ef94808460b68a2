# SPDX-License-Identifier: Apache-2.0
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from manipulator3d_hw_bridge.board_settings import Wiring
from manipulator3d_hw_bridge.emulator_process import EmulatorError, EmulatorProcess, find_emulator


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_variable_comes_before_the_installation(tmp_path):
    installed = program(tmp_path / "prefix/lib/manipulator3d_hw_bridge/manipulator3d_emulator", "#!/bin/sh\n")
    named = program(tmp_path / "other", "#!/bin/sh\n")
    environment = {"AMENT_PREFIX_PATH": f"{tmp_path}/absent:{tmp_path}/prefix"}
    assert find_emulator(environment) == installed
    assert find_emulator({**environment, "MANIPULATOR3D_EMULATOR": str(named)}) == named


def test_a_variable_that_names_nothing_is_refused():
    with pytest.raises(EmulatorError, match="MANIPULATOR3D_EMULATOR=/absent: no such program; build firmware/"):
        find_emulator({"MANIPULATOR3D_EMULATOR": "/absent"})


BOARD = '#!/bin/sh\ntouch "$2"\nexec sleep 1000\n'


def test_it_starts_shows_its_port_and_ends_when_asked(tmp_path, capstone):
    emulator = EmulatorProcess(program(tmp_path / "board", BOARD), capstone, Wiring())
    emulator.wait_ready(30.0)
    assert emulator.running
    emulator.stop()
    assert not emulator.running
    assert not os.path.exists(emulator.port)


def test_a_program_that_ends_early_is_named(tmp_path, capstone):
    emulator = EmulatorProcess(program(tmp_path / "board", "#!/bin/sh\nexit 3\n"), capstone, Wiring())
    with pytest.raises(EmulatorError, match="manipulator3d_emulator ended with code 3 before its port was there"):
        emulator.wait_ready(30.0)
    emulator.stop()


def test_a_port_that_never_comes_is_named(tmp_path, capstone):
    emulator = EmulatorProcess(program(tmp_path / "board", "#!/bin/sh\nexec sleep 1000\n"), capstone, Wiring())
    with pytest.raises(EmulatorError, match=r"its port .* is not there after 0.05 s"):
        emulator.wait_ready(0.05)
    emulator.stop()


def test_it_does_not_outlive_a_killed_parent(tmp_path):
    board = program(tmp_path / "board", BOARD)
    code = (
        "import sys; from pathlib import Path; from types import SimpleNamespace\n"
        "from manipulator3d_hw_bridge.emulator_process import EmulatorProcess\n"
        "from manipulator3d_hw_bridge.board_settings import Wiring\n"
        "arm = SimpleNamespace(home=[0.0] * 3, lower=[], upper=[], "
        "counts_per_revolution=[], base_height=0, upper_arm=0, lateral_offset=0, forearm=0)\n"
        f"emulator = EmulatorProcess(Path({str(board)!r}), arm, Wiring()); emulator.wait_ready(30.0)\n"
        "print(emulator.pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    deadline = time.monotonic() + 30.0
    while alive(child):
        assert time.monotonic() < deadline, "the emulator runs on without its parent"
        time.sleep(0.02)


def alive(pid):
    """True for a process that runs; a zombie nobody reaps is not one."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
