# SPDX-License-Identifier: Apache-2.0
"""The verb `monitor`: what goes over the serial line, decoded, from the running bridge or from a port."""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TextIO

from manipulator3d.cli.options import show_progress, verb_parser
from manipulator3d.nodes.stack_client import FIND_TIMEOUT_S, StackClient
from manipulator3d.stack_error import StackError
from manipulator3d_hw_bridge.link_traffic import (
    Direction,
    Passage,
    TrafficReader,
    field_units,
    field_values,
    message_names,
    passage_text,
)
from manipulator3d_hw_bridge.serial_link import LinkError, SerialLink, candidates, usb_refusal
from manipulator3d_interfaces.msg import LinkTraffic

_SILENCE_S = 3.0
_TURN_S = 0.1


class Report:
    """Prints what has passed, and writes it to a file if there is one.

    Args:
        as_json: one JSON object a line.
        only: names of the messages that are shown, none for all; bad frames always are.
        file: also written to.
    """

    def __init__(self, as_json: bool, only: Sequence[str], file: TextIO | None) -> None:
        self._as_json = as_json
        self._only = frozenset(only)
        self._file = file
        self._reader = TrafficReader()
        self._began = self._heard = time.monotonic()

    def take(self, wall: float, direction: Direction, data: bytes) -> None:
        """Show the frames that are complete with these bytes, which passed at `wall`, s since the epoch."""
        self._heard = time.monotonic()
        for passage in self._reader.feed(direction, data):
            if passage.message is None or not self._only or type(passage.message).__name__ in self._only:
                line = _json(wall, passage) if self._as_json else f"{_clock(wall)}  {passage_text(passage)}"
                print(line, flush=True)
                if self._file is not None:
                    print(line, file=self._file, flush=True)

    def note_silence(self) -> None:
        """Say when nothing has passed for some time, once."""
        if time.monotonic() - self._heard > _SILENCE_S:
            self._heard = float("inf")
            show_progress(f"nothing has gone over the line for {_SILENCE_S:g} s; look at ./manipulator3d status")

    def show_sums(self) -> None:
        """Say how many frames passed."""
        to_board, from_board = (self._reader.decoders[direction] for direction in Direction)
        show_progress(
            f"{to_board.received} frames to the board, {from_board.received} from it in "
            f"{time.monotonic() - self._began:.1f} s; {to_board.bad + from_board.bad} bad, "
            f"{to_board.lost + from_board.lost} missing"
        )


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Show the traffic until Ctrl-C, or for a time; returns the exit code.

    Raises:
        StackError: no bridge, no port, or the file cannot be written; names it and the remedy.
    """
    parser = verb_parser("monitor", "What goes over the serial line, decoded. Ctrl-C ends.")
    parser.add_argument("--port", help="open this port and listen, where no stack runs; opening it resets a Mega")
    parser.add_argument("--file", metavar="FILE", help="also write the lines to a file")
    parser.add_argument("--only", nargs="+", metavar="MESSAGE", default=[], help="these messages alone, such as State")
    parser.add_argument("--duration", type=float, metavar="S", help="end after this time (default: never)")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.only) - set(message_names()))
    if unknown:
        parser.error(f"there is no message '{unknown[0]}'; the messages are {', '.join(message_names())}")
    if options.duration is not None and not options.duration > 0.0:
        parser.error(f"--duration {options.duration:g} s is not above 0")
    with _opened(options.file) as file:
        report = Report(options.json, options.only, file)
        try:
            _run(options, report)
        except BrokenPipeError:  # the reader of a pipe has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        report.show_sums()
    return 0


def _run(options: argparse.Namespace, report: Report) -> None:
    with contextlib.suppress(KeyboardInterrupt):  # which is how a monitor ends
        if options.port is None:
            _follow_bridge(options.namespace, report, options.duration)
        else:
            _listen_at_port(options.port, report, options.duration)


def _timer(duration: float | None) -> Callable[[], bool]:
    """Return what tells whether the duration is over from now on."""
    ends_at = float("inf") if duration is None else time.monotonic() + duration
    return lambda: time.monotonic() >= ends_at


def _follow_bridge(namespace: str, report: Report, duration: float | None) -> None:
    with StackClient(namespace) as client:

        def take(message: LinkTraffic) -> None:
            stamp = message.header.stamp
            report.take(stamp.sec + stamp.nanosec * 1e-9, Direction(message.direction), bytes(message.data))

        topic = client.node.create_subscription(LinkTraffic, "link_traffic", take, 500).topic_name
        if not client.spin_until(lambda: client.node.count_publishers(topic) > 0, FIND_TIMEOUT_S):
            domain = os.environ.get("ROS_DOMAIN_ID", "0")
            raise StackError(
                f"no bridge publishes {topic} within {FIND_TIMEOUT_S:g} s in ROS domain {domain}; start a stack with "
                "hardware:=emulated or hardware:=serial (or give its --namespace), or listen at a --port"
            )
        over = _timer(duration)
        while not over():
            client.spin_until(over, _TURN_S)
            report.note_silence()
            if client.node.count_publishers(topic) == 0:
                raise StackError(f"the bridge that published {topic} has ended")


def _listen_at_port(port: str, report: Report, duration: float | None) -> None:
    try:
        ports = candidates(port)
        if len(ports) > 1:
            raise StackError(f"several boards are plugged in ({', '.join(ports)}); give one of them as --port")
        refusal = usb_refusal(ports[0])
        if refusal:
            raise StackError(refusal)
        with SerialLink(ports[0]) as link:
            over = _timer(duration)
            while not over():
                data = link.read(_TURN_S)
                if data:
                    report.take(time.time(), Direction.FROM_BOARD, data)
                report.note_silence()
    except LinkError as error:
        raise StackError(f"{error}; where a stack runs, leave out --port") from error


@contextlib.contextmanager
def _opened(path: str | None) -> Iterator[TextIO | None]:
    """Open the file for the lines before anything else happens."""
    if path is None:
        yield None
        return
    try:
        file = open(path, "w", encoding="utf-8")  # noqa: SIM115  closed below; an error inside is not the file's
    except OSError as error:
        raise StackError(f"{path}: cannot be written ({error.strerror}); give another --file") from error
    with file:
        yield file


def _clock(wall: float) -> str:
    return datetime.fromtimestamp(wall).strftime("%H:%M:%S.%f")


def _json(wall: float, passage: Passage) -> str:
    answer = {"time": wall, "direction": passage.direction.name.lower()}
    if passage.message is None:
        return json.dumps(answer | {"message": None, "bytes": passage.data.hex()})
    name = type(passage.message).__name__
    return json.dumps(
        answer
        | {"message": name, "sequence": passage.sequence}
        | {"fields": field_values(passage.message), "units": field_units(passage.message)},
        ensure_ascii=False,
    )
