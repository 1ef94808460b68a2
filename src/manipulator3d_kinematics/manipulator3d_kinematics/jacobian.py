# SPDX-License-Identifier: Apache-2.0
"""How the tool moves for given joint velocities."""

from math import cos, sin

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, is_batch, rows, triple
from manipulator3d_kinematics.model import ArmModel


def jacobian(arm: ArmModel, q: ArrayLike) -> Array:
    """Give the geometric Jacobian of the tool point: [v; w] = J · dq/dt.

    Args:
        arm: the arm.
        q: shape (3,) or (N, 3), rad.

    Returns:
        Shape (6, 3) or (N, 6, 3), in the base frame: three rows m/rad of velocity, three rows rad/rad of angular
        velocity.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    if is_batch(q):
        return _jacobians(arm, rows(q, "q"))
    t0, t1, t2 = arm.plain_theta(triple(q, "q"))
    c0, s0, d = cos(t0), sin(t0), arm.lateral_offset
    forearm_in, forearm_up = arm.forearm * cos(t1 + t2), arm.forearm * sin(t1 + t2)
    inward, up = arm.upper_arm * cos(t1) + forearm_in, arm.upper_arm * sin(t1) + forearm_up
    radial = arm.shoulder_offset + inward
    # a flat array is made much quicker than a nested one
    matrix = np.array(
        (
            d * c0 - radial * s0, -up * c0, -forearm_up * c0,
            d * s0 + radial * c0, -up * s0, -forearm_up * s0,
            0.0, inward, forearm_in,
            0.0, s0, s0,
            0.0, -c0, -c0,
            1.0, 0.0, 0.0,
        )
    ).reshape(6, 3)  # fmt: skip
    return matrix if arm.is_plain else _in_base_and_user_angles(arm, matrix)


def _jacobians(arm: ArmModel, q: Array) -> Array:
    t0, t1, t2 = (q if arm.is_plain else arm.theta(q)).T
    c0, s0, d = np.cos(t0), np.sin(t0), arm.lateral_offset
    forearm_in, forearm_up = arm.forearm * np.cos(t1 + t2), arm.forearm * np.sin(t1 + t2)
    inward, up = arm.upper_arm * np.cos(t1) + forearm_in, arm.upper_arm * np.sin(t1) + forearm_up
    radial = arm.shoulder_offset + inward
    matrices = np.zeros((len(q), 6, 3))
    matrices[:, 0, 0] = d * c0 - radial * s0
    matrices[:, 1, 0] = d * s0 + radial * c0
    matrices[:, 0, 1], matrices[:, 0, 2] = -up * c0, -forearm_up * c0
    matrices[:, 1, 1], matrices[:, 1, 2] = -up * s0, -forearm_up * s0
    matrices[:, 2, 1], matrices[:, 2, 2] = inward, forearm_in
    matrices[:, 3, 1] = matrices[:, 3, 2] = s0
    matrices[:, 4, 1] = matrices[:, 4, 2] = -c0
    matrices[:, 5, 0] = 1.0
    return matrices if arm.is_plain else _in_base_and_user_angles(arm, matrices)


def _in_base_and_user_angles(arm: ArmModel, matrix: Array) -> Array:
    turn = arm.mount[:3, :3]
    return np.concatenate((turn @ matrix[..., :3, :], turn @ matrix[..., 3:, :]), axis=-2) * arm.sign
