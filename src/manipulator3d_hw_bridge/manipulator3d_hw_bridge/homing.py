# SPDX-License-Identifier: Apache-2.0
"""One run of homing: what is asked of the board, and how it ends."""

from collections.abc import Callable, Sequence

from manipulator3d_hw_bridge.home_goal import HomeGoal
from manipulator3d_hw_bridge.messages import Home, JointConfiguration, Mode, State
from manipulator3d_hw_bridge.request_queue import Outcome
from manipulator3d_node.error_code import ErrorCode

# s beyond the sum of the joints' own limits, which the board enforces.
_MARGIN = 5.0


class Homing:
    """Homing of some joints by their switches.

    Args:
        names: of all joints.
        configurations: of all joints; with the time that each may take.
        goal: which joints.
        done: called by the session with the outcome.

    Attributes:
        running: the board has begun.
        cancelled: the end is asked for.
    """

    def __init__(
        self,
        names: Sequence[str],
        configurations: Sequence[JointConfiguration],
        goal: HomeGoal,
        done: Callable[[Outcome], None],
    ) -> None:
        self._names = [names[joint] for joint in goal.joints]
        self._mask = sum(1 << joint for joint in goal.joints)
        self._limit = sum(configurations[joint].home_time for joint in goal.joints) * 1e-3 + _MARGIN
        self._deadline = float("inf")
        self.done = done
        self.running = False
        self.cancelled = False

    @property
    def message(self) -> Home:
        """The request."""
        return Home(joints=self._mask)

    def begin(self, now: float) -> None:
        """The board has acknowledged the request."""
        self.running = True
        self._deadline = now + self._limit

    def ended(self, now: float, state: State, fault: Outcome) -> Outcome | None:
        """Return the outcome, None while the board is at it.

        Args:
            now: s.
            state: latest.
            fault: its fault, a success when there is none.
        """
        if not fault.ok:
            return fault
        if state.mode == Mode.HOMING:
            if now <= self._deadline:
                return None
            return Outcome(
                ErrorCode.TIMEOUT, f"homing has not ended after {self._limit:.0f} s; cancel it and check the switches"
            )
        known = state.flags & self._mask == self._mask
        joints = ", ".join(self._names)
        if self.cancelled:
            remedy = "the positions from before are kept" if known else "home again before moving"
            return Outcome(ErrorCode.CANCELED, f"homing of {joints} was cancelled; {remedy}")
        if known:
            return Outcome()
        return Outcome(ErrorCode.HOMING_FAILED, f"homing of {joints} ended without known positions; home again")
