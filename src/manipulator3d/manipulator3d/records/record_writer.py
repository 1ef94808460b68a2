# SPDX-License-Identifier: Apache-2.0
"""Writes messages into an MCAP file that Foxglove and `ros2 bag` open."""

import time
from io import BufferedWriter
from pathlib import Path

from mcap.well_known import MessageEncoding, Profile, SchemaEncoding
from mcap.writer import CompressionType, Writer

from manipulator3d.records.record_error import RecordError

# What is in an unfinished chunk is lost with the process: at the 80 kB/s of a running arm that is 0.2 s.
_CHUNK_BYTES = 16 * 1024


def record_path(output: str) -> Path:
    """Give the file to write: `output`, or one named after the time in the folder `output`; empty for this folder."""
    if output and not output.endswith("/") and not Path(output).is_dir():
        return Path(output)
    return Path(output, time.strftime("manipulator3d_%Y-%m-%d_%H-%M-%S.mcap"))


class RecordWriter:
    """An MCAP file that is being written.

    Args:
        path: must not exist, so that no record is lost by a second one.

    Raises:
        RecordError: the file exists, or cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.messages = 0
        self._schemas: dict[str, int] = {}
        self._closed = False
        if path.is_file():
            raise RecordError(f"{path} exists already; give another name, or remove it")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._raw = path.open("wb", buffering=0)
        except OSError as error:
            raise self._error(error) from error
        self._file = BufferedWriter(self._raw)
        self._writer = Writer(self._file, chunk_size=_CHUNK_BYTES, compression=CompressionType.ZSTD)
        self._writer.start(profile=Profile.ROS2, library="manipulator3d")

    def add_topic(self, topic: str, type_name: str, definition: str, offered_qos: str, type_hash: str = "") -> int:
        """Announce a topic and return its channel.

        Args:
            topic: full name.
            type_name: such as sensor_msgs/msg/JointState.
            definition: see message_definition.
            offered_qos: the publishers' QoS as rosbag2 writes it, YAML.
            type_hash: REP 2011's, empty where it is not known.

        Raises:
            RecordError: the file cannot be written.
        """
        try:
            if type_name not in self._schemas:
                text = definition.encode()
                self._schemas[type_name] = self._writer.register_schema(type_name, SchemaEncoding.ROS2, text)
            metadata = {"offered_qos_profiles": offered_qos}
            if type_hash:
                metadata["topic_type_hash"] = type_hash
            return self._writer.register_channel(topic, MessageEncoding.CDR, self._schemas[type_name], metadata)
        except OSError as error:
            raise self._error(error) from error

    def write(self, channel: int, log_time: int, publish_time: int, data: bytes) -> None:
        """Add a message.

        Args:
            channel: from `add_topic`.
            log_time, publish_time: ns since 1970, of reception and of publication.
            data: CDR.

        Raises:
            RecordError: the file cannot be written.
        """
        try:
            self._writer.add_message(channel, log_time, data, publish_time, self.messages)
        except OSError as error:
            raise self._error(error) from error
        self.messages += 1

    def flush(self) -> None:
        """Hand all finished chunks to the operating system: the death of this process does not touch them any more.

        Raises:
            RecordError: the file cannot be written.
        """
        try:
            self._file.flush()
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Write the index and close the file.

        Raises:
            RecordError: the file cannot be written; what it holds can be read nevertheless.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._writer.finish()
            self._file.close()
        except OSError as error:
            raise self._error(error) from error

    def abandon(self) -> None:
        """Give the file up after an error; what it holds can be read."""
        self._closed = True
        # a buffer whose file is closed does not try to write once more
        self._raw.close()

    def _error(self, error: OSError) -> RecordError:
        reason = error.strerror or str(error)
        return RecordError(
            f"{self.path}: {reason}; the record holds {self.messages} messages up to then; free space, or give another "
            "--output"
        )
