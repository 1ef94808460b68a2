# SPDX-License-Identifier: Apache-2.0
"""Asks a running stack through its services, actions and topics."""

import os
import time
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from manipulator3d.stack_error import StackError

FIND_TIMEOUT_S = 10.0
_ANSWER_TIMEOUT_S = 5.0
_ATTEMPTS = 3
_CANCEL_TIMEOUT_S = 10.0
_SPIN_S = 0.05


class StackClient:
    """A ROS node that asks one stack, for use as a context manager.

    Args:
        namespace: namespace of the stack.
        find_timeout_s: how long to look for a service or action.
    """

    def __init__(self, namespace: str = "", find_timeout_s: float = FIND_TIMEOUT_S) -> None:
        self._context = Context()
        rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        name = f"manipulator3d_client_{os.getpid()}"
        self.node = rclpy.create_node(
            name,
            namespace=namespace.strip("/"),
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._find_timeout_s = find_timeout_s

    def __enter__(self) -> "StackClient":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph in order; a client that only dies can cost the next one its first call."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def call(self, service_type: Any, name: str, request: Any) -> Any:
        """Call a service that may be called twice, and return its response.

        A server drops an answer whose reader it has not discovered yet; the call is repeated then.

        Raises:
            StackError: no such service, or no answer.
        """
        client: Any = self.node.create_client(service_type, name)
        self._find(client.service_is_ready, f"service {client.srv_name}")
        for _ in range(_ATTEMPTS):
            future = client.call_async(request)
            if self.spin_until(future.done, _ANSWER_TIMEOUT_S):
                return _result(future)
            client.remove_pending_request(future)
        raise StackError(
            f"service {client.srv_name} was found but gave no answer in {_ATTEMPTS} tries of {_ANSWER_TIMEOUT_S:g} s; "
            "is its node stuck? Look at the stack's output"
        )

    def send_goal(
        self, action_type: Any, name: str, goal: Any, on_feedback: Callable[[Any], None] | None = None
    ) -> "RunningGoal":
        """Send a goal and wait for its acceptance.

        Raises:
            StackError: no such action, or no answer.
        """
        client: Any = ActionClient(self.node, action_type, name)
        self._find(client.server_is_ready, f"action {name}")
        goal_id = UUID(uuid=list(uuid.uuid4().bytes))

        def forward(message: Any) -> None:
            if on_feedback is not None:
                on_feedback(message.feedback)

        for _ in range(_ATTEMPTS):
            future = client.send_goal_async(goal, feedback_callback=forward, goal_uuid=goal_id)
            if self.spin_until(future.done, _ANSWER_TIMEOUT_S):
                # The servers accept every goal and abort what they refuse, so that the result carries the reason; a
                # goal that is rejected is the repetition of one whose acceptance got lost.
                return RunningGoal(self, _result(future))
        raise StackError(
            f"action {name} was found but did not accept the goal in {_ATTEMPTS} tries of {_ANSWER_TIMEOUT_S:g} s; "
            "is its node stuck? Look at the stack's output"
        )

    def receive(
        self, message_type: Any, topic: str, qos: QoSProfile | int = 10, timeout_s: float = FIND_TIMEOUT_S
    ) -> Any:
        """Return the next message of a topic.

        Raises:
            StackError: none came in time.
        """
        received: list[Any] = []
        subscription = self.node.create_subscription(message_type, topic, received.append, qos)
        arrived = self.spin_until(lambda: bool(received), timeout_s)
        self.node.destroy_subscription(subscription)
        if not arrived:
            raise self._not_found(f"a message on topic {subscription.topic_name}", timeout_s)
        return received[0]

    def spin_until(self, condition: Callable[[], bool], timeout_s: float | None) -> bool:
        """Handle what arrives until a condition holds or the time is over; returns whether it holds."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not condition():
            if deadline is not None and time.monotonic() > deadline:
                return False
            self._executor.spin_once(timeout_sec=_SPIN_S)
        return True

    def finish(self, future: Future) -> Any:
        """Handle what arrives until a future is done, at its very moment, and return its result."""
        self._executor.spin_until_future_complete(future)
        return _result(future)

    def _find(self, is_ready: Callable[[], bool], what: str) -> None:
        if not self.spin_until(is_ready, self._find_timeout_s):
            raise self._not_found(what, self._find_timeout_s)

    def _not_found(self, what: str, waited_s: float) -> StackError:
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        return StackError(
            f"{what} was not found within {waited_s:g} s in ROS domain {domain}; start the stack with "
            "./manipulator3d up (or give its --namespace)"
        )


class RunningGoal:
    """An accepted goal."""

    def __init__(self, client: StackClient, handle: ClientGoalHandle) -> None:
        self._client = client
        self._handle = handle
        self._result: Future = handle.get_result_async()

    def wait(self, timeout_s: float | None = None) -> Any:
        """Return the result message.

        Raises:
            StackError: none came in time.
        """
        if not self._client.spin_until(self._result.done, timeout_s):
            raise StackError(f"the goal has no result after {timeout_s:g} s")
        return _result(self._result).result

    def done(self) -> bool:
        """Whether the result is there."""
        return self._result.done()

    def cancel(self) -> Any:
        """Cancel the goal and return its result.

        Raises:
            StackError: the goal did not end.
        """
        self._handle.cancel_goal_async()
        return self.wait(_CANCEL_TIMEOUT_S)


def _result(future: Future) -> Any:
    error = future.exception()
    if error is not None:
        raise error
    return future.result()
