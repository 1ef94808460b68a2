# SPDX-License-Identifier: Apache-2.0
"""Follows the arm's topics and hands their messages, as they came over the wire, to a record."""

import importlib
from collections.abc import Callable
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from manipulator3d.records.message_definition import message_definition
from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_writer import RecordWriter
from manipulator3d_node.nodes.polled_topic import PolledTopic

TOPICS = (
    *("joint_states", "joint_commands", "arm_status", "hardware_status", "diagnostics", "markers"),
    *("robot_description", "speed_scale", "jog_twist", "jog_joints"),
)
# tf2 knows these names alone, whatever the namespace
TRANSFORMS = ("/tf", "/tf_static")
_ACTION_TOPICS = ("/_action/feedback", "/_action/status")
_LOOK_S, _TAKE_S, _FLUSH_S = 0.5, 0.1, 0.5
# longer than what arrives while the computer is held up for some seconds
_DEPTH = 2000


class TopicRecorder:
    """Records the topics of one arm as soon as somebody publishes them.

    Args:
        node: subscribes; its namespace is the arm's.
        writer: takes the messages.
        tell: takes a sentence on what went wrong.

    Attributes:
        failure: why nothing is recorded any more; None while all is well.
    """

    def __init__(self, node: Node, writer: RecordWriter, tell: Callable[[str], None]) -> None:
        self._node = node
        self._writer = writer
        self._tell = tell
        self._prefix = node.get_namespace().rstrip("/")
        self._followed: dict[str, tuple[int, PolledTopic]] = {}
        self._refused: set[str] = set()
        self.failure: str | None = None
        for period, work in ((_LOOK_S, self._look), (_TAKE_S, self._take), (_FLUSH_S, self._flush)):
            node.create_timer(period, work)

    @property
    def topics(self) -> list[str]:
        """The topics that have been found."""
        return sorted(self._followed)

    def finish(self) -> None:
        """Take what has come until now; to be called in the thread that spins the node, or after its end."""
        self._take()

    def _look(self) -> None:
        for name, types in self._node.get_topic_names_and_types():
            if name in self._followed or name in self._refused or not belongs_to_arm(name, self._prefix):
                continue
            publishers = self._node.get_publishers_info_by_topic(name)
            if not publishers:
                continue
            if len(types) != 1:
                self._refuse(name, f"is published as {' and as '.join(types)}")
                continue
            self._follow(name, types[0], publishers)

    def _follow(self, name: str, type_name: str, publishers: list[TopicEndpointInfo]) -> None:
        try:
            kind = message_type(type_name)
            definition = installed_definition(type_name)
        except (LookupError, ImportError, AttributeError) as error:
            self._refuse(name, f"is of type {type_name}: {error}")
            return
        qos = "".join(_qos_text(publisher.qos_profile) for publisher in publishers)
        try:
            channel = self._writer.add_topic(name, type_name, definition, qos, _hash_text(publishers[0]))
        except RecordError as error:
            self._fail(error)
            return
        topic = PolledTopic(self._node, kind, name, _fitting(publishers), raw=True)
        self._followed[name] = (channel, topic)

    def _take(self) -> None:
        if self.failure is not None:
            return
        taken = [
            (times["received_timestamp"], times["source_timestamp"], channel, data)
            for channel, topic in self._followed.values()
            for data, times in topic.take_with_times()
        ]
        # in the order of their arrival, over all topics
        taken.sort(key=lambda one: one[0])
        try:
            for received, published, channel, data in taken:
                self._writer.write(channel, received, published, data)
        except RecordError as error:
            self._fail(error)

    def _flush(self) -> None:
        if self.failure is not None:
            return
        try:
            self._writer.flush()
        except RecordError as error:
            self._fail(error)

    def _fail(self, error: RecordError) -> None:
        if self.failure is None:
            self.failure = str(error)
            self._writer.abandon()
            self._tell(self.failure)

    def _refuse(self, name: str, reason: str) -> None:
        self._refused.add(name)
        self._tell(f"topic {name} is not recorded: it {reason}")


def belongs_to_arm(topic: str, namespace: str) -> bool:
    """Whether a topic is one of those recorded of the arm in a namespace.

    Args:
        topic: full name.
        namespace: without a slash at its end, empty for the root; the arms below it are others.
    """
    if topic in TRANSFORMS:
        return True
    if not topic.startswith(f"{namespace}/"):
        return False
    own = topic.removeprefix(f"{namespace}/")
    for ending in _ACTION_TOPICS:
        if own.endswith(ending):
            return "/" not in own.removesuffix(ending).removeprefix("arm_controller/")
    return own in TOPICS


def _fitting(publishers: list[TopicEndpointInfo]) -> QoSProfile:
    """Ask for what all present publishers offer."""
    offered = [publisher.qos_profile for publisher in publishers]
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
    latched = all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)
    return QoSProfile(
        depth=_DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def installed_definition(type_name: str) -> str:
    """Give the installed definition of a type with all that is in it.

    Raises:
        LookupError: a part is not installed.
    """
    return message_definition(type_name, _share_folder)


def message_type(type_name: str) -> Any:
    """Give the class of a type such as sensor_msgs/msg/JointState, or of an action's feedback.

    Raises:
        ImportError, AttributeError: it is not installed.
    """
    package, kind, name = type_name.split("/")
    module = importlib.import_module(f"{package}.{kind}")
    if kind == "action":
        return getattr(module, name.removesuffix("_FeedbackMessage")).Impl.FeedbackMessage
    return getattr(module, name)


def _share_folder(package: str) -> str:
    try:
        return get_package_share_directory(package)
    except PackageNotFoundError as error:
        raise LookupError(f"package {package} is not installed") from error


def _qos_text(profile: QoSProfile) -> str:
    """Write a profile as rosbag2 does, as one entry of a YAML list."""
    entry = {
        "history": profile.history.name.lower(),
        "depth": profile.depth,
        "reliability": profile.reliability.name.lower(),
        "durability": profile.durability.name.lower(),
        "deadline": _duration(profile.deadline),
        "lifespan": _duration(profile.lifespan),
        "liveliness": profile.liveliness.name.lower(),
        "liveliness_lease_duration": _duration(profile.liveliness_lease_duration),
        "avoid_ros_namespace_conventions": profile.avoid_ros_namespace_conventions,
    }
    return yaml.safe_dump([entry], sort_keys=False)


def _duration(duration: Duration) -> dict[str, int]:
    seconds, nanoseconds = divmod(duration.nanoseconds, 1_000_000_000)
    return {"sec": seconds, "nsec": nanoseconds}


def _hash_text(publisher: TopicEndpointInfo) -> str:
    """REP 2011's text of a type hash; older installations of ROS 2 tell none."""
    type_hash = getattr(publisher, "topic_type_hash", None)
    return "" if type_hash is None else str(type_hash)
