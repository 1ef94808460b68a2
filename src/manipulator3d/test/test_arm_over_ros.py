# SPDX-License-Identifier: Apache-2.0
"""The Python interface and its examples against a running stack."""

import asyncio
import math
import os
import runpy
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from rclpy.signals import SignalHandlerOptions

from manipulator3d import Arm, ArmError, AsyncArm, ErrorCode
from manipulator3d.arm_answers import Progress

Stack = Any
ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
REST, ASIDE, FAR = [0.0, 1.2, -1.6], [0.6, 1.2, -1.6], [1.0, 0.0, 0.2]


def tool_point(joints: Any) -> list[float]:
    """Tool point of the capstone arm from its DH table."""
    q0, q1, q2 = joints
    reach, offset = 0.22 * math.cos(q1) + 0.18 * math.cos(q1 + q2), -0.065
    return [
        reach * math.cos(q0) + offset * math.sin(q0),
        reach * math.sin(q0) - offset * math.cos(q0),
        0.15 + 0.22 * math.sin(q1) + 0.18 * math.sin(q1 + q2),
    ]


@pytest.fixture(scope="module", autouse=True)
def own_domain(domain: int, mock_stack: Stack) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(domain))
        yield


@pytest.fixture(scope="module")
def connected(own_domain: None) -> Iterator[Arm]:
    with Arm(find_timeout=30.0) as arm:
        yield arm


@pytest.fixture
def arm(connected: Arm) -> Arm:
    """The arm, ready and at rest in the same place before each test."""
    connected.wait_until_ready(60.0)
    connected.move_joints(REST)
    return connected


def wait_for_rest(arm: Arm, stack: Stack) -> None:
    """Wait until the measured arm, whose report follows the last command, is at rest short of its target."""
    stack.wait_for(lambda: bool(np.all(np.abs(arm.joint_velocities) < 1e-6)))
    assert arm.joints[0] < 0.5


def test_ik_and_fk_close_against_the_dh_table(arm: Arm) -> None:
    solution = arm.solve_ik([0.25, -0.15, 0.06], elbow="up")
    assert tool_point(solution.joints) == pytest.approx([0.25, -0.15, 0.06], abs=1e-9)
    assert (solution.elbow, solution.names) == ("up", ("base_yaw", "shoulder_pitch", "elbow_pitch"))
    assert solution.alternatives[0] == pytest.approx(solution.joints)
    found = arm.solve_fk({"elbow_pitch": -1.1, "base_yaw": 0.3, "shoulder_pitch": 0.9})
    assert found.tool == pytest.approx(tool_point([0.3, 0.9, -1.1]), abs=1e-12)
    step = (np.array(tool_point([0.3, 0.9, -1.1 + 1e-6])) - tool_point([0.3, 0.9, -1.1 - 1e-6])) / 2e-6
    assert found.jacobian[:3, 2] == pytest.approx(step, abs=1e-8)


def test_a_motion_tells_its_progress_and_where_it_ended(arm: Arm) -> None:
    told: list[Progress] = []
    moved = arm.move_to([0.22, 0.1, 0.2], on_progress=told.append)
    assert moved.tool == pytest.approx([0.22, 0.1, 0.2], abs=1e-3)
    assert moved.position_error < 1e-3
    assert tool_point(arm.joints) == pytest.approx([0.22, 0.1, 0.2], abs=1e-3)
    assert arm.tool == pytest.approx(tool_point(arm.joints), abs=1e-9)
    assert len(told) >= 2
    assert all(0.0 <= progress.fraction <= 1.0 for progress in told)
    assert arm.move_to([0.25, -0.1, 0.1], straight=False, elbow="up").position_error < 1e-3
    assert tool_point(arm.joints) == pytest.approx([0.25, -0.1, 0.1], abs=1e-3)


def test_a_drawing_tells_its_length_and_how_true_it_is(arm: Arm) -> None:
    drawn = arm.draw_polyline([[0.25, -0.03, 0.1], [0.25, 0.03, 0.1], [0.25, 0.03, 0.14]])
    assert drawn.length == pytest.approx(0.1)
    assert drawn.max_deviation < 1e-3
    assert arm.tool == pytest.approx([0.25, 0.03, 0.14], abs=1e-3)


