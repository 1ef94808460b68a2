# SPDX-License-Identifier: Apache-2.0
"""The arm's body as capsules: segments with a radius that contain the collision shapes of its links."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from manipulator3d_control.obstacle import Obstacle
from manipulator3d_control.path import Array
from manipulator3d_kinematics import ArmModel, link_frames
from manipulator3d_kinematics.urdf_tree import CollisionShape, UrdfTree, parse_urdf

TURRET, UPPER_ARM, FOREARM = 0, 1, 2
HELD_OBJECT = "the held object"
_LENGTHS_TRIED = 65


@dataclass(frozen=True)
class Capsule:
    """A segment with a radius that moves with a link.

    Attributes:
        name: of the link, as messages call it.
        mover: UPPER_ARM or FOREARM, with which it moves.
        start, end: shape (3,), m; ends of the segment in the link's frame (see ArmModel).
        radius: m.
    """

    name: str
    mover: int
    start: Array
    end: Array
    radius: float


class ArmCapsules:
    """All capsules of an arm, placed for many joint positions at once.

    Args:
        arm: the arm.
        capsules: at least one.
        fixed: what stands below them, the collision shapes of the links that no joint moves.
    """

    def __init__(self, arm: ArmModel, capsules: tuple[Capsule, ...], fixed: tuple[Obstacle, ...] = ()) -> None:
        self.arm = arm
        self.capsules = capsules
        self.fixed = fixed
        self.radii = np.array([capsule.radius for capsule in capsules])
        self._movers = np.array([capsule.mover for capsule in capsules])
        self._ends = np.array([[capsule.start, capsule.end] for capsule in capsules])
        self.travel_weights = self._travel_weights()

    @classmethod
    def from_urdf(cls, arm: ArmModel, xml: str, link_radius: float) -> "ArmCapsules":
        """Read the collision shapes of a URDF.

        Args:
            arm: the arm that the URDF describes.
            xml: the URDF.
            link_radius: m; of upper arm or forearm where the URDF has no box, cylinder or sphere for it.

        Raises:
            ValueError: not a URDF, or a size in it that is no number.
        """
        tree = parse_urdf(xml)
        at_zero = link_frames(arm, np.zeros(3))
        capsules: list[Capsule] = []
        fixed: list[Obstacle] = []
        uncovered = {UPPER_ARM, FOREARM}
        for link, shape in _shapes(tree):
            moving = [joint.name for joint in tree.path(link) if joint.name in arm.joint_names]
            if not shape.size:
                continue
            if not moving:
                fixed.append(_solid(link, shape))
                continue
            mover = arm.joint_names.index(moving[-1])
            if mover == TURRET:
                # it turns about its own axis and comes nowhere
                continue
            capsules.append(_capsule_around(link, mover, shape, np.linalg.inv(at_zero[mover]) @ shape.pose))
            uncovered.discard(mover)
        return cls(arm, (*capsules, *_stand_ins(arm, uncovered, link_radius)), tuple(fixed))

    def with_object(self, radius: float) -> "ArmCapsules":
        """The same arm holding a ball around its tool point; `radius` in m."""
        tool = np.array([self.arm.forearm, 0.0, 0.0])
        return ArmCapsules(self.arm, (*self.capsules, Capsule(HELD_OBJECT, FOREARM, tool, tool, radius)), self.fixed)

    def segments(self, q: Array) -> tuple[Array, Array]:
        """Place the segments.

        Args:
            q: shape (N, 3), rad.

        Returns:
            Their starts and ends in the base frame, each of shape (N, number of capsules, 3), m.
        """
        arm = self.arm
        t0, t1, t2 = arm.theta(q).T
        placed = np.empty((len(q), len(self.capsules), 2, 3))
        for mover in np.unique(self._movers):
            x, y, z = np.moveaxis(self._ends[self._movers == mover], 2, 0)[:, None]
            x, z = _pitched(t1 if mover == UPPER_ARM else t1 + t2, x, z)
            if mover == FOREARM:
                y = y - arm.lateral_offset
                x, z = x + (arm.upper_arm * np.cos(t1))[:, None, None], z + (arm.upper_arm * np.sin(t1))[:, None, None]
            x, z = x + arm.shoulder_offset, z + arm.base_height
            c, s = np.cos(t0)[:, None, None], np.sin(t0)[:, None, None]
            placed[:, self._movers == mover] = np.stack(np.broadcast_arrays(c * x - s * y, s * x + c * y, z), axis=3)
        placed = placed @ arm.mount[:3, :3].T + arm.mount[:3, 3]
        return placed[:, :, 0], placed[:, :, 1]

    def _travel_weights(self) -> Array:
        """How far any point of a segment moves at most for each radian of a joint, shape (capsules, 3), m/rad.

        That is the largest distance of its ends from the joint's axis in any position of the joints behind it.
        """
        arm = self.arm
        x, y, z = np.moveaxis(self._ends, 2, 0)
        along = np.hypot(x, z)
        is_fore = (self._movers == FOREARM)[:, None]
        from_elbow = np.where(is_fore, along, 0.0)
        from_shoulder = np.where(is_fore, arm.upper_arm + along, along)
        from_yaw = np.hypot(abs(arm.shoulder_offset) + from_shoulder, np.where(is_fore, y - arm.lateral_offset, y))
        return np.stack([distance.max(axis=1) for distance in (from_yaw, from_shoulder, from_elbow)], axis=1)


def _pitched(angle: Array, x: Array, z: Array) -> tuple[Array, Array]:
    c, s = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    return c * x - s * z, s * x + c * z


def _shapes(tree: UrdfTree) -> Iterator[tuple[str, CollisionShape]]:
    for link in tree.links:
        for shape in tree.collisions(link):
            yield link, shape


def _solid(link: str, shape: CollisionShape) -> Obstacle:
    size = shape.size[::-1] if shape.kind == "cylinder" else shape.size
    return Obstacle(link, shape.kind, size, shape.pose)


def _capsule_around(link: str, mover: int, shape: CollisionShape, pose: Array) -> Capsule:
    """The smallest capsule along a shape's longest axis (a cylinder's own) that contains it."""
    if shape.kind == "sphere":
        return Capsule(link, mover, pose[:3, 3], pose[:3, 3], shape.size[0])
    if shape.kind == "box":
        axis = int(np.argmax(shape.size))
        half = 0.5 * shape.size[axis]
        across = 0.5 * float(np.linalg.norm(np.delete(shape.size, axis)))
    else:
        axis, across, half = 2, shape.size[0], 0.5 * shape.size[1]
    # a segment shorter than the shape needs a radius that reaches the rim of its ends
    reach = np.linspace(0.0, half, _LENGTHS_TRIED)
    radii = np.hypot(across, half - reach)
    best = int(np.argmin(2.0 * reach * radii**2 + 4.0 / 3.0 * radii**3))
    step = pose[:3, axis] * reach[best]
    return Capsule(link, mover, pose[:3, 3] - step, pose[:3, 3] + step, float(radii[best]))


def _stand_ins(arm: ArmModel, movers: set[int], radius: float) -> Iterator[Capsule]:
    """Capsules along the axes of links without shapes."""
    elbow = np.array([arm.upper_arm, 0.0, 0.0])
    if UPPER_ARM in movers:
        yield Capsule("upper arm", UPPER_ARM, np.zeros(3), elbow, radius)
        if arm.lateral_offset:
            yield Capsule("upper arm", UPPER_ARM, elbow, elbow - np.array([0.0, arm.lateral_offset, 0.0]), radius)
    if FOREARM in movers:
        yield Capsule("forearm", FOREARM, np.zeros(3), np.array([arm.forearm, 0.0, 0.0]), radius)
