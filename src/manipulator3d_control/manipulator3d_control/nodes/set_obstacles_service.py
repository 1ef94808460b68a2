# SPDX-License-Identifier: Apache-2.0
"""The service set_obstacles: what the arm keeps clear of, from now on and in the motion that runs."""

import numpy as np
from geometry_msgs.msg import Pose
from rclpy.node import Node
from shape_msgs.msg import SolidPrimitive

from manipulator3d_control.arm_capsules import ArmCapsules
from manipulator3d_control.nodes.goal_run import GoalDesk
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.obstacle import Obstacle, checked_obstacles, rotation
from manipulator3d_control.path import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.surroundings import Surroundings
from manipulator3d_interfaces.srv import SetObstacles
from manipulator3d_kinematics import ArmModel
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.target_frame import FrameRefusal, TargetFrame

_SHAPES = {
    SolidPrimitive.BOX: "box",
    SolidPrimitive.SPHERE: "sphere",
    SolidPrimitive.CYLINDER: "cylinder",
    SolidPrimitive.CONE: "CONE",
    SolidPrimitive.PRISM: "PRISM",
}


class SetObstaclesService:
    """Serves set_obstacles.

    Args:
        node: the motion server.
        desk: keeps the arm's surroundings and the running goal.
        frames: transforms.
        markers: shows the obstacles.
    """

    def __init__(self, node: Node, desk: GoalDesk, frames: TargetFrame, markers: PathMarkers) -> None:
        self._desk = desk
        self._frames = frames
        self._markers = markers
        self._body: ArmCapsules | None = None
        self._obstacles: tuple[Obstacle, ...] = ()
        self._service = node.create_service(SetObstacles, "set_obstacles", self._on_request)

    def describe(self, arm: ArmModel, xml: str) -> None:
        """Take the arm's shapes from its description; the obstacles stay.

        Raises:
            ValueError: a shape of the description is not one; names it.
        """
        self._body = ArmCapsules.from_urdf(arm, xml, self._desk.parameters.link_radius)
        self._surround()

    def _on_request(self, request: SetObstacles.Request, response: SetObstacles.Response) -> SetObstacles.Response:
        try:
            self._obstacles = self._checked(request)
            self._surround()
            self._markers.show_obstacles(self._obstacles)
            response.success = True
            response.message = self._count() + self._interrupted()
        except Refusal as refusal:
            response.error_code = int(refusal.code)
            response.message = f"{refusal}; the obstacles in force stay as they were"
        return response

    def _checked(self, request: SetObstacles.Request) -> tuple[Obstacle, ...]:
        arm = self._desk.monitor.arm
        if self._body is None or arm is None:
            raise Refusal(
                ErrorCode.NO_STATE,
                "no robot_description has arrived; start robot_state_publisher or ./manipulator3d up",
            )
        base_pose = self._frames.pose_in_base(request.header.frame_id, arm.base_frame)
        if isinstance(base_pose, FrameRefusal):
            raise Refusal(base_pose.code, f"header: {base_pose.message}")
        return checked_obstacles(
            request.names,
            [_SHAPES.get(shape.type, f"number {shape.type}") for shape in request.shapes],
            [list(shape.dimensions) for shape in request.shapes],
            [(pose.position.x, pose.position.y, pose.position.z) for pose in request.poses],
            [_quaternion(pose) for pose in request.poses],
            _matrix(*base_pose),
        )

    def _surround(self) -> None:
        parameters = self._desk.parameters
        if self._body is not None:
            self._desk.surroundings = Surroundings(
                self._body, self._obstacles, parameters.obstacle_margin, parameters.object_radius
            )

    def _count(self) -> str:
        count = len(self._obstacles)
        return "1 obstacle is in force" if count == 1 else f"{count} obstacles are in force"

    def _interrupted(self) -> str:
        """End the running motion if what is left of it is blocked now; what happened, empty if nothing did."""
        run, stream = self._desk.run, self._desk.stream
        # the time is read first: a motion that ends in between is over, and no new one begins here
        time = stream.motion_time
        if run is None or run.motion is None or not stream.playing:
            return ""
        try:
            self._desk.check_clear(run.motion, time)
        except Refusal as blocked:
            self._desk.interrupt(blocked)
            return f"; the running motion ends: {blocked}"
        return ""


def _quaternion(pose: Pose) -> tuple[float, float, float, float]:
    turn = pose.orientation
    return turn.x, turn.y, turn.z, turn.w


def _matrix(turn: tuple[float, float, float, float], shift: tuple[float, float, float]) -> Array:
    pose = np.eye(4)
    w, x, y, z = turn
    pose[:3, :3] = rotation(np.array([x, y, z, w]))
    pose[:3, 3] = shift
    return pose
