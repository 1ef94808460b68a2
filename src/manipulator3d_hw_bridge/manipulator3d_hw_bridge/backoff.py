# SPDX-License-Identifier: Apache-2.0
"""Growing waits between attempts."""


class Backoff:
    """Gives the wait before the next attempt: `first`, then `factor` times the last one, at most `longest`.

    Args:
        first: s, wait after the first failure.
        longest: s.
        factor: growth from one failure to the next.
    """

    def __init__(self, first: float = 0.2, longest: float = 2.0, factor: float = 2.0) -> None:
        if not 0.0 < first <= longest or factor < 1.0:
            raise ValueError(f"back-off of {first} s growing by {factor} to {longest} s is not a growing wait")
        self._first = first
        self._longest = longest
        self._factor = factor
        self._next = first

    def next(self) -> float:
        """Return the wait in s after one more failure."""
        wait = self._next
        self._next = min(self._next * self._factor, self._longest)
        return wait

    def reset(self) -> None:
        """Start again with the first wait; to be called after a success."""
        self._next = self._first
