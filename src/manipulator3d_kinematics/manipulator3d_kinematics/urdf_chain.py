# SPDX-License-Identifier: Apache-2.0
"""Finds the yaw-pitch-pitch chain in a URDF and the numbers of its DH table.

The chain is found by structure: three turning joints in series, the second axis perpendicular to the first, the third
parallel to the second. Names, signs of axes, fixed joints between and the pose of the base are free. Fingers behind the
third joint are no part of it.
"""

from math import atan2, hypot, pi
from typing import Any

import numpy as np

from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.rigid_body import RigidBody, combined
from manipulator3d_kinematics.urdf_tree import TURNING, Joint, UrdfTree, number_or, parse_urdf

# how far the cosine of a right angle may be from 0 and that of parallel axes from 1
_ALIGNED = 1e-6
# m; a link shorter than this is none
_SHORTEST = 1e-6
# rad/s; for a URDF whose limit element gives none
_VELOCITY = 1.0
_NOT_ONE = "not a yaw-pitch-pitch arm"
_TOOL_WORDS = ("tool0", "tool", "tcp", "ee", "tip")


def arm_fields(xml: str) -> dict[str, Any]:
    """Read the fields of an ArmModel from a URDF.

    Raises:
        ValueError: not a URDF, or not a yaw-pitch-pitch arm; names the joint and what is wrong with it.
    """
    tree = parse_urdf(xml)
    joints = _chain(tree)
    tool = _tool_link(tree, joints[2].child)
    frame = _arm_frame(tree, joints, tree.pose(tool)[:3, 3])
    fields = _geometry(tree, joints, tool, frame)
    fields |= _limits(tree, joints)
    fields["mount"] = frame
    fields["joint_names"] = tuple(joint.name for joint in joints)
    fields["base_frame"], fields["elbow_frame"], fields["tool_frame"] = tree.root, joints[2].child, tool
    fields["fixed_frames"] = {
        link: tree.pose(link) for link in tree.links if all(joint.kind == "fixed" for joint in tree.path(link))
    }
    fields["bodies"] = _bodies(tree, joints, fields)
    return fields


def _chain(tree: UrdfTree) -> list[Joint]:
    turning = [joint for joint in tree.joints.values() if joint.kind in TURNING and not joint.mimics]
    if len(turning) != 3:
        names = ", ".join(joint.name for joint in turning) or "none"
        raise ValueError(f"{tree.name}: {_NOT_ONE}: expected 3 turning joints, found {len(turning)} ({names})")
    turning.sort(key=lambda joint: len(tree.path(joint.child)))
    path = tree.path(turning[2].child)
    for joint in turning:
        if joint not in path:
            raise ValueError(
                f"{tree.name}: {_NOT_ONE}: joint {joint.name} is not in series with joint {turning[2].name}"
            )
    for joint in path:
        if joint.kind != "fixed" and joint not in turning:
            raise ValueError(
                f"{tree.name}: {_NOT_ONE}: joint {joint.name} before {turning[2].name} is {joint.kind}; expected fixed"
            )
    yaw, shoulder, elbow = turning
    if abs(yaw.axis @ shoulder.axis) > _ALIGNED:
        raise ValueError(
            f"{tree.name}: {_NOT_ONE}: joint {shoulder.name} has the axis {_shown(shoulder.axis)} in {tree.root}; "
            f"expected it perpendicular to that of {yaw.name}, {_shown(yaw.axis)}"
        )
    if 1.0 - abs(shoulder.axis @ elbow.axis) > _ALIGNED:
        raise ValueError(
            f"{tree.name}: {_NOT_ONE}: joint {elbow.name} has the axis {_shown(elbow.axis)} in {tree.root}; "
            f"expected it parallel to that of {shoulder.name}, {_shown(shoulder.axis)}"
        )
    return turning


def _shown(axis: Array) -> str:
    return "({:.3g}, {:.3g}, {:.3g})".format(*(axis + 0.0))


def _tool_link(tree: UrdfTree, forearm: str) -> str:
    """The link at the end of the fixed joints behind the elbow, by its name or else the farthest."""
    fixed = [link for link in tree.joints if _is_fixed_behind(tree, link, forearm)]
    if not fixed:
        raise ValueError(
            f"{tree.name}: no link is fixed to {forearm} to mark the tool point; "
            "add a fixed joint to a link named tool0"
        )
    for word in _TOOL_WORDS:
        named = [link for link in fixed if link.lower().rstrip("0123456789").endswith(word.rstrip("0"))]
        exact = [link for link in named if link.lower().endswith(word)]
        if exact or named:
            return (exact or named)[0]
    elbow = tree.pose(forearm)[:3, 3]
    return max(fixed, key=lambda link: float(np.linalg.norm(tree.pose(link)[:3, 3] - elbow)))


def _is_fixed_behind(tree: UrdfTree, link: str, ancestor: str) -> bool:
    while link in tree.joints and tree.joints[link].kind == "fixed":
        link = tree.joints[link].parent
        if link == ancestor:
            return True
    return False


def _arm_frame(tree: UrdfTree, joints: list[Joint], tool_point: Array) -> Array:
    """Frame on the yaw axis beside the root\'s origin: z along the axis and up, x to where the tool is at zero."""
    yaw, shoulder, _ = joints
    up = yaw.axis if yaw.axis[2] > -_ALIGNED else -yaw.axis
    origin = yaw.pose[:3, 3] - (yaw.pose[:3, 3] @ up) * up
    forward = np.cross(up, shoulder.axis - (shoulder.axis @ up) * up)
    forward /= np.linalg.norm(forward)
    ahead = float(forward @ (tool_point - origin))
    if abs(ahead) < _SHORTEST:
        ahead = float(forward[0]) if abs(forward[0]) > _ALIGNED else float(forward[1])
    if ahead < 0.0:
        forward = -forward
    frame = np.eye(4)
    frame[:3, :3] = np.column_stack((forward, np.cross(up, forward), up))
    frame[:3, 3] = origin
    return _rounded(frame)


