# SPDX-License-Identifier: Apache-2.0
"""Gains for the firmware's controller of a joint, designed on a model of its motor.

Of all PID gains whose loop has a sensitivity of at most 2 at every frequency, those with the smallest squared error
after a step of the load (friction, gravity) are taken: design by constrained optimisation (O. Garpinger and
T. Hägglund, A software tool for robust PID design, IFAC Proceedings 41(2), 2008; the bound: K. J. Åström and
T. Hägglund, Advanced PID Control, 2006, where 1.4 to 2 is usual). The loop is the firmware's own: 1 kHz, one step of
delay, derivative on the filtered velocity. Speed and acceleration are fed forward by the inverse of the model; what the
velocity's filter and the looking up are late by, the acceleration makes up for.
"""

from dataclasses import dataclass

import numpy as np

from manipulator3d_hw_bridge.board_settings import largest_gain
from manipulator3d_hw_bridge.motor_model import FILTER_DELAY, MotorModel

_PERIOD = 1e-3
_FILTER_SHARE = 1.0 / 8.0
SENSITIVITY_LIMIT = 2.0
# s; what is fed forward is looked up every fourth step
_LOOK_AHEAD_DELAY = 2e-3
# Drive that one step of the encoder may make: proportional, and derivative through the filter.
_COUNT_LIMIT = 0.2
# Of the controller's zeros: less makes loops that ring on for long.
_ZERO_DAMPING = 0.3
# rad/s, to the Nyquist frequency
_FREQUENCIES = np.geomspace(0.5, np.pi / _PERIOD, 120)


@dataclass(frozen=True)
class Gains:
    """Fields of JointConfiguration by their names and in their units."""

    proportional: float
    integral: float
    derivative: float
    velocity_feedforward: float
    acceleration_feedforward: float
    deadband: float


@dataclass(frozen=True)
class LoopQuality:
    """How a loop answers.

    Attributes:
        sensitivity: largest amplification of a disturbance over all frequencies; inf for an unstable loop.
        load_error: rad²s, integral of the squared error after a step of the load by a full drive.
    """

    sensitivity: float
    load_error: float


def suggest_gains(motor: MotorModel, counts_per_radian: float) -> Gains:
    """Design the gains for a motor.

    Args:
        motor: of the joint.
        counts_per_radian: of its encoder.

    Raises:
        ValueError: no gains within the firmware's bounds keep the sensitivity.
    """
    inverse_gain = 1.0 / motor.gain
    largest_derivative = min(
        # what is fed forward of the velocity carries the derivative, and has the same bound
        0.98 * largest_gain("velocity_feedforward", counts_per_radian) - inverse_gain,
        _COUNT_LIMIT * counts_per_radian * _PERIOD / _FILTER_SHARE,
    )
    best: tuple[float, float, float] | None = None
    lowest = (1.0, 2.0, 0.0)
    largest = (
        min(_COUNT_LIMIT * counts_per_radian, largest_gain("proportional", counts_per_radian)),
        largest_gain("integral", counts_per_radian),
        max(largest_derivative, 0.0),
    )
    highest = largest
    for points in (25, 9, 9):
        best = _best_of_grid(motor, counts_per_radian, lowest, highest, points)
        if best is None:
            raise ValueError(
                f"no gains keep a sensitivity of {SENSITIVITY_LIMIT:g} for a motor of {motor.gain:.3g} rad/s and "
                f"{motor.time_constant:.3g} s with {counts_per_radian:.0f} counts/rad; a finer encoder would help"
            )
        # one step of the present grid on either side
        factors = [(high / low) ** (1.0 / (points - 1)) for low, high in zip(lowest[:2], highest[:2], strict=True)]
        step = (highest[2] - lowest[2]) / (points - 1)
        lowest = (best[0] / factors[0], best[1] / factors[1], max(best[2] - step, 0.0))
        highest = (
            min(best[0] * factors[0], largest[0]),
            min(best[1] * factors[1], largest[1]),
            min(best[2] + step, largest[2]),
        )
    assert best is not None
    kp, ki, kd = best
    # what a slow motor behind a coarse encoder would need beyond the firmware's numbers is left to the integral
    velocity = min(kd + inverse_gain, 0.999 * largest_gain("velocity_feedforward", counts_per_radian))
    acceleration = motor.time_constant * inverse_gain - FILTER_DELAY * kd + _LOOK_AHEAD_DELAY * velocity
    acceleration_limit = 0.999 * largest_gain("acceleration_feedforward", counts_per_radian)
    return Gains(
        proportional=round(kp, 2),
        integral=round(ki, 1),
        derivative=round(kd, 4),
        velocity_feedforward=round(velocity, 4),
        acceleration_feedforward=round(min(max(acceleration, 0.0), acceleration_limit), 5),
        deadband=round(min(motor.friction, largest_gain("deadband", counts_per_radian)), 3),
    )


