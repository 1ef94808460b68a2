# SPDX-License-Identifier: Apache-2.0
"""Serial chains of revolute joints given by a standard Denavit-Hartenberg table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import cos, inf, pi, sin

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, Triple, read_only
from manipulator3d_kinematics.model import ArmModel

Vector = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class DHChain:
    """A chain of N revolute joints; each row turns by theta = sign·q + offset about z, moves d along z and a along x,
    and twists by alpha about x.

    Attributes:
        d, a, alpha: shape (N,); m, m, rad.
        sign, offset: shape (N,); theta = sign·q + offset, rad.
        lower, upper: shape (N,), rad; limits of q, infinite for none.
        base: shape (4, 4); pose of the first row's frame.
    """

    d: Array
    a: Array
    alpha: Array
    sign: Array = field(default_factory=lambda: np.array(1.0))
    offset: Array = field(default_factory=lambda: np.array(0.0))
    lower: Array = field(default_factory=lambda: np.array(-inf))
    upper: Array = field(default_factory=lambda: np.array(inf))
    base: Array = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        count = np.atleast_1d(np.asarray(self.d)).shape
        for name in ("d", "a", "alpha", "sign", "offset", "lower", "upper"):
            object.__setattr__(self, name, read_only(getattr(self, name), count, f"chain: {name}"))
        object.__setattr__(self, "base", read_only(self.base, (4, 4), "chain: base"))
        if not np.all(self.lower <= self.upper):
            joint = int(np.flatnonzero(self.lower > self.upper)[0])
            raise ValueError(
                f"chain: joint {joint} has the lower limit {self.lower[joint]:g} rad "
                f"above the upper, {self.upper[joint]:g} rad"
            )

    @staticmethod
    def from_arm(arm: ArmModel) -> "DHChain":
        """The chain of a yaw-pitch-pitch arm."""
        return DHChain(
            d=np.array([arm.base_height, 0.0, arm.lateral_offset]),
            a=np.array([arm.shoulder_offset, arm.upper_arm, arm.forearm]),
            alpha=np.array([pi / 2.0, 0.0, 0.0]),
            sign=arm.sign,
            offset=arm.offset,
            lower=arm.lower,
            upper=arm.upper,
            base=arm.mount,
        )

    @property
    def joints(self) -> int:
        """Number of joints."""
        return len(self.d)

    def forward(self, q: ArrayLike) -> Array:
        """The last frame's pose, shape (4, 4), by the product of the rows' matrices.

        Raises:
            ValueError: another number of joints.
        """
        pose = np.array(self.base)
        for theta, d, a, alpha in zip(
            self.sign * self.angles(q) + self.offset, self.d, self.a, self.alpha, strict=True
        ):
            c, s, ca, sa = cos(theta), sin(theta), cos(alpha), sin(alpha)
            pose = pose @ np.array(
                [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0.0, sa, ca, d], [0.0, 0.0, 0.0, 1.0]]
            )
        return pose

    def angles(self, q: ArrayLike) -> Array:
        """`q` as an array of the right length.

        Raises:
            ValueError: another shape, or a number that is not finite.
        """
        angles = np.asarray(q, dtype=np.float64)
        if angles.shape != (self.joints,):
            raise ValueError(f"q: expected shape ({self.joints},), got {angles.shape}")
        if not np.isfinite(angles).all():
            raise ValueError(f"q: {angles.tolist()} has a number that is not finite")
        return angles

    @cached_property
    def plain_rows(self) -> list[tuple[float, float, float, float, float, float]]:
        """For each joint d, a, cos alpha, sin alpha, sign, offset as plain floats."""
        return [
            (d, a, cos(alpha), sin(alpha), sign, offset)
            for d, a, alpha, sign, offset in zip(
                *(part.tolist() for part in (self.d, self.a, self.alpha, self.sign, self.offset)), strict=True
            )
        ]

    def axes(self, q: Sequence[float]) -> tuple[list[Vector], list[Vector], Triple]:
        """Origins and directions of the joint axes (turning with q) and the tool point, in plain floats."""
        base = self.base
        xx, xy, xz = base[:3, 0].tolist()
        yx, yy, yz = base[:3, 1].tolist()
        zx, zy, zz = base[:3, 2].tolist()
        ox, oy, oz = base[:3, 3].tolist()
        origins, directions = [], []
        for angle, (d, a, ca, sa, sign, offset) in zip(q, self.plain_rows, strict=True):
            origins.append((ox, oy, oz))
            directions.append((sign * zx, sign * zy, sign * zz))
            theta = sign * angle + offset
            c, s = cos(theta), sin(theta)
            xx, yx = c * xx + s * yx, c * yx - s * xx
            xy, yy = c * xy + s * yy, c * yy - s * xy
            xz, yz = c * xz + s * yz, c * yz - s * xz
            ox, oy, oz = ox + d * zx + a * xx, oy + d * zy + a * xy, oz + d * zz + a * xz
            yx, zx = ca * yx + sa * zx, ca * zx - sa * yx
            yy, zy = ca * yy + sa * zy, ca * zy - sa * yy
            yz, zz = ca * yz + sa * zz, ca * zz - sa * yz
        return origins, directions, (ox, oy, oz)
