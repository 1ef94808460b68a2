# SPDX-License-Identifier: Apache-2.0
"""Lengths, limits, masses, inertias and reach of an arm as Markdown tables."""

import math

from manipulator3d_dashboard.markdown import escape, table
from manipulator3d_kinematics import ArmModel

_BODIES = ("turret", "upper arm", "forearm with tool")


def arm_text(arm: ArmModel) -> str:
    """Say what `robot_description` tells of the arm."""
    lengths = [
        ("base height", arm.base_height),
        ("upper arm", arm.upper_arm),
        ("forearm", arm.forearm),
        ("lateral offset", arm.lateral_offset),
    ]
    if arm.shoulder_offset:
        lengths.append(("shoulder offset", arm.shoulder_offset))
    floor = "none" if math.isinf(arm.floor_z) else f"{arm.floor_z:g} m"
    reach = [
        ("from the shoulder", f"{arm.inner_reach:.3f} to {arm.reach:.3f} m"),
        ("from the yaw axis", f"at least {abs(arm.lateral_offset):.3f} m"),
        ("floor", floor),
    ]
    limits = []
    for name, lower, upper, velocity, acceleration, jerk in zip(
        arm.joint_names,
        arm.lower.tolist(),
        arm.upper.tolist(),
        arm.velocity.tolist(),
        arm.acceleration.tolist(),
        arm.jerk.tolist(),
        strict=True,
    ):
        limits.append((escape(name), f"{lower:.2f} … {upper:.2f}", f"{velocity:g}", f"{acceleration:g}", f"{jerk:g}"))
    bodies = []
    for name, body in zip(_BODIES, arm.bodies, strict=False):
        inertia = " ".join(f"{1e4 * moment:.2f}" for moment in body.inertia.diagonal().tolist())
        bodies.append((name, f"{body.mass:.3f}", f"{body.centre[0]:.3f}", inertia))
    return "\n\n".join(
        [
            table(("link", "m"), [(name, f"{length:.3f}") for name, length in lengths]),
            table(("workspace", ""), reach),
            table(("joint", "rad", "rad/s", "rad/s²", "rad/s³"), limits),
            table(("body", "kg", "centre x, m", "inertia xx yy zz, 1e-4 kg m²"), bodies),
        ]
    )
