# SPDX-License-Identifier: Apache-2.0
"""`up` and `demo` from start to end."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Stack = Any
Start = Callable[..., Stack]


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_ctrl_c_ends_all_nodes_in_order_and_leaves_none(start_stack: Start) -> None:
    stack = start_stack("hardware:=mock", "namespace:=left", "tf_prefix:=left_")
    stack.wait_for(lambda: '"mode": "idle"' in stack.verb("status", "--json", "--namespace", "left").stdout)
    solved = json.loads(stack.verb("solve-ik", "0.25", "-0.15", "0.06", "--json", "--namespace", "left").stdout)
    assert solved["success"], solved
    pids = stack.pids()
    assert len(pids) == 4
    assert stack.interrupt() == 0
    assert all(is_gone(pid) for pid in pids)
    assert not [line for line in stack.lines if "Traceback" in line]


@pytest.mark.parametrize(
    ("hardware", "program"),
    [
        ("mock", "motion_server"),
        ("mock", "arm_simulator"),
        ("mock", "kinematics_node"),
        ("mock", "state_publisher"),
        ("emulated", "bridge_node"),
    ],
)
def test_a_node_that_is_killed_in_motion_ends_the_stack_and_is_named(
    start_stack: Start, hardware: str, program: str
) -> None:
    stack = start_stack(f"hardware:={hardware}")
    stack.wait_until_ready()
    goal = stack.start_verb("pick-place", "0.25", "-0.15", "0.06", "0.20", "0.20", "0.08", "--cycles", "0")
    stack.wait_for(lambda: json.loads(stack.verb("status", "--json").stdout)["mode"] == "moving")
    pids = stack.pids()
    victim = next(pid for pid in pids if program in Path(f"/proc/{pid}/cmdline").read_text())
    os.kill(victim, signal.SIGKILL)
    stack.wait_for(lambda: stack.process.poll() is not None)
    goal.kill()
    goal.wait()
    assert stack.process.returncode == 1
    name = "robot_state_publisher" if program == "state_publisher" else program
    assert f"error: {name} was ended by signal SIGKILL; stopping the others" in stack.lines
    assert all(is_gone(pid) for pid in pids)


def test_a_missing_arm_profile_starts_nothing(start_stack: Start) -> None:
    stack = start_stack("hardware:=mock", "arm:=nowhere.yaml")
    stack.wait_for(lambda: stack.process.poll() is not None)
    assert stack.process.returncode == 1
    text = "\n".join(stack.lines)
    assert "nowhere.yaml" in text
    assert "capstone" in text
    assert "[motion_server]" not in text


@pytest.mark.parametrize("hardware", ["sim", "emulated"])
def test_demo_ends_with_success_after_its_cycles(hardware: str, domain: int) -> None:
    command = [sys.executable, "-m", "manipulator3d.cli", "demo", "--headless", "--cycles", "1"]
    done = subprocess.run(
        [*command, f"hardware:={hardware}"],
        env=dict(os.environ, ROS_DOMAIN_ID=str(domain)),
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"1 cycle\(s\) in \d+\.\d\d s", done.stdout)
    phases = re.findall(r"cycle 1 +\d+%  (\S+)", done.stderr)
    assert len(phases) >= 9, done.stderr
