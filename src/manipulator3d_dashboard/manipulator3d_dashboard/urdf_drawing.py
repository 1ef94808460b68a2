# SPDX-License-Identifier: Apache-2.0
"""What of a URDF can be drawn: the tree of its joints and the primitives of its links."""

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass

from manipulator3d_dashboard.pose import Pose, Vector, compose, from_axis_angle, from_rpy, multiply

Colour = tuple[float, float, float, float]

_GREY: Colour = (0.6, 0.62, 0.65, 1.0)
_TURNING = ("revolute", "continuous")


@dataclass(frozen=True)
class Shape:
    """A primitive on a link.

    Attributes:
        kind: box, cylinder (along z) or sphere.
        size: m; box (x, y, z), cylinder (radius, length), sphere (radius,).
        pose: of its centre in the link's frame.
        colour: red, green, blue and opacity, 0 to 1.
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose
    colour: Colour


@dataclass(frozen=True)
class Joint:
    """A joint of the tree; `origin` is the pose of the child link in the parent link at position 0."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Pose
    axis: Vector

    def pose(self, position: float) -> Pose:
        """Give the pose of the child in the parent at a joint position in rad or m."""
        if self.kind in _TURNING:
            return Pose(self.origin.position, multiply(self.origin.wxyz, from_axis_angle(self.axis, position)))
        if self.kind == "prismatic":
            x, y, z = self.axis
            return compose(self.origin, Pose((x * position, y * position, z * position)))
        return self.origin


@dataclass(frozen=True)
class Drawing:
    """A robot ready to be drawn.

    Attributes:
        root: name of the link that nothing carries.
        joints: parents before their children.
        shapes: primitives of each link that has any.
        not_drawn: what was left out and why, one sentence each.
    """

    root: str
    joints: tuple[Joint, ...]
    shapes: Mapping[str, tuple[Shape, ...]]
    not_drawn: tuple[str, ...]

    def paths(self) -> dict[str, str]:
        """Give each link's place in the tree, as root/child/grandchild."""
        paths = {self.root: self.root}
        for joint in self.joints:
            paths[joint.child] = f"{paths[joint.parent]}/{joint.child}"
        return paths

    def link_pose(self, link: str, positions: Mapping[str, float]) -> Pose:
        """Give the pose of a link in the root; joints without a position are at 0.

        Raises:
            KeyError: no such link.
        """
        carriers = {joint.child: joint for joint in self.joints}
        pose = Pose()
        while link != self.root:
            joint = carriers[link]
            pose = compose(joint.pose(positions.get(joint.name, 0.0)), pose)
            link = joint.parent
        return pose


def drawing_from_urdf(xml: str) -> Drawing:
    """Read a URDF.

    Raises:
        ValueError: not a URDF, or its links are not one tree.
    """
    try:
        robot = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise ValueError(f"robot_description is not XML ({error}); publish a URDF on it") from error
    if robot.tag != "robot":
        raise ValueError(f"robot_description starts with <{robot.tag}>; expected <robot>, the root of a URDF")
    colours = {element.get("name", ""): _colour(element) for element in robot.findall("material")}
    shapes: dict[str, tuple[Shape, ...]] = {}
    not_drawn: list[str] = []
    links = [link.get("name", "") for link in robot.findall("link")]
    for link in robot.findall("link"):
        name = link.get("name", "")
        drawn = []
        for visual in link.findall("visual"):
            shape = _shape(visual, colours)
            if shape is None:
                not_drawn.append(f"{name}: a mesh is not drawn; the page draws boxes, cylinders and spheres")
            else:
                drawn.append(shape)
        if drawn:
            shapes[name] = tuple(drawn)
    joints = [_joint(element) for element in robot.findall("joint")]
    root, ordered = _ordered(links, joints)
    return Drawing(root, tuple(ordered), shapes, tuple(not_drawn))


def _numbers(text: str, count: int, what: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(word) for word in text.split())
    except ValueError as error:
        raise ValueError(f"robot_description: {what} is '{text}'; expected {count} numbers") from error
    if len(numbers) != count or not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"robot_description: {what} is '{text}'; expected {count} finite numbers")
    return numbers


def _origin(element: ElementTree.Element) -> Pose:
    origin = element.find("origin")
    if origin is None:
        return Pose()
    x, y, z = _numbers(origin.get("xyz", "0 0 0"), 3, "origin xyz")
    roll, pitch, yaw = _numbers(origin.get("rpy", "0 0 0"), 3, "origin rpy")
    return Pose((x, y, z), from_rpy(roll, pitch, yaw))


def _colour(material: ElementTree.Element) -> Colour | None:
    colour = material.find("color")
    if colour is None:
        return None
    red, green, blue, opacity = _numbers(colour.get("rgba", ""), 4, "color rgba")
    return (red, green, blue, opacity)


def _unit(axis: Vector) -> Vector:
    length = math.hypot(*axis)
    if length == 0.0:
        return (1.0, 0.0, 0.0)
    return (axis[0] / length, axis[1] / length, axis[2] / length)


def _shape(visual: ElementTree.Element, colours: Mapping[str, Colour | None]) -> Shape | None:
    geometry = visual.find("geometry")
    found = None if geometry is None else next(iter(geometry), None)
    if found is None or found.tag not in ("box", "cylinder", "sphere"):
        return None
    if found.tag == "box":
        size = _numbers(found.get("size", ""), 3, "box size")
    elif found.tag == "cylinder":
        size = (
            *_numbers(found.get("radius", ""), 1, "cylinder radius"),
            *_numbers(found.get("length", ""), 1, "cylinder length"),
        )
    else:
        size = _numbers(found.get("radius", ""), 1, "sphere radius")
    material = visual.find("material")
    colour = None
    if material is not None:
        colour = _colour(material) or colours.get(material.get("name", ""))
    return Shape(found.tag, size, _origin(visual), colour or _GREY)


def _joint(element: ElementTree.Element) -> Joint:
    name, kind = element.get("name", ""), element.get("type", "fixed")
    ends = {}
    for tag in ("parent", "child"):
        end = element.find(tag)
        if end is None or not end.get("link"):
            raise ValueError(f"robot_description: joint {name} names no {tag} link")
        ends[tag] = end.get("link", "")
    axis = element.find("axis")
    x, y, z = _numbers("1 0 0" if axis is None else axis.get("xyz", "1 0 0"), 3, f"axis of joint {name}")
    return Joint(name, kind, ends["parent"], ends["child"], _origin(element), _unit((x, y, z)))


def _ordered(links: list[str], joints: list[Joint]) -> tuple[str, list[Joint]]:
    carried = {joint.child for joint in joints}
    roots = [link for link in links if link not in carried]
    if len(roots) != 1:
        raise ValueError(
            f"robot_description: {len(roots)} links are carried by no joint ({', '.join(roots)}); expected one"
        )
    reached, ordered = {roots[0]}, []
    waiting = list(joints)
    while waiting:
        ready = [joint for joint in waiting if joint.parent in reached]
        if not ready:
            raise ValueError(f"robot_description: joint {waiting[0].name} hangs on no link of the tree")
        ordered += ready
        reached |= {joint.child for joint in ready}
        waiting = [joint for joint in waiting if joint not in ready]
    return roots[0], ordered
