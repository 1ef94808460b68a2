# SPDX-License-Identifier: Apache-2.0
"""The links and joints of a URDF with every pose in the root's frame at joint angles of zero."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from math import inf

import numpy as np

from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.profile import rotation_from_rpy
from manipulator3d_kinematics.rigid_body import RigidBody

TURNING = ("revolute", "continuous")


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint; `pose` is that of the child link at zero, `axis` a unit vector, both in the root's frame."""

    name: str
    kind: str
    parent: str
    child: str
    mimics: bool
    pose: Array
    axis: Array
    limits: dict[str, float]


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """A collision shape of a link.

    Attributes:
        kind: "box", "cylinder", "sphere", or the tag of another shape, such as "mesh".
        size: m; lengths along x, y and z of a box, radius and length along z of a cylinder, the radius of a sphere;
            empty for another shape.
        pose: shape (4, 4); of its centre in the root's frame at joint angles of zero.
    """

    kind: str
    size: tuple[float, ...]
    pose: Array


@dataclass(frozen=True, eq=False)
class UrdfTree:
    """A parsed URDF.

    Attributes:
        name: of the robot.
        root: name of the root link.
        joints: by the name of their child link, in the order of the tree.
        extra: the element <manipulator3d>, None where there is none.
    """

    name: str
    root: str
    joints: dict[str, Joint]
    links: dict[str, ElementTree.Element]
    extra: ElementTree.Element | None

    def path(self, link: str) -> list[Joint]:
        """The joints from the root to a link."""
        path: list[Joint] = []
        while link in self.joints:
            path.append(self.joints[link])
            link = self.joints[link].parent
        return path[::-1]

    def pose(self, link: str) -> Array:
        """Pose of a link at zero in the root's frame."""
        return self.joints[link].pose if link in self.joints else np.eye(4)

    def body(self, link: str) -> RigidBody:
        """The link's inertial, in the root's frame at zero."""
        inertial = self.links[link].find("inertial")
        if inertial is None:
            return RigidBody.none()
        mass = _number(inertial.find("mass"), "value", f"mass of {link}")
        values = inertial.find("inertia")
        ixx, ixy, ixz, iyy, iyz, izz = (
            0.0 if values is None else _number(values, key, f"inertia of {link}")
            for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        pose = self.pose(link) @ _origin(inertial, f"inertial of {link}")
        body = RigidBody(mass, np.zeros(3), np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]))
        return body.moved(pose[:3, :3], pose[:3, 3])

    def collisions(self, link: str) -> list[CollisionShape]:
        """The link's collision shapes, in the order of the URDF."""
        return [
            _collision_shape(shape, self.pose(link) @ _origin(collision, f"collision of {link}"), link)
            for collision in self.links[link].findall("collision")
            for shape in collision.findall("geometry/*")
        ]


def parse_urdf(xml: str) -> UrdfTree:
    """Parse a URDF.

    Raises:
        ValueError: no XML, no robot, or no single tree; names the element.
    """
    try:
        robot = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise ValueError(
            f"the robot description is not XML ({error}); publish the expanded URDF, not a path or a xacro file"
        ) from error
    if robot.tag != "robot":
        raise ValueError(f"the robot description's element is <{robot.tag}>; expected <robot>")
    name = robot.get("name", "robot")
    links = {link.get("name", ""): link for link in robot.findall("link")}
    elements = {_child(joint): joint for joint in robot.findall("joint")}
    for child, joint in elements.items():
        for link in (child, _end(joint, "parent")):
            if link not in links:
                raise ValueError(
                    f"{name}: joint {joint.get('name')} names the link '{link}', which the URDF does not have"
                )
    roots = [link for link in links if link not in elements]
    if len(roots) != 1:
        raise ValueError(f"{name}: the URDF has the root links {roots}; expected exactly one")
    joints: dict[str, Joint] = {}
    waiting = [roots[0]]
    while waiting:
        parent = waiting.pop(0)
        pose = joints[parent].pose if parent in joints else np.eye(4)
        for child, element in elements.items():
            if _end(element, "parent") == parent:
                joints[child] = _joint(element, parent, child, pose)
                waiting.append(child)
    if len(joints) != len(elements):
        raise ValueError(f"{name}: links {sorted(set(elements) - set(joints))} are not connected to {roots[0]}")
    return UrdfTree(name, roots[0], joints, links, robot.find("manipulator3d"))


