# SPDX-License-Identifier: Apache-2.0
"""Equations of motion: tau = M(q) ddq + C(q, dq) dq + g(q), from the URDF's inertial data; friction is not part of it.

Every function takes shape (3,) or (N, 3) for each of its arrays and gives one result or N. A payload is part of the
model, see ArmModel.with_payload. Angles, velocities and torques are those of the joints as their description counts
them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, Triple, are_triples, is_batch, rows, triple, triple_or_none
from manipulator3d_kinematics.forward import link_frames
from manipulator3d_kinematics.inertia_terms import GRAVITY, InertiaTerms
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.packed_array import pack_matrix, pack_vector

MASSLESS = "{}: a joint moves no mass; give every link of the description an <inertial>"
# so many rows keep all intermediate results in the second-level cache
_CHUNK = 2048
# three parts of a vector, or nine of a matrix row by row: floats or columns
Parts = tuple[Any, ...]
# from the terms of one state or of columns of states, and rates of the same form
Formula = Callable[..., Parts]


def mass_matrix(arm: ArmModel, q: ArrayLike) -> Array:
    """Give M(q), shape (3, 3) or (N, 3, 3), kg m².

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    one = triple_or_none(q, "q")
    if one is None:
        return _rows(arm, _mass_matrix, q)
    return _matrix(arm, _mass_matrix(arm.inertia_terms(arm.plain_theta(one))))


def _mass_matrix(terms: InertiaTerms) -> Parts:
    a, _, _, b1, _, b2, _, j, k, alpha, *_ = terms
    # theta1 moves both pitches, theta2 the second alone
    b12, m12 = b1 + b2, k + alpha
    return a, b12, b2, b12, j + alpha + m12, m12, b2, m12, k


