# SPDX-License-Identifier: Apache-2.0
"""Keys that move the arm: which way, how fast, and for how long; and options that make no sense."""

import io
from typing import Any

import pytest

from manipulator3d.cli import jog, speed
from manipulator3d.cli.jog_keys import HELD_S, HeldKeys, KeyWish


@pytest.mark.parametrize(
    ("key", "wish"),
    [
        ("w", KeyWish(True, (0.04, 0.0, 0.0))),
        ("d", KeyWish(True, (0.0, -0.04, 0.0))),
        ("r", KeyWish(True, (0.0, 0.0, 0.04))),
        ("R", KeyWish(True, (0.0, 0.0, 0.04))),
        ("1", KeyWish(False, (-0.2, 0.0, 0.0))),
        ("6", KeyWish(False, (0.0, 0.0, 0.2))),
    ],
)
def test_a_key_asks_for_its_way(key: str, wish: KeyWish) -> None:
    keys = HeldKeys()
    keys.press(key, 10.0)
    held = keys.wish(10.0)
    assert held is not None
    assert held.of_tool == wish.of_tool
    assert held.velocity == pytest.approx(wish.velocity)


def test_a_key_that_does_not_repeat_is_let_go() -> None:
    keys = HeldKeys()
    for repetition in range(30):
        keys.press("w", 10.0 + 0.03 * repetition)
        assert keys.wish(10.0 + 0.03 * repetition + 0.029) is not None
    last = 10.0 + 0.03 * 29
    assert keys.wish(last + HELD_S - 0.01) is not None
    assert keys.wish(last + HELD_S + 0.01) is None


def test_another_key_lets_go_at_once_and_the_last_of_two_counts() -> None:
    keys = HeldKeys()
    keys.press("w", 10.0)
    keys.press(" ", 10.05)
    assert keys.wish(10.06) is None
    keys.press("w", 10.1)
    keys.press("1", 10.1)
    held = keys.wish(10.12)
    assert held is not None
    assert not held.of_tool


def test_plus_and_minus_change_the_speed_within_its_steps() -> None:
    keys = HeldKeys()
    fractions = []
    for key in "++++++--------":
        keys.press(key, 10.0)
        fractions.append(keys.fraction)
    assert max(fractions) == 1.0
    assert min(fractions) == 0.05
    assert fractions == sorted(fractions[:6]) + sorted(fractions[6:], reverse=True)


def test_q_and_the_end_of_input_quit() -> None:
    for key in ("q", "\x04"):
        keys = HeldKeys()
        keys.press("w", 10.0)
        assert not keys.quits
        keys.press(key, 10.01)
        assert keys.quits
        assert keys.wish(10.02) is None


@pytest.mark.parametrize(
    ("main", "arguments", "text"),
    [
        (jog.main, ("--joints", "0", "nan", "0"), "velocities 0 nan 0: give finite numbers"),
        (jog.main, ("--twist", "0", "0", "0"), "all velocities are 0, so nothing would move"),
        (jog.main, ("--twist", "0", "0", "0.1", "--seconds", "-1"), "--seconds -1: give more than 0 s, at most 600 s"),
        (jog.main, (), "jogging by keys needs a terminal; give --twist VX VY VZ or --joints V0 V1 V2"),
        (speed.main, ("1.5",), "FRACTION 1.5: give more than 0, at most 1"),
        (speed.main, ("nan",), "FRACTION nan: give more than 0, at most 1"),
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(
    main: Any,
    arguments: tuple[str, ...],
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(SystemExit) as ended:
        main("verb", arguments)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err
