# SPDX-License-Identifier: Apache-2.0
"""The verb `firmware`: builds the board's binary, tells its size, and flashes it."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from manipulator3d.cli.firmware_binary import Memory, build_binary, memory_use
from manipulator3d.cli.firmware_flash import check_port, flash
from manipulator3d.cli.options import print_json, show_progress


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Build, measure or flash the firmware of the Arduino Mega 2560; returns the exit code.

    Raises:
        StackError: a program or the port is missing, or a step failed; names it and the remedy.
    """
    options = _parser().parse_args(arguments)
    if options.action == "flash":
        return _flash(options)
    binary = build_binary()
    memory = memory_use(binary)
    if options.json:
        print_json({"file": str(binary.with_suffix(".hex"))} | {one.name: _as_dict(one) for one in memory})
        return 0
    if options.action == "build":
        print(binary.with_suffix(".hex"))
    for one in memory:
        print(f"{one.name:6s} {one.used:7d} of {one.available:7d} bytes  {one.used / one.available:6.1%}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./manipulator3d firmware", description="The firmware of the Arduino Mega 2560.", allow_abbrev=False
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("build", "compile the board's binary and print its path and size"),
        ("size", "flash and RAM that the binary takes of the Mega's"),
        ("flash", "build, then write the binary to the board at --port; ends whatever the board does"),
    ):
        action = actions.add_parser(name, help=text, description=text, allow_abbrev=False)
        action.add_argument("--json", action="store_true", help="print the answer as JSON")
        if name == "flash":
            action.add_argument("--port", required=True, help="serial line of the board, such as /dev/ttyACM0")
    return parser


def _flash(options: argparse.Namespace) -> int:
    check_port(options.port)
    binary: Path = build_binary().with_suffix(".hex")
    show_progress(f"flashing {options.port} …")
    flash(options.port, binary)
    if options.json:
        print_json({"file": str(binary), "port": options.port})
    else:
        print(f"{options.port}: flashed and verified; home the arm before it moves")
    return 0


def _as_dict(memory: Memory) -> dict[str, int | float]:
    return {"used": memory.used, "available": memory.available, "fraction": memory.used / memory.available}
