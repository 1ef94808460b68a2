# SPDX-License-Identifier: Apache-2.0
"""The verbs that send a goal and watch it: `pick-place`, `move-to`, `home`."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from manipulator3d.cli.options import (
    add_numbers,
    check_success,
    negative_numbers_allowed,
    numbers,
    print_json,
    show_progress,
    verb_parser,
)
from manipulator3d.cli.progress_bar import ProgressBar
from manipulator3d.nodes import arm_calls
from manipulator3d.nodes.arm_call import ELBOWS
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d.stack_error import StackError
from manipulator3d_interfaces.action import Home, PickPlace

_PICK, _PLACE = ("pick_x", "pick_y", "pick_z"), ("place_x", "place_y", "place_z")


def main(verb: str, arguments: Sequence[str]) -> int:
    """Run one of the verbs; returns the exit code."""
    return {"pick-place": _pick_place, "move-to": _move_to, "home": _home}[verb](negative_numbers_allowed(arguments))


def pick_place_goal(pick: Sequence[float], place: Sequence[float], frame: str = "") -> PickPlace.Goal:
    """Make a goal with all options at the server's defaults; points in metres."""
    return arm_calls.pick_place(pick, place, frame=frame).goal


class PhaseProgress:
    """Shows each new phase of a pick-and-place once."""

    def __init__(self) -> None:
        self._shown: tuple[int, int] = (0, 0)

    def __call__(self, feedback: PickPlace.Feedback) -> None:
        """Show the phase of `feedback` unless it is the one shown last."""
        present = (feedback.cycle, feedback.phase)
        if present == self._shown:
            return
        self._shown = present
        tool = feedback.tool
        held = ", holding" if feedback.holding else ""
        show_progress(
            f"cycle {feedback.cycle}  {feedback.progress:4.0%}  {feedback.phase_name:13s} "
            f"tool ({tool.x:+.3f}, {tool.y:+.3f}, {tool.z:+.3f}) m{held}"
        )


def run_goal(
    client: StackClient, action_type: Any, name: str, goal: Any, on_feedback: Callable[[Any], None] | None = None
) -> Any:
    """Send a goal and return its result; Ctrl-C cancels the goal before it is raised."""
    running = client.send_goal(action_type, name, goal, on_feedback)
    try:
        return running.wait()
    except KeyboardInterrupt:
        show_progress("cancelling …")
        result = running.cancel()
        raise StackError(result.message, result.error_code) from None


def _pick_place(arguments: Sequence[str]) -> int:
    parser = verb_parser("pick-place", "Pick an object at one point and place it at another. Ctrl-C cancels.")
    add_numbers(parser, _PICK, "m, where to pick")
    add_numbers(parser, _PLACE, "m, where to place")
    parser.add_argument("--cycles", type=int, default=1, help="number of cycles, 0: until cancelled (default: 1)")
    parser.add_argument("--approach-height", type=float, help="m above both points")
    parser.add_argument("--dwell", type=float, default=0.0, help="s of rest at grasp, release and between cycles")
    _add_motion_options(parser)
    options = parser.parse_args(arguments)
    if options.cycles < 0:
        parser.error(f"--cycles {options.cycles} is negative; give 0 for an endless loop, or more")
    motion = arm_calls.pick_place(
        numbers(options, _PICK),
        numbers(options, _PLACE),
        cycles=options.cycles,
        approach_height=options.approach_height,
        dwell=options.dwell,
        elbow=options.elbow,
        speed_scale=options.speed_scale,
        frame=options.frame,
    )
    with StackClient(options.namespace) as client:
        result = run_goal(client, motion.action_type, motion.name, motion.goal, PhaseProgress())
    answer = {"cycles_completed": result.cycles_completed, "duration": result.duration}
    return report(options, result, answer, f"{result.cycles_completed} cycle(s) in {result.duration:.2f} s")


def _move_to(arguments: Sequence[str]) -> int:
    parser = verb_parser("move-to", "Move the tool to a point, or the joints to a position. Ctrl-C cancels.")
    parser.add_argument("target", type=float, nargs=3, metavar="NUMBER", help="x y z in m, or with --joints in rad")
    parser.add_argument("--joints", action="store_true", help="the numbers are joint angles")
    parser.add_argument("--joint-space", action="store_true", help="do not keep to a straight tool line")
    _add_motion_options(parser)
    options = parser.parse_args(arguments)
    if options.joints:
        motion = arm_calls.move_joints(options.target, speed_scale=options.speed_scale)
    else:
        motion = arm_calls.move_to(
            options.target,
            straight=not options.joint_space,
            elbow=options.elbow,
            speed_scale=options.speed_scale,
            frame=options.frame,
        )
    bar = ProgressBar("move-to")
    with StackClient(options.namespace) as client:
        try:
            result = run_goal(
                client, motion.action_type, motion.name, motion.goal, lambda feedback: bar.show(feedback.progress)
            )
        finally:
            bar.close()
    tool = result.tool
    answer = {
        "tool": [tool.x, tool.y, tool.z],
        "position_error": result.position_error,
        "duration": result.duration,
    }
    text = f"tool at ({tool.x:+.4f}, {tool.y:+.4f}, {tool.z:+.4f}) m after {result.duration:.2f} s"
    return report(options, result, answer, text)


def _home(arguments: Sequence[str]) -> int:
    parser = verb_parser("home", "Find the joints' zero positions by their switches. Ctrl-C cancels.")
    parser.add_argument("joints", nargs="*", help="joints to home (default: all)")
    parser.add_argument("--set-here", type=float, nargs="+", metavar="Q", help="the present position is this, rad")
    options = parser.parse_args(arguments)
    motion = arm_calls.home(options.joints, set_here=options.set_here)

    def show(feedback: Home.Feedback) -> None:
        show_progress(f"{feedback.joint}: {feedback.step} ({feedback.position:+.3f} rad)")

    with StackClient(options.namespace) as client:
        result = run_goal(client, motion.action_type, motion.name, motion.goal, show)
    answer = {"joints": dict(zip(result.joints.name, result.joints.position, strict=True))}
    return report(options, result, answer, "homed")


def _add_motion_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frame", default="", help="frame of the points (default: the arm's base)")
    parser.add_argument("--elbow", choices=sorted(ELBOWS), default="auto", help="branch (default: auto)")
    parser.add_argument("--speed-scale", type=float, default=0.0, help="fraction of the limits (default: the server's)")


def report(options: argparse.Namespace, result: Any, answer: dict[str, Any], text: str) -> int:
    """Print what came of a goal and return the exit code; a refusal is raised unless JSON is asked for."""
    if options.json:
        outcome = {"success": result.success, "error_code": result.error_code, "message": result.message}
        print_json(outcome | answer)
        return 0 if result.success else 1
    check_success(result)
    print(text)
    return 0
