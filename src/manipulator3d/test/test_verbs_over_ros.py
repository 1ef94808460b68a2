# SPDX-License-Identifier: Apache-2.0
"""The verbs against a running stack."""

import json
import math
import os
import pty
import re
import select
import subprocess
import sys
from typing import Any

import pytest

Stack = Any


def answer(stack: Stack, *arguments: str) -> dict[str, Any]:
    done = stack.verb(*arguments, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def tool_point(q0: float, q1: float, q2: float) -> list[float]:
    """Tool point of the capstone arm from its DH table."""
    reach, offset = 0.22 * math.cos(q1) + 0.18 * math.cos(q1 + q2), -0.065
    return [
        reach * math.cos(q0) + offset * math.sin(q0),
        reach * math.sin(q0) - offset * math.cos(q0),
        0.15 + 0.22 * math.sin(q1) + 0.18 * math.sin(q1 + q2),
    ]


def test_solve_ik_gives_angles_that_close_against_the_dh_table(mock_stack: Stack) -> None:
    solved = answer(mock_stack, "solve-ik", "0.25", "-0.15", "0.06", "--elbow", "up")
    joints = [solved["joints"][name] for name in ("base_yaw", "shoulder_pitch", "elbow_pitch")]
    assert tool_point(*joints) == pytest.approx([0.25, -0.15, 0.06], abs=1e-9)
    assert solved["elbow"] == "up"
    assert joints[2] < 0


def test_solve_ik_prints_angles_for_people(mock_stack: Stack) -> None:
    done = mock_stack.verb("solve-ik", "0.25", "-0.15", "0.06")
    assert done.returncode == 0, done.stderr
    assert "base_yaw" in done.stdout
    assert "rad" in done.stdout


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (("1", "0", "0.2"), 101),
        (("0.01", "0", "0.2"), 102),
        (("0.2", "0.1", "-0.05"), 103),
        (("nan", "0", "0.2"), 100),
        (("0.2", "-inf", "0.2"), 100),
    ],
)
def test_solve_ik_refuses_with_a_reason(mock_stack: Stack, target: tuple[str, ...], code: int) -> None:
    refused = answer(mock_stack, "solve-ik", *target)
    assert (refused["success"], refused["error_code"]) == (False, code)
    assert len(refused["message"]) > 20
    done = mock_stack.verb("solve-ik", *target)
    assert done.returncode == 1
    assert refused["message"] in done.stderr


def test_solve_fk_agrees_with_the_dh_table(mock_stack: Stack) -> None:
    solved = answer(mock_stack, "solve-fk", "0.3", "0.9", "-1.1")
    assert solved["frames"][1]["position"] == pytest.approx(tool_point(0.3, 0.9, -1.1), abs=1e-12)
    assert len(solved["jacobian"]) == 18


def test_status_tells_mode_and_joints(mock_stack: Stack) -> None:
    status = answer(mock_stack, "status")
    assert (status["mode"], status["fault"], status["link"], status["homed"]) == ("idle", 0, True, True)
    assert set(status["joints"]) == {"base_yaw", "shoulder_pitch", "elbow_pitch"}


def test_move_to_moves_the_tool_there(mock_stack: Stack) -> None:
    moved = answer(mock_stack, "move-to", "0.22", "0.1", "0.2")
    assert moved["success"], moved
    assert moved["tool"] == pytest.approx([0.22, 0.1, 0.2], abs=1e-3)
    joints = answer(mock_stack, "move-to", "--joints", "0.0", "1.2", "-1.6")
    assert joints["tool"] == pytest.approx(tool_point(0.0, 1.2, -1.6), abs=1e-3)


def test_move_to_out_of_reach_moves_nothing(mock_stack: Stack) -> None:
    before = answer(mock_stack, "status")["joints"]
    refused = answer(mock_stack, "move-to", "0.9", "0", "0.2")
    assert not refused["success"]
    assert refused["error_code"] in (101, 203)
    assert answer(mock_stack, "status")["joints"] == pytest.approx(before, abs=1e-6)


