# SPDX-License-Identifier: Apache-2.0
"""What a path is: joint angles over a path parameter, without time."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Path(Protocol):
    """A path of the whole arm.

    Attributes:
        length: of the path parameter s, which runs from 0 to it; m for tool paths, rad for joint paths.
    """

    @property
    def length(self) -> float: ...

    def joints(self, s: float) -> Array:
        """Joint angles at s, shape (3,), rad."""
        ...

    def slope(self, s: float) -> Array:
        """First derivative of the joint angles by s, shape (3,)."""
        ...


class PathError(Exception):
    """A path that the arm cannot follow.

    Attributes:
        status: number of what stands in the way, a kinematics code of msg/ErrorCode.
        fraction: of the path, 0 to 1, at which it does.
    """

    def __init__(self, message: str, status: int, fraction: float) -> None:
        super().__init__(message)
        self.status = status
        self.fraction = fraction
