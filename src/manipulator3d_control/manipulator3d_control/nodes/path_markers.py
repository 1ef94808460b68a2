# SPDX-License-Identifier: Apache-2.0
"""Markers of start, goal, ball, path, phase and obstacles for RViz and the page."""

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from manipulator3d_control.ball import Ball
from manipulator3d_control.mission import Mission
from manipulator3d_control.motion import Motion
from manipulator3d_control.nodes.arm_monitor import ArmMonitor
from manipulator3d_control.obstacle import Obstacle, quaternion
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_kinematics import forward_kinematics

_START = ColorRGBA(r=0.15, g=0.65, b=0.25, a=0.6)
_GOAL = ColorRGBA(r=0.85, g=0.25, b=0.2, a=0.6)
_BALL = ColorRGBA(r=0.95, g=0.75, b=0.1, a=1.0)
_PATH = ColorRGBA(r=0.2, g=0.5, b=0.9, a=0.9)
_TEXT = ColorRGBA(r=0.95, g=0.95, b=0.95, a=1.0)
_OBSTACLE = ColorRGBA(r=0.6, g=0.45, b=0.7, a=0.7)
_POINT_SIZE_M, _BALL_SIZE_M, _LINE_WIDTH_M, _TEXT_HEIGHT_M = 0.02, 0.03, 0.003, 0.03
_TEXT_ABOVE_M = 0.1
_NAME_HEIGHT_M, _NAME_ABOVE_M = 0.02, 0.02
_SHAPES = {"box": Marker.CUBE, "sphere": Marker.SPHERE, "cylinder": Marker.CYLINDER}
_FEWEST_PATH_SAMPLES, _MOST_PATH_SAMPLES, _PATH_SAMPLES_PER_S = 25, 1000, 50
_MOVED_M = 1e-4


class PathMarkers:
    """Publishes markers on change, latched, so that a late viewer sees them.

    Args:
        node: the motion server.
        monitor: for the base frame and the tool.
    """

    def __init__(self, node: Node, monitor: ArmMonitor) -> None:
        self._monitor = monitor
        # several publishers share the topic, each with namespaces of its own; a message holds all markers of its
        # publisher, so that the last one is all that a late viewer needs
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._publisher = node.create_publisher(MarkerArray, "markers", latched)
        self._shown_ball: Array | None = None
        self._shown_text = ""
        self._markers: dict[tuple[str, int], Marker] = {}
        self._obstacles_shown = 0

    def show_mission(self, pick: Array, place: Array, mission: Mission) -> None:
        """Show the two points and the tool's path through one cycle."""
        self._publish(
            self._sphere("start", pick, _POINT_SIZE_M, _START), self._sphere("goal", place, _POINT_SIZE_M, _GOAL)
        )
        self.show_motions([move.motion for move in mission.moves])

    def show_motions(self, motions: Sequence[Motion]) -> None:
        """Show the tool's path through motions that follow each other."""
        arm = self._monitor.arm
        assert arm is not None
        marker = self._marker("path", Marker.LINE_STRIP, _PATH)
        marker.scale.x = _LINE_WIDTH_M
        for motion in motions:
            count = min(max(_FEWEST_PATH_SAMPLES, int(motion.duration * _PATH_SAMPLES_PER_S)), _MOST_PATH_SAMPLES)
            angles = motion.sample(np.linspace(0.0, motion.duration, count)).position
            marker.points += [_point(tool) for tool in forward_kinematics(arm, angles)]
        self._publish(marker)

    def show_ball(self, ball: Ball) -> None:
        """Show the ball where it is, if it has moved since it was last shown."""
        position = ball.position
        if position is None or self._monitor.arm is None:
            return
        if self._shown_ball is not None and np.max(np.abs(position - self._shown_ball)) < _MOVED_M:
            return
        self._shown_ball = position.copy()
        self._publish(self._sphere("ball", position, _BALL_SIZE_M, _BALL))

    def show_obstacles(self, obstacles: Sequence[Obstacle]) -> None:
        """Show obstacles with their names in place of those shown before."""
        markers = []
        for index, obstacle in enumerate(obstacles):
            solid = self._marker("obstacles", _SHAPES[obstacle.shape], _OBSTACLE, index)
            solid.pose.position = _point(obstacle.centre)
            turn = solid.pose.orientation
            turn.x, turn.y, turn.z, turn.w = quaternion(obstacle.pose[:3, :3])
            solid.scale.x, solid.scale.y, solid.scale.z = _scale(obstacle)
            name = self._marker("obstacle_names", Marker.TEXT_VIEW_FACING, _TEXT, index)
            above = float(obstacle.half_extents[2]) + _NAME_ABOVE_M
            name.pose.position = _point(obstacle.centre + np.array([0.0, 0.0, above]))
            name.text, name.scale.z = obstacle.name, _NAME_HEIGHT_M
            markers += [solid, name]
        for index in range(len(obstacles), self._obstacles_shown):
            for namespace, kind in (("obstacles", Marker.CUBE), ("obstacle_names", Marker.TEXT_VIEW_FACING)):
                gone = self._marker(namespace, kind, _OBSTACLE, index)
                gone.action = Marker.DELETE
                markers.append(gone)
        self._obstacles_shown = max(self._obstacles_shown, len(obstacles))
        self._publish(*markers)

    def show_text(self, text: str) -> None:
        """Show a text above the arm, if it has changed."""
        arm = self._monitor.arm
        if text == self._shown_text or arm is None:
            return
        self._shown_text = text
        marker = self._marker("phase", Marker.TEXT_VIEW_FACING, _TEXT)
        marker.action = Marker.ADD if text else Marker.DELETE
        marker.text = text
        marker.pose.position.z = arm.base_height + arm.upper_arm + arm.forearm + _TEXT_ABOVE_M
        marker.scale.z = _TEXT_HEIGHT_M
        self._publish(marker)

    def _sphere(self, namespace: str, position: Array, size: float, color: ColorRGBA) -> Marker:
        marker = self._marker(namespace, Marker.SPHERE, color)
        marker.pose.position = _point(position)
        marker.scale.x = marker.scale.y = marker.scale.z = size
        return marker

    def _marker(self, namespace: str, kind: int, color: ColorRGBA, index: int = 0) -> Marker:
        arm = self._monitor.arm
        assert arm is not None
        # without a time stamp the marker moves with its frame
        marker = Marker(ns=namespace, id=index, type=kind, action=Marker.ADD, color=color)
        marker.header.frame_id = arm.base_frame
        marker.pose.orientation.w = 1.0
        return marker

    def _publish(self, *markers: Marker) -> None:
        self._markers |= {(marker.ns, marker.id): marker for marker in markers}
        self._publisher.publish(MarkerArray(markers=list(self._markers.values())))


def _scale(obstacle: Obstacle) -> tuple[float, float, float]:
    size = obstacle.size
    if obstacle.shape == "box":
        return size[0], size[1], size[2]
    if obstacle.shape == "sphere":
        return 2.0 * size[0], 2.0 * size[0], 2.0 * size[0]
    return 2.0 * size[1], 2.0 * size[1], size[0]


def _point(position: Array) -> Point:
    return Point(x=float(position[0]), y=float(position[1]), z=float(position[2]))
