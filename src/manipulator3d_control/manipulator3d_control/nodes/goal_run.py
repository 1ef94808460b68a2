# SPDX-License-Identifier: Apache-2.0
"""One goal at a time: who has the arm, and how a goal drives it step by step."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from manipulator3d_control.command_stream import CommandStream, Player
from manipulator3d_control.motion import Motion, Setpoint
from manipulator3d_control.motion_player import MotionPlayer
from manipulator3d_control.nodes.arm_monitor import ArmMonitor
from manipulator3d_control.nodes.motion_parameters import MotionParameters
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.surroundings import Surroundings
from manipulator3d_node.error_code import ErrorCode

_SETTLE_POLL_S = 0.02

T = TypeVar("T")


class Replaced(Refusal):
    """The goal makes room for a newer one from the same place; any other reason to end it counts before this."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.STOPPED, message)


class GoalRun:
    """The goal that has the arm.

    Args:
        handle: its server goal handle; None for a motion that no action asked for.
        desk: where it came from.

    Attributes:
        interruption: why the goal must end, None while it may go on.
        motion: what runs, None where none does.
        phase: of a pick-and-place, 0 otherwise.
        name: what has the arm, for messages to others that want it.
        publish_feedback: called often while the goal runs.
        watch: called often while the goal runs; tells why it must end, None while it may go on.
    """

    def __init__(self, handle: Any, desk: "GoalDesk") -> None:
        self.handle = handle
        self._desk = desk
        self.interruption: Refusal | None = None
        self.phase = 0
        self.motion: Motion | None = None
        self.name = "another goal is running"
        self.publish_feedback: Callable[[], None] = lambda: None
        self.watch: Callable[[], Refusal | None] = lambda: None

    def check(self) -> None:
        """Raise the Refusal that interrupted the goal, if any."""
        if self.interruption is not None:
            raise self.interruption

    async def move(self, motion: Motion) -> None:
        """Run a motion.

        Raises:
            Refusal: the goal was interrupted, or an obstacle is in the way; the arm is at rest, or its driver brings it
                to rest.
        """
        arm = self._desk.monitor.arm
        assert arm is not None
        self._desk.check_clear(motion)
        self.motion = motion
        try:
            await self.play(MotionPlayer(arm, motion))
        finally:
            self.motion = None

    async def play(self, player: Player) -> None:
        """Let a player command the arm until it is finished.

        Raises:
            Refusal: as move.
        """
        await self._desk.played(lambda done: self._desk.stream.play(player, done))
        self._check_stream()

    async def rest(self, duration: float) -> None:
        """Hold the position for `duration` seconds.

        Raises:
            Refusal: the goal was interrupted.
        """
        await self._desk.played(lambda done: self._desk.stream.rest(duration, done))
        self._check_stream()

    async def settle(self, tolerance: Array | None = None, timeout: float | None = None) -> None:
        """Wait until the measured arm is where it is commanded.

        Args:
            tolerance: shape (3,), rad; None for the parameter goal_tolerance.
            timeout: s; None for the parameter settle_timeout.

        Raises:
            Refusal: the goal was interrupted, or the arm did not get there in time.
        """
        parameters, monitor = self._desk.parameters, self._desk.monitor
        allowed = np.full(3, parameters.goal_tolerance) if tolerance is None else tolerance
        longest = parameters.settle_timeout if timeout is None else timeout
        # the last command applies only then
        await self.rest(parameters.command_lead)
        waited = 0.0
        while True:
            last = self._desk.stream.last
            assert last is not None
            assert monitor.joints is not None
            off = np.abs(last.position - monitor.joints)
            if np.all(off <= allowed):
                return
            if waited >= longest:
                assert monitor.arm is not None
                worst = int(np.argmax(off - allowed))
                raise Refusal(
                    ErrorCode.TRACKING_ERROR,
                    f"{monitor.arm.joint_names[worst]} stands {off[worst]:.3f} rad from its goal {waited:.1f} s after "
                    f"the end of the motion, above the {allowed[worst]:g} rad allowed; look for an obstacle, a load or "
                    "a weak supply",
                )
            await self.rest(_SETTLE_POLL_S)
            waited += _SETTLE_POLL_S

    def _check_stream(self) -> None:
        delay = self._desk.stream.delay
        if self._desk.stream.broken and self.interruption is None:
            raise Refusal(
                ErrorCode.TIMEOUT,
                f"this computer held the commands up for {delay:.3f} s, too long to go on; send the goal again, and "
                "close other programs if it happens often",
            )
        self.check()


