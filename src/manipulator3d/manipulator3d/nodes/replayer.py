# SPDX-License-Identifier: Apache-2.0
"""Publishes a record again, for viewers alone: nothing may move by it."""

import time
from typing import Any

import yaml
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.time import Time

from manipulator3d.nodes.running_stack import names_in
from manipulator3d.nodes.topic_recorder import installed_definition, message_type
from manipulator3d.records.message_definition import without_comments
from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_reader import RecordedMessage, RecordedTopic

# what drives an arm, or belongs to goals that are over, is not published again
_NOT_REPLAYED = ("joint_commands", "speed_scale", "jog_twist", "jog_joints")
# nodes that act on what they hear, or that speak for a real arm
_ACTING = ("motion_server", "bridge_node", "arm_simulator")
# several publishers with latched messages of their own become one
_LATCHED_DEPTH, _DEPTH = 20, 100


class Replayer:
    """Publishes recorded messages, with their stamps moved to the present.

    Args:
        node: publishes.
        topics: of the record.

    Raises:
        RecordError: a recorded type is not installed, or has other fields than the installed one.
    """

    def __init__(self, node: Node, topics: list[RecordedTopic]) -> None:
        self._node = node
        self._publishers: dict[str, tuple[Any, Publisher]] = {}
        for topic in topics:
            if is_replayed(topic.name):
                kind = _installed_type(topic)
                self._publishers[topic.name] = (kind, node.create_publisher(kind, topic.name, _profile(topic)))

    def publish(self, message: RecordedMessage) -> None:
        """Publish one message now; its stamps move by the time since it was recorded."""
        if message.topic.name not in self._publishers:
            return
        kind, publisher = self._publishers[message.topic.name]
        content = deserialize_message(message.data, kind)
        shift = time.time_ns() - message.log_time
        for header in _headers(content):
            stamp = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
            # a marker without a stamp goes with its frame
            if stamp:
                header.stamp = Time(nanoseconds=stamp + shift).to_msg()
        publisher.publish(content)

    def intruder(self) -> str | None:
        """Tell who takes part in the arm's topics besides this replay, None where nobody does."""
        own = self._node.get_name()
        for name, (_, publisher) in self._publishers.items():
            if self._node.count_publishers(name) > 1:
                found = {info.node_name for info in self._node.get_publishers_info_by_topic(name)} - {own}
                return f"{publisher.topic_name} is published by {' and '.join(sorted(found)) or 'somebody else'}, too"
        for namespace in {name.rpartition("/")[0] or "/" for name in self._publishers}:
            for name in names_in(self._node, namespace):
                if name in _ACTING:
                    return f"{name} is running in namespace {namespace}"
        return None


def is_replayed(topic: str) -> bool:
    """Whether a topic is published again."""
    return topic.rpartition("/")[2] not in _NOT_REPLAYED and "/_action/" not in topic


def _installed_type(topic: RecordedTopic) -> Any:
    try:
        definition = installed_definition(topic.type_name)
    except LookupError as error:
        raise RecordError(f"topic {topic.name} is of type {topic.type_name}: {error}") from error
    if without_comments(definition) != without_comments(topic.definition):
        raise RecordError(
            f"topic {topic.name}: type {topic.type_name} had other fields when it was recorded; replay it with the "
            "version that recorded it"
        )
    return message_type(topic.type_name)


def _profile(topic: RecordedTopic) -> QoSProfile:
    offered = yaml.safe_load(topic.offered_qos) or []
    if any(profile["durability"] == "transient_local" for profile in offered):
        return QoSProfile(depth=_LATCHED_DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return QoSProfile(depth=_DEPTH)


def _headers(content: Any) -> list[Any]:
    """List the headers in a message of the arm's topics: its own, or those of its transforms or markers."""
    if hasattr(content, "header"):
        return [content.header]
    for field in ("transforms", "markers"):
        if hasattr(content, field):
            return [part.header for part in getattr(content, field)]
    return []
