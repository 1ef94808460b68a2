# SPDX-License-Identifier: Apache-2.0
"""The README's commands, run as they are written."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from domain_coordinator import domain_id

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 90.0
# these need what a test machine lacks, or run the tests within the tests; the real `ros2` is tried by hand
NOT_RUN = ("./manipulator3d test", "./manipulator3d bench", "hardware:=serial", "rviz:=true", "--lan")


def readme_commands() -> list[str]:
    """The lines of the README's shell blocks that call the front door, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if "./manipulator3d" in line and not any(word in line for word in NOT_RUN)]


def run(command: str, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["bash", "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=170)


@pytest.fixture(scope="module")
def env() -> Iterator[dict[str, str]]:
    with domain_id() as number:
        yield dict(os.environ, ROS_DOMAIN_ID=str(number))


@pytest.fixture(scope="module")
def running_stack(env: dict[str, str]) -> Iterator[None]:
    """The stack as the README starts it."""
    command = next(line for line in readme_commands() if line.startswith("./manipulator3d up"))
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command}"], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + LIMIT_S
        while '"mode": "idle"' not in run("./manipulator3d status --json", env).stdout:
            assert time.monotonic() < deadline, "the stack did not become ready"
            assert process.poll() is None
        yield
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "./manipulator3d demo" in text
    assert "./manipulator3d test" in text


@pytest.mark.parametrize("command", [line for line in readme_commands() if not re.search(r" (demo|up)\b", line)])
def test_command_works_against_the_running_stack(running_stack: None, env: dict[str, str], command: str) -> None:
    done = run(command, env)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("command", [line for line in readme_commands() if re.search(r" demo .*--cycles", line)])
def test_demo_ends_with_success(command: str) -> None:
    with domain_id() as number:
        done = run(command, dict(os.environ, ROS_DOMAIN_ID=str(number)))
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
