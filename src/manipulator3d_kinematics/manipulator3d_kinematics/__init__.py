# SPDX-License-Identifier: Apache-2.0
"""Kinematics and dynamics of yaw-pitch-pitch arms; pure Python and numpy."""

from manipulator3d_kinematics.ccd import CcdResult, ccd
from manipulator3d_kinematics.dh_chain import DHChain
from manipulator3d_kinematics.differential import VelocityResult, velocity_inverse_kinematics
from manipulator3d_kinematics.dynamics import (
    coriolis,
    forward_dynamics,
    gravity,
    inverse_dynamics,
    mass_matrix,
    mechanical_energy,
)
from manipulator3d_kinematics.forward import forward_kinematics, link_frames, named_frames, tool_point
from manipulator3d_kinematics.ik_result import IkResult, IkStatus
from manipulator3d_kinematics.inverse import inverse_kinematics
from manipulator3d_kinematics.inverse_batch import inverse_kinematics_batch
from manipulator3d_kinematics.jacobian import jacobian
from manipulator3d_kinematics.manipulability import condition_number, manipulability
from manipulator3d_kinematics.model import ArmModel
from manipulator3d_kinematics.motion_step import motion_step
from manipulator3d_kinematics.rigid_body import RigidBody
from manipulator3d_kinematics.workspace import Workspace, workspace

__all__ = [
    "ArmModel",
    "CcdResult",
    "DHChain",
    "IkResult",
    "IkStatus",
    "RigidBody",
    "VelocityResult",
    "Workspace",
    "ccd",
    "condition_number",
    "coriolis",
    "forward_dynamics",
    "forward_kinematics",
    "gravity",
    "inverse_dynamics",
    "inverse_kinematics",
    "inverse_kinematics_batch",
    "jacobian",
    "link_frames",
    "manipulability",
    "mass_matrix",
    "mechanical_energy",
    "motion_step",
    "named_frames",
    "tool_point",
    "velocity_inverse_kinematics",
    "workspace",
]
