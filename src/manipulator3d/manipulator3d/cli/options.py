# SPDX-License-Identifier: Apache-2.0
"""Options and answers that several verbs share."""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from manipulator3d.stack_error import StackError


def verb_parser(verb: str, description: str, json_answer: bool = True) -> argparse.ArgumentParser:
    """Make the parser of a verb with the options that all ROS clients have."""
    parser = argparse.ArgumentParser(prog=f"./manipulator3d {verb}", description=description, allow_abbrev=False)
    parser.add_argument("--namespace", default="", help="namespace of the stack")
    if json_answer:
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    return parser


def add_numbers(parser: argparse.ArgumentParser, names: Sequence[str], unit: str) -> None:
    """Add one positional number for each name; argparse cannot name the parts of a single one in its errors."""
    for name in names:
        parser.add_argument(name, type=float, metavar=name.upper(), help=unit)


def numbers(options: argparse.Namespace, names: Sequence[str]) -> list[float]:
    """Give the numbers that `add_numbers` took."""
    return [getattr(options, name) for name in names]


def negative_numbers_allowed(arguments: Sequence[str]) -> list[str]:
    """Shield numbers such as -1e-3 or -inf, which argparse would take for options, by a leading space."""
    return [f" {text}" if text.startswith("-") and _is_number(text) else text for text in arguments]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def print_json(answer: Any) -> None:
    """Print an answer as JSON; numbers that JSON lacks become null."""
    print(json.dumps(_without_nan(answer)))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(entry) for entry in value]
    return value


def check_success(response: Any) -> None:
    """Raise StackError with the answer's message unless it reports success."""
    if not response.success:
        raise StackError(response.message or "refused without a reason", getattr(response, "error_code", None))


def show_progress(text: str) -> None:
    """Show one line of progress on stderr."""
    print(text, file=sys.stderr, flush=True)
