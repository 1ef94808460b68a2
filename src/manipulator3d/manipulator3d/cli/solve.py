# SPDX-License-Identifier: Apache-2.0
"""The verbs `solve-ik` and `solve-fk`."""

from collections.abc import Sequence

from manipulator3d.cli.options import (
    add_numbers,
    check_success,
    negative_numbers_allowed,
    numbers,
    print_json,
    verb_parser,
)
from manipulator3d.nodes.arm_call import ELBOWS, set_point
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d_interfaces.srv import SolveFK, SolveIK

_POINT, _ANGLES = ("x", "y", "z"), ("q0", "q1", "q2")
_ELBOW_NAMES = {number: name for name, number in ELBOWS.items()}


def main(verb: str, arguments: Sequence[str]) -> int:
    """Run one of the two verbs; returns the exit code."""
    return _solve_ik(arguments) if verb == "solve-ik" else _solve_fk(arguments)


def _solve_ik(arguments: Sequence[str]) -> int:
    parser = verb_parser("solve-ik", "Joint angles that put the tool point at a target.")
    add_numbers(parser, _POINT, "m, in the frame")
    parser.add_argument("--elbow", choices=sorted(ELBOWS), default="auto", help="branch (default: auto)")
    parser.add_argument("--seed", type=float, nargs=3, metavar=("Q0", "Q1", "Q2"), help="rad; auto takes the nearest")
    parser.add_argument("--frame", default="", help="frame of the target (default: the arm's base)")
    parser.add_argument("--closest", action="store_true", help="allow the nearest reachable point")
    options = parser.parse_args(negative_numbers_allowed(arguments))
    request = SolveIK.Request(elbow=ELBOWS[options.elbow], allow_closest=options.closest)
    set_point(request.target, numbers(options, _POINT), "point", options.frame)
    request.seed.position = options.seed or []
    with StackClient(options.namespace) as client:
        response = client.call(SolveIK, "solve_ik", request)
    if options.json:
        achieved = response.achieved
        print_json(
            {
                "success": response.success,
                "error_code": response.error_code,
                "message": response.message,
                "joints": dict(zip(response.solution.name, response.solution.position, strict=True)),
                "alternatives": [list(entry.position) for entry in response.alternatives],
                "achieved": [achieved.x, achieved.y, achieved.z],
                "position_error": response.position_error,
                "manipulability": response.manipulability,
                "elbow": _ELBOW_NAMES[response.elbow] if response.success else None,
            }
        )
        return 0 if response.success else 1
    check_success(response)
    for name, angle in zip(response.solution.name, response.solution.position, strict=True):
        print(f"{name:16s} {angle:+.6f} rad")
    print(
        f"elbow {_ELBOW_NAMES[response.elbow]}, {len(response.alternatives)} solution(s), "
        f"position error {response.position_error:.3g} m"
    )
    if response.message:
        print(response.message)
    return 0


def _solve_fk(arguments: Sequence[str]) -> int:
    parser = verb_parser("solve-fk", "Elbow and tool point of joint angles.")
    add_numbers(parser, _ANGLES, "rad")
    options = parser.parse_args(negative_numbers_allowed(arguments))
    request = SolveFK.Request()
    request.joints.position = numbers(options, _ANGLES)
    with StackClient(options.namespace) as client:
        response = client.call(SolveFK, "solve_fk", request)
    if options.json:
        frames = [
            {
                "frame": frame.header.frame_id,
                "position": [frame.pose.position.x, frame.pose.position.y, frame.pose.position.z],
                "orientation": [
                    frame.pose.orientation.x,
                    frame.pose.orientation.y,
                    frame.pose.orientation.z,
                    frame.pose.orientation.w,
                ],
            }
            for frame in response.frames
        ]
        print_json(
            {
                "success": response.success,
                "error_code": response.error_code,
                "message": response.message,
                "frames": frames,
                "jacobian": list(response.jacobian),
            }
        )
        return 0 if response.success else 1
    check_success(response)
    for name, frame in zip(("elbow", "tool0"), response.frames, strict=True):
        point = frame.pose.position
        print(f"{name:6s} {point.x:+.6f} {point.y:+.6f} {point.z:+.6f} m")
    return 0
