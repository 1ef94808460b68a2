# SPDX-License-Identifier: Apache-2.0
"""`manipulator3d.Arm` and `manipulator3d.AsyncArm`: the arm as a Python object."""

import asyncio
import atexit
import contextlib
import functools
import inspect
import queue
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import wait
from typing import Any, Concatenate, ParamSpec, TypeVar

from manipulator3d.arm_answers import ArmStatus, Array
from manipulator3d.arm_error import ArmError
from manipulator3d.nodes import arm_calls, draw_calls
from manipulator3d.nodes.arm_call import Call, Motion, Request, checked
from manipulator3d.nodes.arm_connection import ArmConnection
from manipulator3d.nodes.stack_client import CANCEL_TIMEOUT_S, FIND_TIMEOUT_S, RunningGoal
from manipulator3d.stack_error import StackError
from manipulator3d_node.error_code import ErrorCode

_P = ParamSpec("_P")
_T = TypeVar("_T")
_END = object()
_READY_TIMEOUT_S = 30.0


class _Arm:
    """What both faces of the arm show alike: its state."""

    def __init__(self, namespace: str = "", find_timeout: float = FIND_TIMEOUT_S) -> None:
        self._connection = ArmConnection(namespace, find_timeout)
        # a thread inside ROS at the interpreter's end would crash it
        atexit.register(self._connection.client.close)

    @property
    def status(self) -> ArmStatus:
        """The arm's latest report: mode, fault, link, homed, holding, phase, speed.

        Raises:
            ArmError: none has come for 1 s; LINK_DOWN.
        """
        return self._connection.status()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, from the base to the tool."""
        return self._connection.joints()[0]

    @property
    def joints(self) -> Array:
        """Measured joint angles, shape (3,), rad.

        Raises:
            ArmError: no joint states have come for 1 s; STALE_STATE.
        """
        return self._connection.joints()[1]

    @property
    def joint_velocities(self) -> Array:
        """Measured joint velocities, shape (3,), rad/s; NaN where the driver gives none.

        Raises:
            ArmError: no joint states have come for 1 s; STALE_STATE.
        """
        return self._connection.joints()[2]

    @property
    def tool(self) -> Array:
        """Measured tool point, shape (3,), m, in the frame of the arm's base.

        Raises:
            ArmError: no joint states have come for 1 s; STALE_STATE.
        """
        return self._connection.tool()

    def _disconnect(self) -> None:
        atexit.unregister(self._connection.client.close)
        self._connection.client.close()


def _blocking(make: Callable[_P, Call[_T]]) -> Callable[Concatenate["Arm", _P], _T]:
    """Make a method that carries out what `make` gives, and returns when it is done."""

    def method(arm: "Arm", *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return arm._carry_out(make(*args, **kwargs))

    return _as_method(method, make)


def _awaitable(make: Callable[_P, Call[_T]]) -> Callable[Concatenate["AsyncArm", _P], Awaitable[_T]]:
    """Make a coroutine method that carries out what `make` gives."""

    async def method(arm: "AsyncArm", *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await arm._carry_out(make(*args, **kwargs))

    return _as_method(method, make)


def _as_method(method: Any, make: Callable[..., Any]) -> Any:
    """Give a method the name, the text and the arguments of the function behind it."""
    functools.update_wrapper(method, make)
    signature = inspect.signature(make)
    arm = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    answer = make.__annotations__["return"].__args__[0]
    method.__signature__ = signature.replace(parameters=[arm, *signature.parameters.values()], return_annotation=answer)
    return method


class Arm(_Arm):
    """The arm of a running stack; each method returns when it is done.

    Args:
        namespace: namespace of the stack.
        find_timeout: s; how long to look for the stack, and for each of its services.

    Raises:
        ArmError: no stack was found; LINK_DOWN.

    An exception that ends the wait for a motion (Ctrl-C, a `timeout`, one from `on_progress`) cancels the motion first:
    the arm decelerates along its path, then the exception is raised. Other threads may call methods meanwhile, such as
    `pause`. For use as a context manager, or with `close`.
    """

    def __init__(self, namespace: str = "", find_timeout: float = FIND_TIMEOUT_S) -> None:
        super().__init__(namespace, find_timeout)
        try:
            self._connection.client.submit(self._connection.find).result()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Arm":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; a motion that another thread waits for goes on in the stack."""
        self._disconnect()

    def wait_until_ready(self, timeout: float = _READY_TIMEOUT_S) -> None:
        """Wait until the arm is idle, without a fault, and reports its joints.

        Raises:
            ArmError: it is not in time; TIMEOUT, with its last state.
        """
        self._connection.client.submit(self._connection.become_ready, timeout).result()

    solve_ik = _blocking(arm_calls.solve_ik)
    solve_fk = _blocking(arm_calls.solve_fk)
    move_to = _blocking(arm_calls.move_to)
    move_joints = _blocking(arm_calls.move_joints)
    pick_place = _blocking(arm_calls.pick_place)
    draw_line = _blocking(draw_calls.draw_line)
    draw_circle = _blocking(draw_calls.draw_circle)
    draw_rectangle = _blocking(draw_calls.draw_rectangle)
    draw_triangle = _blocking(draw_calls.draw_triangle)
    draw_polyline = _blocking(draw_calls.draw_polyline)
    home = _blocking(arm_calls.home)
    open_gripper = _blocking(arm_calls.open_gripper)
    close_gripper = _blocking(arm_calls.close_gripper)
    pause = _blocking(arm_calls.pause)
    resume = _blocking(arm_calls.resume)
    stop = _blocking(arm_calls.stop)
    emergency_stop = _blocking(arm_calls.emergency_stop)
    reset_fault = _blocking(arm_calls.reset_fault)
    set_speed = _blocking(arm_calls.set_speed)

    def _carry_out(self, call: Call[_T]) -> _T:
        try:
            if isinstance(call, Request):
                return self._connection.client.submit(call.perform, self._connection.client).result()
            assert isinstance(call, Motion)
            return self._move(call)
        except ArmError:
            raise
        except StackError as error:
            raise ArmError(str(error), error.code) from error

    def _move(self, motion: Motion[_T]) -> _T:
        client = self._connection.client
        told: queue.SimpleQueue[Any] = queue.SimpleQueue()
        deadline = _deadline(motion)
        goal = client.begin(motion.action_type, motion.name, motion.goal, told.put)
        goal.result.add_done_callback(lambda _: told.put(_END))
        message: Any = None
        try:
            while message is not _END:
                try:
                    message = told.get(timeout=_left(deadline))
                except queue.Empty:
                    break
                if message is not _END:
                    _tell(motion, message)
        except BaseException:
            self._cancel(goal)
            raise
        if message is _END:
            return _read(motion, goal)
        self._cancel(goal)
        return _read_cancelled(motion, goal)

    def _cancel(self, goal: RunningGoal) -> None:
        goal.request_cancel()
        wait([goal.result], timeout=CANCEL_TIMEOUT_S)


