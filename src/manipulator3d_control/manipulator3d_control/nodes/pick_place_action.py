# SPDX-License-Identifier: Apache-2.0
"""The action pick_place, and the service change_pick_place."""

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Point
from rclpy.node import Node
from std_srvs.srv import SetBool

from manipulator3d_control.ball import Ball
from manipulator3d_control.mission import Mission, Move, PickPlaceRequest, plan_pick_place
from manipulator3d_control.nodes.goal_fields import elbow_name, not_negative, point_in_base, speed_scale
from manipulator3d_control.nodes.goal_run import GoalDesk, GoalRun, end_goal
from manipulator3d_control.nodes.path_markers import PathMarkers
from manipulator3d_control.phase import Phase
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.surroundings import Surroundings
from manipulator3d_interfaces.action import PickPlace
from manipulator3d_interfaces.srv import ChangePickPlace
from manipulator3d_node.error_code import ErrorCode
from manipulator3d_node.nodes.target_frame import TargetFrame


@dataclass(frozen=True)
class _Plan:
    """A mission, and what it was planned for."""

    request: PickPlaceRequest
    around: Surroundings | None
    mission: Mission


class PickPlaceAction:
    """Serves pick_place.

    Args:
        node: the motion server.
        desk: gives the arm.
        ball: what is picked.
        frames: transforms.
        markers: shows start, goal and path.
    """

    def __init__(self, node: Node, desk: GoalDesk, ball: Ball, frames: TargetFrame, markers: PathMarkers) -> None:
        self._desk = desk
        self._ball = ball
        self._frames = frames
        self._markers = markers
        self._gripper: Any = node.create_client(SetBool, "set_gripper")
        self._cycles: _Cycles | None = None
        self._change = node.create_service(ChangePickPlace, "change_pick_place", self._on_change)
        self._server = desk.serve(PickPlace, "pick_place", self._execute)

    async def _execute(self, handle: Any) -> PickPlace.Result:
        started = time.monotonic()
        result = PickPlace.Result()
        try:
            run = self._desk.begin(handle)
            try:
                self._cycles = _Cycles(run, self._desk, self._ball, self._gripper, result)
                await self._cycles.run(handle.request, self._frames, self._markers)
            finally:
                self._cycles = None
                self._desk.finish()
        except Refusal as refusal:
            result.error_code, result.message = int(refusal.code), str(refusal)
            if self._ball.held:
                result.message += "; the object is still held"
        result.duration = time.monotonic() - started
        result.success = result.error_code == ErrorCode.SUCCESS
        end_goal(handle, result)
        return result

    async def _on_change(
        self, request: ChangePickPlace.Request, response: ChangePickPlace.Response
    ) -> ChangePickPlace.Response:
        try:
            cycles = self._cycles
            if cycles is None:
                raise Refusal(
                    ErrorCode.INVALID_INPUT, "no pick-and-place is running; send a pick_place goal with the points"
                )
            await cycles.change(request, self._frames, self._markers)
            response.success = True
            response.message = "the points count from the next cycle; call resume to go on"
        except Refusal as refusal:
            response.error_code, response.message = int(refusal.code), str(refusal)
        return response


