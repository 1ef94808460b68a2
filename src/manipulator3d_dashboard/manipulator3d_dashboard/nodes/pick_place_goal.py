# SPDX-License-Identifier: Apache-2.0
"""The goal of pick_place that START and GOAL make."""

from geometry_msgs.msg import Point, PointStamped

from manipulator3d_dashboard.pose import Vector
from manipulator3d_interfaces.action import PickPlace

_DWELL = 0.2


def pick_place_goal(start: Vector, goal: Vector, cycles: int) -> PickPlace.Goal:
    """Make a goal at the planned speed, with the server's approach height.

    Args:
        start, goal: m, in the arm's base.
        cycles: 0 for no end.
    """
    return PickPlace.Goal(
        pick=stamped_point(start),
        place=stamped_point(goal),
        approach_height=float("nan"),
        elbow=PickPlace.Goal.AUTO,
        cycles=cycles,
        dwell=_DWELL,
    )


def stamped_point(point: Vector) -> PointStamped:
    """A point, m in the arm's base, as a message."""
    return PointStamped(point=point_message(point))


def point_message(point: Vector) -> Point:
    """A point, m, as a message."""
    x, y, z = point
    return Point(x=x, y=y, z=z)
