# SPDX-License-Identifier: Apache-2.0
"""Moving the arm by hand: which way a held button moves it, how fast, and whose hand it is."""

from dataclasses import dataclass

from manipulator3d_dashboard.pose import Vector
from manipulator3d_kinematics import ArmModel

# m/s of the tool and rad/s of a joint at full jog speed
TOOL_SPEED = 0.2
JOINT_SPEED = 1.0
# s; a hand that has not been felt for so long has let go
LET_GO_AFTER = 0.5


@dataclass(frozen=True)
class JogAxis:
    """One way to move: the tool along an axis of the arm's base, or one joint.

    Attributes:
        joint: one joint instead of the tool.
        index: 0 to 2; x, y, z, or the joint in the order of the chain.
        sign: 1 or -1.
    """

    joint: bool
    index: int
    sign: int


@dataclass(frozen=True)
class JogBeat:
    """A browser holds a jog button; comes again and again as long as it does."""

    browser: int
    axis: JogAxis


@dataclass(frozen=True)
class JogRelease:
    """A browser has let go, or is gone."""

    browser: int


def jog_velocity(arm: ArmModel, axis: JogAxis, fraction: float) -> Vector:
    """Give the velocity that a held button asks for.

    Args:
        arm: a joint moves no faster than its limit.
        axis: the way.
        fraction: of the full jog speed, 0 to 1.

    Returns:
        m/s along x, y, z, or rad/s of the three joints.
    """
    full = min(JOINT_SPEED, float(arm.velocity[axis.index])) if axis.joint else TOOL_SPEED
    x, y, z = (axis.sign * fraction * full if index == axis.index else 0.0 for index in range(3))
    return (x, y, z)


class JogHold:
    """Lets one browser at a time move the arm by hand, and remembers which way."""

    def __init__(self) -> None:
        self._browser: int | None = None
        self._axis: JogAxis | None = None
        self._felt_at = 0.0

    def take(self, beat: JogBeat, now: float) -> bool:
        """Feel a beat.

        Returns:
            Whether it counts: False while another browser holds the arm.
        """
        if self._browser not in (None, beat.browser) and now - self._felt_at < LET_GO_AFTER:
            return False
        self._browser, self._axis, self._felt_at = beat.browser, beat.axis, now
        return True

    def release(self, release: JogRelease) -> JogAxis | None:
        """Let go; gives the way that ends, None when this browser did not hold the arm."""
        if self._browser != release.browser:
            return None
        axis, self._browser, self._axis = self._axis, None, None
        return axis
