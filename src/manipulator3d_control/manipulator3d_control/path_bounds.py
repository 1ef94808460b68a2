# SPDX-License-Identifier: Apache-2.0
"""How fast a path may be run through so that no joint exceeds its limits anywhere on it.

With q(s) the joint angles over the path parameter, the joint velocity is q' v, the acceleration q' a + q'' v² and the
jerk q' j + 3 q'' v a + q''' v³, where v, a, j are the derivatives of s by time. Constant bounds on v, a and j that keep
all three sums within the limits everywhere make the time law a one-dimensional problem.
"""

from dataclasses import dataclass

import numpy as np
from ruckig import InputParameter

from manipulator3d_control.path import Path
from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial
from manipulator3d_control.point_to_point import cubic_pieces, planned
from manipulator3d_kinematics import ArmModel

_SAMPLES = 201
# the derivatives are taken at samples; what lies between them stays within this share of the limits
_MARGIN = 0.97
# fractions of the largest speed, and of the acceleration that it leaves, that are tried; the fastest motion is taken
_SPEED_FRACTIONS = np.linspace(0.25, 1.0, 16)
_ACCELERATION_FRACTIONS = np.linspace(0.3, 1.0, 8)
_NEARLY_ZERO = 1e-12


@dataclass(frozen=True)
class PathBounds:
    """Bounds of the path parameter's derivatives.

    Attributes:
        velocity, acceleration, jerk: of s, in its unit per s, s², s³.
    """

    velocity: float
    acceleration: float
    jerk: float


def path_bounds(arm: ArmModel, path: Path, tool_speed: float = np.inf) -> PathBounds:
    """Find bounds that keep every joint within its velocity, acceleration and jerk limits on the whole path.

    Args:
        arm: the arm; its limits.
        path: the path, of positive length.
        tool_speed: largest speed of the path parameter, m/s for tool paths.
    """
    first, second, third = (np.abs(derivative) for derivative in _derivatives(path))
    slopes = np.maximum(first, _NEARLY_ZERO)
    acceleration, jerk = _MARGIN * arm.acceleration, _MARGIN * arm.jerk
    largest = min(tool_speed, float(np.min(_MARGIN * arm.velocity / slopes)))
    candidates = []
    for v in largest * _SPEED_FRACTIONS:
        left = float(np.min((acceleration - second * v**2) / slopes))
        for a in left * _ACCELERATION_FRACTIONS:
            j = float(np.min((jerk - 3.0 * second * v * a - third * v**3) / slopes))
            if a > 0.0 and j > 0.0:
                candidates.append(PathBounds(float(v), float(a), j))
    if not candidates:
        # so curved that only a creeping motion is left: each term gets a third of its limit
        v = min(largest, _cubic_bound(acceleration / 3.0, jerk / 3.0, second, third))
        a = float(np.min(np.minimum(acceleration / 3.0 / slopes, jerk / 9.0 / np.maximum(second * v, _NEARLY_ZERO))))
        return PathBounds(v, a, float(np.min(jerk / 3.0 / slopes)))
    return min(candidates, key=lambda bounds: rest_to_rest_duration(path.length, bounds))


def _cubic_bound(acceleration: Array, jerk: Array, second: Array, third: Array) -> float:
    by_acceleration = np.sqrt(acceleration / np.maximum(second, _NEARLY_ZERO))
    by_jerk = np.cbrt(jerk / np.maximum(third, _NEARLY_ZERO))
    return float(np.min(np.minimum(by_acceleration, by_jerk)))


def rest_to_rest_duration(length: float, bounds: PathBounds) -> float:
    """Duration of the fastest motion over `length` from rest to rest, s."""
    return float(planned(_request(length, bounds)).duration)


def rest_to_rest_law(length: float, bounds: PathBounds) -> PiecewisePolynomial:
    """The fastest law over `length` from rest to rest."""
    return cubic_pieces(planned(_request(length, bounds)))


def _request(length: float, bounds: PathBounds) -> InputParameter:
    request = InputParameter(1)
    request.target_position = [length]
    request.max_velocity, request.max_acceleration, request.max_jerk = (
        [bounds.velocity],
        [bounds.acceleration],
        [bounds.jerk],
    )
    return request


def _derivatives(path: Path) -> tuple[Array, Array, Array]:
    first, second, third = path.derivatives(np.linspace(0.0, path.length, _SAMPLES))[1:]
    return first, second, third
