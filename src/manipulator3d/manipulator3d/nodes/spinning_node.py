# SPDX-License-Identifier: Apache-2.0
"""A ROS node that spins in a thread of its own, beside any other use of ROS in the same program."""

import os
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future as ThreadFuture
from types import TracebackType
from typing import Any, TypeVar

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future

from manipulator3d.stack_error import StackError

_Self = TypeVar("_Self", bound="SpinningNode")
_T = TypeVar("_T")
_SPIN_S = 0.25
_LOOK_S = 0.05


class SpinningNode:
    """A node with a context, an executor and a thread of its own, for use as a context manager.

    Requests are coroutines that run in that thread: rclpy's action client may be used nowhere else. Any thread may hand
    one over by `submit` and wait for its future, so that Ctrl-C meets the waiting thread alone.

    Args:
        namespace: namespace of the node.
        name: the node's name before the process's number.
    """

    def __init__(self, namespace: str = "", name: str = "manipulator3d_client") -> None:
        self._context = Context()
        # the logging of a process belongs to the program that uses this; it may have set it up already
        self._context.init(args=[], initialize_logging=False)
        self.node = rclpy.create_node(
            f"{name}_{os.getpid()}",
            namespace=namespace.strip("/"),
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._turn = threading.Condition()
        self._closing = False
        self._failure: Exception | None = None
        self._open: set[ThreadFuture[Any]] = set()
        self._thread = threading.Thread(target=self._spin, name=self.node.get_name(), daemon=True)
        self._thread.start()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph in order; a client that only dies can cost the next one its first call."""
        if self._closing:
            return
        self._closing = True
        self._executor.wake()
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
        for future in list(self._open):
            future.set_exception(StackError("the connection to the stack was closed before the answer came"))

    def submit(self, request: Callable[..., Coroutine[Any, Any, _T]], *arguments: Any) -> "ThreadFuture[_T]":
        """Start a coroutine function in the node's thread; its result or exception arrives in the returned future.

        Raises:
            StackError: the node is closed.
        """
        if self._closing:
            raise StackError("the connection to the stack is closed; open a new one")
        answer: ThreadFuture[_T] = ThreadFuture()
        # from now on nobody can cancel the future itself
        answer.set_running_or_notify_cancel()
        self._open.add(answer)
        answer.add_done_callback(self._open.discard)

        async def run() -> None:
            try:
                result = await request(*arguments)
            except Exception as error:
                answer.set_exception(error)
            else:
                answer.set_result(result)

        self._executor.create_task(run)
        return answer

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closing

    def run(self, work: Callable[[], _T]) -> _T:
        """Do something in the node's thread and return its result."""

        async def request() -> _T:
            return work()

        return self.submit(request).result()

    def spin_until(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        """Wait until a condition holds, looking after all that arrives, or until the time is over.

        Returns:
            Whether it holds.

        Raises:
            Exception: what a callback of the node raised meanwhile.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._turn:
            while True:
                self._raise_failure()
                if condition():
                    return True
                left = _LOOK_S if deadline is None else min(deadline - time.monotonic(), _LOOK_S)
                if left <= 0.0:
                    return False
                self._turn.wait(left)

    def finish(self, future: Future) -> Any:
        """Wait for a future of this node and return its result."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_SPIN_S):
            self._raise_failure()
        error = future.exception()
        if error is not None:
            raise error
        return future.result()

    async def sleep(self, seconds: float) -> None:
        """Let time pass in a coroutine; by the steady clock."""
        await self.within(Future(executor=self._executor), seconds)

    async def within(self, future: Future, seconds: float) -> bool:
        """Wait for a future in a coroutine; tells whether it is done in time."""
        woken: Future = Future(executor=self._executor)

        def wake(_future: Future | None = None) -> None:
            if not woken.done():
                woken.set_result(None)

        timer = self.node.create_timer(seconds, wake, clock=self._clock)
        future.add_done_callback(wake)
        try:
            await woken
        finally:
            self.node.destroy_timer(timer)
        return future.done()

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait for a condition in a coroutine; tells whether it holds in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            await self.sleep(_LOOK_S)
        return True

    def _spin(self) -> None:
        while not self._closing:
            try:
                self._executor.spin_once(timeout_sec=_SPIN_S)
            except Exception as error:
                self._failure = error
            with self._turn:
                self._turn.notify_all()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
