# SPDX-License-Identifier: Apache-2.0
"""Moving the arm by hand: speeds, and whose hand counts."""

import dataclasses

import pytest

from manipulator3d_dashboard.arm_state import ArmState, Mode, can_jog
from manipulator3d_dashboard.jog import LET_GO_AFTER, JogAxis, JogBeat, JogHold, JogRelease, jog_velocity
from manipulator3d_kinematics import ArmModel

ARM = ArmModel.profile("capstone")
UP, DOWN = JogAxis(False, 2, 1), JogAxis(False, 2, -1)
READY = ArmState(status_age=0.0, joints_age=0.0, mode=Mode.IDLE, homed=True)


@pytest.mark.parametrize(
    ("axis", "fraction", "velocity"),
    [
        (UP, 1.0, (0.0, 0.0, 0.2)),
        (DOWN, 0.25, (0.0, 0.0, -0.05)),
        (JogAxis(False, 0, 1), 0.5, (0.1, 0.0, 0.0)),
        (JogAxis(True, 1, -1), 0.5, (0.0, -0.5, 0.0)),
    ],
)
def test_a_button_asks_for_a_fraction_of_the_full_speed_along_its_axis(
    axis: JogAxis, fraction: float, velocity: tuple[float, float, float]
) -> None:
    assert jog_velocity(ARM, axis, fraction) == pytest.approx(velocity)


def test_a_slow_joint_is_not_asked_for_more_than_its_limit() -> None:
    slow = dataclasses.replace(ARM, velocity=[0.3, 1.0, 1.0])
    assert jog_velocity(slow, JogAxis(True, 0, 1), 1.0) == (0.3, 0.0, 0.0)


def test_the_first_browser_holds_the_arm_until_it_lets_go() -> None:
    hold = JogHold()
    assert hold.take(JogBeat(1, UP), 0.0)
    assert not hold.take(JogBeat(2, DOWN), 0.1)
    assert hold.release(JogRelease(2)) is None
    assert hold.take(JogBeat(1, DOWN), 0.2)
    assert hold.release(JogRelease(1)) == DOWN
    assert hold.release(JogRelease(1)) is None
    assert hold.take(JogBeat(2, UP), 0.3)


def test_a_browser_that_fell_silent_does_not_keep_the_arm() -> None:
    hold = JogHold()
    assert hold.take(JogBeat(1, UP), 0.0)
    assert not hold.take(JogBeat(2, UP), LET_GO_AFTER - 0.01)
    assert hold.take(JogBeat(2, UP), LET_GO_AFTER)
    assert hold.release(JogRelease(1)) is None


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({}, True),
        ({"mode": Mode.MOVING}, True),
        ({"mode": Mode.MOVING, "phase": "TO_PICK"}, False),
        ({"mode": Mode.PAUSED}, False),
        ({"mode": Mode.FAULT}, False),
        ({"homed": False}, False),
        ({"status_age": 5.0}, False),
    ],
)
def test_buttons_can_be_held_at_rest_and_while_they_move_the_arm(changes: dict[str, object], allowed: bool) -> None:
    assert can_jog(dataclasses.replace(READY, **changes)) is allowed
