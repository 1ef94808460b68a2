# SPDX-License-Identifier: Apache-2.0
"""How the tool moves for given joint velocities."""

from collections.abc import Callable
from math import cos, sin

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, Triple, rows, triple_or_none
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.packed_array import pack_jacobian


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
    one = triple_or_none(q, "q")
    return _jacobians(arm, rows(q, "q")) if one is None else arm.one_jacobian(one)


def jacobian_function(arm: ArmModel) -> Callable[[Triple], Array]:
    """Make the function that gives one arm's Jacobian; its constants are local, which makes it quick."""
    d, shoulder_offset, upper_arm, forearm = arm.lateral_offset, arm.shoulder_offset, arm.upper_arm, arm.forearm
    shape = (6, 3)

    def one_jacobian(theta: Triple) -> Array:
        t0, t1, t2 = theta
        t12 = t1 + t2
        c0, s0 = cos(t0), sin(t0)
        forearm_in, forearm_up = forearm * cos(t12), forearm * sin(t12)
        inward, up = upper_arm * cos(t1) + forearm_in, upper_arm * sin(t1) + forearm_up
        radial, back = shoulder_offset + inward, -c0
        matrix = empty(shape)
        pack_jacobian(
            matrix, 0,
            d * c0 - radial * s0, up * back, forearm_up * back,
            d * s0 + radial * c0, -up * s0, -forearm_up * s0,
            inward, forearm_in,
            s0, s0,
            back, back,
            1.0,
        )  # fmt: skip
        return matrix

    return one_jacobian if arm.is_plain else lambda q: _in_base_and_user_angles(arm, one_jacobian(arm.plain_theta(q)))


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
