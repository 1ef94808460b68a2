# SPDX-License-Identifier: Apache-2.0
"""The motor of a joint, found from its motion and its drive.

Model: time_constant · dv/dt + v = gain · (drive − friction · sign(v) − load), so that the angle follows the drive as
gain / (s (time_constant s + 1)) beyond friction and load. Solved for the drive it is linear in 1/gain,
time_constant/gain, friction and load, which least squares over many instants give: identification by the inverse
dynamic model (J. Swevers, W. Verdonck, J. De Schutter, IEEE Control Systems Magazine 27(5), 2007).
"""

from dataclasses import dataclass

import numpy as np

from manipulator3d_hw_bridge.tuning_record import TuningRecord, commanded_motion

# Slower, friction is not at its full value; rad/s. Beyond this drive the motor is at its end.
_LEAST_SPEED = 0.05
_LARGEST_DRIVE = 0.95
# states on either side that the smooth part of the error is taken from: 70 ms at 100 Hz
_HALF_WINDOW = 3
_LEAST_SAMPLES = 25
# s; the firmware's filter of the velocity lets 1/8 of what is new pass in each ms: its mean delay is 7 ms
FILTER_DELAY = 0.007


class NotIdentifiable(Exception):
    """The motion does not tell enough of the motor; the text says what it lacks."""


@dataclass(frozen=True)
class MotorModel:
    """A motor with its gear and what it moves.

    Attributes:
        gain: rad/s that a full drive leads to without friction.
        time_constant: s.
        friction: drive that overcomes Coulomb friction.
        load: drive that holds the load, such as gravity, in the middle of the motion.
        gain_error, time_constant_error, friction_error: standard errors, in the same units.
        samples: number of instants.
    """

    gain: float
    time_constant: float
    friction: float
    load: float = 0.0
    gain_error: float = 0.0
    time_constant_error: float = 0.0
    friction_error: float = 0.0
    samples: int = 0


def identify_motor(record: TuningRecord, proportional: float, derivative: float) -> MotorModel:
    """Find the motor of a joint that followed its setpoints closely.

    The encoder's steps make the controller's drive jump, and the motor does not follow such jumps. As the state of the
    same instant is known, they are taken out: what a smooth position would not have caused.

    Args:
        record: motion there and back, with speeds and accelerations that differ.
        proportional: 1/rad, of the controller during the motion.
        derivative: s/rad.

    Raises:
        NotIdentifiable: too few instants in motion, or the motion does not make out the parameters.
    """
    if len(record.setpoints) < 2 or len(record.states) < 2 * _HALF_WINDOW + 1 or not record.drives:
        raise NotIdentifiable("no motion with the drive was seen; is the firmware of this checkout on the board?")
    states = np.array(record.states)
    commanded = commanded_motion(np.array(record.setpoints), states[:, 0])
    error = commanded.position - states[:, 1]
    offsets = np.arange(-_HALF_WINDOW, _HALF_WINDOW + 1)
    index = np.array([row[0] for row in record.drives])
    drive = np.array([row[1] for row in record.drives])
    inside = (index >= _HALF_WINDOW) & (index < len(states) - _HALF_WINDOW)
    index, drive = index[inside], drive[inside]
    windows = index[:, None] + offsets
    velocity, acceleration = commanded.velocity[index], commanded.acceleration[index]
    chosen = commanded.known[windows].all(axis=1) & (abs(velocity) > _LEAST_SPEED) & (abs(drive) < _LARGEST_DRIVE)
    if chosen.sum() < _LEAST_SAMPLES:
        raise NotIdentifiable(
            f"{chosen.sum()} instants in motion were seen, {_LEAST_SAMPLES} are needed; repeat more often, or with a "
            "larger amplitude"
        )
    index, drive, windows = index[chosen], drive[chosen], windows[chosen]
    velocity, acceleration = velocity[chosen], acceleration[chosen]
    smooth_error, error_rate = _straight_lines(states[windows, 0] - states[index, 0][:, None], error[windows])
    smooth_velocity = velocity - error_rate - FILTER_DELAY * acceleration
    drive = drive - proportional * (error[index] - smooth_error) + derivative * (states[index, 2] - smooth_velocity)

    position = commanded.position[index]
    columns = (velocity, acceleration, np.sign(velocity), np.ones_like(velocity), position - position.mean())
    factors, errors = _least_squares(np.column_stack(columns), drive)
    per_speed, per_acceleration, friction, load, _ = factors
    if not (per_speed > 3 * errors[0] and per_acceleration > 3 * errors[1]):
        raise NotIdentifiable(
            f"the motion does not make out the motor: drive per speed {per_speed:.4f} ± {errors[0]:.4f} s/rad, per "
            f"acceleration {per_acceleration:.5f} ± {errors[1]:.5f} s²/rad; use a larger amplitude"
        )
    gain, time_constant = 1.0 / per_speed, per_acceleration / per_speed
    relative = errors[0] / per_speed
    return MotorModel(
        gain=gain,
        time_constant=time_constant,
        friction=max(friction, 0.0),
        load=load,
        gain_error=gain * relative,
        time_constant_error=time_constant * float(np.hypot(relative, errors[1] / per_acceleration)),
        friction_error=errors[2],
        samples=len(drive),
    )


def _straight_lines(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit a line to each row; return its value at time 0 and its slope."""
    mean_time = times.mean(axis=1, keepdims=True)
    centred = times - mean_time
    slope = (centred * values).sum(axis=1) / (centred**2).sum(axis=1)
    return values.mean(axis=1) - slope * mean_time[:, 0], slope


def _least_squares(rows: np.ndarray, wanted: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the factors and their standard errors."""
    factors, _, rank, _ = np.linalg.lstsq(rows, wanted, rcond=None)
    if rank < rows.shape[1]:
        raise NotIdentifiable("the motion has one speed or one direction alone; move there and back at several speeds")
    rest = wanted - rows @ factors
    variance = rest @ rest / (len(wanted) - len(factors))
    errors = np.sqrt(variance * np.diag(np.linalg.inv(rows.T @ rows)))
    return factors.tolist(), errors.tolist()