class AsyncArm(_Arm):
    """The arm of a running stack for asyncio: as `Arm`, with methods to await; several may be awaited at once.

    Args:
        namespace: namespace of the stack.
        find_timeout: s; how long to look for the stack, and for each of its services.

    Raises:
        ArmError: at the start of the `async with` block, no stack was found; LINK_DOWN.

    Cancelling the task that awaits a motion cancels the motion: the arm decelerates along its path, then CancelledError
    goes on, so that `asyncio.timeout` and task groups do what one expects. `on_progress` is called by the same task.
    """

    async def __aenter__(self) -> "AsyncArm":
        try:
            await asyncio.wrap_future(self._connection.client.submit(self._connection.find))
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connection."""
        await asyncio.to_thread(self._disconnect)

    async def wait_until_ready(self, timeout: float = _READY_TIMEOUT_S) -> None:
        """Wait until the arm is idle, without a fault, and reports its joints.

        Raises:
            ArmError: it is not in time; TIMEOUT, with its last state.
        """
        await asyncio.wrap_future(self._connection.client.submit(self._connection.become_ready, timeout))

    solve_ik = _awaitable(arm_calls.solve_ik)
    solve_fk = _awaitable(arm_calls.solve_fk)
    move_to = _awaitable(arm_calls.move_to)
    move_joints = _awaitable(arm_calls.move_joints)
    pick_place = _awaitable(arm_calls.pick_place)
    draw_line = _awaitable(draw_calls.draw_line)
    draw_circle = _awaitable(draw_calls.draw_circle)
    draw_rectangle = _awaitable(draw_calls.draw_rectangle)
    draw_triangle = _awaitable(draw_calls.draw_triangle)
    draw_polyline = _awaitable(draw_calls.draw_polyline)
    home = _awaitable(arm_calls.home)
    open_gripper = _awaitable(arm_calls.open_gripper)
    close_gripper = _awaitable(arm_calls.close_gripper)
    pause = _awaitable(arm_calls.pause)
    resume = _awaitable(arm_calls.resume)
    stop = _awaitable(arm_calls.stop)
    emergency_stop = _awaitable(arm_calls.emergency_stop)
    reset_fault = _awaitable(arm_calls.reset_fault)
    set_speed = _awaitable(arm_calls.set_speed)

    async def _carry_out(self, call: Call[_T]) -> _T:
        try:
            if isinstance(call, Request):
                return await asyncio.wrap_future(self._connection.client.submit(call.perform, self._connection.client))
            assert isinstance(call, Motion)
            return await self._move(call)
        except ArmError:
            raise
        except StackError as error:
            raise ArmError(str(error), error.code) from error

    async def _move(self, motion: Motion[_T]) -> _T:
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Any] = asyncio.Queue()

        def post(message: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(told.put_nowait, message)

        deadline = _deadline(motion)
        goal = self._connection.client.begin(motion.action_type, motion.name, motion.goal, post)
        goal.result.add_done_callback(lambda _: post(_END))
        message: Any = None
        try:
            while message is not _END:
                try:
                    message = await asyncio.wait_for(told.get(), _left(deadline))
                except TimeoutError:
                    break
                if message is not _END:
                    _tell(motion, message)
        except BaseException:
            await self._cancel(goal, told)
            raise
        if message is _END:
            return _read(motion, goal)
        await self._cancel(goal, told)
        return _read_cancelled(motion, goal)

    async def _cancel(self, goal: RunningGoal, told: "asyncio.Queue[Any]") -> None:
        goal.request_cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_TIMEOUT_S):
                while await told.get() is not _END:
                    pass


def _deadline(motion: Motion[Any]) -> float | None:
    return None if motion.timeout is None else time.monotonic() + motion.timeout


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _tell(motion: Motion[Any], feedback: Any) -> None:
    if motion.on_progress is not None:
        motion.on_progress(motion.read_progress(feedback))


def _read(motion: Motion[_T], goal: RunningGoal) -> _T:
    message = goal.result.result()
    result = motion.read(message)
    checked(message, result)
    return result


def _read_cancelled(motion: Motion[_T], goal: RunningGoal) -> _T:
    """Give what a motion whose time was over has come to; it may have ended well just then."""
    late = f"{motion.name} did not end within {motion.timeout:g} s and was cancelled"
    if not goal.done():
        raise ArmError(f"{late}, but has not ended {CANCEL_TIMEOUT_S:g} s later; call stop", ErrorCode.TIMEOUT)
    message = goal.result.result()
    if message.error_code == ErrorCode.CANCELED:
        raise ArmError(f"{late}: {message.message}", ErrorCode.TIMEOUT, motion.read(message))
    return _read(motion, goal)
