# SPDX-License-Identifier: Apache-2.0
"""Orientation as a unit quaternion."""

from math import sqrt

from manipulator3d_kinematics.checked_numbers import Array


def quaternion(rotation: Array) -> tuple[float, float, float, float]:
    """Give the unit quaternion (w, x, y, z) of a rotation matrix, w not negative.

    Its largest component is taken from the diagonal and the others from products with it, which loses no digits
    (Shepperd's method).
    """
    (a, b, c), (d, e, f), (g, h, i) = rotation.tolist()
    squares = (1.0 + a + e + i, 1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i)
    largest = max(range(4), key=squares.__getitem__)
    products = (
        (squares[0], h - f, c - g, d - b),
        (h - f, squares[1], b + d, c + g),
        (c - g, b + d, squares[2], f + h),
        (d - b, c + g, f + h, squares[3]),
    )[largest]
    scale = 0.5 / sqrt(squares[largest])
    w, x, y, z = (scale * product for product in products)
    return (w, x, y, z) if w >= 0.0 else (-w, -x, -y, -z)
