# SPDX-License-Identifier: Apache-2.0
"""The verb `speed`: how fast motions run, now and from now on."""

from collections.abc import Sequence

from std_msgs.msg import Float64

from manipulator3d.cli.options import negative_numbers_allowed, print_json, verb_parser
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.msg import ArmStatus


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Set or show the speed; returns the exit code."""
    parser = verb_parser("speed", "Set the speed of the running motion and of those to come, as a fraction of theirs.")
    parser.add_argument("fraction", type=float, nargs="?", metavar="FRACTION", help="above 0 to 1; none: only show it")
    options = parser.parse_args(negative_numbers_allowed(arguments))
    fraction = options.fraction
    if fraction is not None and not 0.0 < fraction <= 1.0:
        parser.error(f"FRACTION {fraction:g}: give more than 0, at most 1; to stand still call the service pause")
    with StackClient(options.namespace) as client:
        if fraction is not None:
            client.submit(client.publish, Float64, "speed_scale", Float64(data=fraction)).result()
        status = client.receive(ArmStatus, "arm_status")
    if options.json:
        print_json({"success": True, "fraction": fraction, "speed_scale": status.speed_scale})
    elif fraction is None:
        print(f"present speed {status.speed_scale:.0%} of the planned one")
    else:
        print(f"speed {fraction:.0%} of the planned one from now on")
    return 0
