# SPDX-License-Identifier: Apache-2.0
"""The frames of a URDF as a tree of joints, and the transform of each joint."""

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Vector = tuple[float, float, float]
# x, y, z, w
Quaternion = tuple[float, float, float, float]

_MOVING = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Transform:
    """A child frame in its parent.

    Attributes:
        parent, child: names of the frames.
        translation: m.
        rotation: unit quaternion x, y, z, w.
    """

    parent: str
    child: str
    translation: Vector
    rotation: Quaternion


@dataclass(frozen=True)
class Joint:
    """One joint of a URDF.

    Attributes:
        name, parent, child: the joint and its links.
        kind: fixed, revolute, continuous or prismatic.
        translation, rotation: the joint's origin in the parent link.
        axis: unit vector in the child link.
        mimic: the joint whose position this one follows, as position · multiplier + offset; None for none.
        multiplier, offset: of the mimic.
    """

    name: str
    parent: str
    child: str
    kind: str
    translation: Vector
    rotation: Quaternion
    axis: Vector
    mimic: str | None = None
    multiplier: float = 1.0
    offset: float = 0.0

    def transform(self, position: float = 0.0) -> Transform:
        """Give the child link in the parent link at a joint position in rad or m."""
        translation, rotation = self.translation, self.rotation
        if self.kind == "prismatic":
            x, y, z = rotated(rotation, self.axis)
            translation = (
                translation[0] + position * x,
                translation[1] + position * y,
                translation[2] + position * z,
            )
        elif self.kind != "fixed":
            sine = math.sin(position / 2)
            x, y, z = self.axis
            rotation = product(rotation, (x * sine, y * sine, z * sine, math.cos(position / 2)))
        return Transform(self.parent, self.child, translation, rotation)


class UrdfTree:
    """The joints of a URDF.

    Attributes:
        root: the link that is no joint's child.
        joints: all joints by name.

    Args:
        xml: the URDF.

    Raises:
        ValueError: no URDF, no tree, or a joint that this cannot place; names the joint and the remedy.
    """

    def __init__(self, xml: str) -> None:
        try:
            robot = ElementTree.fromstring(xml)
        except ElementTree.ParseError as error:
            raise ValueError(f"robot_description is not XML: {error}; expected a URDF") from error
        if robot.tag != "robot":
            raise ValueError(f"robot_description has the root element <{robot.tag}>; a URDF has <robot>")
        links = [_attribute(element, "name", "link") for element in robot.findall("link")]
        self.joints: dict[str, Joint] = {}
        for element in robot.findall("joint"):
            joint = _joint(element)
            if joint.name in self.joints:
                raise ValueError(f"joint {joint.name} stands twice in robot_description; rename one")
            self.joints[joint.name] = joint
        self.root = _root(links, self.joints.values())
        self._check_mimics()

    def fixed(self) -> list[Transform]:
        """Give the transforms of the fixed joints."""
        return [joint.transform() for joint in self.joints.values() if joint.kind == "fixed"]

    def moving(self, positions: Mapping[str, float]) -> list[Transform]:
        """Give the transforms of the movable joints whose position is known, and of those that mimic them.

        Args:
            positions: rad or m by joint name; names that are not in the URDF are passed over.
        """
        transforms = []
        for joint in self.joints.values():
            leader = joint.mimic or joint.name
            if joint.kind in _MOVING and leader in positions:
                transforms.append(joint.transform(positions[leader] * joint.multiplier + joint.offset))
        return transforms

    def _check_mimics(self) -> None:
        for joint in self.joints.values():
            leader = joint.mimic
            if leader is not None and (leader not in self.joints or self.joints[leader].mimic is not None):
                raise ValueError(f"joint {joint.name} mimics {leader}, which is not a joint with a position of its own")


def product(first: Quaternion, second: Quaternion) -> Quaternion:
    """Multiply two quaternions: the rotation `second` seen in the frame that `first` gives."""
    x, y, z, w = first
    i, j, k, r = second
    return (
        w * i + x * r + y * k - z * j,
        w * j - x * k + y * r + z * i,
        w * k + x * j - y * i + z * r,
        w * r - x * i - y * j - z * k,
    )


