# SPDX-License-Identifier: Apache-2.0
"""START and GOAL as interactive markers of RViz: dragged by arrows, with a menu to run the task."""

import importlib
import math
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import Pose, Quaternion
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import InteractiveMarker, InteractiveMarkerControl, InteractiveMarkerFeedback, Marker

from manipulator3d_dashboard.nodes.pick_place_goal import point_message
from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.target import TARGETS, Verdict

NAMESPACE = "targets"
MENU = ("Pick and place once", "Repeat until stopped", "Stop")
_COLOURS = {"START": (0.15, 0.65, 0.25), "GOAL": (0.85, 0.25, 0.2)}
_UNREACHABLE = (0.35, 0.35, 0.35)
_BALL_M, _HANDLES_M = 0.03, 0.12
_HALF = math.sqrt(0.5)
# a control moves along its own x axis
_AXES = {"x": (1.0, 0.0, 0.0, 0.0), "y": (_HALF, 0.0, 0.0, _HALF), "z": (_HALF, 0.0, -_HALF, 0.0)}


class InteractiveTargets:
    """The two markers, where the ROS package interactive_markers is installed.

    Args:
        node: that the server belongs to.
        on_target: takes START or GOAL and its new place, m, while somebody drags it.
        on_menu: takes an entry of MENU.

    Raises:
        ModuleNotFoundError: interactive_markers is not installed.
    """

    def __init__(self, node: Node, on_target: Callable[[str, Vector], None], on_menu: Callable[[str], None]) -> None:
        server = importlib.import_module("interactive_markers.interactive_marker_server")
        menus = importlib.import_module("interactive_markers.menu_handler")
        self._server = server.InteractiveMarkerServer(node, NAMESPACE)
        self._menu = menus.MenuHandler()
        for entry in MENU:
            self._menu.insert(entry, callback=lambda _feedback, entry=entry: on_menu(entry))
        self._on_target = on_target
        self._shown: dict[str, tuple[str, Verdict]] = {}

    def show(self, name: str, frame: str, point: Vector, verdict: Verdict) -> None:
        """Put a marker somewhere; its colour and text say whether the arm reaches it."""
        pose = Pose(position=point_message(point))
        if self._shown.get(name) == (frame, verdict):
            self._server.setPose(name, pose)
        else:
            self._shown[name] = (frame, verdict)
            self._server.insert(_marker(name, frame, pose, verdict), feedback_callback=self._on_feedback)
            self._menu.apply(self._server, name)
        self._server.applyChanges()

    def shutdown(self) -> None:
        """Take the markers off RViz."""
        self._server.shutdown()

    def _on_feedback(self, feedback: Any) -> None:
        if feedback.event_type == InteractiveMarkerFeedback.POSE_UPDATE and feedback.marker_name in TARGETS:
            place = feedback.pose.position
            self._on_target(feedback.marker_name, (place.x, place.y, place.z))


def _marker(name: str, frame: str, pose: Pose, verdict: Verdict) -> InteractiveMarker:
    marker = InteractiveMarker(name=name, scale=_HANDLES_M, pose=pose)
    marker.header.frame_id = frame
    marker.description = name if verdict.reachable else f"{name}: out of reach"
    ball = Marker(type=Marker.SPHERE)
    ball.scale.x = ball.scale.y = ball.scale.z = _BALL_M
    red, green, blue = _COLOURS[name] if verdict.reachable else _UNREACHABLE
    ball.color = ColorRGBA(r=red, g=green, b=blue, a=0.8)
    grip = InteractiveMarkerControl(name="grip", always_visible=True, markers=[ball])
    grip.interaction_mode = InteractiveMarkerControl.MOVE_3D
    marker.controls.append(grip)
    for axis, (w, x, y, z) in _AXES.items():
        arrow = InteractiveMarkerControl(name=axis, orientation=Quaternion(w=w, x=x, y=y, z=z))
        arrow.interaction_mode = InteractiveMarkerControl.MOVE_AXIS
        marker.controls.append(arrow)
    return marker