@pytest.mark.parametrize(
    ("ask", "code", "text"),
    [
        (lambda arm: arm.move_to(FAR), ErrorCode.TOO_FAR, "farther from the shoulder"),
        (lambda arm: arm.solve_ik(FAR), ErrorCode.TOO_FAR, "farther from the shoulder"),
        (lambda arm: arm.move_to([math.nan, 0.0, 0.2]), ErrorCode.INVALID_INPUT, "point.x is nan"),
        (lambda arm: arm.move_joints([0.0, math.inf, 0.0]), ErrorCode.INVALID_INPUT, "inf"),
        (lambda arm: arm.move_joints({"wrist": 1.0}), ErrorCode.INVALID_INPUT, "give 3 for base_yaw"),
        (lambda arm: arm.move_to([0.22, 0.1, 0.2], frame="moon"), ErrorCode.UNKNOWN_FRAME, "frame 'moon'"),
        (lambda arm: arm.pick_place([0.25, -0.15, -0.2], REST), ErrorCode.BELOW_FLOOR, "pick"),
        (lambda arm: arm.draw_circle([0.25, 0.0, 0.1], 0.5), ErrorCode.TOO_FAR, "circle"),
        (lambda arm: arm.resume(), None, "no motion is paused"),
    ],
)
def test_a_refusal_is_an_error_with_the_servers_code_and_text(
    arm: Arm, ask: Callable[[Arm], Any], code: ErrorCode | None, text: str
) -> None:
    before = arm.joints
    with pytest.raises(ArmError) as refused:
        ask(arm)
    assert refused.value.code is code
    assert text in str(refused.value)
    assert arm.joints == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda arm: arm.move_to([0.1, 0.2]), "point: expected three numbers, got [0.1, 0.2]"),
        (lambda arm: arm.move_to(REST, elbow="left"), "elbow: 'left' is none of auto, down, up"),
        (lambda arm: arm.set_speed(1.5), "speed: 1.5 is not above 0 to 1"),
        (lambda arm: arm.pick_place(REST, REST, cycles=-1), "cycles: -1 is negative"),
        (lambda arm: arm.draw_circle(REST, 0.1, normal=[0, 0, 0]), "normal: expected a direction"),
        (lambda arm: arm.draw_triangle([REST, REST]), "points: expected 3, got 2"),
    ],
)
def test_a_mistake_in_the_call_is_a_value_error(connected: Arm, ask: Callable[[Arm], Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|none of|not above|negative") as mistake:
        ask(connected)
    assert text in str(mistake.value)


def test_a_motion_that_takes_too_long_is_cancelled_and_the_arm_comes_to_rest(arm: Arm, mock_stack: Stack) -> None:
    with pytest.raises(ArmError, match=r"pick_place did not end within 1 s and was cancelled") as late:
        arm.pick_place([0.25, -0.15, 0.06], [0.2, 0.2, 0.08], cycles=0, timeout=1.0)
    assert late.value.code is ErrorCode.TIMEOUT
    assert late.value.result.cycles_completed == 0
    wait_for_rest(arm, mock_stack)
    assert arm.move_joints(ASIDE).position_error < 1e-3


def test_an_exception_from_on_progress_cancels_the_motion(arm: Arm, mock_stack: Stack) -> None:
    def complain(progress: Progress) -> None:
        if progress.fraction > 0.0:
            raise RuntimeError("seen enough")

    with pytest.raises(RuntimeError, match="seen enough"):
        arm.move_joints(ASIDE, speed_scale=0.1, on_progress=complain)
    wait_for_rest(arm, mock_stack)


def test_ctrl_c_cancels_the_motion_before_it_is_raised(arm: Arm, mock_stack: Stack) -> None:
    moving = threading.Event()

    def press() -> None:
        moving.wait(60.0)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            arm.move_joints(ASIDE, speed_scale=0.1, on_progress=lambda progress: moving.set())
    finally:
        signal.signal(signal.SIGINT, previous)
        presser.join()
    wait_for_rest(arm, mock_stack)


def test_another_thread_pauses_and_resumes_a_motion(arm: Arm) -> None:
    moving = threading.Event()
    answers: list[str] = []

    def interfere() -> None:
        moving.wait(60.0)
        answers.extend([arm.pause(), arm.resume()])

    other = threading.Thread(target=interfere)
    other.start()
    arm.move_joints(ASIDE, speed_scale=0.3, on_progress=lambda progress: moving.set())
    other.join()
    assert answers == ["paused", "resumed"]


def test_the_emergency_stop_latches_until_reset(arm: Arm) -> None:
    arm.emergency_stop()
    with pytest.raises(ArmError) as refused:
        arm.move_joints(ASIDE)
    assert refused.value.code is ErrorCode.ESTOP
    arm.reset_fault()
    arm.wait_until_ready(60.0)
    arm.close_gripper()
    arm.open_gripper()
    assert arm.status.fault == ErrorCode.SUCCESS


def test_asyncio_awaits_several_things_at_once_and_a_second_motion_is_busy(arm: Arm) -> None:
    async def both() -> tuple[Any, Any, Any]:
        async with AsyncArm(find_timeout=30.0) as other:
            moving = asyncio.Event()
            first = asyncio.create_task(
                other.move_joints(ASIDE, speed_scale=0.3, on_progress=lambda progress: moving.set())
            )
            await moving.wait()
            solution, second = await asyncio.gather(
                other.solve_ik([0.25, -0.15, 0.06]), other.move_joints(REST), return_exceptions=True
            )
            return await first, solution, second

    moved, solution, second = asyncio.run(both())
    assert moved.position_error < 1e-3
    assert tool_point(solution.joints) == pytest.approx([0.25, -0.15, 0.06], abs=1e-9)
    assert isinstance(second, ArmError)
    assert second.code is ErrorCode.BUSY


def test_cancelling_a_task_cancels_its_motion(arm: Arm, mock_stack: Stack) -> None:
    async def give_up() -> None:
        async with AsyncArm(find_timeout=30.0) as other:
            moving = asyncio.Event()
            motion = asyncio.create_task(
                other.move_joints(ASIDE, speed_scale=0.1, on_progress=lambda progress: moving.set())
            )
            await moving.wait()
            motion.cancel()
            with pytest.raises(asyncio.CancelledError):
                await motion
            with pytest.raises(ArmError, match="move_to did not end within 0 s and was cancelled"):
                await other.move_joints(ASIDE, timeout=0.0)

    asyncio.run(give_up())
    wait_for_rest(arm, mock_stack)


def test_the_programs_own_use_of_rclpy_is_left_alone(arm: Arm) -> None:
    assert not rclpy.ok()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        with Arm(find_timeout=30.0) as other:
            assert other.solve_fk(REST).tool == pytest.approx(tool_point(REST), abs=1e-12)
        assert rclpy.ok()
        with pytest.raises(ArmError, match="the connection to the stack is closed"):
            other.stop()
    finally:
        rclpy.shutdown()
    assert arm.status.link


def test_where_no_stack_runs_the_error_says_how_to_start_one(own_domain: None) -> None:
    with pytest.raises(ArmError, match=r"/nowhere/arm_status was not found within 0\.3 s in ROS domain") as missing:
        Arm("nowhere", find_timeout=0.3)
    assert missing.value.code is ErrorCode.LINK_DOWN
    assert "./manipulator3d up" in str(missing.value)


def test_a_frozen_driver_gives_no_old_position(arm: Arm, mock_stack: Stack) -> None:
    def silent() -> bool:
        try:
            assert arm.joints.shape == (3,)
        except ArmError as error:
            return error.code is ErrorCode.STALE_STATE and "joint_states has been silent for" in str(error)
        return False

    driver = next(pid for pid in mock_stack.pids() if "arm_simulator" in Path(f"/proc/{pid}/cmdline").read_text())
    os.kill(driver, signal.SIGSTOP)
    try:
        mock_stack.wait_for(silent)
        with pytest.raises(ArmError, match=r"the arm is not ready after 0 s; its state: ") as unready:
            arm.wait_until_ready(0.0)
        assert unready.value.code is ErrorCode.TIMEOUT
    finally:
        os.kill(driver, signal.SIGCONT)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(arm: Arm, capsys: pytest.CaptureFixture[str], example: Path) -> None:
    assert len(example.read_text().splitlines()) <= 40
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr()
    assert printed.err == ""
    assert len(printed.out.splitlines()) >= 2
