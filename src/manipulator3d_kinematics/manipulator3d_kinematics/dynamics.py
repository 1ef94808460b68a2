# SPDX-License-Identifier: Apache-2.0
"""Equations of motion: tau = M(q) ddq + C(q, dq) dq + g(q), from the URDF's inertial data; friction is not part of it.

Every function takes shape (3,) or (N, 3) for each of its arrays and gives one result or N. A payload is part of the
model, see ArmModel.with_payload. Angles, velocities and torques are those of the joints as their description counts
them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, is_batch, rows, triple
from manipulator3d_kinematics.forward import link_frames
from manipulator3d_kinematics.inertia_terms import GRAVITY, InertiaTerms
from manipulator3d_kinematics.model import ArmModel

MASSLESS = "{}: a joint moves no mass; give every link of the description an <inertial>"
# so many rows keep all intermediate results in the second-level cache
_CHUNK = 2048
_RATES = ("qd", "qdd or tau")
# three parts of a vector, or nine of a matrix row by row: floats or columns
Parts = tuple[Any, ...]
# from the constants of the arm, columns of angles and rates, and the library for them
Formula = Callable[..., Parts]


def mass_matrix(arm: ArmModel, q: ArrayLike) -> Array:
    """Give M(q), shape (3, 3) or (N, 3, 3), kg m².

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    return _evaluated(arm, _mass_matrix, q)


def _mass_matrix(terms: InertiaTerms) -> Parts:
    a, _, _, b1, b2, _, _, m11, m12, m22, *_ = terms
    return a, b1, b2, b1, m11, m12, b2, m12, m22


