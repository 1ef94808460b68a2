# SPDX-License-Identifier: Apache-2.0
"""Memory and processor load of the whole stack, at rest and in motion, and the time to the first motion."""

import os
import subprocess
import sys
import time
from typing import Any

from domain_coordinator import domain_id

from benchmarks.process_usage import usage_below
from manipulator3d.bringup import RunningProcesses
from manipulator3d.cli.demo import wait_for_arm
from manipulator3d.cli.motion import pick_place_goal
from manipulator3d.launch_arguments import LaunchArguments
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.action import PickPlace

_MEASURED_S = 10.0
_MEMORY_GOAL_MB, _LOAD_GOAL, _FIRST_MOTION_GOAL_S = 450.0, 0.60, 8.0


def rows() -> list[dict[str, Any]]:
    """Measure with hardware:=sim and hardware:=emulated; one row per node and one for their sum."""
    measured: list[dict[str, Any]] = []
    for hardware in ("sim", "emulated"):
        with domain_id() as number:
            os.environ["ROS_DOMAIN_ID"] = str(number)
            measured += _stack_rows(hardware)
            measured.append(_first_motion_row(hardware, number))
    return measured


def _stack_rows(hardware: str) -> list[dict[str, Any]]:
    arguments = LaunchArguments(hardware=hardware)
    with RunningProcesses(arguments, lambda line: None) as processes, StackClient() as client:
        wait_for_arm(client, processes)
        measured = _usage_rows(f"{hardware}, at rest", client)
        goal = pick_place_goal((0.25, -0.15, 0.06), (0.20, 0.20, 0.08))
        goal.cycles = 0
        running = client.send_goal(PickPlace, "pick_place", goal)
        measured += _usage_rows(f"{hardware}, in motion", client)
        if running.done():
            result = running.wait()
            raise RuntimeError(f"the motion ended while it was measured: {result.message}")
        running.cancel()
    return measured


def _usage_rows(situation: str, client: StackClient) -> list[dict[str, Any]]:
    before, started = usage_below(os.getpid()), time.monotonic()
    client.spin_until(lambda: False, _MEASURED_S)
    after, elapsed = usage_below(os.getpid()), time.monotonic() - started
    measured = []
    total_memory = total_load = 0.0
    for pid, usage in after.items():
        load = (usage.cpu_s - before[pid].cpu_s) / elapsed if pid in before else 0.0
        total_memory, total_load = total_memory + usage.memory_mb, total_load + load
        measured.append(_row(f"{situation}: {usage.name} memory", usage.memory_mb, "MB"))
        measured.append(_row(f"{situation}: {usage.name} load", load, "of a core"))
    measured.append(_row(f"{situation}: all memory", total_memory, "MB", _MEMORY_GOAL_MB))
    measured.append(_row(f"{situation}: all load", total_load, "of a core", _LOAD_GOAL))
    return measured


def _first_motion_row(hardware: str, domain: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "manipulator3d.cli", "demo", "--headless", "--cycles", "1"]
    env = dict(os.environ, ROS_DOMAIN_ID=str(domain))
    done = subprocess.run([*command, f"hardware:={hardware}"], env=env, capture_output=True, text=True, check=True)
    line = next(line for line in done.stderr.splitlines() if line.startswith("moving "))
    return _row(f"{hardware}: start of demo to first motion", float(line.split()[1]), "s", _FIRST_MOTION_GOAL_S)


def _row(name: str, value: float, unit: str, limit: float | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "reference": "the limit" if limit else None,
        "ratio": value / limit if limit else None,
        "goal": 1.0 if limit else None,
        "met": value <= limit if limit else None,
    }
