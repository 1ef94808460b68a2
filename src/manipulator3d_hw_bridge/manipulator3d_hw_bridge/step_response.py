# SPDX-License-Identifier: Apache-2.0
"""How a joint answers to a commanded step: the usual figures."""

from dataclasses import dataclass

import numpy as np

# share of the step within which a joint counts as settled
SETTLED = 0.02
# s at the end of the record over which the steady state is taken
_STEADY = 0.2


@dataclass(frozen=True)
class StepResponse:
    """Figures of one step; nan where the record does not tell them.

    Attributes:
        rise_time: s from 10 to 90 % of the step, measured.
        commanded_rise_time: s of the command itself.
        overshoot: share of the step by which the measured position goes beyond its end.
        settling_time: s from the end of the commanded motion until the measured position stays within 2 % of the end.
        steady_state_error: rad, commanded less measured, mean of the last 0.2 s.
        rms_error: rad, of the difference while the command moves.
        largest_error: rad, of the difference while the command moves.
    """

    rise_time: float
    commanded_rise_time: float
    overshoot: float
    settling_time: float
    steady_state_error: float
    rms_error: float
    largest_error: float


def step_response(times: np.ndarray, commanded: np.ndarray, measured: np.ndarray) -> StepResponse:
    """Judge a record of one step from rest to rest, with some of the rest after it.

    Args:
        times: shape (N,), s, growing.
        commanded, measured: shape (N,), rad, at these times.

    Raises:
        ValueError: fewer than 10 instants, other shapes, a number that is not finite, or no commanded step.
    """
    rows = [np.asarray(row, dtype=float) for row in (times, commanded, measured)]
    if len(rows[0]) < 10 or any(row.shape != rows[0].shape or not np.isfinite(row).all() for row in rows):
        raise ValueError("times, commanded and measured positions: give three rows of 10 or more finite numbers")
    times, commanded, measured = rows
    start, end = commanded[0], commanded[-1]
    step = end - start
    moving = np.flatnonzero(np.abs(np.diff(commanded)) > 1e-9 + 1e-6 * abs(step))
    if not len(moving) or step == 0.0:
        raise ValueError(f"the commanded position stays at {start:g} rad; there is no step")
    last = moving[-1] + 1
    share = (measured - start) / step
    outside = np.flatnonzero(np.abs(measured - end) > SETTLED * abs(step))
    if len(outside) and outside[-1] == len(times) - 1:
        settling = float("nan")
    else:
        settled_at = times[outside[-1] + 1] if len(outside) else times[0]
        settling = max(float(settled_at - times[last]), 0.0)
    error = commanded - measured
    in_motion = error[moving[0] : last + 1]
    return StepResponse(
        rise_time=_rise_time(times, share),
        commanded_rise_time=_rise_time(times, (commanded - start) / step),
        overshoot=max(float(share.max() - 1.0), 0.0),
        settling_time=settling,
        steady_state_error=float(error[times >= times[-1] - _STEADY].mean()),
        rms_error=float(np.sqrt(np.mean(in_motion**2))),
        largest_error=float(np.abs(in_motion).max()),
    )


def _rise_time(times: np.ndarray, share: np.ndarray) -> float:
    """Return the time from the first passing of 10 % to that of 90 %."""
    passed = []
    for level in (0.1, 0.9):
        above = np.flatnonzero(share >= level)
        if not len(above) or above[0] == 0:
            return float("nan")
        after = above[0]
        before = after - 1
        part = (level - share[before]) / (share[after] - share[before])
        passed.append(times[before] + part * (times[after] - times[before]))
    return float(passed[1] - passed[0])
