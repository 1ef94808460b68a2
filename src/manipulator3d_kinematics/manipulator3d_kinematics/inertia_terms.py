# SPDX-License-Identifier: Apache-2.0
"""The terms of the equations of motion in closed form, from the kinetic and potential energy of the three bodies.

Coordinates are the yaw angle and the pitches of the two links against the horizontal, phi1 = theta1 and phi2 = theta1 +
theta2, which keep the bodies apart. In the turret's frame a body has its centre at c = (cx, cy, cz) and, with phi its
pitch, the angular velocity (0, −dphi, dtheta0). Its energy is m/2 ((dcx − dtheta0 cy)² + (dtheta0 cx)² + dcz²) +
(dtheta0² Izz' + dphi² Iyy − 2 dtheta0 dphi Iyz')/2, where Izz' and Iyz' are its inertia turned by phi. Summed over the
bodies that is a mass matrix

    [A   B1     B2   ]
    [B1  J      alpha]
    [B2  alpha  K    ]

in which B1 depends on phi1 alone, B2 on phi2 alone, alpha on theta2 alone, and J and K are constant. The Coriolis terms
are the derivatives of these. The forearm's mass at the elbow counts as part of the upper arm, so that each of the two
enters by a few sums alone: its moments m x and m z, and its inertias about its joint. The same lines serve plain floats
and arrays.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.rigid_body import RigidBody

GRAVITY = 9.81  # m/s²; as in most URDF tools

# A, its derivatives by phi1 and phi2; B1 and its derivative; B2 and its derivative; J, K; alpha and its derivative;
# what gravity asks for along theta0, phi1, phi2
InertiaTerms = tuple[Any, ...]


class InertiaConstants(NamedTuple):
    """Sums over masses that the terms need: 3 of the forearm, 2 of the upper arm with the forearm's mass at its end."""

    offset: float  # m; from the yaw axis to the shoulder
    length: float  # m; of the upper arm
    about_yaw: float  # kg m²; the part of A that no angle changes
    x2: float  # kg m; mass times centre
    z2: float
    turning2: float  # kg m²; Izz − Ixx and 2 Ixz about the joint
    mixed2: float
    side_sin2: float  # kg m²; what sin and cos of the pitch contribute to B
    side_cos2: float
    x3: float
    z3: float
    turning3: float
    mixed3: float
    side_sin3: float
    side_cos3: float
    about_shoulder: float  # kg m²; J, with the forearm's mass at the elbow
    about_elbow: float  # kg m²; K
    weight: float  # m/s²; gravity along the yaw axis, positive downward
    ahead: float  # kg m; mass times centre of all bodies in x and y without the part that the pitch angles change
    aside: float
    gravity_x: float
    gravity_y: float


def inertia_constants(arm: ArmModel) -> InertiaConstants:
    """Gather the constants of one arm."""
    turret, upper, fore = arm.bodies
    turret_x, turret_y, _ = turret.centre.tolist()
    mass2, (x2, y2, z2), inertia2 = upper.mass, upper.centre.tolist(), _about_joint(upper)
    mass3, (x3, y3, z3), inertia3 = fore.mass, fore.centre.tolist(), _about_joint(fore)
    y3 -= arm.lateral_offset
    length, offset = arm.upper_arm, arm.shoulder_offset
    hung = mass3 * length
    xx2, zz2, xx3, zz3 = (float(inertia[at, at]) for inertia in (inertia2, inertia3) for at in (0, 2))
    zz2 += hung * length
    gravity_x, gravity_y, gravity_z = (arm.mount[:3, :3].T @ np.array([0.0, 0.0, -GRAVITY])).tolist()
    about_yaw = turret.mass * (turret_x**2 + turret_y**2) + float(turret.inertia[2, 2])
    about_yaw += mass2 * y2 * y2 + mass3 * y3 * y3 + (mass2 + mass3) * offset * offset + zz2 + zz3
    return InertiaConstants(
        offset=offset,
        length=length,
        about_yaw=about_yaw,
        x2=mass2 * x2 + hung,
        z2=mass2 * z2,
        turning2=zz2 - xx2,
        mixed2=2.0 * float(inertia2[0, 2]),
        side_sin2=mass2 * y2 * x2 + hung * y3 - float(upper.inertia[0, 1]),
        side_cos2=mass2 * y2 * z2 - float(upper.inertia[1, 2]),
        x3=mass3 * x3,
        z3=mass3 * z3,
        turning3=zz3 - xx3,
        mixed3=2.0 * float(inertia3[0, 2]),
        side_sin3=mass3 * y3 * x3 - float(fore.inertia[0, 1]),
        side_cos3=mass3 * y3 * z3 - float(fore.inertia[1, 2]),
        about_shoulder=float(inertia2[1, 1]) + hung * length,
        about_elbow=float(inertia3[1, 1]),
        weight=-gravity_z,
        ahead=turret.mass * turret_x + (mass2 + mass3) * offset,
        aside=turret.mass * turret_y + mass2 * y2 + mass3 * y3,
        gravity_x=gravity_x,
        gravity_y=gravity_y,
    )