def test_pick_place_shows_its_phases_and_succeeds(mock_stack: Stack) -> None:
    done = mock_stack.verb("pick-place", "0.25", "-0.15", "0.06", "0.20", "0.20", "0.08", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cycles_completed"] == 1
    assert "cycle 1" in done.stderr
    assert "holding" in done.stderr


def test_gripper_stop_and_reset_answer(mock_stack: Stack) -> None:
    assert answer(mock_stack, "gripper", "close")["success"]
    assert answer(mock_stack, "gripper", "open")["success"]
    stopped = mock_stack.verb("stop")
    assert stopped.returncode in (0, 1)
    assert stopped.stdout or stopped.stderr
    reset = mock_stack.verb("reset")
    assert reset.stdout or reset.stderr


def test_emergency_stop_latches_until_reset(mock_stack: Stack) -> None:
    assert answer(mock_stack, "estop")["success"]
    mock_stack.wait_for(lambda: answer(mock_stack, "status")["mode"] == "fault")
    refused = answer(mock_stack, "move-to", "0.22", "0.1", "0.2")
    assert (refused["success"], refused["error_code"]) == (False, 303)
    assert answer(mock_stack, "reset")["success"]
    mock_stack.wait_for(lambda: answer(mock_stack, "status")["mode"] == "idle")
    assert answer(mock_stack, "move-to", "0.22", "0.1", "0.2")["success"]


def test_wrong_usage_exits_with_two(mock_stack: Stack) -> None:
    for arguments in (("solve-ik", "1", "2"), ("gripper", "half"), ("pick-place", "1"), ("up", "speed:=1")):
        done = mock_stack.verb(*arguments)
        assert done.returncode == 2, arguments
        assert done.stderr


def test_a_second_stack_in_the_same_place_is_refused(mock_stack: Stack) -> None:
    done = mock_stack.verb("up", "hardware:=mock")
    assert done.returncode == 1
    assert "a stack is running in ROS domain" in done.stderr
    assert "namespace:=NAME" in done.stderr
    assert answer(mock_stack, "status")["mode"] == "idle"


def test_jog_moves_the_joints_that_are_asked_for_and_says_how_far(mock_stack: Stack) -> None:
    before = answer(mock_stack, "status")["joints"]
    jogged = answer(mock_stack, "jog", "--joints", "0", "0", "-0.2", "--seconds", "0.3")
    assert jogged["success"]
    after = answer(mock_stack, "status")
    assert after["mode"] == "idle"
    assert after["joints"]["elbow_pitch"] < before["elbow_pitch"] - 0.02
    assert after["joints"]["base_yaw"] == pytest.approx(before["base_yaw"], abs=1e-6)


def test_keys_move_the_arm_while_they_are_held(mock_stack: Stack) -> None:
    terminal, of_verb = pty.openpty()
    command = [sys.executable, "-m", "manipulator3d.cli", "jog"]
    verb = subprocess.Popen(command, env=mock_stack.env, stdin=of_verb, stdout=of_verb, stderr=of_verb)
    shown = ""

    def angles() -> list[float]:
        nonlocal shown
        while select.select([terminal], [], [], 0.05)[0]:
            shown += os.read(terminal, 4096).decode(errors="ignore")
        return [float(found) for found in re.findall(r"base_yaw ([+-]\d+\.\d+)", shown)]

    try:
        mock_stack.wait_for(lambda: bool(angles()))
        start = angles()[0]

        def has_turned() -> bool:
            os.write(terminal, b"2")
            return angles()[-1] > start + 0.05

        mock_stack.wait_for(has_turned)
        os.write(terminal, b"q")
        mock_stack.wait_for(lambda: bool(angles()) and verb.poll() is not None)
    finally:
        verb.kill()
        verb.wait()
        os.close(of_verb)
        os.close(terminal)
    assert verb.returncode == 0, shown
    assert answer(mock_stack, "status")["mode"] == "idle"


def test_speed_is_set_and_shown(mock_stack: Stack) -> None:
    assert answer(mock_stack, "speed", "0.5")["fraction"] == 0.5
    mock_stack.wait_for(lambda: answer(mock_stack, "speed")["speed_scale"] == 0.5)
    assert mock_stack.verb("speed", "1").stdout == "speed 100% of the planned one from now on\n"
