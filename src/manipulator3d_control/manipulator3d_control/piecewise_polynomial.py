# SPDX-License-Identifier: Apache-2.0
"""Functions of one variable made of polynomials, with their derivatives, for many values at once."""

from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class PiecewisePolynomial:
    """A function of one variable with values of shape (D,).

    Args:
        breaks: shape (n + 1,), increasing; the pieces lie between them. The first and last piece go on beyond.
        coefficients: shape (n, K, D); of the powers 0 to K - 1 of the distance from a piece's first break.
    """

    def __init__(self, breaks: Array, coefficients: Array) -> None:
        self.breaks = breaks
        self.coefficients = coefficients
        powers = np.arange(coefficients.shape[1])
        orders = np.arange(4)[:, None]
        # the m-th derivative of x^k is factors[m, k] x^exponents[m, k]
        self._exponents = np.maximum(powers - orders, 0)
        self._factors = np.array(
            [[factorial(k) // factorial(k - m) if k >= m else 0 for k in range(len(powers))] for m in range(4)],
            dtype=np.float64,
        )

    def derivatives(self, x: ArrayLike, order: int) -> Array:
        """Give the value and the first derivatives.

        Args:
            x: shape (N,).
            order: of the highest derivative, 0 to 3.

        Returns:
            Shape (order + 1, N, D).
        """
        values = np.asarray(x, dtype=np.float64)
        last = len(self.breaks) - 2
        pieces = np.minimum(np.maximum(np.searchsorted(self.breaks, values, side="right") - 1, 0), last)
        powers = (values - self.breaks[pieces])[:, None] ** self._exponents[0]
        weights = powers[:, self._exponents[: order + 1]] * self._factors[: order + 1]
        return np.moveaxis(weights @ self.coefficients[pieces], 1, 0)


def hermite_coefficients(lengths: Array, start: Array, end: Array) -> Array:
    """Give the polynomials that have given values and derivatives at both ends of their pieces.

    Args:
        lengths: shape (n,); of the pieces.
        start, end: shape (m, n, D); value and derivatives of orders 1 to m - 1 at the pieces' first and last points.

    Returns:
        Shape (n, 2 m, D), coefficients as PiecewisePolynomial takes them: of degree 2 m - 1.
    """
    count = len(start)
    scale = lengths[:, None] ** np.arange(count)
    # on the unit interval, where the derivatives are those by x / length
    low = np.moveaxis(start, 0, 1) * scale[..., None] / np.array([factorial(k) for k in range(count)])[:, None]
    falling = np.array(
        [[factorial(k) / factorial(k - m) if k >= m else 0.0 for k in range(2 * count)] for m in range(count)]
    )
    rest = np.moveaxis(end, 0, 1) * scale[..., None] - falling[:, :count] @ low
    high = np.linalg.solve(falling[:, count:], rest)
    unit = np.concatenate([low, high], axis=1)
    return unit / (lengths[:, None] ** np.arange(2 * count))[..., None]