def _about_joint(body: RigidBody) -> Array:
    """Inertia about the joint's axis, in the plane of the arm: the lateral distance of the centre left out."""
    x, _, z = body.centre
    return body.inertia + body.mass * np.array([[z * z, 0.0, -x * z], [0.0, x * x + z * z, 0.0], [-x * z, 0.0, x * x]])


def inertia_function(constants: InertiaConstants, library: Any = math) -> Callable[[Any], InertiaTerms]:
    """Make the function that evaluates the terms of one arm; its constants are local, which makes it quick.

    Args:
        constants: of the arm.
        library: where sin and cos come from: `math` for floats, `numpy` for arrays.

    Returns:
        A function of the three angles of the DH table, rad: floats, or arrays of one shape.
    """
    (
        offset, length, about_yaw, x2, z2, turning2, mixed2, side_sin2, side_cos2, x3, z3, turning3, mixed3,
        side_sin3, side_cos3, j, k, weight, ahead, aside, gx, gy,
    ) = constants  # fmt: skip
    sin, cos = library.sin, library.cos
    twice_offset, twice_length = 2.0 * offset, 2.0 * length
    hung_x, hung_z, counter_x = length * x3, length * z3, -length * x3
    is_tilted = gx != 0.0 or gy != 0.0

    def terms(theta: Any) -> InertiaTerms:
        t0, t1, t2 = theta
        t12 = t1 + t2
        s1, c1, s2, c2, s12, c12 = sin(t1), cos(t1), sin(t2), cos(t2), sin(t12), cos(t12)
        # mass times the way from the joint to the centre, inward and upward in the arm's plane
        in2, up2 = x2 * c1 - z2 * s1, x2 * s1 + z2 * c1
        in3, up3 = x3 * c12 - z3 * s12, x3 * s12 + z3 * c12
        # the parts of A that turn with twice a pitch angle are s·turn, their derivatives c·turn + s·turn'
        turn2, turned2 = mixed2 * c1 - turning2 * s1, mixed2 * s1 + turning2 * c1
        turn3, turned3 = mixed3 * c12 - turning3 * s12, mixed3 * s12 + turning3 * c12
        twice_reach = twice_offset + twice_length * c1

        a = about_yaw + s1 * turn2 + s12 * turn3 + twice_offset * in2 + twice_reach * in3
        a1 = c1 * turn2 - s1 * turned2 - twice_offset * up2 - twice_length * s1 * in3
        a2 = c12 * turn3 - s12 * turned3 - twice_reach * up3

        g0: Any = 0.0
        g1, g2 = weight * in2, weight * in3
        if is_tilted:
            s0, c0 = sin(t0), cos(t0)
            forward, sideways = gx * c0 + gy * s0, gy * c0 - gx * s0
            g0 = forward * aside - sideways * (ahead + in2 + in3)
            g1, g2 = g1 + forward * up2, g2 + forward * up3
        return (
            a, a1, a2,
            side_sin2 * s1 + side_cos2 * c1, side_sin2 * c1 - side_cos2 * s1,
            side_sin3 * s12 + side_cos3 * c12, side_sin3 * c12 - side_cos3 * s12,
            j, k,
            hung_x * c2 - hung_z * s2, counter_x * s2 - hung_z * c2,
            g0, g1, g2,
        )  # fmt: skip

    return terms
