# SPDX-License-Identifier: Apache-2.0
"""Runs one node as a process: start, spin, and an end that leaves nothing behind."""

import gc
import signal
import sys
from collections.abc import Callable, Sequence

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

# an idle executor waits in C, where no Python signal handler runs
_SIGNAL_POLL_S = 0.25


def run_node(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Make a node and spin it until SIGINT, SIGTERM or the shutdown of its context.

    A node with a method `close` has it called before it is destroyed, while its publishers still work.
    Timers and callbacks run in this thread; a node that streams at a fixed rate does so in a thread of its own.

    Args:
        make_node: makes the node; a ValueError from it is a refused configuration.
        args: command line, with ROS arguments; None takes the process's own.

    Returns:
        Exit code: 0 after an orderly end, 1 when the configuration was refused (the reason is on stderr).
    """
    rclpy.init(args=None if args is None else list(args), signal_handler_options=SignalHandlerOptions.NO)
    stopping = _StopRequest()
    try:
        node = make_node()
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        rclpy.try_shutdown()
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    # What exists now lives as long as the process; the collector need not walk it in the middle of a motion.
    gc.collect()
    gc.freeze()
    try:
        while rclpy.ok() and not stopping.requested:
            executor.spin_once(timeout_sec=_SIGNAL_POLL_S)
    except ExternalShutdownException:
        pass
    finally:
        close = getattr(node, "close", None)
        if close is not None:
            close()
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
        gc.unfreeze()
    return 0


class _StopRequest:
    """SIGINT and SIGTERM as a flag, so that the node can still publish while it closes."""

    def __init__(self) -> None:
        self.requested = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self.requested = True