def coriolis(arm: ArmModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Give C(q, dq) from the Christoffel symbols, shape (3, 3) or (N, 3, 3), kg m²/s: dM/dt − 2 C is skew-symmetric.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    return _evaluated(arm, _coriolis, q, qd)


def _coriolis(terms: InertiaTerms, rates: Any) -> Parts:
    _, a1, a2, _, _, b11, b12, _, _, _, alpha2, *_ = terms
    v0, v1, v2 = rates
    half1, half2 = 0.5 * a1 * v0, 0.5 * a2 * v0
    first = 0.5 * (a1 * v1 + a2 * v2), half1 + b11 * v1 + b12 * v2, half2 + b12 * (v1 + v2)
    return *first, -half1, alpha2 * v2, alpha2 * (v1 + v2), -half2, -alpha2 * v1, 0.0


def gravity(arm: ArmModel, q: ArrayLike) -> Array:
    """Give g(q), the torques that hold the arm at rest, shape (3,) or (N, 3), N·m.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    return _evaluated(arm, _gravity, q)


def _gravity(terms: InertiaTerms) -> Parts:
    return terms[11:]


def inverse_dynamics(arm: ArmModel, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Give the torques for a motion, shape (3,) or (N, 3), N·m.

    Args:
        arm: the arm.
        q, qd, qdd: rad, rad/s, rad/s².

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    return _evaluated(arm, _torques, q, qd, qdd)


def _torques(terms: InertiaTerms, rates: Any, accelerations: Any) -> Parts:
    a, a1, a2, b1, b2, b11, b12, m11, m12, m22, alpha2, g0, g1, g2 = terms
    v0, v1, v2 = rates
    w0, w1, w2 = accelerations
    across = 0.5 * v0 * v0
    return (
        a * w0 + b1 * w1 + b2 * w2 + v0 * (a1 * v1 + a2 * v2) + b11 * v1 * v1 + b12 * (2.0 * v1 + v2) * v2 + g0,
        b1 * w0 + m11 * w1 + m12 * w2 + alpha2 * v2 * (2.0 * v1 + v2) - across * a1 + g1,
        b2 * w0 + m12 * w1 + m22 * w2 - across * a2 - alpha2 * v1 * v1 + g2,
    )


def forward_dynamics(arm: ArmModel, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
    """Give the accelerations for torques, shape (3,) or (N, 3), rad/s².

    Args:
        arm: the arm; every joint moves some mass.
        q, qd, tau: rad, rad/s, N·m.

    Raises:
        ValueError: another shape, a number that is not finite, or a joint that moves no mass.
    """
    try:
        return _evaluated(arm, accelerations, q, qd, tau)
    except ZeroDivisionError:
        raise ValueError(MASSLESS.format(arm.name)) from None


def accelerations(terms: InertiaTerms, rates: Any, torques: Any) -> Parts:
    """Solve the equations of motion for the accelerations, in the angles of the DH table.

    Raises:
        ZeroDivisionError: the mass matrix is singular.
    """
    a, a1, a2, b1, b2, b11, b12, m11, m12, m22, alpha2, g0, g1, g2 = terms
    v0, v1, v2 = rates
    f0, f1, f2 = torques
    across = 0.5 * v0 * v0
    r0 = f0 - v0 * (a1 * v1 + a2 * v2) - b11 * v1 * v1 - b12 * (2.0 * v1 + v2) * v2 - g0
    r1 = f1 - alpha2 * v2 * (2.0 * v1 + v2) + across * a1 - g1
    r2 = f2 + across * a2 + alpha2 * v1 * v1 - g2
    # cofactors of the symmetric mass matrix
    k00, k01, k02 = m11 * m22 - m12 * m12, b2 * m12 - b1 * m22, b1 * m12 - b2 * m11
    determinant = a * k00 + b1 * k01 + b2 * k02
    if determinant <= 0.0 if isinstance(determinant, float) else np.any(determinant <= 0.0):
        raise ZeroDivisionError
    k11, k12, k22 = a * m22 - b2 * b2, b1 * b2 - a * m12, a * m11 - b1 * b1
    scale = 1.0 / determinant
    return (
        (k00 * r0 + k01 * r1 + k02 * r2) * scale,
        (k01 * r0 + k11 * r1 + k12 * r2) * scale,
        (k02 * r0 + k12 * r1 + k22 * r2) * scale,
    )


def mechanical_energy(arm: ArmModel, q: ArrayLike, qd: ArrayLike) -> float:
    """Give kinetic and potential energy of one state, J; the potential energy is zero at the height of the base frame.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    velocity = np.array(triple(qd, "qd"))
    heights = (
        body.mass * float(frame[2, :3] @ body.centre + frame[2, 3])
        for body, frame in zip(arm.bodies, link_frames(arm, q), strict=True)
    )
    return float(0.5 * velocity @ mass_matrix(arm, triple(q, "q")) @ velocity) + GRAVITY * sum(heights)


def _evaluated(arm: ArmModel, formula: Formula, q: ArrayLike, *rates: ArrayLike) -> Array:
    """Apply a formula to one state or to many, in the joints' own signs."""
    try:
        t0, t1, t2 = arm.plain_theta(triple(q, "q"))
        moving = [triple(rate, name) for rate, name in zip(rates, _RATES, strict=False)]
    except ValueError:
        if is_batch(q) or any(is_batch(rate) for rate in rates):
            return _evaluated_rows(arm, formula, q, *rates)
        raise
    if arm.is_plain:
        parts = formula(arm.inertia_terms(t0, t1, t2), *moving)
        return np.array(parts) if len(parts) == 3 else np.array(parts).reshape(3, 3)
    moving = [(np.array(rate) * arm.sign).tolist() for rate in moving]
    result = np.array(formula(arm.inertia_terms(t0, t1, t2), *moving))
    return result * arm.sign if len(result) == 3 else result.reshape(3, 3) * np.outer(arm.sign, arm.sign)


def _evaluated_rows(arm: ArmModel, formula: Formula, q: ArrayLike, *rates: ArrayLike) -> Array:
    angles = arm.theta(rows(np.atleast_2d(q), "q"))
    named = zip(rates, _RATES, strict=False)
    moving = [rows(np.atleast_2d(rate), name) * arm.sign for rate, name in named]
    angles, *moving = np.broadcast_arrays(angles, *moving)
    result: Array | None = None
    for start in range(0, len(angles), _CHUNK):
        part = slice(start, start + _CHUNK)
        terms = arm.inertia_terms_of_rows(*np.ascontiguousarray(angles[part].T))
        parts = formula(terms, *(np.ascontiguousarray(rate[part].T) for rate in moving))
        if result is None:
            result = np.empty((len(angles), len(parts)))
        for column, values in enumerate(parts):
            result[part, column] = values
    if result is None:
        return np.zeros((0, 3)) if formula in (_torques, _gravity, accelerations) else np.zeros((0, 3, 3))
    if result.shape[1] == 9:
        return result.reshape(-1, 3, 3) * np.outer(arm.sign, arm.sign)
    return result * arm.sign
