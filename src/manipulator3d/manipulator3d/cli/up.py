# SPDX-License-Identifier: Apache-2.0
"""The verb `up`."""

import signal
import sys
import time
from collections.abc import Sequence

from manipulator3d.bringup import RunningProcesses
from manipulator3d.launch_arguments import ARGUMENTS, LaunchArguments, checked_arguments, parse_assignments
from manipulator3d.nodes.running_stack import running_stack

_POLL_S = 0.1


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Run the stack until Ctrl-C or the end of a node; returns the exit code."""
    if any(argument in ("-h", "--help") for argument in arguments):
        print("usage: ./manipulator3d up [name:=value …] [--lan]\n\nStarts the stack; Ctrl-C ends it. The arguments:\n")
        for argument in ARGUMENTS:
            print(f"  {argument.name}:={argument.default or '(empty)'}\n      {argument.description}")
        print("\n  --lan\n      let other computers on the network take part")
        return 0
    try:
        checked = checked_arguments(parse_assignments(arguments))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    interruptible()
    try:
        return run_until_end(checked)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def interruptible() -> None:
    """Let SIGINT and SIGTERM end the stack in order, also where the shell has started this in the background."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def run_until_end(arguments: LaunchArguments) -> int:
    """Run the stack until Ctrl-C (0) or until a node ends (1).

    Raises:
        ValueError: the stack cannot be started, or one is running already; nothing was started.
    """
    occupied = running_stack(arguments.namespace)
    if occupied:
        raise ValueError(occupied)
    with RunningProcesses(arguments) as processes:
        try:
            while True:
                ended = processes.ended()
                if ended:
                    print(f"error: {ended}; stopping the others", file=sys.stderr, flush=True)
                    return 1
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            print("stopping …", file=sys.stderr, flush=True)
            return 0
