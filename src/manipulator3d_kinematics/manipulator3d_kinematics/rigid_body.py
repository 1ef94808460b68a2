# SPDX-License-Identifier: Apache-2.0
"""Mass, centre of mass and inertia of one moving part of the arm."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, read_only


@dataclass(frozen=True, eq=False)
class RigidBody:
    """One body in its link's frame (x along the link, y left, z up when the link is level).

    Attributes:
        mass: kg.
        centre: shape (3,), m; centre of mass.
        inertia: shape (3, 3), kg m²; about the centre of mass.
    """

    mass: float
    centre: Array
    inertia: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", read_only(self.centre, (3,), "centre"))
        object.__setattr__(self, "inertia", read_only(self.inertia, (3, 3), "inertia"))

    @staticmethod
    def none() -> "RigidBody":
        return RigidBody(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def point(mass: float, position: ArrayLike) -> "RigidBody":
        return RigidBody(mass, np.asarray(position, dtype=np.float64), np.zeros((3, 3)))

    def moved(self, rotation: Array, translation: Array) -> "RigidBody":
        """The same body, expressed in a frame in which its present frame has this pose."""
        return RigidBody(self.mass, rotation @ self.centre + translation, rotation @ self.inertia @ rotation.T)


def combined(bodies: Iterable[RigidBody]) -> RigidBody:
    """Join bodies given in one frame into one (parallel-axis theorem)."""
    parts = list(bodies)
    mass = sum(body.mass for body in parts)
    if mass == 0.0:
        return RigidBody.none()
    centre = sum((body.mass * body.centre for body in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for body in parts:
        arm = body.centre - centre
        inertia += body.inertia + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return RigidBody(mass, centre, inertia)
