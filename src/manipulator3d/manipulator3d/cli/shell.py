# SPDX-License-Identifier: Apache-2.0
"""The verb `shell`."""

import os
import sys
from collections.abc import Sequence


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Replace this process by a shell, or by one command, in the built environment."""
    command = list(arguments)
    if command[:1] in (["-h"], ["--help"]):
        print("usage: ./manipulator3d shell [-- COMMAND …]\n\nA shell, or one command, in the built environment.")
        return 0
    if command[:1] == ["--"]:
        command = command[1:]
    elif command:
        print("write -- before the command: ./manipulator3d shell -- COMMAND …", file=sys.stderr)
        return 2
    if not command:
        command = [os.environ.get("SHELL", "/bin/bash")]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"error: {command[0]}: {error.strerror}", file=sys.stderr)
        return 1