class _Cycles:
    """The cycles of one goal."""

    def __init__(self, run: GoalRun, desk: GoalDesk, ball: Ball, gripper: Any, result: PickPlace.Result) -> None:
        self._run = run
        self._desk = desk
        self._ball = ball
        self._gripper = gripper
        self._result = result
        self._feedback = PickPlace.Feedback()
        self._behind = 0.0
        self._present = 0.0
        self._total = 1.0
        self._coming: list[tuple[Phase, float]] = []
        self._plan: _Plan | None = None
        self._next: _Plan | None = None
        self._cycles = 0
        run.publish_feedback = self._report

    async def run(self, goal: PickPlace.Goal, frames: TargetFrame, markers: PathMarkers) -> None:
        """Check the goal, plan it, and do its cycles; the result's counter grows with each."""
        self._run.check()
        request, scale, dwell = self._checked(goal, frames)
        start = self._desk.start_position()
        self._plan = await self._planned(request, start)
        self._cycles = goal.cycles
        self._desk.start_stream(start, scale)
        markers.show_mission(request.pick, request.place, self._plan.mission)
        while True:
            self._feedback.cycle = self._result.cycles_completed + 1
            await self._cycle(self._plan.mission, self._plan.request, dwell)
            self._result.cycles_completed += 1
            if self._result.cycles_completed == goal.cycles:
                return
            await self._phase_rest(Phase.WAIT, dwell)
            await self._plan_next(markers)

    async def change(self, points: ChangePickPlace.Request, frames: TargetFrame, markers: PathMarkers) -> None:
        """Take other points from the next cycle on.

        Raises:
            Refusal: the motion is not paused, there is no next cycle, or the points cannot be reached.
        """
        arm, plan = self._desk.monitor.arm, self._plan
        assert arm is not None
        if plan is None or not self._desk.stream.paused:
            raise Refusal(ErrorCode.BUSY, "the pick-and-place is moving; call pause before its points are changed")
        if self._feedback.cycle == self._cycles:
            raise Refusal(
                ErrorCode.INVALID_INPUT,
                f"the present cycle, number {self._cycles}, is the last, and none is left for other points; resume, "
                "and send a new goal after it",
            )
        request = dataclasses.replace(
            plan.request,
            pick=point_in_base(points.pick, "pick", arm, frames),
            place=point_in_base(points.place, "place", arm, frames),
        )
        self._next = await self._planned(request, arm.home)
        markers.show_mission(request.pick, request.place, self._next.mission)

    async def _plan_next(self, markers: PathMarkers) -> None:
        """Make the plan of the next cycle, which starts at home: other points or other obstacles may have come."""
        plan, arm = self._plan, self._desk.monitor.arm
        assert plan is not None
        assert arm is not None
        while self._next is not None or self._desk.surroundings is not plan.around:
            if self._next is None:
                plan = await self._planned(plan.request, arm.home)
            else:
                plan, self._next = self._next, None
            markers.show_mission(plan.request.pick, plan.request.place, plan.mission)
        self._plan = dataclasses.replace(plan, mission=plan.mission.from_home)

    async def _planned(self, request: PickPlaceRequest, start: Array) -> _Plan:
        arm, around = self._desk.monitor.arm, self._desk.surroundings
        assert arm is not None
        mission = await self._desk.planned(lambda: plan_pick_place(arm, request, start, around))
        return _Plan(request, around, mission)

    def _checked(self, goal: PickPlace.Goal, frames: TargetFrame) -> tuple[PickPlaceRequest, float, float]:
        parameters, arm = self._desk.parameters, self._desk.monitor.arm
        assert arm is not None
        height = goal.approach_height
        height = (
            parameters.default_approach_height if math.isnan(height) else not_negative(height, "approach_height", "m")
        )
        request = PickPlaceRequest(
            point_in_base(goal.pick, "pick", arm, frames),
            point_in_base(goal.place, "place", arm, frames),
            height,
            elbow_name(goal.elbow),
            parameters.preferred_elbow,
            parameters.blend_radius,
            *self._desk.tool_limits,
        )
        scale = speed_scale(goal.speed_scale, parameters.default_speed_scale)
        return request, scale, not_negative(goal.dwell, "dwell", "s")

    async def _cycle(self, mission: Mission, request: PickPlaceRequest, dwell: float) -> None:
        self._behind = 0.0
        self._total = sum(move.motion.duration for move in mission.moves) or 1.0
        for move in mission.to_home:
            await self._move(move)
        self._ball.lay_ready(request.pick)
        for move in mission.before_grasp:
            await self._move(move)
        self._enter(Phase.PICK)
        await self._run.settle()
        await self._grasp(mission)
        await self._run.rest(dwell)
        for move in mission.before_release:
            await self._move(move)
        self._enter(Phase.PLACE)
        await self._run.settle()
        await self._set_gripper(closed=False)
        self._ball.release()
        await self._run.rest(dwell)
        for move in mission.after_release:
            await self._move(move)
        await self._run.settle()

    async def _grasp(self, mission: Mission) -> None:
        """Grasp; where that fails, rise and come again, and after the last try stay above."""
        attempts = self._desk.parameters.grasp_attempts
        for attempt in range(1, attempts + 1):
            failure = await self._try_to_grasp()
            if not failure:
                return
            await self._set_gripper(closed=False)
            if mission.retreat is not None:
                await self._move(mission.retreat)
                await self._run.settle()
            if attempt < attempts:
                if mission.again is not None:
                    await self._move(mission.again)
                self._enter(Phase.PICK)
                await self._run.settle()
        times = "once" if attempts == 1 else f"{attempts} times"
        raise Refusal(ErrorCode.GRASP_FAILED, f"tried {times}: {failure}")

    async def _try_to_grasp(self) -> str:
        """Close the gripper; why it holds nothing, empty if it does."""
        await self._set_gripper(closed=True)
        monitor, tolerance = self._desk.monitor, self._desk.parameters.grasp_tolerance
        assert monitor.tool is not None
        assert monitor.hardware is not None
        if monitor.hardware.has_grasp_sensor:
            if monitor.hardware.object_detected:
                self._ball.take(monitor.tool)
                return ""
            return "the grasp sensor feels no object; is it at the pick point?"
        distance = self._ball.grasp(monitor.tool)
        if self._ball.held:
            return ""
        return (
            f"the object is {distance:.3f} m from the tool point, more than the {tolerance:g} m allowed; "
            "move the object or the pick point"
        )

    async def _set_gripper(self, closed: bool) -> None:
        if not self._gripper.service_is_ready():
            raise Refusal(ErrorCode.LINK_DOWN, "no driver serves set_gripper; is the arm's driver running?")
        answer = self._gripper.call_async(SetBool.Request(data=closed))
        waited = 0.0
        await self._run.rest(self._desk.parameters.grip_time)
        while not answer.done():
            if waited >= self._desk.parameters.settle_timeout:
                self._gripper.remove_pending_request(answer)
                raise Refusal(ErrorCode.TIMEOUT, f"set_gripper gave no answer in {waited:.1f} s; is the driver stuck?")
            await self._run.rest(0.05)
            waited += 0.05
        if not answer.result().success:
            raise Refusal(ErrorCode.GRASP_FAILED, f"the gripper refused: {answer.result().message}")

    async def _move(self, move: Move) -> None:
        self._present = move.motion.duration
        self._coming = list(move.phases)
        self._enter_phases_until(0.0)
        await self._run.move(move.motion)
        self._enter_phases_until(np.inf)
        self._behind += self._present
        self._present = 0.0

    def _enter_phases_until(self, time: float) -> None:
        """Enter each phase of the present motion that begins until then."""
        while self._coming and self._coming[0][1] <= time:
            self._enter(self._coming.pop(0)[0])

    async def _phase_rest(self, phase: Phase, duration: float) -> None:
        self._enter(phase)
        await self._run.rest(duration)

    def _enter(self, phase: Phase) -> None:
        self._run.phase = int(phase)
        self._feedback.phase, self._feedback.phase_name = int(phase), phase.name
        self._publish_feedback()

    def _report(self) -> None:
        self._enter_phases_until(self._desk.stream.motion_time)
        self._publish_feedback()

    def _publish_feedback(self) -> None:
        tool = self._desk.monitor.tool
        if tool is None or self._run.phase == 0:
            return
        done = self._behind + self._present * self._desk.stream.progress
        self._feedback.progress = float(np.clip(done / self._total, 0.0, 1.0))
        self._feedback.tool = Point(x=float(tool[0]), y=float(tool[1]), z=float(tool[2]))
        self._feedback.holding = self._ball.held
        self._run.handle.publish_feedback(self._feedback)