def _joint(element: ElementTree.Element, parent: str, child: str, parent_pose: Array) -> Joint:
    name, kind = element.get("name", ""), element.get("type", "")
    pose = parent_pose @ _origin(element, f"joint {name}")
    axis_element = element.find("axis")
    axis = np.array(
        _numbers(axis_element, "xyz", f"axis of joint {name}") if axis_element is not None else (1.0, 0.0, 0.0)
    )
    length = float(np.linalg.norm(axis))
    if kind not in ("fixed", "floating") and length < 1e-9:
        raise ValueError(f"joint {name}: its axis is {axis.tolist()}; expected a direction")
    limits = {"lower": -inf, "upper": inf, "velocity": 0.0, "effort": inf, "damping": 0.0, "friction": 0.0}
    if kind == "revolute":
        limits.update(lower=0.0, upper=0.0)
    for tag, keys in (("limit", ("lower", "upper", "velocity", "effort")), ("dynamics", ("damping", "friction"))):
        found = element.find(tag)
        if found is not None:
            given = (
                key for key in keys if key in found.attrib and not (kind == "continuous" and key in ("lower", "upper"))
            )
            limits.update({key: _number(found, key, f"joint {name}: {tag}") for key in given})
    direction = pose[:3, :3] @ axis / length if length > 0.0 else np.zeros(3)
    return Joint(name, kind, parent, child, element.find("mimic") is not None, pose, direction, limits)


def _collision_shape(shape: ElementTree.Element, pose: Array, link: str) -> CollisionShape:
    what = f"collision {shape.tag} of {link}"
    size: tuple[float, ...] = ()
    if shape.tag == "box":
        size = _numbers(shape, "size", what)
    elif shape.tag == "cylinder":
        size = _number(shape, "radius", what), _number(shape, "length", what)
    elif shape.tag == "sphere":
        size = (_number(shape, "radius", what),)
    return CollisionShape(shape.tag, size, pose)


def _end(joint: ElementTree.Element, tag: str) -> str:
    end = joint.find(tag)
    if end is None or "link" not in end.attrib:
        raise ValueError(f"joint {joint.get('name')} has no <{tag} link=…>")
    return end.attrib["link"]


def _child(joint: ElementTree.Element) -> str:
    return _end(joint, "child")


def _origin(element: ElementTree.Element, what: str) -> Array:
    pose = np.eye(4)
    origin = element.find("origin")
    if origin is not None:
        pose[:3, 3] = _numbers(origin, "xyz", f"origin of {what}") if "xyz" in origin.attrib else (0.0, 0.0, 0.0)
        if "rpy" in origin.attrib:
            pose[:3, :3] = rotation_from_rpy(*_numbers(origin, "rpy", f"origin of {what}"))
    return pose


def _numbers(element: ElementTree.Element, key: str, what: str) -> tuple[float, float, float]:
    text = element.get(key, "")
    try:
        a, b, c = (float(word) for word in text.split())
    except ValueError:
        raise ValueError(f"{what}: {key} is '{text}'; expected three numbers") from None
    if not np.isfinite((a, b, c)).all():
        raise ValueError(f"{what}: {key} is '{text}'; expected finite numbers")
    return a, b, c


def _number(element: ElementTree.Element | None, key: str, what: str) -> float:
    text = "" if element is None else element.get(key, "")
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{what}: {key} is '{text}'; expected a number") from None
    if not np.isfinite(value):
        raise ValueError(f"{what}: {key} is '{text}'; expected a finite number")
    return value


def number_or(element: ElementTree.Element | None, key: str, what: str, default: float) -> float:
    """An attribute as a number, the default where it is absent."""
    return default if element is None or key not in element.attrib else _number(element, key, what)
