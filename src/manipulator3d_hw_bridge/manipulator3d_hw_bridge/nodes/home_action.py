# SPDX-License-Identifier: Apache-2.0
"""The action `home`: searches the switches of the joints, or takes the present position as known."""

from collections.abc import Callable

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.task import Future

from manipulator3d_hw_bridge.board_driver import BoardDriver
from manipulator3d_hw_bridge.board_status import HomeProgress, Measurement
from manipulator3d_hw_bridge.command_check import JointBounds
from manipulator3d_hw_bridge.home_goal import HomeGoal, HomeGoalRefused, check_home_goal
from manipulator3d_hw_bridge.nodes.board_reports import joint_state
from manipulator3d_hw_bridge.request_queue import Outcome
from manipulator3d_interfaces.action import Home
from manipulator3d_node.error_code import ErrorCode


class HomeAction:
    """Serves `home`; every goal is accepted, so that a refusal carries its reason in the result.

    Args:
        node: makes the action server.
        board: gives the driver and the bounds of the joints while the bridge is active, else None.
        measured: gives the latest measurement.
    """

    def __init__(
        self,
        node: Node,
        board: Callable[[], tuple[BoardDriver, JointBounds] | None],
        measured: Callable[[], Measurement | None],
    ) -> None:
        self._node = node
        self._board = board
        self._measured = measured
        self._running: ServerGoalHandle | None = None
        self._server = ActionServer(
            node,
            Home,
            "home",
            self._execute,
            goal_callback=lambda _goal: GoalResponse.ACCEPT,
            cancel_callback=self._cancel,
        )

    def destroy(self) -> None:
        """Take the action away."""
        self._server.destroy()

    def show(self, progress: HomeProgress) -> None:
        """Pass progress on to the client; to be called in the executor's thread."""
        goal = self._running
        if goal is not None and goal.is_active:
            goal.publish_feedback(Home.Feedback(joint=progress.joint, step=progress.step, position=progress.position))

    async def _execute(self, goal: ServerGoalHandle) -> Home.Result:
        if self._running is not None:
            return self._abort(goal, ErrorCode.BUSY, "the arm is homing already; cancel that goal or wait for its end")
        board = self._board()
        if board is None:
            return self._abort(goal, ErrorCode.LINK_DOWN, "the bridge is not active; activate it first")
        driver, bounds = board
        try:
            checked = check_home_goal(bounds, goal.request.joints, goal.request.set_here, goal.request.positions)
        except HomeGoalRefused as error:
            return self._abort(goal, ErrorCode.INVALID_INPUT, str(error))
        self._running = goal
        try:
            outcome = await self._home(driver, checked)
            assert outcome is not None
        finally:
            self._running = None
        if outcome.code is ErrorCode.CANCELED and goal.is_cancel_requested:
            goal.canceled()
        elif outcome.ok:
            goal.succeed()
        else:
            goal.abort()
        return self._result(outcome, bounds)

    def _home(self, driver: BoardDriver, checked: HomeGoal) -> "Future[Outcome]":
        future: Future[Outcome] = Future(executor=self._node.executor)
        driver.call(lambda session, now: session.motion.home(now, checked, future.set_result))
        return future

    def _cancel(self, _goal: ServerGoalHandle) -> CancelResponse:
        board = self._board()
        if board is not None:
            board[0].call(lambda session, now: session.motion.cancel_home(now))
        return CancelResponse.ACCEPT

    def _abort(self, goal: ServerGoalHandle, code: ErrorCode, message: str) -> Home.Result:
        goal.abort()
        return Home.Result(success=False, error_code=int(code), message=message)

    def _result(self, outcome: Outcome, bounds: JointBounds) -> Home.Result:
        result = Home.Result(success=outcome.ok, error_code=int(outcome.code), message=outcome.message)
        measurement = self._measured()
        if measurement is not None:
            result.joints = joint_state(bounds.names, measurement, self._node.get_clock().now().to_msg())
        return result
