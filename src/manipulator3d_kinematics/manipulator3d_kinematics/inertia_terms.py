# SPDX-License-Identifier: Apache-2.0
"""The terms of the equations of motion in closed form, from the kinetic and potential energy of the three bodies.

In the turret's frame a body has its centre at c = (cx, cy, cz) and, with phi its pitch, the angular velocity (0, −dphi,
dtheta0). Its energy is m/2 ((dcx − dtheta0 cy)² + (dtheta0 cx)² + dcz²) + (dtheta0² Izz' + dphi² Iyy − 2 dtheta0 dphi
Iyz')/2, where Izz' and Iyz' are its inertia turned by phi. Summed over the bodies that is a mass matrix

    [A   B1           B2       ]
    [B1  J + 2 alpha  K + alpha]
    [B2  K + alpha    K        ]

whose A depends on theta1 and theta2, B1 and B2 likewise, and alpha on theta2 alone. The Coriolis terms are the partial
derivatives of these. The same lines serve plain floats and arrays.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from manipulator3d_kinematics.model import ArmModel

GRAVITY = 9.81  # m/s²; as in most URDF tools


class InertiaConstants(NamedTuple):
    """What the terms need of the arm: masses, centres (x, z; y is lateral) and inertias of the bodies 2 and 3."""

    shoulder_offset: float
    upper_arm: float
    about_yaw: float  # inertia of the turret about the yaw axis
    m2: float
    x2: float
    y2: float
    z2: float
    xx2: float
    xy2: float
    xz2: float
    yz2: float
    zz2: float
    m3: float
    x3: float
    y3: float
    z3: float
    xx3: float
    xy3: float
    xz3: float
    yz3: float
    zz3: float
    j: float  # inertia of upper arm and forearm about the shoulder, without the part that depends on the elbow
    k: float  # inertia of the forearm about the elbow
    turret_moment_x: float
    turret_moment_y: float
    gravity_x: float  # gravity in the arm's frame
    gravity_y: float
    gravity_z: float


def inertia_constants(arm: ArmModel) -> InertiaConstants:
    """Gather the constants of one arm."""
    turret, upper, fore = arm.bodies
    x1, y1, _ = turret.centre.tolist()
    x2, y2, z2 = upper.centre.tolist()
    x3, y3, z3 = fore.centre.tolist()
    k = fore.mass * (x3 * x3 + z3 * z3) + float(fore.inertia[1, 1])
    j = upper.mass * (x2 * x2 + z2 * z2) + float(upper.inertia[1, 1]) + fore.mass * arm.upper_arm**2 + k
    gravity = (arm.mount[:3, :3].T @ np.array([0.0, 0.0, -GRAVITY])).tolist()
    inertia2, inertia3 = (
        [float(i[at]) for at in ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2))] for i in (upper.inertia, fore.inertia)
    )
    about_yaw = turret.mass * (x1 * x1 + y1 * y1) + float(turret.inertia[2, 2])
    return InertiaConstants._make((
        arm.shoulder_offset, arm.upper_arm, about_yaw,
        upper.mass, x2, y2, z2, *inertia2,
        fore.mass, x3, y3 - arm.lateral_offset, z3, *inertia3,
        j, k, turret.mass * x1, turret.mass * y1, *gravity,
    ))  # fmt: skip


@dataclass(slots=True)
class InertiaTerms:
    """Mass matrix, its derivatives and gravity torques at one position or at many, in the angles of the DH table."""

    a: Any
    a1: Any
    a2: Any
    b1: Any
    b2: Any
    b11: Any
    b12: Any
    m11: Any
    m12: Any
    m22: Any
    alpha2: Any
    g0: Any
    g1: Any
    g2: Any


def inertia_terms(constants: InertiaConstants, t0: Any, t1: Any, t2: Any, library: Any = math) -> InertiaTerms:
    """Evaluate the terms.

    Args:
        constants: of the arm.
        t0, t1, t2: angles of the DH table, rad; floats with `math`, arrays with `numpy`.
        library: where sin and cos come from.
    """
    (
        offset, l1, about_yaw, m2, x2, y2, z2, xx2, xy2, xz2, yz2, zz2, m3, x3, y3, z3, xx3, xy3, xz3, yz3, zz3,
        j, k, moment_x, moment_y, gx, gy, gz,
    ) = constants  # fmt: skip
    sin, cos = library.sin, library.cos
    s1, c1, s2, c2 = sin(t1), cos(t1), sin(t2), cos(t2)
    s12, c12 = s1 * c2 + c1 * s2, c1 * c2 - s1 * s2
    # in and up: from the joint to the centre of mass, in the arm's plane
    in2, up2 = x2 * c1 - z2 * s1, x2 * s1 + z2 * c1
    in3, up3 = x3 * c12 - z3 * s12, x3 * s12 + z3 * c12
    cx2, cx3 = offset + in2, offset + l1 * c1 + in3
    rise3 = l1 * s1 + up3

    turn2 = 2.0 * (s1 * c1 * (xx2 - zz2) + (c1 * c1 - s1 * s1) * xz2)
    turn3 = 2.0 * (s12 * c12 * (xx3 - zz3) + (c12 * c12 - s12 * s12) * xz3)
    a = (
        about_yaw
        + m2 * (cx2 * cx2 + y2 * y2)
        + s1 * s1 * xx2
        + 2.0 * s1 * c1 * xz2
        + c1 * c1 * zz2
        + m3 * (cx3 * cx3 + y3 * y3)
        + s12 * s12 * xx3
        + 2.0 * s12 * c12 * xz3
        + c12 * c12 * zz3
    )
    a2 = turn3 - 2.0 * m3 * cx3 * up3
    a1 = turn2 + turn3 - 2.0 * (m2 * cx2 * up2 + m3 * cx3 * rise3)
    b2 = m3 * y3 * up3 - s12 * xy3 - c12 * yz3
    b1 = m2 * y2 * up2 - s1 * xy2 - c1 * yz2 + m3 * y3 * rise3 - s12 * xy3 - c12 * yz3
    b12 = m3 * y3 * in3 - c12 * xy3 + s12 * yz3
    b11 = m2 * y2 * in2 - c1 * xy2 + s1 * yz2 + m3 * y3 * l1 * c1 + b12
    alpha = m3 * l1 * (x3 * c2 - z3 * s2)
    alpha2 = -m3 * l1 * (x3 * s2 + z3 * c2)

    g1 = -gz * (m2 * in2 + m3 * (l1 * c1 + in3))
    g2 = -gz * m3 * in3
    g0: Any = 0.0 * t0
    if gx != 0.0 or gy != 0.0:
        s0, c0 = sin(t0), cos(t0)
        ahead, aside = gx * c0 + gy * s0, gy * c0 - gx * s0
        g0 = -aside * (moment_x + m2 * cx2 + m3 * cx3) + ahead * (moment_y + m2 * y2 + m3 * y3)
        g1 = g1 + ahead * (m2 * up2 + m3 * rise3)
        g2 = g2 + ahead * m3 * up3
    return InertiaTerms(a, a1, a2, b1, b2, b11, b12, j + 2.0 * alpha, k + alpha, k + 0.0 * t2, alpha2, g0, g1, g2)