class GoalDesk:
    """Gives the arm to one goal at a time.

    Args:
        node: the motion server.
        parameters, stream, monitor: its parts.
    """

    def __init__(self, node: Node, parameters: MotionParameters, stream: CommandStream, monitor: ArmMonitor) -> None:
        self._node = node
        self.parameters = parameters
        self.stream = stream
        self.monitor = monitor
        self.run: GoalRun | None = None
        self._planner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planner")
        self.surroundings: Surroundings | None = None
        self.is_holding: Callable[[], bool] = lambda: False
        self._waiting: list[Future] = []

    def begin(self, handle: Any) -> GoalRun:
        """Give the arm to a goal; `handle` is None for a motion that no action asked for.

        Raises:
            Refusal: another goal has it, or the arm is not ready.
        """
        if self.run is not None:
            raise Refusal(
                ErrorCode.BUSY, f"{self.run.name}; wait for its end, cancel it, or call /stop before the next"
            )
        not_ready = self.monitor.not_ready()
        if not_ready is not None:
            raise not_ready
        if self._node.count_publishers("joint_commands") > 1:
            raise Refusal(
                ErrorCode.BUSY,
                "another program publishes joint_commands, too, and the arm would follow both; stop it "
                "(ros2 topic info -v /joint_commands names it)",
            )
        # where the goal before has left the arm must not end this one while it is planned
        self.monitor.reset_tracking()
        self.run = GoalRun(handle, self)
        if handle is not None and handle.is_cancel_requested:
            self.run.interruption = _canceled()
        return self.run

    @property
    def tool_limits(self) -> tuple[float, float]:
        """Largest speed and acceleration of the tool, infinite where there is no limit; m/s, m/s²."""
        return self.parameters.tool_speed or math.inf, self.parameters.tool_acceleration or math.inf

    def start_position(self) -> Array:
        """Where a goal starts: the last command if the arm still stands there, else the measured position."""
        measured, last = self.monitor.joints, self.stream.last
        assert measured is not None
        if last is not None and np.max(np.abs(last.position - measured)) <= self.parameters.goal_tolerance:
            return last.position
        arm = self.monitor.arm
        assert arm is not None
        return np.clip(measured, arm.lower, arm.upper)

    def start_stream(self, start: Array, speed_scale: float) -> None:
        """Begin to command the arm, at rest at `start`."""
        self.stream.begin(Setpoint(start, np.zeros(3)), speed_scale)

    async def planned(self, plan: Callable[[], T]) -> T:
        """Plan in a thread, so that the node goes on to listen, and give the plan.

        Raises:
            Refusal: what the plan raises, or why the goal was interrupted meanwhile.
        """
        future: Future = Future(executor=self._node.executor)
        self._planner.submit(plan).add_done_callback(future.set_result)
        finished = await future
        assert finished is not None
        if self.run is not None:
            self.run.check()
        return finished.result()

    def keeps_clear(self, positions: Array) -> bool:
        """Whether the arm may be at positions of shape (N, 3), rad; see Surroundings.keep_clear. From any thread."""
        around = self.surroundings
        return around is None or around.keep_clear(positions, self.is_holding())

    def check_clear(self, motion: Motion, start: float = 0.0) -> None:
        """Check that no obstacle is in the way of a motion, from a time of it on, with what the arm holds now.

        Raises:
            Refusal: PATH_BLOCKED.
        """
        if self.surroundings is not None:
            self.surroundings.check_motion(motion, self.is_holding(), start)

    def finish(self) -> None:
        """Take the arm back from its goal."""
        self.stream.end()
        self.run = None
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            future.set_result(None)

    async def vacated(self) -> None:
        """Wait until no goal has the arm, for which the running one must have been interrupted."""
        if self.run is not None:
            self._waiting.append(Future(executor=self._node.executor))
            await self._waiting[-1]

    def interrupt(self, refusal: Refusal, at_once: bool = False) -> bool:
        """End the running goal for a reason; the first reason counts. Tells whether there was a goal.

        Args:
            refusal: why.
            at_once: stop to command the arm instead of decelerating along the path; its driver brings it to rest.
        """
        if self.run is None:
            return False
        if self.run.interruption is None or isinstance(self.run.interruption, Replaced):
            self.run.interruption = refusal
        if at_once:
            self.stream.halt()
        else:
            self.stream.interrupt()
        return True

    def serve(self, action_type: Any, name: str, execute: Callable[[Any], Any]) -> ActionServer:
        """Serve an action whose goals ask for the arm by `begin`; refusals reach the client by the result."""
        return ActionServer(
            self._node,
            action_type,
            name,
            execute,
            goal_callback=lambda _goal: GoalResponse.ACCEPT,
            cancel_callback=self._on_cancel,
        )

    def _on_cancel(self, handle: Any) -> CancelResponse:
        run = self.run
        if run is not None and run.handle is not None and run.handle.goal_id == handle.goal_id:
            self.interrupt(_canceled())
        return CancelResponse.ACCEPT

    async def played(self, start: Callable[[Callable[[bool], None]], None]) -> bool:
        """Start to play something and wait until it is done."""
        future: Future = Future(executor=self._node.executor)
        if self.run is not None and self.run.interruption is not None:
            return False
        start(future.set_result)
        return bool(await future)


def end_goal(handle: Any, result: Any) -> None:
    """Put a goal into the final state that fits its result."""
    if result.success:
        handle.succeed()
    elif result.error_code == ErrorCode.CANCELED and handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()


def _canceled() -> Refusal:
    return Refusal(ErrorCode.CANCELED, "cancelled; the arm has come to rest on its path")
