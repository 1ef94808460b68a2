# SPDX-License-Identifier: Apache-2.0
"""The quickest motion from one joint position to another, by ruckig."""

from typing import Any

import numpy as np
from ruckig import InputParameter, Result, Ruckig, Synchronization, Trajectory

from manipulator3d_control.motion import Motion, PolynomialMotion, Standing
from manipulator3d_control.piecewise_polynomial import Array, PiecewisePolynomial
from manipulator3d_kinematics import ArmModel

# leaves so much room that no rounding exceeds a limit
_UNROUNDED = 1.0 - 1e-10
# below what any encoder sees
_SAME_RAD = 1e-9


def point_to_point(arm: ArmModel, start: Array, end: Array) -> Motion:
    """Plan the quickest motion between two positions at rest within the velocity, acceleration and jerk limits.

    All joints start and end together. They move on a straight line in joint space where that costs no time; else each
    joint follows a law of its own.

    Args:
        arm: the arm; its limits.
        start, end: shape (3,), rad.
    """
    if np.max(np.abs(end - start)) <= _SAME_RAD:
        return Standing(end)
    request = InputParameter(3)
    request.current_position, request.target_position = start.tolist(), end.tolist()
    request.max_velocity = (_UNROUNDED * arm.velocity).tolist()
    request.max_acceleration = (_UNROUNDED * arm.acceleration).tolist()
    request.max_jerk = (_UNROUNDED * arm.jerk).tolist()
    request.synchronization = Synchronization.Phase
    return PolynomialMotion(cubic_pieces(planned(request)))


def planned(request: InputParameter) -> Trajectory:
    """Let ruckig plan.

    Raises:
        ArithmeticError: it finds no trajectory.
    """
    trajectory = Trajectory(request.degrees_of_freedom)
    result = Ruckig(request.degrees_of_freedom).calculate(request, trajectory)
    if result not in (Result.Working, Result.Finished):
        raise ArithmeticError(f"ruckig finds no trajectory ({result}) for {request.to_string()}")
    return trajectory


def cubic_pieces(trajectory: Trajectory) -> PiecewisePolynomial:
    """Give a trajectory of ruckig as what it is: cubic polynomials of time between the changes of a jerk."""
    changes = np.concatenate([_changes(profile) for profile in trajectory.profiles[0]])
    duration = float(trajectory.duration)
    inner = np.unique(changes[(changes > 0.0) & (changes < duration)])
    # changes that coincide but for rounding are one
    inner = inner[np.diff(inner, prepend=0.0) > 1e-9]
    breaks = np.concatenate([[0.0], inner[inner < duration - 1e-9], [duration]])
    states = np.array([trajectory.at_time(float(time)) for time in breaks])
    lengths = np.diff(breaks)
    jerks = np.diff(states[:, 2], axis=0) / lengths[:, None]
    coefficients = np.stack(
        [states[:-1, 0], states[:-1, 1], states[:-1, 2] / 2.0, jerks / 6.0],
        axis=1,
    )
    return PiecewisePolynomial(breaks, coefficients)


def _changes(profile: Any) -> Array:
    return np.cumsum([*profile.brake.t, *profile.t])
