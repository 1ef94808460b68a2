# SPDX-License-Identifier: Apache-2.0
"""The verb `demo`: the whole stack with the arm picking and placing in a loop."""

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence

from manipulator3d.bringup import RunningProcesses
from manipulator3d.cli.motion import PhaseProgress, pick_place_goal
from manipulator3d.cli.options import show_progress
from manipulator3d.cli.up import interruptible
from manipulator3d.launch_arguments import LaunchArguments, checked_arguments, parse_assignments
from manipulator3d.nodes.running_stack import running_stack
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d.process_group import show_on_stderr
from manipulator3d.stack_error import StackError
from manipulator3d_interfaces.action import PickPlace
from manipulator3d_interfaces.msg import ArmStatus

_PICK, _PLACE = (0.25, -0.15, 0.06), (0.20, 0.20, 0.08)
_START_TIMEOUT_S = 60.0


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Run the demonstration; returns the exit code: 0 only if every cycle succeeded."""
    parser = argparse.ArgumentParser(
        prog="./manipulator3d demo",
        description="Starts the stack and lets the arm pick and place in a loop. Ctrl-C ends it.",
        allow_abbrev=False,
    )
    parser.add_argument("--cycles", type=int, default=0, help="number of cycles, 0: until Ctrl-C (default: 0)")
    parser.add_argument("--headless", action="store_true", help="without the page")
    parser.add_argument("arguments", nargs="*", metavar="name:=value", help="as for `up`, such as hardware:=sim")
    options = parser.parse_args(arguments)
    if options.cycles < 0:
        parser.error(f"--cycles {options.cycles} is negative; give 0 for an endless loop, or more")
    interruptible()
    try:
        given = parse_assignments(options.arguments)
        checked = checked_arguments(given)
        if not options.headless and "dashboard" not in given:
            checked = dataclasses.replace(checked, dashboard=True)
        return _run(checked, options.cycles)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if options.cycles == 0 else 1


def _run(arguments: LaunchArguments, cycles: int) -> int:
    started = time.monotonic()
    occupied = running_stack(arguments.namespace)
    if occupied:
        raise ValueError(occupied)
    with RunningProcesses(arguments, show_on_stderr) as processes, StackClient(arguments.namespace) as client:
        if arguments.dashboard:
            show_progress(f"the page: http://127.0.0.1:{arguments.dashboard_port}")
        wait_for_arm(client, processes)
        goal = pick_place_goal(_PICK, _PLACE)
        goal.cycles = cycles
        show = PhaseProgress()
        first_motion = [False]

        def on_feedback(feedback: PickPlace.Feedback) -> None:
            if not first_motion[0]:
                first_motion[0] = True
                show_progress(f"moving {time.monotonic() - started:.1f} s after the start")
            show(feedback)

        running = client.send_goal(PickPlace, "pick_place", goal, on_feedback)
        try:
            client.spin_until(lambda: running.done() or processes.ended() is not None, None)
        except KeyboardInterrupt:
            show_progress("cancelling …")
            result = running.cancel()
            show_progress(result.message)
            raise
        ended = processes.ended()
        if ended and not running.done():
            raise ValueError(ended)
        result = running.wait()
        if not result.success:
            raise StackError(result.message, result.error_code)
        print(f"{result.cycles_completed} cycle(s) in {result.duration:.2f} s")
        return 0


def wait_for_arm(client: StackClient, processes: RunningProcesses) -> None:
    """Wait until the arm reports that it is ready for a goal.

    Raises:
        ValueError: a node has ended, or the arm was not ready in time; names the last state.
    """
    last: list[ArmStatus] = []
    subscription = client.node.create_subscription(ArmStatus, "arm_status", lambda status: last.append(status), 10)

    def ready_or_ended() -> bool:
        return (bool(last) and last[-1].mode == ArmStatus.MODE_IDLE) or processes.ended() is not None

    ready = client.spin_until(ready_or_ended, _START_TIMEOUT_S)
    client.node.destroy_subscription(subscription)
    ended = processes.ended()
    if ended:
        raise ValueError(ended)
    if not ready:
        state = f"{last[-1].mode_name} ({last[-1].fault_message})" if last else "silent"
        raise ValueError(f"the arm was not ready {_START_TIMEOUT_S:g} s after the start; its last state: {state}")
