# SPDX-License-Identifier: Apache-2.0
"""The arm as numbers: geometry, limits, masses, and how its joint angles relate to the DH table."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from manipulator3d_kinematics.checked_numbers import Array, Triple, read_only, triple
from manipulator3d_kinematics.rigid_body import RigidBody, combined

if TYPE_CHECKING:
    from manipulator3d_kinematics.branches import BranchSolver
    from manipulator3d_kinematics.inertia_terms import InertiaTerms

JOINTS = ("base_yaw", "shoulder_pitch", "elbow_pitch")
_ROTATION_AXES = 3


@dataclass(frozen=True, eq=False)
class ArmModel:
    """A yaw-pitch-pitch arm.

    Users give and get the joint angles q of their own description. Inside, theta = sign·q + offset are the angles of
    the DH table, in the arm's frame: z along the yaw axis, x in the arm's plane at theta = 0. With R = shoulder_offset
    + upper_arm·cos theta1 + forearm·cos(theta1 + theta2) and d = lateral_offset the tool point is (R cos theta0 + d sin
    theta0, R sin theta0 − d cos theta0, base_height + upper_arm·sin theta1 + forearm·sin(theta1 + theta2)).

    Link frames have their x axis along the link, y to the left and z up when the link is level.

    Attributes:
        name: of the profile or of the URDF's robot.
        base_height, upper_arm, lateral_offset, forearm: m; as in the DH table.
        shoulder_offset: m; from the yaw axis to the shoulder along x (a of the first DH row).
        joint_names: three names, from the base to the tool.
        lower, upper: shape (3,), rad; position limits, infinite for a continuous joint.
        velocity, acceleration, jerk: shape (3,), rad/s, rad/s², rad/s³.
        effort: shape (3,), N·m.
        damping, friction: shape (3,), N·m·s/rad and N·m.
        counts_per_revolution: shape (3,); encoder counts of one joint revolution.
        home: shape (3,), rad.
        floor_z: m in the base frame; tool and elbow stay on or above it; −inf for none.
        mount: shape (4, 4); pose of the arm's frame in the base frame.
        sign, offset: shape (3,); theta = sign·q + offset.
        bodies: turret, upper arm and forearm with tool, each in its link frame.
        base_frame, elbow_frame, tool_frame: names of frames.
        fixed_frames: poses in the base frame, shape (4, 4), of the links that do not move against it, by name.
        elbow_pose: shape (4, 4); pose of `elbow_frame` in the forearm's link frame.
        tool_pose: shape (4, 4); pose of `tool_frame` in the forearm's link frame; by default at the forearm's end.
    """

    name: str
    base_height: float
    upper_arm: float
    lateral_offset: float
    forearm: float
    shoulder_offset: float = 0.0
    joint_names: tuple[str, ...] = JOINTS
    lower: Array = field(default_factory=lambda: np.full(3, -math.pi))
    upper: Array = field(default_factory=lambda: np.full(3, math.pi))
    velocity: Array = field(default_factory=lambda: np.ones(3))
    acceleration: Array = field(default_factory=lambda: np.full(3, 4.0))
    jerk: Array = field(default_factory=lambda: np.full(3, 32.0))
    effort: Array = field(default_factory=lambda: np.full(3, math.inf))
    damping: Array = field(default_factory=lambda: np.zeros(3))
    friction: Array = field(default_factory=lambda: np.zeros(3))
    counts_per_revolution: Array = field(default_factory=lambda: np.full(3, 8384.0))
    home: Array = field(default_factory=lambda: np.zeros(3))
    floor_z: float = 0.0
    mount: Array = field(default_factory=lambda: np.eye(4))
    sign: Array = field(default_factory=lambda: np.ones(3))
    offset: Array = field(default_factory=lambda: np.zeros(3))
    bodies: tuple[RigidBody, ...] = field(default_factory=lambda: (RigidBody.none(),) * 3)
    base_frame: str = "base_link"
    elbow_frame: str = "forearm_link"
    tool_frame: str = "tool0"
    fixed_frames: Mapping[str, Array] = field(default_factory=dict)
    elbow_pose: Array = field(default_factory=lambda: np.eye(4))
    tool_pose: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        for name in ("base_height", "upper_arm", "lateral_offset", "forearm", "shoulder_offset"):
            value = float(getattr(self, name))
            if not math.isfinite(value):
                raise ValueError(f"{self.name}: {name} is {value} m; it must be finite")
            object.__setattr__(self, name, value)
        if math.isnan(self.floor_z):
            raise ValueError(f"{self.name}: floor_z is {self.floor_z} m; it must be a number, or -inf for no floor")
        for name in ("upper_arm", "forearm"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"{self.name}: {name} is {getattr(self, name):g} m; it must be above 0")
        for name in (
            "lower", "upper", "velocity", "acceleration", "jerk", "effort",
            "damping", "friction", "counts_per_revolution", "home", "sign", "offset",
        ):  # fmt: skip
            object.__setattr__(self, name, read_only(getattr(self, name), (_ROTATION_AXES,), f"{self.name}: {name}"))
        tool_pose = self.tool_pose if np.size(self.tool_pose) else _translation(self.forearm, 0.0, 0.0)
        object.__setattr__(self, "tool_pose", tool_pose)
        for name in ("mount", "elbow_pose", "tool_pose"):
            object.__setattr__(self, name, read_only(getattr(self, name), (4, 4), f"{self.name}: {name}"))
        object.__setattr__(self, "joint_names", tuple(self.joint_names))
        object.__setattr__(self, "bodies", tuple(self.bodies))
        if len(set(self.joint_names)) != 3:
            raise ValueError(f"{self.name}: joint_names are {list(self.joint_names)}; expected three different names")
        for joint, lower, upper in zip(self.joint_names, self.lower, self.upper, strict=True):
            if not lower < upper:
                raise ValueError(
                    f"{self.name}: {joint} has the lower limit {lower:g} rad and the upper limit {upper:g} rad; "
                    "the lower must be below the upper"
                )
        object.__setattr__(self, "home", _frozen(np.clip(self.home, self.lower, self.upper)))

    def __getstate__(self) -> dict[str, Any]:
        # functions made once do not travel; they are made again where they are needed
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}

    @classmethod
    def from_yaml(cls, path: str | Path) -> "ArmModel":
        """Read an arm profile.

        Raises:
            ValueError: the file cannot be read or lacks something; names file and field.
        """
        from manipulator3d_kinematics.profile import arm_fields

        return cls(**arm_fields(Path(path)))

    @classmethod
    def profile(cls, name: str) -> "ArmModel":
        """Read a profile of manipulator3d_description by its name, such as "capstone".

        Raises:
            ValueError: there is no such profile; lists those that there are.
        """
        from manipulator3d_kinematics.profile import profile_path

        return cls.from_yaml(profile_path(name))

    @classmethod
    def from_urdf(cls, xml: str) -> "ArmModel":
        """Read a URDF; the chain is found by its structure, not by names.

        Raises:
            ValueError: not a URDF, or not a yaw-pitch-pitch arm; names the joint and its axis.
        """
        from manipulator3d_kinematics.urdf_chain import arm_fields

        return cls(**arm_fields(xml))

    def with_tool(self, tip: ArrayLike) -> "ArmModel":
        """The same arm with another tool point.

        Args:
            tip: shape (3,), m; from the present tool point, in the forearm's link frame (x along it, y left, z up).
        """
        x, y, z = triple(tip, "tip")
        length, bend = math.hypot(self.forearm + x, z), math.atan2(z, self.forearm + x)
        # the forearm's link frame turns so that its x axis passes through the new tool point
        turn = _pitch(-bend)
        upright = np.eye(4)
        upright[:3, :3] = turn
        bodies = (*self.bodies[:2], self.bodies[2].moved(turn, np.array([0.0, -y, 0.0])))
        shift = _translation(0.0, -y, 0.0) @ upright
        return dataclasses.replace(
            self,
            forearm=length,
            lateral_offset=self.lateral_offset - y,
            offset=self.offset + np.array([0.0, 0.0, bend]),
            bodies=bodies,
            elbow_pose=shift @ self.elbow_pose,
            tool_pose=shift @ self.tool_pose @ _translation_in(self.tool_pose, x, y, z),
        )

    def with_payload(self, mass: float, centre: ArrayLike = (0.0, 0.0, 0.0)) -> "ArmModel":
        """The same arm holding a point mass.

        Args:
            mass: kg.
            centre: shape (3,), m; from the tool point, in the forearm's link frame.
        """
        if not (math.isfinite(mass) and mass >= 0.0):
            raise ValueError(f"payload: {mass:g} kg; it must be finite and at least 0")
        x, y, z = triple(centre, "centre")
        load = RigidBody.point(mass, (self.forearm + x, y, z))
        return dataclasses.replace(self, bodies=(*self.bodies[:2], combined((self.bodies[2], load))))

    @property
    def reach(self) -> float:
        """Distance from the shoulder to the tool point of the stretched arm, in the arm's plane, m."""
        return self.upper_arm + self.forearm

    @property
    def inner_reach(self) -> float:
        """Distance from the shoulder to the tool point of the folded arm, in the arm's plane, m."""
        return abs(self.upper_arm - self.forearm)

    @cached_property
    def solve_branches(self) -> "BranchSolver":
        """The function of branches.py that gives all joint positions for a target, made once."""
        from manipulator3d_kinematics.branches import branch_solver

        return branch_solver(self)

    @cached_property
    def locate_tool(self) -> Callable[[Triple], Triple]:
        """The function of forward.py that gives the tool point of one position in plain floats, made once."""
        from manipulator3d_kinematics.forward import tool_locator

        return tool_locator(self)

    @cached_property
    def one_tool_point(self) -> Callable[[Triple], Array]:
        """The function of forward.py that gives the same as an array, made once."""
        from manipulator3d_kinematics.forward import tool_point_function

        return tool_point_function(self)

    @cached_property
    def one_jacobian(self) -> Callable[[Triple], Array]:
        """The function of jacobian.py for one position in plain floats, made once."""
        from manipulator3d_kinematics.jacobian import jacobian_function

        return jacobian_function(self)

    @cached_property
    def inertia_terms(self) -> "Callable[[Any], InertiaTerms]":
        """The function of inertia_terms.py for plain floats, made once."""
        from manipulator3d_kinematics.inertia_terms import inertia_constants, inertia_function

        return inertia_function(inertia_constants(self))

    @cached_property
    def inertia_terms_of_rows(self) -> "Callable[[Any], InertiaTerms]":
        """The same for arrays."""
        from manipulator3d_kinematics.inertia_terms import inertia_constants, inertia_function

        return inertia_function(inertia_constants(self), np)

    @cached_property
    def is_upright(self) -> bool:
        """Whether the yaw axis is perpendicular to the floor, within 1e-8 rad: what π to eight digits leaves."""
        return bool(self.mount[2, 2] > 0.0 and math.hypot(*self.mount[2, :2]) <= 1e-8)

    @cached_property
    def is_plain(self) -> bool:
        """Whether q are the angles of the DH table and the base frame is the arm's frame."""
        return bool(np.array_equal(self.mount, np.eye(4)) and np.all(self.sign == 1.0) and not np.any(self.offset))

    @cached_property
    def travel_weights(self) -> tuple[float, float, float]:
        """1/velocity²: turns differences of joint angles into squared travel times."""
        a, b, c = (1.0 / (self.velocity * self.velocity)).tolist()
        return a, b, c

    @cached_property
    def widest_turn(self) -> float:
        """The widest range of a joint, rad."""
        return float((self.upper - self.lower).max())

    @cached_property
    def theta_limits(self) -> tuple[Array, Array]:
        """Position limits in the angles of the DH table."""
        a, b = self.sign * self.lower + self.offset, self.sign * self.upper + self.offset
        return _frozen(np.minimum(a, b)), _frozen(np.maximum(a, b))

    def theta(self, q: Array) -> Array:
        """Angles of the DH table from joint angles, shape (..., 3)."""
        return self.sign * q + self.offset

    @cached_property
    def plain_theta(self) -> Callable[[Triple], Triple]:
        """The same from and to plain floats."""
        (s0, s1, s2), (o0, o1, o2) = self.sign.tolist(), self.offset.tolist()

        def turned(q: Triple) -> Triple:
            return s0 * q[0] + o0, s1 * q[1] + o1, s2 * q[2] + o2

        return (lambda q: q) if self.is_plain else turned

    @cached_property
    def turned(self) -> Callable[[Triple], Triple]:
        """Velocities, accelerations or torques of the joints as those of the DH table's angles, and back."""
        s0, s1, s2 = self.sign.tolist()
        return lambda rates: (s0 * rates[0], s1 * rates[1], s2 * rates[2])

    def joint_angles(self, theta: Array) -> Array:
        """Joint angles from angles of the DH table, shape (..., 3)."""
        return self.sign * (theta - self.offset)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _translation(x: float, y: float, z: float) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = (x, y, z)
    return pose


def _translation_in(pose: Array, x: float, y: float, z: float) -> Array:
    """A translation given in the parent of `pose`, expressed in `pose`'s own axes."""
    return _translation(*(pose[:3, :3].T @ np.array([x, y, z])))


def _pitch(angle: float) -> Array:
    """Rotation that raises the x axis by `angle`."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
