# SPDX-License-Identifier: Apache-2.0
"""The verbs that are one call: `stop`, `estop`, `reset`, `gripper`."""

from collections.abc import Sequence

from std_srvs.srv import SetBool, Trigger

from manipulator3d.cli.options import check_success, print_json, verb_parser
from manipulator3d.nodes.stack_client import StackClient

_TRIGGERS = {
    "stop": ("stop", "End the running motion within the limits."),
    "estop": ("emergency_stop", "Emergency stop by software; it is not safety-rated."),
    "reset": ("reset_fault", "Clear a latched fault. Nothing moves."),
}


def main(verb: str, arguments: Sequence[str]) -> int:
    """Run one of the verbs; returns the exit code."""
    if verb == "gripper":
        parser = verb_parser(verb, "Open or close the gripper.")
        parser.add_argument("state", choices=("open", "close"))
    else:
        parser = verb_parser(verb, _TRIGGERS[verb][1])
    options = parser.parse_args(arguments)
    with StackClient(options.namespace) as client:
        if verb == "gripper":
            response = client.call(SetBool, "set_gripper", SetBool.Request(data=options.state == "close"))
        else:
            response = client.call(Trigger, _TRIGGERS[verb][0], Trigger.Request())
    if options.json:
        print_json({"success": response.success, "message": response.message})
        return 0 if response.success else 1
    check_success(response)
    print(response.message or "done")
    return 0