def _best_of_grid(
    motor: MotorModel,
    counts_per_radian: float,
    lowest: tuple[float, float, float],
    highest: tuple[float, float, float],
    points: int,
) -> tuple[float, float, float] | None:
    """Return the best allowed gains (proportional, integral, derivative) of a grid, None where none is allowed."""
    proportional = np.geomspace(lowest[0], highest[0], points)[:, None]
    integral = np.geomspace(lowest[1], highest[1], points)[None, :]
    best, best_error = None, np.inf
    for derivative in np.linspace(lowest[2], highest[2], points):
        sensitivity, error = _quality(motor, proportional, integral, derivative)
        # An unstable loop may seem well-behaved. With a growing integral it lies behind those that are too sensitive.
        begins_stable = [_stable(motor, float(kp), lowest[1], float(derivative)) for kp in proportional[:, 0]]
        allowed = np.logical_and.accumulate(sensitivity <= SENSITIVITY_LIMIT, axis=1) & np.array(begins_stable)[:, None]
        allowed &= proportional**2 >= (2.0 * _ZERO_DAMPING) ** 2 * integral * derivative
        allowed &= (proportional + derivative * _FILTER_SHARE / _PERIOD) / counts_per_radian <= _COUNT_LIMIT
        error = np.where(allowed, error, np.inf)
        for place in np.argsort(error, axis=None):
            row, column = np.unravel_index(place, error.shape)
            if not error[row, column] < best_error:
                break
            gains = (float(proportional[row, 0]), float(integral[0, column]), float(derivative))
            if _stable(motor, *gains):
                best, best_error = gains, float(error[row, column])
                break
    return best


def loop_quality(motor: MotorModel, gains: Gains) -> LoopQuality:
    """Judge gains on a motor's model."""
    sensitivity, error = _quality(
        motor, np.array([[gains.proportional]]), np.array([[gains.integral]]), gains.derivative
    )
    if not _stable(motor, gains.proportional, gains.integral, gains.derivative):
        return LoopQuality(float("inf"), float("inf"))
    return LoopQuality(float(sensitivity[0, 0]), float(error[0, 0]))


def _quality(
    motor: MotorModel, proportional: np.ndarray, integral: np.ndarray, derivative: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest sensitivity and the squared error after a step of the load for arrays of gains."""
    z = np.exp(1j * _FREQUENCIES * _PERIOD)
    numerator, pole = _plant(motor)
    plant = (numerator[0] * z + numerator[1]) / ((z - 1.0) * (z - pole)) / z
    difference = derivative * _FILTER_SHARE / _PERIOD * (z - 1.0) / (z - (1.0 - _FILTER_SHARE))
    sum_of_errors = _PERIOD * z / (z - 1.0)
    controller = proportional[..., None] + integral[..., None] * sum_of_errors + difference
    sensitivity = 1.0 / abs(1.0 + plant * controller)
    # Parseval: the error's spectrum is that of the load, 1/ω, through plant and sensitivity
    density = (abs(plant) / _FREQUENCIES * sensitivity) ** 2
    steps = np.diff(_FREQUENCIES)
    error = ((density[..., 1:] + density[..., :-1]) / 2.0 * steps).sum(axis=-1) / np.pi
    return sensitivity.max(axis=-1), error


def _plant(motor: MotorModel) -> tuple[tuple[float, float], float]:
    """Return numerator and pole of gain / (s (time_constant s + 1)), held over each period."""
    pole = float(np.exp(-_PERIOD / motor.time_constant))
    lag = motor.time_constant * (1.0 - pole)
    return (motor.gain * (_PERIOD - lag), motor.gain * (lag - _PERIOD * pole)), pole


def _stable(motor: MotorModel, proportional: float, integral: float, derivative: float) -> bool:
    """Whether all poles of the closed loop lie within the unit circle."""
    numerator, pole = _plant(motor)
    kept = 1.0 - _FILTER_SHARE
    error = np.poly1d([proportional + integral * _PERIOD, -proportional]) * np.poly1d([1.0, -kept])
    difference = derivative * _FILTER_SHARE / _PERIOD * np.poly1d([1.0, -1.0]) ** 2
    open_poles = np.poly1d([1.0, -1.0]) ** 2 * np.poly1d([1.0, -pole]) * np.poly1d([1.0, -kept]) * np.poly1d([1.0, 0.0])
    closed = open_poles + np.poly1d(numerator) * (error + difference)
    return bool(np.abs(closed.roots).max() < 1.0)
