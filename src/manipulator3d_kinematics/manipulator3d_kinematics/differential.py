# SPDX-License-Identifier: Apache-2.0
"""Joint velocities for a tool velocity, calm near singularities and gentle at limits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, triple
from manipulator3d_kinematics.jacobian import jacobian
from manipulator3d_kinematics.model import ArmModel

# m/rad; a singular value below is damped. At 0.02 a joint needs 50 rad/s for 1 m/s.
DAMPED_BELOW = 0.02
# m/rad; damping of a singular value of zero
DAMPING = 0.02


@dataclass(frozen=True, eq=False)
class VelocityResult:
    """Joint velocities and what became of the wish.

    Attributes:
        qd: shape (3,), rad/s; within the velocity limits.
        velocity: shape (3,), m/s; the tool velocity that `qd` gives.
        smallest_singular_value: m/rad; of the position Jacobian.
        damping: m/rad; applied to the smallest singular value, 0 away from singularities.
        scale: part of the asked speed that velocity limits and nearby position limits leave, 0 to 1.
        held: for each joint whether it is kept at its position limit.
    """

    qd: Array
    velocity: Array
    smallest_singular_value: float
    damping: float
    scale: float
    held: tuple[bool, ...]


def velocity_inverse_kinematics(arm: ArmModel, q: ArrayLike, velocity: ArrayLike) -> VelocityResult:
    """Find the joint velocities that move the tool point with a velocity, by damped least squares.

    Each singular value s below DAMPED_BELOW is inverted as s / (s² + k²) with k² = DAMPING² (1 − (s / DAMPED_BELOW)²)
    (Maciejewski and Klein), so that velocities stay finite and nothing jumps where damping sets in. A joint at its
    limit that would move outward is held, and the others do what they can. All joints are slowed together as far as one
    needs it: to its velocity limit, and to the speed from which it can stop before its position limit.

    Args:
        arm: the arm.
        q: shape (3,), rad.
        velocity: shape (3,), m/s, in the base frame.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    angles = np.array(triple(q, "q"))
    wanted = np.array(triple(velocity, "velocity"))
    matrix = jacobian(arm, angles)[:3]
    held = np.zeros(3, dtype=bool)
    while True:
        qd, smallest, damping = _damped(matrix[:, ~held], wanted)
        full = np.zeros(3)
        full[~held] = qd
        outward = ((angles >= arm.upper) & (full > 0.0)) | ((angles <= arm.lower) & (full < 0.0))
        if not outward.any() or held.all():
            break
        held |= outward
    room = np.where(full > 0.0, arm.upper - angles, angles - arm.lower)
    allowed = np.minimum(arm.velocity, np.sqrt(2.0 * arm.acceleration * np.maximum(room, 0.0)))
    moving = np.abs(full) > 0.0
    scale = float(np.min(allowed[moving] / np.abs(full[moving]), initial=1.0))
    full *= scale
    return VelocityResult(full, matrix @ full, smallest, damping, scale, tuple(bool(joint) for joint in held))


def _damped(matrix: Array, wanted: Array) -> tuple[Array, float, float]:
    if matrix.shape[1] == 0:
        return np.zeros(0), 0.0, 0.0
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    near = np.minimum(values / DAMPED_BELOW, 1.0)
    squared = DAMPING**2 * (1.0 - near * near)
    qd = right.T @ (values / (values * values + squared) * (left.T @ wanted))
    return qd, float(values[-1]), float(np.sqrt(squared[-1]))
