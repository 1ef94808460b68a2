# SPDX-License-Identifier: Apache-2.0
"""Reads a fast stream at one's own pace: what arrives does not wake the executor, it is there when wanted."""

from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile


class PolledTopic:
    """A subscription that is asked for what came instead of calling back.

    Must be made and destroyed in the thread that spins the node, and not asked meanwhile; else any thread may ask.

    Args:
        profile: its depth is the number of messages kept between two calls.
        raw: give messages as CDR.
    """

    def __init__(self, node: Node, kind: type, topic: str, profile: QoSProfile, raw: bool = False) -> None:
        self._node = node
        self._raw = raw
        self._subscription = node.create_subscription(
            kind, topic, _never_called, profile, callback_group=_NeverReady(), raw=raw
        )

    @property
    def name(self) -> str:
        """The topic's full name."""
        return self._subscription.topic_name

    def take(self) -> list[Any]:
        """Give what came since the last call, oldest first."""
        return [message for message, _ in self.take_with_times()]

    def take_with_times(self) -> list[tuple[Any, dict[str, int]]]:
        """Do as `take`, each message with its source_timestamp and received_timestamp, ns since 1970."""
        handle = self._subscription.handle
        messages = []
        with handle:
            while (taken := handle.take_message(self._subscription.msg_type, self._raw)) is not None:
                messages.append(taken)
        return messages

    def destroy(self) -> None:
        """End the subscription."""
        self._node.destroy_subscription(self._subscription)


class _NeverReady(MutuallyExclusiveCallbackGroup):
    """Keeps the executor from waiting for what is in the group: each of its rounds costs about a millisecond."""

    def can_execute(self, _entity: Any) -> bool:
        return False


def _never_called(_message: Any) -> None:
    raise AssertionError("a polled subscription was called back")