def _geometry(tree: UrdfTree, joints: list[Joint], tool: str, frame: Array) -> dict[str, Any]:
    turn, origin = frame[:3, :3], frame[:3, 3]
    shoulder, elbow, tip = (
        turn.T @ (pose[:3, 3] - origin) for pose in (joints[1].pose, joints[2].pose, tree.pose(tool))
    )
    upper, fore = elbow - shoulder, tip - elbow
    upper_arm, forearm = hypot(upper[0], upper[2]), hypot(fore[0], fore[2])
    for joint, length in ((joints[1], upper_arm), (joints[2], forearm)):
        if length < _SHORTEST:
            raise ValueError(
                f"{tree.name}: {_NOT_ONE}: the link behind joint {joint.name} is {length:.3g} m long across its "
                "axis; expected more than 0"
            )
    t1 = atan2(upper[2], upper[0])
    t2 = (atan2(fore[2], fore[0]) - t1 + pi) % (2.0 * pi) - pi
    # the link frames' pitch axis points to the right, -y
    sign = [np.sign(joints[0].axis @ turn[:, 2])] + [-np.sign(joint.axis @ turn[:, 1]) for joint in joints[1:]]
    fields: dict[str, Any] = {
        "name": tree.name if tree.extra is None else tree.extra.get("name", tree.name),
        "shoulder_offset": float(shoulder[0]),
        "base_height": float(shoulder[2]),
        "upper_arm": upper_arm,
        "forearm": forearm,
        "lateral_offset": -float(tip[1]),
        "sign": np.array(sign),
        "offset": _rounded(np.array([0.0, t1, t2])),
    }
    link_frames = _link_frames(fields, frame)
    fields["elbow_pose"] = _rounded(np.linalg.inv(link_frames[2]) @ tree.pose(joints[2].child))
    fields["tool_pose"] = _rounded(np.linalg.inv(link_frames[2]) @ tree.pose(tool))
    for name in ("shoulder_offset", "base_height", "upper_arm", "forearm", "lateral_offset"):
        fields[name] = float(_rounded(np.array(fields[name])))
    return fields


def _rounded(array: Array) -> Array:
    """Removes the rounding of products of rotations next to -1, 0 and 1, so that a plain arm is seen as plain."""
    nearest = np.round(array)
    return np.where(np.abs(array - nearest) < 1e-15, nearest + 0.0, array)


def _link_frames(fields: dict[str, Any], mount: Array) -> list[Array]:
    """Poses of the link frames at joint angles of zero in the root's frame; forward.link_frames without a model."""
    t1, t2 = fields["offset"][1], fields["offset"][2]
    frames = [mount]
    for angle, step in (
        (t1, (fields["shoulder_offset"], 0.0, fields["base_height"])),
        (t2, (fields["upper_arm"], -fields["lateral_offset"], 0.0)),
    ):
        pose = np.eye(4)
        pose[:3, :3] = rotation_up(angle)
        pose[:3, 3] = step
        frames.append(frames[-1] @ pose)
    return frames


def rotation_up(angle: float) -> Array:
    """Rotation that raises the x axis by `angle`."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])


def _limits(tree: UrdfTree, joints: list[Joint]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        key: np.array([joint.limits[key] for joint in joints])
        for key in ("lower", "upper", "effort", "damping", "friction")
    }
    velocity = np.array([joint.limits["velocity"] or _VELOCITY for joint in joints])
    extra = tree.extra
    own = {} if extra is None else {element.get("name", ""): element for element in extra.findall("joint")}
    home = None if extra is None else extra.find("home")

    def of_joints(key: str, defaults: Array) -> Array:
        return np.array(
            [
                number_or(own.get(joint.name), key, f"<manipulator3d> joint {joint.name}", float(default))
                for joint, default in zip(joints, defaults, strict=True)
            ]
        )

    fields["velocity"] = velocity
    fields["acceleration"] = of_joints("acceleration", 4.0 * velocity)
    fields["jerk"] = of_joints("jerk", 8.0 * fields["acceleration"])
    fields["counts_per_revolution"] = of_joints("counts_per_revolution", np.full(3, 8384.0))
    fields["home"] = np.array([number_or(home, joint.name, "<manipulator3d> home", 0.0) for joint in joints])
    fields["floor_z"] = number_or(extra, "floor_z", "<manipulator3d>", 0.0)
    return fields


def _bodies(tree: UrdfTree, joints: list[Joint], fields: dict[str, Any]) -> tuple[RigidBody, ...]:
    """The links moved by each joint, joined into one body in the link frame; unmoved links are left out."""
    parts: list[list[RigidBody]] = [[], [], []]
    moving = [joint.name for joint in joints]
    for link in tree.links:
        movers = [moving.index(joint.name) for joint in tree.path(link) if joint.name in moving]
        if movers:
            parts[movers[-1]].append(tree.body(link))
    bodies = []
    for frame, group in zip(_link_frames(fields, fields["mount"]), parts, strict=True):
        inverse = frame[:3, :3].T
        bodies.append(combined(group).moved(inverse, -inverse @ frame[:3, 3]))
    return tuple(bodies)
