# SPDX-License-Identifier: Apache-2.0
"""The verb `record`: writes what the arm's topics carry into an MCAP file."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from manipulator3d.cli.options import print_json, show_progress, verb_parser
from manipulator3d.cli.up import interruptible
from manipulator3d.nodes.spinning_node import SpinningNode
from manipulator3d.nodes.topic_recorder import TopicRecorder
from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_reader import repair
from manipulator3d.records.record_writer import RecordWriter, record_path

# with --seconds, how long to wait for the first message
_PATIENCE_S = 30.0


def record_parser(verb: str, description: str) -> argparse.ArgumentParser:
    """Make the parser of a verb that takes a record."""
    parser = argparse.ArgumentParser(prog=f"./manipulator3d {verb}", description=description, allow_abbrev=False)
    parser.add_argument("record", metavar="F.mcap", help="file that the verb `record` wrote")
    return parser


def main(verb: str, arguments: Sequence[str]) -> int:
    """Record until Ctrl-C or for a time, or repair a record; returns the exit code.

    Raises:
        RecordError: the file cannot be written, or nothing was there to record.
    """
    parser = verb_parser(verb, "Record the arm's topics into an MCAP file. Ctrl-C ends it.")
    parser.add_argument("--output", default="", metavar="F.mcap", help="file, or folder of a file named after the time")
    parser.add_argument("--seconds", type=float, help="end by itself this time after the first message")
    parser.add_argument("--repair", metavar="BROKEN.mcap", help="instead of recording, write BROKEN anew into --output")
    options = parser.parse_args(arguments)
    if options.seconds is not None and not options.seconds > 0.0:
        parser.error(f"--seconds {options.seconds:g} is not above 0")
    path = record_path(options.output)
    if options.repair:
        number = repair(Path(options.repair), path)
        answer = {"file": str(path), "messages": number}
        print_json(answer) if options.json else print(f"{path}: {number} messages")
        return 0
    interruptible()
    writer = RecordWriter(path)
    topics: list[str] = []
    try:
        topics = _record(options, writer)
    except KeyboardInterrupt:
        show_progress("interrupted")
    writer.close()
    if writer.messages == 0:
        path.unlink()
        raise RecordError("nothing was recorded: no arm's topic was found; start the stack (or give its --namespace)")
    size = path.stat().st_size
    if options.json:
        print_json({"file": str(path), "messages": writer.messages, "topics": topics, "bytes": size})
    else:
        print(f"{path}: {writer.messages} messages of {len(topics)} topics, {size / 1e6:.2f} MB")
    return 0


def _record(options: argparse.Namespace, writer: RecordWriter) -> list[str]:
    """Record into `writer`; gives the topics.

    Raises:
        RecordError: the file cannot be written any more.
    """
    with SpinningNode(options.namespace, "manipulator3d_recorder") as node:
        recorder = TopicRecorder(node.node, writer, show_progress)
        try:
            show_progress(f"recording into {writer.path}; Ctrl-C ends it")
            # without a time, the recorder may be started long before the stack
            patience = None if options.seconds is None else _PATIENCE_S
            node.spin_until(lambda: writer.messages > 0 or recorder.failure is not None, patience)
            if writer.messages > 0:
                node.spin_until(lambda: recorder.failure is not None, options.seconds)
        except KeyboardInterrupt:
            show_progress("closing the record …")
        node.run(recorder.finish)
        if recorder.failure is not None:
            raise RecordError(recorder.failure)
        return recorder.topics
