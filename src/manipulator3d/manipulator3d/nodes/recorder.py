# SPDX-License-Identifier: Apache-2.0
"""Records the stack that it is started with."""

from dataclasses import dataclass

from rclpy.node import Node

from manipulator3d.nodes.topic_recorder import TopicRecorder
from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_writer import RecordWriter, record_path
from manipulator3d_node.nodes.parameters import declare_parameters
from manipulator3d_node.nodes.process import run_node
from manipulator3d_node.parameter import parameter


@dataclass(frozen=True)
class RecorderParameters:
    """Parameters of the recorder."""

    output: str = parameter(
        "", "MCAP file to write; a folder, or nothing for the present one, takes a file named after the time."
    )


class Recorder(Node):
    """Writes the arm's topics into a file; a disc that is full ends the record, not the stack.

    Raises:
        ValueError: the file exists, or cannot be made.
    """

    def __init__(self) -> None:
        super().__init__("recorder")
        path = record_path(declare_parameters(self, RecorderParameters).output)
        try:
            self._writer = RecordWriter(path)
        except RecordError as error:
            raise ValueError(str(error)) from error
        self.get_logger().info(f"recording into {path.absolute()}")
        self._recorder = TopicRecorder(self, self._writer, self._tell)

    def _tell(self, text: str) -> None:
        self.get_logger().error(text)

    def close(self) -> None:
        """Finish the file."""
        self._recorder.finish()
        if self._recorder.failure is not None:
            return
        try:
            self._writer.close()
        except RecordError as error:
            self.get_logger().error(str(error))


def main() -> int:
    """Run the recorder as a process."""
    return run_node(Recorder)


if __name__ == "__main__":
    raise SystemExit(main())
