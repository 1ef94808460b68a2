# SPDX-License-Identifier: Apache-2.0
"""Markers as plain values: the part of visualization_msgs/Marker that the page draws."""

from dataclasses import dataclass
from enum import IntEnum, unique

import numpy as np

from manipulator3d_dashboard.pose import Pose, Vector
from manipulator3d_dashboard.urdf_drawing import Colour

Key = tuple[str, int]


@unique
class MarkerKind(IntEnum):
    """Kinds that are drawn; names and numbers are those of visualization_msgs/msg/Marker."""

    ARROW = 0
    CUBE = 1
    SPHERE = 2
    CYLINDER = 3
    LINE_STRIP = 4
    LINE_LIST = 5
    CUBE_LIST = 6
    SPHERE_LIST = 7
    POINTS = 8
    TEXT_VIEW_FACING = 9
    TRIANGLE_LIST = 11


@dataclass(frozen=True, eq=False)
class Marker:
    """One marker.

    Attributes:
        key: namespace and number.
        frame: link that carries it; empty for the root.
        scale: m.
        points: (N, 3), m, in the marker's own frame.
        colours: (N, 4), 0 to 1; one for each point, or no rows.
        lifetime: s; 0 for ever.
    """

    key: Key
    kind: MarkerKind
    frame: str
    pose: Pose
    scale: Vector
    colour: Colour
    points: np.ndarray
    colours: np.ndarray
    text: str = ""
    lifetime: float = 0.0

    def looks_like(self, other: "Marker") -> bool:
        """Whether the two differ in pose alone, so that what is drawn can be moved instead of drawn again."""
        return (
            self.kind == other.kind
            and self.frame == other.frame
            and self.scale == other.scale
            and self.colour == other.colour
            and self.text == other.text
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.colours, other.colours)
        )
