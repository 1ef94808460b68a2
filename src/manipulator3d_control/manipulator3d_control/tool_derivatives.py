# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the tool point along a path from those of the joint angles, and back, up to the third.

The tool point is made of products and sums of exponentials of angles (forward kinematics in complex numbers), so its
derivatives follow from the chain and product rules in closed form. In each order the joint derivative of that order
enters through the Jacobian alone; the way back solves for it.
"""

import numpy as np

from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_kinematics import ArmModel, jacobian


def tool_derivatives(arm: ArmModel, joints: Array) -> Array:
    """Give tool point and derivatives by the path parameter.

    Args:
        arm: the arm.
        joints: shape (4, N, 3); joint angles, rad, and their first three derivatives.

    Returns:
        Shape (4, N, 3), m and m per unit of the parameter, its square and its cube, in the base frame.
    """
    theta = arm.sign * joints
    theta[0] += arm.offset
    yaw, shoulder, forearm = theta[:, :, 0], theta[:, :, 1], theta[:, :, 1] + theta[:, :, 2]
    planar = arm.upper_arm * _turning(shoulder) + arm.forearm * _turning(forearm)
    planar[0] += complex(arm.shoulder_offset, arm.base_height)
    radial = planar.real.astype(complex)
    radial[0] -= 1j * arm.lateral_offset
    turn = _turning(yaw)
    level = np.stack(
        [
            turn[0] * radial[0],
            turn[1] * radial[0] + turn[0] * radial[1],
            turn[2] * radial[0] + 2.0 * turn[1] * radial[1] + turn[0] * radial[2],
            turn[3] * radial[0] + 3.0 * (turn[2] * radial[1] + turn[1] * radial[2]) + turn[0] * radial[3],
        ]
    )
    points = np.stack([level.real, level.imag, planar.imag], axis=2) @ arm.mount[:3, :3].T
    points[0] += arm.mount[:3, 3]
    return points


def joint_derivatives(arm: ArmModel, angles: Array, points: Array) -> Array:
    """Give joint angles and derivatives by the path parameter.

    Args:
        arm: the arm.
        angles: shape (N, 3), rad; not singular.
        points: shape (4, N, 3); as tool_derivatives gives them; the points themselves are not used.

    Returns:
        Shape (4, N, 3).
    """
    matrices = jacobian(arm, angles)[:, :3]
    joints = np.zeros((4, *angles.shape))
    joints[0] = angles
    for order in (1, 2, 3):
        rest = points[order] - tool_derivatives(arm, joints)[order]
        joints[order] = np.linalg.solve(matrices, rest[..., None])[..., 0]
    return joints


def _turning(angle: Array) -> Array:
    """Derivatives of exp(i angle), shape (4, N), from those of the angle."""
    unit = np.exp(1j * angle[0])
    first, second, third = angle[1:]
    return np.stack(
        [
            unit,
            1j * first * unit,
            (1j * second - first**2) * unit,
            (1j * third - 3.0 * first * second - 1j * first**3) * unit,
        ]
    )
