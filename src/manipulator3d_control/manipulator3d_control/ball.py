# SPDX-License-Identifier: Apache-2.0
"""The object that is picked: where it is, and whether the tool holds it."""

import numpy as np

from manipulator3d_control.piecewise_polynomial import Array


class Ball:
    """A ball in the world of a simulated arm, and what the tool is believed to hold with a real one.

    Args:
        tolerance: largest distance between tool point and ball at which it is grasped, m.
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._position: Array | None = None
        self._placed_by_hand = False
        self._held = False

    @property
    def held(self) -> bool:
        """Whether the tool holds it."""
        return self._held

    @property
    def position(self) -> Array | None:
        """Shape (3,), m, in the base frame; None until it is known. While held it is where the tool is."""
        return self._position

    def put(self, position: Array) -> None:
        """Put it somewhere by hand; there it stays until it is grasped."""
        self._position, self._placed_by_hand, self._held = np.array(position, dtype=float), True, False

    def lay_ready(self, pick: Array) -> None:
        """Lay it at the pick point for a new cycle, unless it is held or was put elsewhere by hand."""
        if not self._held and not self._placed_by_hand:
            self._position = np.array(pick, dtype=float)

    def grasp(self, tool: Array) -> float:
        """Take hold of it if the tool is near enough; returns the distance between them, m."""
        distance = np.inf if self._position is None else float(np.linalg.norm(tool - self._position))
        if distance <= self._tolerance:
            self.take(tool)
        return distance

    def take(self, tool: Array) -> None:
        """Hold it, wherever it was believed to be; for an arm that feels what it holds."""
        self._held, self._placed_by_hand = True, False
        self._position = np.array(tool, dtype=float)

    def carry(self, tool: Array) -> None:
        """Follow the tool while held."""
        if self._held:
            self._position = np.array(tool, dtype=float)

    def release(self) -> None:
        """Let go of it where it is."""
        self._held = False
