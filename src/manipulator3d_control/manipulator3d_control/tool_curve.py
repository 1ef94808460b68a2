# SPDX-License-Identifier: Apache-2.0
"""Curves of the tool point over the distance along them: straight lines and arcs."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial


class ToolCurve(Protocol):
    """A smooth piece of a curve.

    Attributes:
        length: range of the parameter s, which runs from 0 to it, m.
    """

    @property
    def length(self) -> float: ...

    def derivatives(self, s: Array) -> Array:
        """Points and their first three derivatives by s at shape (N,): shape (4, N, 3), m."""
        ...


@dataclass(frozen=True)
class Line:
    """A straight line.

    Attributes:
        start, end: shape (3,), m.
    """

    start: Array
    end: Array

    @property
    def length(self) -> float:
        """Length, m."""
        return float(np.linalg.norm(self.end - self.start))

    def derivatives(self, s: Array) -> Array:
        """Points and derivatives; see ToolCurve."""
        result = np.zeros((4, len(s), 3))
        direction = (self.end - self.start) / self.length if self.length > 0.0 else np.zeros(3)
        result[0] = self.start + s[:, None] * direction
        result[1] = direction
        return result


@dataclass(frozen=True)
class Arc:
    """An arc of a circle, or a whole one, or several turns.

    Attributes:
        centre: shape (3,), m.
        outward, along: shape (3,); unit vectors from the centre to the start and in the direction of travel there.
        radius: m.
        angle: that it turns through, above 0, rad.
    """

    centre: Array
    outward: Array
    along: Array
    radius: float
    angle: float

    @property
    def length(self) -> float:
        """Length, m."""
        return self.radius * self.angle

    def derivatives(self, s: Array) -> Array:
        """Points and derivatives; see ToolCurve."""
        turned = s[:, None] / self.radius
        outward = np.cos(turned) * self.outward + np.sin(turned) * self.along
        along = np.cos(turned) * self.along - np.sin(turned) * self.outward
        return np.stack(
            [self.centre + self.radius * outward, along, -outward / self.radius, -along / self.radius**2],
        )


@dataclass(frozen=True)
class PolynomialCurve:
    """A curve given by polynomials.

    Attributes:
        points: with three values, m; the first break is 0, the last the length.
    """

    points: PiecewisePolynomial

    @property
    def length(self) -> float:
        """Range of the parameter, m."""
        return float(self.points.breaks[-1])

    def derivatives(self, s: Array) -> Array:
        """Points and derivatives; see ToolCurve."""
        return self.points.derivatives(s, 3)
