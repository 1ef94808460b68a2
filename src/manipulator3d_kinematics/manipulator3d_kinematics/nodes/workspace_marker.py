# SPDX-License-Identifier: Apache-2.0
"""The reachable set as a marker for RViz."""

from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from manipulator3d_kinematics import ArmModel
from manipulator3d_kinematics.workspace_shell import workspace_shell


def workspace_marker(arm: ArmModel, frame: str) -> MarkerArray:
    """Make the marker "workspace".

    Args:
        arm: the arm.
        frame: name of the base frame.
    """
    marker = Marker(ns="workspace", id=0, type=Marker.TRIANGLE_LIST, action=Marker.ADD)
    marker.header.frame_id = frame
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 1.0
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = 0.2, 0.6, 1.0, 0.12
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in workspace_shell(arm).tolist()]
    return MarkerArray(markers=[marker])
