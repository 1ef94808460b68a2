# SPDX-License-Identifier: Apache-2.0
"""The verb `draw`: what it asks for, what it refuses before it asks, and its bar."""

import io

import pytest

from manipulator3d.cli import draw
from manipulator3d.cli.progress_bar import ProgressBar
from manipulator3d_interfaces.action import DrawPath


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("shape", "arguments", "kind", "points"),
    [
        ("line", "0.2 -0.1 0.1 0.25 -1e-2 0.2", DrawPath.Goal.LINE, 2),
        ("circle", "0.25 0 0.2 0.05 --normal 0 -1 0 --repeat 3", DrawPath.Goal.CIRCLE, 0),
        ("rectangle", "0.25 0 0.2 0.08 0.06 --corner-radius 0.01", DrawPath.Goal.RECTANGLE, 0),
        ("triangle", "0.2 0 0.1 0.25 0 0.1 0.2 0.1 0.1", DrawPath.Goal.TRIANGLE, 3),
        ("polyline", "0.2 0 0.1 0.25 0 0.1 0.2 0.1 0.1 0.3 0 0.2 --closed", DrawPath.Goal.POLYLINE, 4),
    ],
)
def test_each_shape_becomes_its_goal(shape: str, arguments: str, kind: int, points: int) -> None:
    motion, options = draw._motion(shape, draw.negative_numbers_allowed([*arguments.split(), "--speed", "0.1"]))
    assert motion.name == "draw_path"
    assert (motion.goal.shape, len(motion.goal.points), motion.goal.speed) == (kind, points, 0.1)
    assert not options.json
    if shape == "circle":
        assert motion.goal.repeat == 3
        assert list(motion.goal.size) == [0.05]
    if shape == "rectangle":
        assert motion.goal.corner_radius == 0.01
    if shape == "polyline":
        assert motion.goal.closed


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("spiral 1 2 3", "invalid choice: 'spiral'"),
        ("circle 0.25 0 0.2", "the following arguments are required: RADIUS"),
        ("circle 0.25 0 0.2 0.05 --repeat 0", "--repeat 0 is not a number of rounds; give 1 or more"),
        ("circle 0.25 0 0.2 0.05 --normal 0 0 0", "normal"),
        ("line 0 0 0 1 1 1 --speed -0.1", "--speed -0.1 is negative; give 0 or more"),
        ("polyline 0.2 0 0.1 0.3", "4 coordinates are given; a polyline takes x y z of two or more points"),
        ("polyline 0.2 0 0.1", "expected two or more, got 1"),
    ],
)
def test_wrong_usage_is_named(arguments: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        draw.main("draw", arguments.split())
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


def test_a_bar_on_a_terminal_is_one_line() -> None:
    output = Terminal()
    bar = ProgressBar("circle", output)
    for fraction in (0.0, 0.5, 1.0):
        bar.show(fraction, "here")
    bar.close()
    bar.close()
    assert output.getvalue().count("\n") == 1
    assert output.getvalue().count("\r") == 3
    assert "[###############...............]  50%  here" in output.getvalue()


def test_elsewhere_it_is_a_line_for_each_tenth() -> None:
    output = io.StringIO()
    bar = ProgressBar("circle", output)
    for i in range(101):
        bar.show(i / 100.0)
    bar.close()
    lines = output.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[5] == "circle  50%"
