# SPDX-License-Identifier: Apache-2.0
"""Reads a fast stream at one's own pace: what arrives does not wake the executor, the newest is there when wanted."""

from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy


class NewestMessage:
    """A subscription that is asked for its newest message instead of calling back.

    Must be made, used and destroyed in the thread that spins the node.
    """

    def __init__(self, node: Node, kind: type, topic: str) -> None:
        self._node = node
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription = node.create_subscription(kind, topic, _never_called, newest, callback_group=_NeverReady())

    def take(self) -> Any | None:
        """Give the newest message since the last call; None when none came."""
        handle = self._subscription.handle
        with handle:
            taken = handle.take_message(self._subscription.msg_type, False)
        return None if taken is None else taken[0]

    def destroy(self) -> None:
        """End the subscription."""
        self._node.destroy_subscription(self._subscription)


class _NeverReady(MutuallyExclusiveCallbackGroup):
    """Keeps the executor from waiting for what is in the group: each of its rounds costs about a millisecond."""

    def can_execute(self, _entity: Any) -> bool:
        return False


def _never_called(_message: Any) -> None:
    raise AssertionError("a polled subscription was called back")
