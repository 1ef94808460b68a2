# SPDX-License-Identifier: Apache-2.0
"""The state in words, the buttons that make sense in it, and the log of faults."""

import dataclasses

import pytest

from manipulator3d_dashboard.arm_state import ArmState, Command, Mode, sensible_commands
from manipulator3d_dashboard.fault_log import FaultLog
from manipulator3d_dashboard.state_text import fault_text, figures_text, mode_html
from manipulator3d_interfaces.msg import ArmStatus
from manipulator3d_node.error_code import ErrorCode

READY = ArmState(
    joints={"base_yaw": 0.5, "elbow_pitch": -1.0},
    joints_age=0.0,
    status_age=0.1,
    mode=Mode.IDLE,
    homed=True,
    driver="mock",
    link=True,
)


def with_mode(mode: Mode, **changes: object) -> ArmState:
    return dataclasses.replace(READY, mode=mode, **changes)


def test_the_modes_are_those_of_the_message() -> None:
    # generated messages keep their constants in the metaclass
    names = {name: getattr(ArmStatus, name) for name in dir(type(ArmStatus)) if name.startswith("MODE_")}
    constants = {name.removeprefix("MODE_"): value for name, value in names.items() if isinstance(value, int)}
    assert constants == {mode.name: mode.value for mode in Mode}


@pytest.mark.parametrize(
    ("state", "commands"),
    [
        (ArmState(), set()),
        (READY, {Command.PLAY, Command.GRIPPER, Command.HOME}),
        (dataclasses.replace(READY, homed=False), {Command.GRIPPER, Command.HOME}),
        (with_mode(Mode.MOVING), {Command.PAUSE, Command.STOP}),
        (with_mode(Mode.PAUSED), {Command.RESUME, Command.STOP, Command.PLAY}),
        (with_mode(Mode.STOPPING), set()),
        (with_mode(Mode.HOMING), {Command.STOP}),
        (with_mode(Mode.FAULT, fault=303), {Command.RESET}),
        (with_mode(Mode.DISCONNECTED, hardware_fault=304), {Command.RESET}),
        (dataclasses.replace(READY, status_age=5.0), set()),
    ],
    ids=lambda value: value.mode.name if isinstance(value, ArmState) else "",
)
def test_only_buttons_that_can_do_something_are_enabled(state: ArmState, commands: set[Command]) -> None:
    assert sensible_commands(state, targets_reachable=True) == commands | {Command.EMERGENCY_STOP}


def test_play_needs_targets_that_the_arm_reaches() -> None:
    assert Command.PLAY not in sensible_commands(READY, targets_reachable=False)


def test_the_headline_tells_phase_and_cycle_only_while_something_runs() -> None:
    running = with_mode(Mode.MOVING, phase="TO_PICK", cycle=3)
    assert "<b>MOVING</b> &middot; TO PICK &middot; cycle 3" in mode_html(running)
    assert "cycle" not in mode_html(with_mode(Mode.IDLE, phase="", cycle=3))
    assert "&lt;b&gt;" in mode_html(with_mode(Mode.MOVING, phase="<b>"))


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (READY, ""),
        (ArmState(), "No `arm_status` yet: start the motion server."),
        (
            dataclasses.replace(READY, status_age=7.0),
            "The last `arm_status` came 7 s ago: is the motion server running?",
        ),
        (with_mode(Mode.FAULT, fault=303, fault_message="press reset"), "**ESTOP** press reset"),
        (dataclasses.replace(READY, hardware_fault=304, hardware_message="a_b"), "**FIRMWARE_FAULT** a\\_b"),
        (
            dataclasses.replace(READY, joints_age=3.0),
            "No `joint_states` for 3 s: start the arm's driver, or look at its connection.",
        ),
        (dataclasses.replace(READY, homed=False), "The joint positions are not known: press HOME."),
    ],
)
def test_what_is_wrong_comes_with_its_remedy(state: ArmState, text: str) -> None:
    assert fault_text(state) == text


def test_the_figures_name_units() -> None:
    text = figures_text(READY, (0.1, -0.2, 0.3))
    assert "| base\\_yaw | +0.500 rad (+28.6°) |" in text
    assert "| tool | (0.100, -0.200, 0.300) m |" in text
    assert "mock, connected, homed" in text


def test_a_standing_fault_is_logged_once_and_again_when_it_comes_back() -> None:
    log = FaultLog()
    assert log.report("arm", ErrorCode.ESTOP, "pressed", "12:00:00")
    assert not log.report("arm", ErrorCode.ESTOP, "pressed", "12:00:01")
    assert not log.report("arm", 0, "", "12:00:02")
    assert log.report("arm", ErrorCode.ESTOP, "pressed", "12:00:03")
    assert log.text() == "- `12:00:03` ESTOP: pressed\n- `12:00:00` ESTOP: pressed"


def test_the_log_forgets_the_oldest() -> None:
    log = FaultLog()
    for number in range(100):
        log.add(f"event {number}", "12:00:00")
    assert log.text().startswith("- `12:00:00` event 99\n")
    assert len(log.text().splitlines()) == 20
