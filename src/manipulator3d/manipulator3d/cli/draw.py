# SPDX-License-Identifier: Apache-2.0
"""The verb `draw`: draws a shape with the tool point and says how exact it was."""

import argparse
from collections.abc import Sequence
from typing import Any

from manipulator3d.cli.motion import report, run_goal
from manipulator3d.cli.options import add_numbers, negative_numbers_allowed, numbers, verb_parser
from manipulator3d.cli.progress_bar import ProgressBar
from manipulator3d.nodes import draw_calls
from manipulator3d.nodes.arm_call import Motion
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.action import DrawPath

_START, _END = ("start_x", "start_y", "start_z"), ("end_x", "end_y", "end_z")
_CENTER = ("center_x", "center_y", "center_z")
_CORNERS = (("ax", "ay", "az"), ("bx", "by", "bz"), ("cx", "cy", "cz"))
SHAPES = ("line", "circle", "rectangle", "triangle", "polyline")


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Run the verb; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="./manipulator3d draw",
        description="Draw a shape with the tool point. Ctrl-C cancels.",
        epilog="./manipulator3d draw SHAPE --help tells more",
        allow_abbrev=False,
    )
    parser.add_argument("shape", choices=SHAPES)
    shape = parser.parse_args(arguments[:1]).shape
    motion, options = _motion(shape, negative_numbers_allowed(arguments[1:]))
    bar = ProgressBar(shape)

    def show(feedback: DrawPath.Feedback) -> None:
        tool = feedback.tool
        bar.show(feedback.progress, f"tool ({tool.x:+.3f}, {tool.y:+.3f}, {tool.z:+.3f}) m")

    with StackClient(options.namespace) as client:
        try:
            result = run_goal(client, motion.action_type, motion.name, motion.goal, show)
        finally:
            bar.close()
    answer = {"length": result.length, "duration": result.duration, "max_deviation": result.max_deviation}
    text = (
        f"{shape} of {result.length:.3f} m drawn in {result.duration:.2f} s, measured within "
        f"{result.max_deviation * 1e3:.2f} mm of it"
    )
    return report(options, result, answer, text)


def _motion(shape: str, arguments: Sequence[str]) -> tuple[Motion[Any], argparse.Namespace]:
    parser = verb_parser(f"draw {shape}", f"Draw a {shape} with the tool point. Ctrl-C cancels.")
    add_shape = {
        "line": _add_line,
        "circle": _add_circle,
        "rectangle": _add_rectangle,
        "triangle": _add_triangle,
        "polyline": _add_polyline,
    }[shape]
    add_shape(parser)
    parser.add_argument("--speed", type=float, default=0.0, help="m/s at most (default: as the limits allow)")
    parser.add_argument("--frame", default="", help="frame of the points (default: the arm's base)")
    options = parser.parse_args(arguments)
    for name in ("speed", "corner_radius"):
        if getattr(options, name, 0.0) < 0.0:
            parser.error(f"--{name.replace('_', '-')} {getattr(options, name):g} is negative; give 0 or more")
    if getattr(options, "repeat", 1) < 1:
        parser.error(f"--repeat {options.repeat} is not a number of rounds; give 1 or more")
    try:
        motion = _asked(shape, options)
    except ValueError as error:
        parser.error(str(error))
    return motion, options


def _asked(shape: str, options: argparse.Namespace) -> Motion[Any]:
    common = {"speed": options.speed, "frame": options.frame}
    if shape == "line":
        return draw_calls.draw_line(numbers(options, _START), numbers(options, _END), **common)
    common["repeat"] = options.repeat
    if shape == "circle":
        center = numbers(options, _CENTER)
        return draw_calls.draw_circle(center, options.radius, normal=options.normal, **common)
    common["corner_radius"] = options.corner_radius
    if shape == "rectangle":
        sizes = {"width": options.width, "height": options.height}
        directions = {"normal": options.normal, "along": options.along}
        return draw_calls.draw_rectangle(numbers(options, _CENTER), **sizes, **directions, **common)
    if shape == "triangle":
        return draw_calls.draw_triangle([numbers(options, corner) for corner in _CORNERS], **common)
    values = options.coordinates
    if len(values) % 3:
        raise ValueError(f"{len(values)} coordinates are given; a polyline takes x y z of two or more points")
    points = [values[i : i + 3] for i in range(0, len(values), 3)]
    return draw_calls.draw_polyline(points, closed=options.closed, **common)


def _add_line(parser: argparse.ArgumentParser) -> None:
    add_numbers(parser, _START, "m, first point")
    add_numbers(parser, _END, "m, last point")


def _add_circle(parser: argparse.ArgumentParser) -> None:
    add_numbers(parser, _CENTER, "m, centre")
    add_numbers(parser, ("radius",), "m")
    _add_direction(parser, "normal", [0.0, 0.0, 1.0], "of the plane; the drawing turns around it by the right hand")
    _add_rounds(parser)


def _add_rectangle(parser: argparse.ArgumentParser) -> None:
    add_numbers(parser, _CENTER, "m, centre")
    add_numbers(parser, ("width", "height"), "m")
    _add_direction(parser, "normal", [0.0, 0.0, 1.0], "of the plane")
    _add_direction(parser, "along", [1.0, 0.0, 0.0], "of the width")
    _add_rounds(parser)
    _add_corners(parser)


def _add_triangle(parser: argparse.ArgumentParser) -> None:
    for number, corner in enumerate(_CORNERS, 1):
        add_numbers(parser, corner, f"m, corner {number}")
    _add_rounds(parser)
    _add_corners(parser)


def _add_polyline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("coordinates", type=float, nargs="+", metavar="NUMBER", help="m, x y z of two or more points")
    parser.add_argument("--closed", action="store_true", help="return to the first point")
    _add_rounds(parser)
    _add_corners(parser)


def _add_direction(parser: argparse.ArgumentParser, name: str, default: list[float], text: str) -> None:
    shown = " ".join(f"{value:g}" for value in default)
    parser.add_argument(
        f"--{name}", type=float, nargs=3, metavar=("X", "Y", "Z"), default=default, help=f"{text} (default: {shown})"
    )


def _add_rounds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeat", type=int, default=1, help="number of rounds (default: 1)")


def _add_corners(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--corner-radius", type=float, default=0.0, help="m within which corners are rounded (default: stop in each)"
    )
