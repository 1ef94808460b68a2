# SPDX-License-Identifier: Apache-2.0
"""The verb `replay`: shows a record on the page and in RViz; nothing moves."""

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from manipulator3d.cli.options import show_progress
from manipulator3d.cli.record import record_parser
from manipulator3d.cli.up import interruptible
from manipulator3d.launch_arguments import checked_arguments
from manipulator3d.node_command import node_command
from manipulator3d.nodes.replayer import Replayer
from manipulator3d.nodes.running_stack import REPLAY, running_stack
from manipulator3d.nodes.spinning_node import SpinningNode
from manipulator3d.process_group import ProcessGroup, show_on_stderr
from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_reader import RecordReader
from manipulator3d.stack import NodeSpec

_LOOK_S = 0.25


def main(verb: str, arguments: Sequence[str]) -> int:
    """Replay a record; returns the exit code.

    Raises:
        RecordError: the record cannot be read, or a stack is running where it would be shown.
    """
    parser = record_parser(verb, "Show a record on the page and in RViz. Nothing moves. Ctrl-C ends it.")
    parser.add_argument("--rate", type=float, default=1.0, help="times the recorded speed (default: 1)")
    parser.add_argument("--headless", action="store_true", help="without the page, and end with the record")
    parser.add_argument("--port", default="8080", help="TCP port of the page on this computer (default: 8080)")
    options = parser.parse_args(arguments)
    if not 0.0 < options.rate < float("inf"):
        parser.error(f"--rate {options.rate:g} is not above 0")
    interruptible()
    reader = RecordReader(Path(options.record))
    outline = reader.outline()
    namespace = outline.namespace
    occupied = running_stack(namespace)
    if occupied:
        raise RecordError(occupied)
    page = None if options.headless else _Page(namespace, options.port)
    try:
        with SpinningNode(namespace, REPLAY) as node:
            playback = _Playback(node, Replayer(node.node, outline.topics))
            show_progress(
                f"{reader.path}: {outline.seconds:.1f} s, {outline.messages} messages; Ctrl-C ends the replay"
            )
            if page is not None:
                show_progress(f"the page: http://127.0.0.1:{options.port}")
            playback.play(reader, outline.start, options.rate)
            if page is not None:
                show_progress("the record has ended; Ctrl-C ends the page")
                while (ended := page.ended()) is None:
                    playback.wait_until(time.monotonic() + _LOOK_S)
                raise RecordError(ended)
    except KeyboardInterrupt:
        show_progress("stopped")
    finally:
        if page is not None:
            page.stop()
    return 0


class _Playback:
    """Publishes a record in its own time, as long as nobody else takes part."""

    def __init__(self, node: SpinningNode, replayer: Replayer) -> None:
        self._node = node
        self._replayer = replayer
        self._looked = 0.0

    def play(self, reader: RecordReader, start: int, rate: float) -> None:
        """Publish all messages.

        Args:
            reader: gives them.
            start: ns since 1970, of the first.
            rate: times the recorded speed.

        Raises:
            RecordError: a stack, or another publisher of the same topics, has appeared.
        """
        started = time.monotonic()
        for message in reader.messages():
            self.wait_until(started + (message.log_time - start) * 1e-9 / rate)
            self._replayer.publish(message)

    def wait_until(self, due: float) -> None:
        """Let time pass until a time of the monotonic clock; raises as `play` does."""
        while True:
            now = time.monotonic()
            if now - self._looked >= _LOOK_S:
                self._looked = now
                intruder = self._replayer.intruder()
                if intruder:
                    raise RecordError(f"{intruder}; a replay beside it would mislead it, so the replay has ended")
            if now >= due:
                return
            self._node.spin_until(lambda: False, min(due - now, _LOOK_S))


class _Page:
    """The page beside a replay."""

    def __init__(self, namespace: str, port: str) -> None:
        arguments = checked_arguments({"namespace": namespace.strip("/"), "dashboard_port": port})
        self._folder = Path(tempfile.mkdtemp(prefix="manipulator3d_"))
        self._group = ProcessGroup(show_on_stderr)
        spec = NodeSpec("manipulator3d_dashboard", "dashboard_node", "dashboard_node", {"port": int(port)})
        self._group.start(spec.name, node_command(spec, arguments, self._folder, os.environ), os.environ)

    def ended(self) -> str | None:
        """Tell how the page has ended, None while it is served."""
        return self._group.ended()

    def stop(self) -> None:
        """End the page."""
        self._group.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
