# SPDX-License-Identifier: Apache-2.0
"""The firmware's faults on their way to a program: emulated board, bridge, motion server, Python interface."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manipulator3d import Arm, ArmError, ErrorCode
from manipulator3d.arm_answers import Progress
from manipulator3d_hw_bridge.board_settings import Wiring
from manipulator3d_hw_bridge.emulator_process import EmulatorError, EmulatorProcess, find_emulator
from manipulator3d_kinematics import ArmModel

Stack = Any
LIMIT_S = 60.0
REST, ASIDE = [0.0, 1.2, -1.6], [0.9, 1.2, -1.6]
# so patient that a busy computer is not taken for a silent or blocked arm
PARAMETERS = """
bridge_node: {ros__parameters: {command_silence: 2.0, has_emergency_stop: true}}
motion_server: {ros__parameters: {state_timeout: 10.0, tracking_time: 10.0}}
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the plant did."""
    return Path(tmp_path_factory.mktemp("plant")) / "record.csv"


@pytest.fixture(scope="module")
def board(record: Path) -> Iterator[EmulatorProcess]:
    """An emulated board that the test can disturb."""
    try:
        program = find_emulator()
    except EmulatorError as error:
        pytest.skip(str(error))
    process = EmulatorProcess(program, ArmModel.profile("capstone"), Wiring(), ["--record", str(record)])
    try:
        process.wait_ready(LIMIT_S)
        yield process
    finally:
        process.stop()


@pytest.fixture(scope="module")
def stack(
    board: EmulatorProcess, make_stack: Callable[..., Stack], domain: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """A stack whose bridge uses that board as one at a serial port."""
    parameters = Path(tmp_path_factory.mktemp("faults")) / "parameters.yaml"
    parameters.write_text(PARAMETERS)
    made = make_stack(domain, "hardware:=serial", f"port:={board.port}", f"params_file:={parameters}")
    try:
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def arm(stack: Stack, domain: int) -> Iterator[Arm]:
    """The arm of that stack."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(domain))
        with Arm(find_timeout=LIMIT_S) as connected:
            connected.wait_until_ready(LIMIT_S)
            yield connected


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT_S} s: {what}"
        time.sleep(0.02)


def resets(arm: Arm) -> bool:
    """Whether a reset is accepted: not before the arm is at rest and the cause is gone."""
    try:
        arm.reset_fault()
    except ArmError:
        return False
    return True


def fail_in_motion(arm: Arm, act: Callable[[], None]) -> ArmError:
    """Start a motion of some seconds, act in its midst, and return how the goal ended."""
    acted: list[float] = []

    def on_progress(progress: Progress) -> None:
        if progress.fraction > 0.03 and not acted:
            acted.append(progress.fraction)
            act()

    target = ASIDE if arm.joints[0] < 0.45 else REST
    with pytest.raises(ArmError) as failed:
        # slow, so that a blocked joint is a stall long before it is a tracking error
        arm.move_joints(target, speed_scale=0.06, timeout=LIMIT_S, on_progress=on_progress)
    assert acted
    return failed.value


@pytest.mark.parametrize(
    ("fault", "remedied", "code", "text"),
    [
        (
            "stuck 0 1", "stuck 0 0", ErrorCode.FIRMWARE_FAULT,
            "base_yaw: the motor is driven hard and does not move; the motors are off; look for a blocked joint",
        ),
        (
            "noise 2 3000", "noise 2 0", ErrorCode.FIRMWARE_FAULT,
            "elbow_pitch: too many illegal encoder transitions; the motors are off; check the encoder's wires",
        ),
        (
            "overrun 8", "overrun 0", ErrorCode.FIRMWARE_FAULT,
            "the control interrupt missed its period; the motors are off; report it",
        ),
        (
            "garble_from_host 1000000", "garble_from_host 0", ErrorCode.FIRMWARE_FAULT,
            "the board heard nothing from the bridge for longer than command_silence and braked; check the cable",
        ),
        (
            "emergency_stop 1", "emergency_stop 0", ErrorCode.ESTOP,
            "the emergency-stop button is pressed; release the button, then call reset_fault",
        ),
    ],
    ids=["stall", "encoder", "overrun", "silence", "stop button"],
)  # fmt: skip
def test_a_fault_of_the_firmware_ends_the_running_goal_with_its_code_and_text_and_shows_in_the_status(
    arm: Arm, board: EmulatorProcess, fault: str, remedied: str, code: ErrorCode, text: str
) -> None:
    failed = fail_in_motion(arm, lambda: board.command(fault))
    assert failed.code is code
    assert text in str(failed)
    eventually(lambda: (arm.status.mode, arm.status.fault) == ("fault", code), f"status with {code.name}")
    assert text in arm.status.fault_message
    # latched, and a new goal learns the same
    board.command(remedied)
    with pytest.raises(ArmError) as refused:
        arm.move_joints(REST)
    assert refused.value.code is code
    assert text in str(refused.value)
    eventually(lambda: resets(arm), "a reset")
    arm.wait_until_ready(LIMIT_S)
    assert (arm.status.fault, arm.status.fault_message) == (ErrorCode.SUCCESS, "")


def plant(record: Path) -> list[tuple[float, float]]:
    """Time and largest speed of the joints in whole lines of the record."""
    rows = [[float(cell) for cell in line.split(",")] for line in record.read_text().splitlines()[1:-1]]
    return [(row[0], max(map(abs, row[4:7]))) for row in rows]


def test_a_motion_server_that_freezes_in_motion_leaves_the_arm_at_rest(arm: Arm, stack: Stack, record: Path) -> None:
    server = next(pid for pid in stack.pids() if "motion_server" in Path(f"/proc/{pid}/cmdline").read_text())
    target = ASIDE if arm.joints[0] < 0.45 else REST
    ended: list[object] = []

    def move() -> None:
        try:
            ended.append(arm.move_joints(target, speed_scale=0.2, timeout=LIMIT_S))
        except ArmError as error:
            ended.append(error)

    goal = threading.Thread(target=move)
    goal.start()
    try:
        eventually(lambda: plant(record)[-1][1] > 0.15, "motion in the plant's record")
        os.kill(server, signal.SIGSTOP)
        frozen = plant(record)[-1][0]
        eventually(lambda: plant(record)[-1][0] > frozen + 1.0, "a second of the plant's record")
    finally:
        os.kill(server, signal.SIGCONT)
        goal.join(LIMIT_S)
    assert ended
    # what has been sent ahead is 0.15 s; then the brake, 0.4 rad/s at 8 rad/s², and settling
    after = [speed for time, speed in plant(record) if frozen + 0.15 + 0.1 + 0.05 + 0.2 < time < frozen + 1.0]
    assert len(after) > 30
    assert max(after) < 0.01
    eventually(lambda: arm.status.fault == ErrorCode.SUCCESS or resets(arm), "an arm without fault")
    arm.wait_until_ready(LIMIT_S)
    arm.move_joints(REST)


def test_a_board_that_restarts_in_motion_ends_the_goal_and_asks_for_homing(arm: Arm, board: EmulatorProcess) -> None:
    failed = fail_in_motion(arm, lambda: board.command("reset"))
    assert failed.code in (ErrorCode.LINK_DOWN, ErrorCode.NOT_HOMED, ErrorCode.STALE_STATE)
    eventually(lambda: arm.status.link and not arm.status.homed, "a board in operation with unknown positions")
    with pytest.raises(ArmError) as refused:
        arm.move_joints(REST)
    assert refused.value.code is ErrorCode.NOT_HOMED
    assert "home" in str(refused.value)
