# SPDX-License-Identifier: Apache-2.0
"""How well the tool can move in all directions."""

from math import cos, sin

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, is_batch, rows, triple
from manipulator3d_kinematics.jacobian import jacobian
from manipulator3d_kinematics.model import ArmModel


def manipulability(arm: ArmModel, q: ArrayLike) -> float | Array:
    """Give |det| of the position Jacobian, in closed form: upper_arm · forearm · |sin theta2| · |R|.

    It is zero when the arm is stretched or folded, and with the tool point on the yaw axis (R = 0).

    Args:
        arm: the arm.
        q: shape (3,) or (N, 3), rad.

    Returns:
        A number or shape (N,), m³/rad³.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    if is_batch(q):
        _, t1, t2 = arm.theta(rows(q, "q")).T
        radial = arm.shoulder_offset + arm.upper_arm * np.cos(t1) + arm.forearm * np.cos(t1 + t2)
        return np.asarray(arm.upper_arm * arm.forearm * np.abs(np.sin(t2) * radial))
    _, t1, t2 = arm.plain_theta(triple(q, "q"))
    radial = arm.shoulder_offset + arm.upper_arm * cos(t1) + arm.forearm * cos(t1 + t2)
    return arm.upper_arm * arm.forearm * abs(sin(t2) * radial)


def condition_number(arm: ArmModel, q: ArrayLike) -> float | Array:
    """Give the ratio of the largest to the smallest singular value of the position Jacobian.

    Args:
        arm: the arm.
        q: shape (3,) or (N, 3), rad.

    Returns:
        A number or shape (N,), at least 1, infinite where the arm is singular.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    values = np.linalg.svd(jacobian(arm, q)[..., :3, :], compute_uv=False)
    largest, smallest = values[..., 0], values[..., 2]
    # below the rounding of the decomposition the smallest value is zero
    singular = smallest <= 3 * np.finfo(float).eps * largest
    ratio = np.where(singular, np.inf, largest / np.where(singular, 1.0, smallest))
    return ratio if ratio.ndim else float(ratio)
