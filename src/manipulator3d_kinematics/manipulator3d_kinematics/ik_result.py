# SPDX-License-Identifier: Apache-2.0
"""The answer of the inverse kinematics."""

from enum import IntEnum
from math import dist, hypot

import numpy as np

from manipulator3d_kinematics.branches import ON_AXIS, Solution
from manipulator3d_kinematics.checked_numbers import Array, Triple
from manipulator3d_kinematics.forward import tool_point
from manipulator3d_kinematics.manipulability import manipulability
from manipulator3d_kinematics.model import ArmModel

DOWN, UP = "down", "up"
UP_BIT = 1


def yaw_is_free(arm: ArmModel, target: Triple) -> bool:
    """Tell whether the tool stays at the target whatever the yaw angle is."""
    if arm.lateral_offset != 0.0:
        return False
    x, y, _ = target if arm.is_plain else arm.mount[:3, :3].T @ (np.array(target) - arm.mount[:3, 3])
    return hypot(x, y) <= ON_AXIS


class IkStatus(IntEnum):
    """Outcome of an inverse kinematics request; numbers are those of the interfaces' error codes, but for CLOSEST."""

    REACHED = 0
    CLOSEST = 1
    TOO_FAR = 101
    TOO_CLOSE = 102
    BELOW_FLOOR = 103
    JOINT_LIMIT = 104


class IkResult:
    """Joint angles, or why there are none.

    Attributes:
        status: REACHED, CLOSEST or a reason.
        target: m, in the base frame; as asked.
    """

    __slots__ = ("_arm", "_message", "_solutions", "status", "target")

    def __init__(
        self, arm: ArmModel, target: Triple, status: IkStatus, solutions: list[Solution], message: str = ""
    ) -> None:
        self._arm = arm
        self._solutions = solutions
        self.target = target
        self.status = status
        self._message = message

    @property
    def message(self) -> str:
        """What is wrong, by how much, and the remedy; or a remark on the solution; else empty."""
        if self.status is not IkStatus.REACHED or not yaw_is_free(self._arm, self.target):
            return self._message
        return f"the target lies on the yaw axis, where any angle of {self._arm.joint_names[0]} serves"

    @property
    def q(self) -> Array | None:
        """Shape (3,), rad; None unless `status` is REACHED or CLOSEST."""
        return np.array(self._solutions[0][:3]) if self._solutions else None

    @property
    def angles(self) -> Triple | None:
        """`q` as plain floats."""
        return self._solutions[0][:3] if self._solutions else None

    @property
    def solutions(self) -> list[Triple]:
        """`alternatives` as plain floats."""
        return [solution[:3] for solution in self._solutions]

    @property
    def alternatives(self) -> tuple[Array, ...]:
        """All solutions within limits and above the floor, best first, `q` among them."""
        return tuple(np.array(solution[:3]) for solution in self._solutions)

    @property
    def elbow(self) -> str | None:
        """Branch of `q`: "down" (elbow angle of the DH table at least 0) or "up"."""
        return (UP if self._solutions[0][3] & UP_BIT else DOWN) if self._solutions else None

    @property
    def achieved(self) -> Triple | None:
        """Tool point of `q`, m, in the base frame."""
        return tool_point(self._arm, self._solutions[0][:3]) if self._solutions else None

    @property
    def error(self) -> float | None:
        """Distance from the target to the tool point of `q`, m."""
        achieved = self.achieved
        return None if achieved is None else dist(self.target, achieved)

    @property
    def manipulability(self) -> float | None:
        """Volume of the velocity ellipsoid of `q` (but for 4π/3): |det| of the position Jacobian, m³."""
        return float(manipulability(self._arm, self._solutions[0][:3])) if self._solutions else None

    def __bool__(self) -> bool:
        return bool(self._solutions)

    def __repr__(self) -> str:
        angles = "None" if not self._solutions else "({:.6f}, {:.6f}, {:.6f})".format(*self._solutions[0][:3])
        return f"IkResult({self.status.name}, q={angles}, message={self.message!r})"
