# SPDX-License-Identifier: Apache-2.0
"""`./manipulator3d VERB`: sets up what the verb needs, then runs it in the built environment."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bootstrap.console import StepError, say
from bootstrap.debian_packages import (
    BUILD_PACKAGES,
    FIRMWARE_PACKAGES,
    OPTIONAL_TEST_PACKAGES,
    TEST_PACKAGES,
    install_optional_packages,
    install_packages,
)
from bootstrap.environment import base_environment, built_environment, keep_on_this_computer
from bootstrap.places import Places
from bootstrap.ros_installation import find_ros
from bootstrap.setup_lock import setup_lock
from bootstrap.virtual_environment import make_environment
from bootstrap.workspace_build import build_emulator, build_workspace

# Each verb with its one line of help; the command line itself is parsed by manipulator3d.cli.
VERBS = {
    "demo": "the arm picks and places in a loop; nothing else is needed (--cycles N, --headless)",
    "up": "start the stack: up [name:=value …] as for the launch file",
    "test": "run the checks and all tests",
    "status": "the state of the running arm",
    "solve-ik": "joint angles for a tool point: solve-ik X Y Z [--elbow up|down|auto]",
    "solve-fk": "tool point for joint angles: solve-fk Q0 Q1 Q2",
    "pick-place": "pick at one point, place at another: pick-place X Y Z X Y Z",
    "move-to": "move the tool to a point, or the joints to a position",
    "draw": "draw a line, circle, rectangle, triangle or polyline with the tool point",
    "gripper": "open or close the gripper: gripper open|close",
    "home": "find the joints' zero positions",
    "jog": "move the arm while a key is held: jog [--twist|--joints V V V --seconds S]",
    "speed": "speed of the running motion and those to come: speed [FRACTION]",
    "stop": "end the running motion within the limits",
    "estop": "emergency stop (not safety-rated)",
    "reset": "clear a latched fault; moves nothing",
    "firmware": "the board's program: firmware build|size, firmware flash --port PORT",
    "monitor": "what goes over the serial line, decoded: monitor [--file FILE]",
    "tune": "step one joint, identify its motor, suggest gains: tune JOINT [--plot FILE]",
    "record": "record what the arm's topics carry: record [--output F.mcap] [--seconds S]",
    "replay": "show a record on the page; nothing moves: replay F.mcap [--rate R]",
    "report": "a page on a record: report F.mcap [--output F.html]",
    "bench": "measure the figures of docs/performance.md",
    "shell": "a shell, or one command, in the built environment: shell [-- COMMAND …]",
}
# verbs that need more Debian packages
_DEBIAN_PACKAGES = {"test": TEST_PACKAGES, "firmware": FIRMWARE_PACKAGES}
# verbs with a list of Python packages of their own
_OWN_PACKAGES = ("test", "bench", "report")
USAGE = "usage: ./manipulator3d VERB [options]     (./manipulator3d VERB --help tells more)"


def main(root: Path, arguments: Sequence[str]) -> int:
    """Run one verb.

    Args:
        root: the checkout.
        arguments: the verb and its options.

    Returns:
        Exit code: 0 done, 1 refused or failed, 2 wrong usage.
    """
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        width = max(map(len, VERBS))
        print(USAGE, "", *(f"  {verb:<{width}}  {text}" for verb, text in VERBS.items()), sep="\n")
        return 0 if arguments else 2
    verb, options = arguments[0], list(arguments[1:])
    if verb not in VERBS:
        print(f"there is no verb '{verb}'; the verbs are {', '.join(VERBS)}", file=sys.stderr)
        return 2
    try:
        env = _set_up(Places(root), verb)
    except StepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run again to go on", file=sys.stderr)
        return 1
    python = env["VIRTUAL_ENV"] + "/bin/python"
    if "--lan" in options and verb in ("demo", "up"):
        options.remove("--lan")
        env["ROS_AUTOMATIC_DISCOVERY_RANGE"] = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    else:
        keep_on_this_computer(env, Places(root))
    sys.stdout.flush()
    os.execve(python, [python, "-m", "manipulator3d.cli", verb, *options], env)


def _set_up(places: Places, verb: str) -> dict[str, str]:
    ros = find_ros(os.environ)
    with setup_lock(places):
        install_packages(BUILD_PACKAGES | _DEBIAN_PACKAGES.get(verb, {}), places.log("debian"))
        if verb == "test":
            install_optional_packages(OPTIONAL_TEST_PACKAGES, places.log("debian"))
        if ros is not None and verb in ("demo", "up", "test"):
            say(f"Using the installed ROS 2 {ros.distribution}")
        make_environment(places, wheels=ros is None, extra=verb if verb in _OWN_PACKAGES else "")
        build_workspace(places, base_environment(places, ros, os.environ))
        build_emulator(places, base_environment(places, ros, os.environ))
    return built_environment(places, ros, os.environ)