def coriolis(arm: ArmModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Give C(q, dq) from the Christoffel symbols, shape (3, 3) or (N, 3, 3), kg m²/s: dM/dt − 2 C is skew-symmetric.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    one, rates = triple_or_none(q, "q"), triple_or_none(qd, "qd")
    if one is None or rates is None:
        return _rows(arm, _coriolis, q, qd)
    return _matrix(arm, _coriolis(arm.inertia_terms(arm.plain_theta(one)), arm.turned(rates)))


def _coriolis(terms: InertiaTerms, rates: Any) -> Parts:
    _, a1, a2, _, d1, _, d2, _, _, _, slope, *_ = terms
    v0, v1, v2 = rates
    pitching = v1 + v2
    half1, half2 = 0.5 * (a1 + a2) * v0, 0.5 * a2 * v0
    bent = half2 + d2 * pitching
    first = 0.5 * (a1 * v1 + a2 * pitching), 0.5 * a1 * v0 + d1 * v1 + bent, bent
    return *first, -half1, slope * v2, slope * pitching, -half2, -slope * v1, 0.0


def gravity(arm: ArmModel, q: ArrayLike) -> Array:
    """Give g(q), the torques that hold the arm at rest, shape (3,) or (N, 3), N·m.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    one = triple_or_none(q, "q")
    if one is None:
        return _rows(arm, _gravity, q)
    return np.array(arm.turned(_gravity(arm.inertia_terms(arm.plain_theta(one)))))


def _gravity(terms: InertiaTerms) -> Parts:
    *_, g0, g1, g2 = terms
    return g0, g1 + g2, g2


def inverse_dynamics(arm: ArmModel, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Give the torques for a motion, shape (3,) or (N, 3), N·m.

    Args:
        arm: the arm.
        q, qd, qdd: rad, rad/s, rad/s².

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    if are_triples(q, qd, qdd):
        return _vector(arm, _torques, q, qd, qdd)  # type: ignore[arg-type]
    one, rates, wanted = triple_or_none(q, "q"), triple_or_none(qd, "qd"), triple_or_none(qdd, "qdd")
    if one is None or rates is None or wanted is None:
        return _rows(arm, _torques, q, qd, qdd)
    return _vector(arm, _torques, one, rates, wanted)


def _torques(terms: InertiaTerms, rates: Any, accelerations: Any) -> Parts:
    a, a1, a2, b1, d1, b2, d2, j, k, alpha, slope, g0, g1, g2 = terms
    v0, v1, v2 = rates
    w0, w1, w2 = accelerations
    v2, w2 = v1 + v2, w1 + w2
    across, squared1, squared2 = 0.5 * v0 * v0, v1 * v1, v2 * v2
    f0 = a * w0 + b1 * w1 + b2 * w2 + v0 * (a1 * v1 + a2 * v2) + d1 * squared1 + d2 * squared2 + g0
    f1 = b1 * w0 + j * w1 + alpha * w2 + slope * squared2 - across * a1 + g1
    f2 = b2 * w0 + alpha * w1 + k * w2 - slope * squared1 - across * a2 + g2
    return f0, f1 + f2, f2


def forward_dynamics(arm: ArmModel, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
    """Give the accelerations for torques, shape (3,) or (N, 3), rad/s².

    Args:
        arm: the arm; every joint moves some mass.
        q, qd, tau: rad, rad/s, N·m.

    Raises:
        ValueError: another shape, a number that is not finite, or a joint that moves no mass.
    """
    one, rates, torques = triple_or_none(q, "q"), triple_or_none(qd, "qd"), triple_or_none(tau, "tau")
    try:
        if one is None or rates is None or torques is None:
            return _rows(arm, accelerations, q, qd, tau)
        return _vector(arm, accelerations, one, rates, torques)
    except ZeroDivisionError:
        raise ValueError(MASSLESS.format(arm.name)) from None


def accelerations(terms: InertiaTerms, rates: Any, torques: Any) -> Parts:
    """Solve the equations of motion for the accelerations, in the angles of the DH table.

    Raises:
        ZeroDivisionError: the mass matrix is singular.
    """
    a, a1, a2, b1, d1, b2, d2, j, k, alpha, slope, g0, g1, g2 = terms
    v0, v1, v2 = rates
    f0, f1, f2 = torques
    v2 = v1 + v2
    across, squared1, squared2 = 0.5 * v0 * v0, v1 * v1, v2 * v2
    r0 = f0 - v0 * (a1 * v1 + a2 * v2) - d1 * squared1 - d2 * squared2 - g0
    r1 = f1 - f2 - slope * squared2 + across * a1 - g1
    r2 = f2 + slope * squared1 + across * a2 - g2
    # cofactors of the symmetric mass matrix
    k00, k01, k02 = j * k - alpha * alpha, b2 * alpha - b1 * k, b1 * alpha - b2 * j
    determinant = a * k00 + b1 * k01 + b2 * k02
    if determinant <= 0.0 if isinstance(determinant, float) else np.any(determinant <= 0.0):
        raise ZeroDivisionError
    k11, k12, k22 = a * k - b2 * b2, b1 * b2 - a * alpha, a * j - b1 * b1
    scale = 1.0 / determinant
    w1 = (k01 * r0 + k11 * r1 + k12 * r2) * scale
    return (k00 * r0 + k01 * r1 + k02 * r2) * scale, w1, (k02 * r0 + k12 * r1 + k22 * r2) * scale - w1


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


def _vector(arm: ArmModel, formula: Formula, one: Triple, rates: Triple, third: Triple) -> Array:
    """Apply `_torques` or `accelerations` to one state, in the joints' own signs."""
    if arm.is_plain:
        a, b, c = formula(arm.inertia_terms(one), rates, third)
    else:
        turned = arm.turned
        a, b, c = turned(formula(arm.inertia_terms(arm.plain_theta(one)), turned(rates), turned(third)))
    vector = empty(3)
    pack_vector(vector, 0, a, b, c)
    return vector


def _matrix(arm: ArmModel, parts: Parts) -> Array:
    matrix = empty((3, 3))
    pack_matrix(matrix, 0, *parts)
    return matrix if arm.is_plain else matrix * np.outer(arm.sign, arm.sign)


def _rows(arm: ArmModel, formula: Formula, q: ArrayLike, *rates: ArrayLike) -> Array:
    """Apply a formula to many states."""
    names = ("q", "qd", "tau" if formula is accelerations else "qdd")
    given = [
        rows(value if is_batch(value) else [triple(value, name)], name)
        for value, name in zip((q, *rates), names, strict=False)
    ]
    try:
        angles, *moving = np.broadcast_arrays(*given)
    except ValueError:
        counts = ", ".join(f"{name} {len(value)}" for value, name in zip(given, names, strict=False))
        raise ValueError(f"rows: {counts}; expected one row or equally many of each") from None
    vector = formula in _VECTORS
    result = np.empty((len(angles), 3 if vector else 9))
    for start in range(0, len(angles), _CHUNK):
        part = slice(start, start + _CHUNK)
        theta, *turned = (
            angles[part] if arm.is_plain else arm.theta(angles[part]),
            *(rate[part] if arm.is_plain else rate[part] * arm.sign for rate in moving),
        )
        parts = formula(arm.inertia_terms_of_rows(_columns(theta)), *map(_columns, turned))
        for column, values in enumerate(parts):
            result[part, column] = values
    shaped = result if vector else result.reshape(-1, 3, 3)
    if arm.is_plain:
        return shaped
    return shaped * (arm.sign if vector else np.outer(arm.sign, arm.sign))


def _columns(array: Array) -> Array:
    return np.ascontiguousarray(array.T)


_VECTORS = (_gravity, _torques, accelerations)
