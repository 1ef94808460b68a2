# SPDX-License-Identifier: Apache-2.0
"""Reads a record, also one whose writer was killed."""

import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import zstandard
from mcap.exceptions import InvalidMagic, McapError
from mcap.records import Channel, Footer, Message, Schema
from mcap.stream_reader import StreamReader
from mcap_ros2.decoder import DecoderFactory

from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_writer import RecordWriter

_DAMAGE = (McapError, struct.error, ValueError, zstandard.ZstdError)


@dataclass(frozen=True)
class RecordedTopic:
    """What a record says of one of its topics.

    Attributes:
        name: full name.
        type_name: such as sensor_msgs/msg/JointState.
        definition: ros2msg text.
        offered_qos: YAML, as rosbag2 writes it.
        type_hash: empty where it is not known.
        decode: turns CDR into an object with the fields of the message.
    """

    name: str
    type_name: str
    definition: str
    offered_qos: str
    type_hash: str
    decode: Callable[[bytes], Any]


@dataclass(frozen=True)
class RecordedMessage:
    """One message: its topic, the times of reception and publication in ns since 1970, and CDR."""

    topic: RecordedTopic
    log_time: int
    publish_time: int
    data: bytes


@dataclass(frozen=True)
class RecordOutline:
    """What is in a record.

    Attributes:
        topics: with their types.
        counts: messages of each topic, in the same order.
        start, end: ns since 1970; reception of the first and the last message.
    """

    topics: list[RecordedTopic]
    counts: list[int]
    start: int
    end: int

    @property
    def messages(self) -> int:
        """Number of messages."""
        return sum(self.counts)

    @property
    def seconds(self) -> float:
        """Time from the first message to the last, s."""
        return (self.end - self.start) * 1e-9

    @property
    def namespace(self) -> str:
        """The namespace of the recorded arm; empty for none."""
        for topic in self.topics:
            namespace, _, name = topic.name.rpartition("/")
            if name in ("joint_states", "arm_status"):
                return namespace
        return ""


class RecordReader:
    """The messages of an MCAP file in the order in which they were written; can be iterated again and again.

    Args:
        path: of the file.

    Attributes:
        complete: False once an iteration has found that the end is missing, as when the writer was killed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complete = True

    def messages(self, topics: Collection[str] | None = None) -> Iterator[RecordedMessage]:
        """Give the messages, of some topics or of all.

        Raises:
            RecordError: the file cannot be read, is no MCAP file, or is damaged elsewhere than at its end.
        """
        try:
            file: IO[bytes] = self.path.open("rb")
        except OSError as error:
            raise RecordError(f"{self.path}: {error.strerror}; give the path of an MCAP file") from error
        with file:
            try:
                yield from self._read(file, topics)
            except InvalidMagic as error:
                raise RecordError(f"{self.path} is not an MCAP file") from error
            except _DAMAGE as error:
                if file.tell() < 8:
                    raise RecordError(f"{self.path} is not an MCAP file") from error
                if file.read(1):
                    raise RecordError(f"{self.path} is damaged before byte {file.tell()}: {error}") from error
                self.complete = False

    def outline(self) -> RecordOutline:
        """Tell what is in the record.

        Raises:
            RecordError: it cannot be read, or holds no message.
        """
        topics: dict[str, RecordedTopic] = {}
        counts: Counter[str] = Counter()
        times: list[int] = []
        for message in self.messages():
            topics.setdefault(message.topic.name, message.topic)
            counts[message.topic.name] += 1
            times = [min([message.log_time, *times]), max([message.log_time, *times])]
        if not times:
            raise RecordError(f"{self.path} holds no whole message")
        return RecordOutline(list(topics.values()), [counts[name] for name in topics], times[0], times[-1])

    def _read(self, file: IO[bytes], topics: Collection[str] | None) -> Iterator[RecordedMessage]:
        decoders = DecoderFactory()
        schemas: dict[int, Schema] = {}
        found: dict[int, RecordedTopic] = {}
        for record in StreamReader(file, validate_crcs=True).records:
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel) and record.id not in found:
                found[record.id] = _topic(record, schemas.get(record.schema_id), decoders)
            elif isinstance(record, Message):
                topic = found[record.channel_id]
                if topics is None or topic.name in topics:
                    yield RecordedMessage(topic, record.log_time, record.publish_time, record.data)
            elif isinstance(record, Footer):
                return


def repair(broken: Path, whole: Path) -> int:
    """Write what can be read of a record into another file, with the index that other programs need.

    Returns:
        The number of messages.

    Raises:
        RecordError: the one cannot be read, or the other not written.
    """
    reader, channels = RecordReader(broken), dict[str, int]()
    messages = reader.messages()
    first = next(messages, None)
    if first is None:
        raise RecordError(f"{broken} holds no whole message; there is nothing to repair")
    writer = RecordWriter(whole)
    for message in (first, *messages):
        topic = message.topic
        if topic.name not in channels:
            channels[topic.name] = writer.add_topic(
                topic.name, topic.type_name, topic.definition, topic.offered_qos, topic.type_hash
            )
        writer.write(channels[topic.name], message.log_time, message.publish_time, message.data)
    writer.close()
    return writer.messages


def _topic(channel: Channel, schema: Schema | None, decoders: DecoderFactory) -> RecordedTopic:
    decode = decoders.decoder_for(channel.message_encoding, _plainly_named(schema))
    if schema is None or decode is None:
        raise RecordError(
            f"topic {channel.topic} is of encoding '{channel.message_encoding}', schema "
            f"'{schema.encoding if schema else ''}'; expected cdr with ros2msg"
        )
    metadata = channel.metadata
    return RecordedTopic(
        channel.topic,
        schema.name,
        schema.data.decode(),
        metadata.get("offered_qos_profiles", ""),
        metadata.get("topic_type_hash", ""),
        decode,
    )


def _plainly_named(schema: Schema | None) -> Schema | None:
    """Give a schema without the underscores in the names of an action's types, which the decoder does not allow."""
    if schema is None or "/action/" not in schema.name:
        return schema
    name, text = schema.name, schema.data.decode()
    for ending in ("_FeedbackMessage", "_Feedback"):
        action = name.split("/")[2].removesuffix("_FeedbackMessage")
        text = text.replace(f"{action}{ending}", f"{action}{ending[1:]}")
    return Schema(schema.id, text.encode(), schema.encoding, name.replace("_FeedbackMessage", "FeedbackMessage"))
