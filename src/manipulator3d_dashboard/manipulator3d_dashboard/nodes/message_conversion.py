# SPDX-License-Identifier: Apache-2.0
"""Messages as the page's plain values."""

import math

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker as MarkerMessage

from manipulator3d_dashboard.health import Level, Report
from manipulator3d_dashboard.marker import Marker, MarkerKind
from manipulator3d_dashboard.pose import Pose

_KINDS = frozenset(MarkerKind)
_LEVELS = frozenset(Level)


def joint_positions(message: JointState) -> dict[str, float]:
    """Positions by joint name; what is not finite is left out."""
    return {
        name: position
        for name, position in zip(message.name, message.position, strict=False)
        if math.isfinite(position)
    }


def joint_velocities(message: JointState) -> dict[str, float]:
    """Velocities by joint name; what is not finite is left out."""
    return {
        name: velocity
        for name, velocity in zip(message.name, message.velocity, strict=False)
        if math.isfinite(velocity)
    }


def seconds(stamp: Time) -> float:
    """A time stamp in s."""
    return stamp.sec + 1e-9 * stamp.nanosec


def report_from_message(message: DiagnosticStatus) -> Report:
    """Take one entry of the diagnostics."""
    level = message.level[0] if isinstance(message.level, bytes) else message.level
    known = Level(level) if level in _LEVELS else Level.ERROR
    return Report(message.name, known, message.message, {entry.key: entry.value for entry in message.values})


def marker_from_message(message: MarkerMessage) -> Marker | None:
    """Take what is drawn of a marker; None for kinds that are not drawn and for places that are not finite."""
    if message.type not in _KINDS:
        return None
    place, turn = message.pose.position, message.pose.orientation
    wxyz = np.array([turn.w, turn.x, turn.y, turn.z])
    length = float(np.linalg.norm(wxyz))
    points = np.array([(point.x, point.y, point.z) for point in message.points], dtype=np.float32).reshape(-1, 3)
    numbers = [place.x, place.y, place.z, length, *points.ravel()]
    if not all(map(math.isfinite, numbers)):
        return None
    # an orientation that was never filled in is all zeros
    w, x, y, z = (wxyz / length).tolist() if length > 0.0 else (1.0, 0.0, 0.0, 0.0)
    colours = np.array([(colour.r, colour.g, colour.b, colour.a) for colour in message.colors], dtype=np.float32)
    if len(colours) != len(points):
        colours = np.empty((0, 4), dtype=np.float32)
    colour, scale = message.color, message.scale
    return Marker(
        key=(message.ns, message.id),
        kind=MarkerKind(message.type),
        frame=message.header.frame_id,
        pose=Pose((place.x, place.y, place.z), (w, x, y, z)),
        scale=(scale.x, scale.y, scale.z),
        colour=(colour.r, colour.g, colour.b, colour.a),
        points=points,
        colours=colours.reshape(-1, 4),
        text=message.text,
        lifetime=message.lifetime.sec + 1e-9 * message.lifetime.nanosec,
    )
