# SPDX-License-Identifier: Apache-2.0
"""Equations of motion: tau = M(q) ddq + C(q, dq) dq + g(q), from the URDF's inertial data; friction is not part of it.

Every function takes shape (3,) or (N, 3) for each of its arrays and gives one result or N. A payload is part of the
model, see ArmModel.with_payload. Angles, velocities and torques are those of the joints as their description counts
them.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, is_batch, rows, triple
from manipulator3d_kinematics.forward import link_frames
from manipulator3d_kinematics.inertia_terms import GRAVITY, InertiaTerms, inertia_terms
from manipulator3d_kinematics.model import ArmModel


def mass_matrix(arm: ArmModel, q: ArrayLike) -> Array:
    """Give M(q), shape (3, 3) or (N, 3, 3), kg m².

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    (t0, t1, t2), library = _angles(arm, q)
    m = inertia_terms(arm.inertia_constants, t0, t1, t2, library)
    return _matrix(arm, ((m.a, m.b1, m.b2), (m.b1, m.m11, m.m12), (m.b2, m.m12, m.m22)))


def coriolis(arm: ArmModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Give C(q, dq) from the Christoffel symbols, shape (3, 3) or (N, 3, 3), kg m²/s: dM/dt − 2 C is skew-symmetric.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    (t0, t1, t2), (v0, v1, v2), library = _states(arm, q, qd)
    m = inertia_terms(arm.inertia_constants, t0, t1, t2, library)
    half1, half2 = 0.5 * m.a1 * v0, 0.5 * m.a2 * v0
    return _matrix(
        arm,
        (
            (0.5 * (m.a1 * v1 + m.a2 * v2), half1 + m.b11 * v1 + m.b12 * v2, half2 + m.b12 * (v1 + v2)),
            (-half1, m.alpha2 * v2, m.alpha2 * (v1 + v2)),
            (-half2, -m.alpha2 * v1, 0.0 * v2),
        ),
    )


def gravity(arm: ArmModel, q: ArrayLike) -> Array:
    """Give g(q), the torques that hold the arm at rest, shape (3,) or (N, 3), N·m.

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    (t0, t1, t2), library = _angles(arm, q)
    m = inertia_terms(arm.inertia_constants, t0, t1, t2, library)
    return _vector(arm, (m.g0, m.g1, m.g2))


def inverse_dynamics(arm: ArmModel, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Give the torques for a motion, shape (3,) or (N, 3), N·m.

    Args:
        arm: the arm.
        q, qd, qdd: rad, rad/s, rad/s².

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    (t0, t1, t2), (v0, v1, v2), (w0, w1, w2), library = _states(arm, q, qd, qdd)
    m = inertia_terms(arm.inertia_constants, t0, t1, t2, library)
    c0, c1, c2 = _bias(m, v0, v1, v2)
    return _vector(
        arm,
        (
            m.a * w0 + m.b1 * w1 + m.b2 * w2 + c0,
            m.b1 * w0 + m.m11 * w1 + m.m12 * w2 + c1,
            m.b2 * w0 + m.m12 * w1 + m.m22 * w2 + c2,
        ),
    )


def forward_dynamics(arm: ArmModel, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
    """Give the accelerations for torques, shape (3,) or (N, 3), rad/s².

    Args:
        arm: the arm; every joint moves some mass.
        q, qd, tau: rad, rad/s, N·m.

    Raises:
        ValueError: another shape, a number that is not finite, or a joint that moves no mass.
    """
    (t0, t1, t2), (v0, v1, v2), (f0, f1, f2), library = _states(arm, q, qd, tau)
    m = inertia_terms(arm.inertia_constants, t0, t1, t2, library)
    parts = accelerations(m, (v0, v1, v2), (f0, f1, f2))
    if parts is None:
        raise ValueError(f"{arm.name}: a joint moves no mass; give every link of the description an <inertial>")
    return _vector(arm, parts)


def accelerations(m: InertiaTerms, rates: tuple[Any, Any, Any], torques: tuple[Any, Any, Any]) -> Any:
    """Solve the equations of motion for the accelerations, in the angles of the DH table; None where M is singular."""
    c0, c1, c2 = _bias(m, *rates)
    r0, r1, r2 = torques[0] - c0, torques[1] - c1, torques[2] - c2
    # cofactors of the symmetric mass matrix
    k00 = m.m11 * m.m22 - m.m12 * m.m12
    k01 = m.b2 * m.m12 - m.b1 * m.m22
    k02 = m.b1 * m.m12 - m.b2 * m.m11
    k11 = m.a * m.m22 - m.b2 * m.b2
    k12 = m.b1 * m.b2 - m.a * m.m12
    k22 = m.a * m.m11 - m.b1 * m.b1
    determinant = m.a * k00 + m.b1 * k01 + m.b2 * k02
    if determinant <= 0.0 if isinstance(determinant, float) else np.any(determinant <= 0.0):
        return None
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
    return float(0.5 * velocity @ mass_matrix(arm, triple(q, "q")) @ velocity) + _potential(arm, q)


def _potential(arm: ArmModel, q: ArrayLike) -> float:
    heights = (
        body.mass * float(frame[2, :3] @ body.centre + frame[2, 3])
        for body, frame in zip(arm.bodies, link_frames(arm, q), strict=True)
    )
    return GRAVITY * sum(heights)


def _bias(m: InertiaTerms, v0: Any, v1: Any, v2: Any) -> tuple[Any, Any, Any]:
    """C(q, dq) dq + g(q)."""
    across = 0.5 * v0 * v0
    return (
        v0 * (m.a1 * v1 + m.a2 * v2) + m.b11 * v1 * v1 + m.b12 * (2.0 * v1 + v2) * v2 + m.g0,
        m.alpha2 * v2 * (2.0 * v1 + v2) - across * m.a1 + m.g1,
        -across * m.a2 - m.alpha2 * v1 * v1 + m.g2,
    )


def _angles(arm: ArmModel, q: ArrayLike) -> tuple[Any, Any]:
    if is_batch(q):
        array = rows(q, "q")
        return (array if arm.is_plain else arm.theta(array)).T, np
    return arm.plain_theta(triple(q, "q")), math


def _states(arm: ArmModel, q: ArrayLike, *rates: ArrayLike) -> Any:
    """Angles of the DH table and rates with the same signs, as three floats or three columns; and the library."""
    names = ("qd", "qdd or tau")
    if any(is_batch(value) for value in (q, *rates)):
        angles = rows(np.atleast_2d(q), "q")
        columns = [rows(np.atleast_2d(rate), name) for rate, name in zip(rates, names, strict=False)]
        angles, *columns = np.broadcast_arrays(angles, *columns)
        if arm.is_plain:
            return [angles.T, *(column.T for column in columns), np]
        return [arm.theta(angles).T, *((column * arm.sign).T for column in columns), np]
    one = triple(q, "q")
    moving = [triple(rate, name) for rate, name in zip(rates, names, strict=False)]
    if arm.is_plain:
        return [one, *moving, math]
    return [arm.plain_theta(one), *((np.array(rate) * arm.sign).tolist() for rate in moving), math]


def _vector(arm: ArmModel, parts: tuple[Any, Any, Any]) -> Array:
    result = np.array(parts) if isinstance(parts[0], float) else np.stack(parts, axis=-1)
    return result if arm.is_plain else result * arm.sign


def _matrix(arm: ArmModel, parts: tuple[tuple[Any, ...], ...]) -> Array:
    if isinstance(parts[0][0], float):
        result = np.array(parts)
    else:
        result = np.stack([np.stack(row, axis=-1) for row in parts], axis=-2)
    return result if arm.is_plain else result * np.outer(arm.sign, arm.sign)
