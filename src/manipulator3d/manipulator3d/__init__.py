# SPDX-License-Identifier: Apache-2.0
"""Bring-up, command line and Python interface of the manipulator3d arm."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manipulator3d.arm_error import ArmError
    from manipulator3d.nodes.arm import Arm, AsyncArm
    from manipulator3d_node.error_code import ErrorCode

__all__ = ["Arm", "ArmError", "AsyncArm", "ErrorCode"]


def __getattr__(name: str) -> Any:
    """Import the Python interface when it is first asked for: the pure modules must not load ROS."""
    if name in ("Arm", "AsyncArm"):
        from manipulator3d.nodes import arm

        return getattr(arm, name)
    if name == "ArmError":
        from manipulator3d.arm_error import ArmError

        return ArmError
    if name == "ErrorCode":
        from manipulator3d_node.error_code import ErrorCode

        return ErrorCode
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
