# SPDX-License-Identifier: Apache-2.0
"""Runs one verb: `python -m manipulator3d.cli VERB …`."""

import importlib
import signal
import sys
from collections.abc import Sequence

# verb: module that has `main(arguments) -> exit code`; imported only when used, since each import costs start-up time
_MODULES = {
    "demo": "demo",
    "up": "up",
    "test": "checks",
    "status": "status",
    "solve-ik": "solve",
    "solve-fk": "solve",
    "pick-place": "motion",
    "move-to": "motion",
    "draw": "draw",
    "gripper": "services",
    "home": "motion",
    "jog": "jog",
    "speed": "speed",
    "stop": "services",
    "estop": "services",
    "reset": "services",
    "firmware": "firmware",
    "monitor": "monitor",
    "tune": "tune",
    "record": "record",
    "replay": "replay",
    "report": "report",
    "bench": "bench",
    "shell": "shell",
}


def main(arguments: Sequence[str]) -> int:
    """Run the verb in `arguments`; returns the exit code: 0 done, 1 refused or failed, 2 wrong usage."""
    from manipulator3d.stack_error import StackError

    verb = arguments[0] if arguments else ""
    if verb not in _MODULES:
        print(f"there is no verb '{verb}'; the verbs are {', '.join(_MODULES)}", file=sys.stderr)
        return 2
    module = importlib.import_module(f"manipulator3d.cli.{_MODULES[verb]}")
    try:
        return int(module.main(verb, list(arguments[1:])))
    except StackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 1


if __name__ == "__main__":
    # a verb that a shell script starts in the background inherits that SIGINT is ignored, and could not be ended by it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