def rotated(rotation: Quaternion, vector: Vector) -> Vector:
    """Rotate a vector by a unit quaternion."""
    x, y, z, w = rotation
    turned = product(product(rotation, (*vector, 0.0)), (-x, -y, -z, w))
    return turned[:3]


def quaternion_from_rpy(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Give the rotation about the fixed axes x, y, z in this order, as URDF's rpy; rad."""
    about_x = (math.sin(roll / 2), 0.0, 0.0, math.cos(roll / 2))
    about_y = (0.0, math.sin(pitch / 2), 0.0, math.cos(pitch / 2))
    about_z = (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))
    return product(about_z, product(about_y, about_x))


def _joint(element: ElementTree.Element) -> Joint:
    name = _attribute(element, "name", "joint")
    kind = _attribute(element, "type", f"joint {name}")
    if kind not in ("fixed", *_MOVING):
        allowed = ", ".join(("fixed", *_MOVING))
        raise ValueError(f"joint {name} is of the type {kind}; this publisher knows {allowed}")
    parent = _attribute(element.find("parent"), "link", f"parent of joint {name}")
    child = _attribute(element.find("child"), "link", f"child of joint {name}")
    origin = element.find("origin")
    xyz = _vector(origin, "xyz", "0 0 0", name)
    rpy = _vector(origin, "rpy", "0 0 0", name)
    axis = _vector(element.find("axis"), "xyz", "1 0 0", name)
    length = math.sqrt(sum(part * part for part in axis))
    if kind in _MOVING and length < 1e-9:
        raise ValueError(f"joint {name} has the axis 0 0 0; give it a direction, such as 0 0 1")
    unit = (axis[0] / length, axis[1] / length, axis[2] / length) if length > 0 else axis
    mimic = element.find("mimic")
    if mimic is None:
        return Joint(name, parent, child, kind, xyz, quaternion_from_rpy(*rpy), unit)
    return Joint(
        name,
        parent,
        child,
        kind,
        xyz,
        quaternion_from_rpy(*rpy),
        unit,
        _attribute(mimic, "joint", f"mimic of joint {name}"),
        _number(mimic.get("multiplier", "1"), f"joint {name}: multiplier"),
        _number(mimic.get("offset", "0"), f"joint {name}: offset"),
    )


def _attribute(element: ElementTree.Element | None, key: str, owner: str) -> str:
    value = None if element is None else element.get(key)
    if not value:
        raise ValueError(f"robot_description: a {owner} has no {key}")
    return value


def _vector(element: ElementTree.Element | None, key: str, default: str, joint: str) -> Vector:
    text = default if element is None else element.get(key, default)
    parts = text.split()
    if len(parts) != 3:
        raise ValueError(f"joint {joint}: {key}='{text}' has {len(parts)} numbers; expected 3")
    return (
        _number(parts[0], f"joint {joint}: {key}"),
        _number(parts[1], f"joint {joint}: {key}"),
        _number(parts[2], f"joint {joint}: {key}"),
    )


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{what} is '{text}'; expected a finite number")
    return number


def _root(links: list[str], joints: Iterable[Joint]) -> str:
    if not links:
        raise ValueError("robot_description has no link")
    for link in links:
        if links.count(link) > 1:
            raise ValueError(f"link {link} stands twice in robot_description; rename one")
    parent_of: dict[str, str] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise ValueError(f"joint {joint.name} names the link {link}, which robot_description does not have")
        if joint.child in parent_of:
            raise ValueError(f"link {joint.child} is the child of two joints; a URDF is a tree")
        parent_of[joint.child] = joint.parent
    roots = [link for link in links if link not in parent_of]
    if len(roots) != 1:
        found = ", ".join(roots) or "none"
        raise ValueError(f"robot_description has these links that are no joint's child: {found}; a URDF has one")
    for link in links:
        steps = 0
        while link in parent_of:
            link, steps = parent_of[link], steps + 1
            if steps > len(links):
                raise ValueError(f"the joints around link {link} form a ring; a URDF is a tree")
    return roots[0]
