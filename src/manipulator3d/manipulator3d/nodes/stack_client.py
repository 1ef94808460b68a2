# SPDX-License-Identifier: Apache-2.0
"""Asks a running stack through its services, actions and topics."""

import os
import uuid
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from typing import Any

from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.qos import QoSProfile
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from manipulator3d.nodes.spinning_node import SpinningNode
from manipulator3d.stack_error import StackError
from manipulator3d_node.error_code import ErrorCode

FIND_TIMEOUT_S = 10.0
# a lost first answer shall not cost much, a slow node shall not be given up early
_ANSWER_TIMEOUTS_S = (1.0, 4.0, 10.0)
CANCEL_TIMEOUT_S = 10.0
_WATCH_S = 1.0
_GONE_AFTER = 3


class StackClient(SpinningNode):
    """A ROS node that asks one stack, for use as a context manager.

    Args:
        namespace: namespace of the stack.
        find_timeout_s: how long to look for a service or action.
    """

    def __init__(self, namespace: str = "", find_timeout_s: float = FIND_TIMEOUT_S) -> None:
        super().__init__(namespace)
        self._find_timeout_s = find_timeout_s
        self._clients: dict[str, Any] = {}

    def call(self, service_type: Any, name: str, request: Any) -> Any:
        """Call a service that may be called twice, and return its response.

        Raises:
            StackError: no such service, or no answer.
        """
        return self.submit(self.ask, service_type, name, request).result()

    def send_goal(
        self, action_type: Any, name: str, goal: Any, on_feedback: Callable[[Any], None] | None = None
    ) -> "RunningGoal":
        """Send a goal and wait for its acceptance.

        Args:
            action_type, name: of the action.
            goal: the goal.
            on_feedback: called in the node's thread.

        Raises:
            StackError: no such action, or no answer.
        """
        running = self.begin(action_type, name, goal, on_feedback)
        running.accepted.result()
        return running

    def begin(
        self, action_type: Any, name: str, goal: Any, on_feedback: Callable[[Any], None] | None = None
    ) -> "RunningGoal":
        """Do as `send_goal` without waiting; the errors arrive by the goal's `result`."""
        return RunningGoal(self, action_type, name, goal, on_feedback)

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
            raise self.not_found(f"a message on topic {subscription.topic_name}", timeout_s)
        return received[0]

    async def ask(self, service_type: Any, name: str, request: Any) -> Any:
        """Do as `call`, in the node's thread.

        A server drops an answer whose reader it has not discovered yet; the call is repeated then.
        """
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(service_type, name)
        what = f"service {self.node.resolve_service_name(name)}"
        await self._find(client.service_is_ready, what)
        for limit in _ANSWER_TIMEOUTS_S:
            future = client.call_async(request)
            if await self.within(future, limit):
                return future.result()
            client.remove_pending_request(future)
        raise self._no_answer(f"{what} was found but gave no answer")

    async def start_goal(
        self, action_type: Any, name: str, goal: Any, on_feedback: Callable[[Any], None] | None
    ) -> tuple[Any, Callable[[], bool]]:
        """Send a goal, in the node's thread; gives its handle, and what tells whether the action is still served."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = ActionClient(self.node, action_type, name)
        what = f"action {self.node.resolve_topic_name(name)}"
        await self._find(client.server_is_ready, what)
        goal_id = UUID(uuid=list(uuid.uuid4().bytes))

        def forward(message: Any) -> None:
            if on_feedback is not None:
                on_feedback(message.feedback)

        for limit in _ANSWER_TIMEOUTS_S:
            future = client.send_goal_async(goal, feedback_callback=forward, goal_uuid=goal_id)
            if await self.within(future, limit):
                # The servers accept every goal and abort what they refuse, so that the result carries the reason; a
                # goal that is rejected is the repetition of one whose acceptance got lost.
                return future.result(), client.server_is_ready
        raise self._no_answer(f"{what} was found but did not accept the goal")

    async def publish(self, message_type: Any, topic: str, message: Any) -> None:
        """Publish one message, in the node's thread, when somebody listens.

        Raises:
            StackError: nobody does.
        """
        publisher = self._clients.get(topic)
        if publisher is None:
            publisher = self._clients[topic] = self.node.create_publisher(message_type, topic, 10)
        await self._find(
            lambda: publisher.get_subscription_count() > 0, f"a subscriber of topic {publisher.topic_name}"
        )
        publisher.publish(message)

    async def _find(self, is_ready: Callable[[], bool], what: str) -> None:
        if not await self.until(is_ready, self._find_timeout_s):
            raise self.not_found(what, self._find_timeout_s)

    def not_found(self, what: str, waited_s: float) -> StackError:
        """Give the error for something of the stack that is not there."""
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        return StackError(
            f"{what} was not found within {waited_s:g} s in ROS domain {domain}; start the stack with "
            "./manipulator3d up (or give its --namespace)",
            ErrorCode.LINK_DOWN,
        )

    def _no_answer(self, what: str) -> StackError:
        tried = f"{len(_ANSWER_TIMEOUTS_S)} tries within {sum(_ANSWER_TIMEOUTS_S):g} s"
        return StackError(f"{what} in {tried}; is its node stuck? Look at the stack's output", ErrorCode.TIMEOUT)


class RunningGoal:
    """A goal from its sending to its result.

    Args:
        client: sends it.
        action_type, name: of the action.
        goal: the goal.
        on_feedback: called in the client's thread.

    Attributes:
        accepted: done when the goal is accepted.
        result: becomes the result message; a StackError when the goal was not accepted, or its server went away.
    """

    def __init__(
        self, client: StackClient, action_type: Any, name: str, goal: Any, on_feedback: Callable[[Any], None] | None
    ) -> None:
        self._client = client
        self._name = name
        self._cancel_wanted = False
        self._handle: ClientGoalHandle | None = None
        self.accepted: ThreadFuture[None] = ThreadFuture()
        self.result: ThreadFuture[Any] = client.submit(self._run, action_type, goal, on_feedback)
        self.result.add_done_callback(self._end_acceptance)

    def wait(self, timeout_s: float | None = None) -> Any:
        """Return the result message.

        Raises:
            StackError: none came in time, or the server went away.
        """
        try:
            return self.result.result(timeout_s)
        except TimeoutError:
            raise StackError(
                f"the goal on {self._name} has no result after {timeout_s:g} s", ErrorCode.TIMEOUT
            ) from None

    def done(self) -> bool:
        """Whether the result is there."""
        return self.result.done()

    def request_cancel(self) -> None:
        """Ask for the end of the goal, also before it is accepted; its result follows when the arm is at rest."""
        self._client.submit(self._cancel)

    def cancel(self) -> Any:
        """Cancel the goal and return its result.

        Raises:
            StackError: the goal did not end.
        """
        self.request_cancel()
        return self.wait(CANCEL_TIMEOUT_S)

    async def _cancel(self) -> None:
        self._cancel_wanted = True
        if self._handle is not None:
            self._handle.cancel_goal_async()

    async def _run(self, action_type: Any, goal: Any, on_feedback: Callable[[Any], None] | None) -> Any:
        handle, is_served = await self._client.start_goal(action_type, self._name, goal, on_feedback)
        self._handle = handle
        if self._cancel_wanted:
            handle.cancel_goal_async()
        self.accepted.set_result(None)
        future: Future = handle.get_result_async()
        missing = 0
        while not await self._client.within(future, _WATCH_S):
            missing = 0 if is_served() else missing + 1
            if missing == _GONE_AFTER:
                raise StackError(
                    f"the server of action {self._name} went away while its goal was running, so the outcome is not "
                    "known; look at the stack's output and start it again",
                    ErrorCode.LINK_DOWN,
                )
        answer: Any = future.result()
        return answer.result

    def _end_acceptance(self, result: "ThreadFuture[Any]") -> None:
        if not self.accepted.done():
            self.accepted.set_exception(result.exception())
