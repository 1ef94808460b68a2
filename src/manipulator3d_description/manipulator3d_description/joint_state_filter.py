# SPDX-License-Identifier: Apache-2.0
"""Decides which joint positions of a stream of joint states are to be published as transforms."""

import math
from collections.abc import Iterable, Sequence


class JointStateFilter:
    """Passes known joints with finite positions, in the order of their stamps and at most at a set rate.

    The rule of robot_state_publisher: a joint passes when its stamp is at least one interval later than the last one
    that passed; when the clock has jumped back, as in a repeated recording, everything starts anew.

    Args:
        joints: names that pass.
        interval_ns: least time between two stamps of a joint, nanoseconds; 0 lets every newer stamp pass.
    """

    def __init__(self, joints: Iterable[str], interval_ns: int) -> None:
        self._joints = frozenset(joints)
        self._interval_ns = interval_ns
        self._last: dict[str, int] = {}
        self._last_now_ns = 0
        self.not_finite: tuple[str, ...] = ()

    def passing(self, names: Sequence[str], positions: Sequence[float], stamp_ns: int, now_ns: int) -> dict[str, float]:
        """Give the positions to publish.

        Args:
            names, positions: of one joint state; rad or m.
            stamp_ns: the joint state's stamp, nanoseconds.
            now_ns: the clock, nanoseconds.

        Returns:
            Positions by joint name. `not_finite` then holds the joints that were dropped for a NaN or infinity.

        Raises:
            ValueError: as many positions as names are needed.
        """
        if len(names) != len(positions):
            raise ValueError(f"a joint state has {len(names)} names and {len(positions)} positions; send one for each")
        if now_ns < self._last_now_ns:
            self._last.clear()
        self._last_now_ns = now_ns
        known = {name: value for name, value in zip(names, positions, strict=True) if name in self._joints}
        self.not_finite = tuple(name for name, value in known.items() if not math.isfinite(value))
        least_step = max(self._interval_ns, 1)
        passed = {
            name: value
            for name, value in known.items()
            if name not in self.not_finite and (name not in self._last or stamp_ns >= self._last[name] + least_step)
        }
        self._last.update(dict.fromkeys(passed, stamp_ns))
        return passed
