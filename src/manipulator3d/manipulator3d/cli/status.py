# SPDX-License-Identifier: Apache-2.0
"""The verb `status`."""

from collections.abc import Sequence

from sensor_msgs.msg import JointState

from manipulator3d.cli.options import print_json, verb_parser
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d.stack_error import StackError
from manipulator3d_interfaces.msg import ArmStatus

_JOINTS_TIMEOUT_S = 2.0


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Print the state of the running arm; returns the exit code."""
    options = verb_parser("status", "The state of the running arm.").parse_args(arguments)
    with StackClient(options.namespace) as client:
        status = client.receive(ArmStatus, "arm_status")
        joints = _joint_states(client)
    answer = {
        "mode": status.mode_name,
        "link": status.link,
        "homed": status.homed,
        "fault": status.fault,
        "fault_message": status.fault_message,
        "phase": status.phase_name,
        "holding": status.holding,
        "speed_scale": status.speed_scale,
        "joints": dict(zip(joints.name, joints.position, strict=True)) if joints else None,
    }
    if options.json:
        print_json(answer)
        return 0
    for name, value in answer.items():
        if name != "joints":
            print(f"{name:14s} {value}")
    for name, angle in (answer["joints"] or {}).items():
        print(f"{name:14s} {angle:+.4f} rad")
    if joints is None:
        print("joints         no joint states arrive")
    return 0


def _joint_states(client: StackClient) -> JointState | None:
    try:
        return client.receive(JointState, "joint_states", timeout_s=_JOINTS_TIMEOUT_S)
    except StackError:
        return None
