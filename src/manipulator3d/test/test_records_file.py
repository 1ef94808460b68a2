# SPDX-License-Identifier: Apache-2.0
"""The record's file: its schemas, its index, what a killed writer leaves, what a full disc does."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from manipulator3d.nodes.topic_recorder import belongs_to_arm, installed_definition
from manipulator3d.records.message_definition import message_definition, without_comments
from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_reader import RecordReader, repair
from manipulator3d.records.record_writer import RecordWriter, record_path

JOINT_STATE = "sensor_msgs/msg/JointState"
START = 1_700_000_000_000_000_000


def write_joint_states(writer: RecordWriter, number: int) -> None:
    channel = writer.add_topic("/joint_states", JOINT_STATE, installed_definition(JOINT_STATE), "", "RIHS01_0")
    for index in range(number):
        message = JointState(name=["base_yaw"], position=[index * 0.001], effort=[index**0.5])
        writer.write(channel, START + index * 10_000_000, START + index, serialize_message(message))


@pytest.mark.parametrize(
    "type_name",
    [
        JOINT_STATE,
        "visualization_msgs/msg/MarkerArray",
        "tf2_msgs/msg/TFMessage",
        "action_msgs/msg/GoalStatusArray",
        "diagnostic_msgs/msg/DiagnosticArray",
        "manipulator3d_interfaces/msg/ArmStatus",
    ],
)
def test_a_schema_is_the_installed_definitions_one_after_the_other(type_name: str) -> None:
    first, *others = installed_definition(type_name).split("=" * 80 + "\n")
    package, kind, name = type_name.split("/")
    assert first == Path(get_package_share_directory(package), kind, f"{name}.msg").read_text().rstrip("\n") + "\n"
    named = {}
    for part in others:
        heading, _, text = part.partition("\n")
        needed = re.fullmatch(r"MSG: (\w+)/(\w+)", heading)
        assert needed is not None
        installed = Path(get_package_share_directory(needed[1]), "msg", f"{needed[2]}.msg").read_text()
        assert text == installed.rstrip("\n") + "\n"
        named[f"{needed[1]}/{needed[2]}"] = text
    assert len(named) == len(others)


def test_the_schema_of_feedback_holds_the_third_part_of_the_action() -> None:
    text = installed_definition("manipulator3d_interfaces/action/PickPlace_FeedbackMessage")
    action = Path(get_package_share_directory("manipulator3d_interfaces"), "action", "PickPlace.action").read_text()
    assert text.startswith(
        "unique_identifier_msgs/UUID goal_id\nmanipulator3d_interfaces/PickPlace_Feedback feedback\n" + "=" * 80
    )
    assert "MSG: manipulator3d_interfaces/PickPlace_Feedback\n" + action.split("---\n")[2] in text
    assert "MSG: unique_identifier_msgs/UUID\n" in text
    assert "MSG: geometry_msgs/Point\n" in text


def test_a_definition_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"pkg/msg/Missing has no definition at .*Missing\.msg; is the package pkg"):
        message_definition("pkg/msg/Missing", lambda package: str(tmp_path))


def test_comments_and_spacing_do_not_make_another_definition() -> None:
    assert without_comments("# old\nfloat64   x  # m\n\nint32 A=1\n") == without_comments("float64 x\nint32 A=1")
    assert without_comments("float64 x") != without_comments("float32 x")


def test_another_library_reads_what_was_written(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "run.mcap")
    write_joint_states(writer, 1000)
    writer.close()
    with (tmp_path / "run.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        header, summary = reader.get_header(), reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert (header.profile, summary.statistics.message_count) == ("ros2", 1000)
        assert summary.statistics.chunk_count > 1
        (schema,), (channel,) = summary.schemas.values(), summary.channels.values()
        assert (schema.name, schema.encoding, channel.message_encoding) == (JOINT_STATE, "ros2msg", "cdr")
        assert channel.metadata["topic_type_hash"] == "RIHS01_0"
        for index, (_, _, message, content) in enumerate(reader.iter_decoded_messages()):
            assert (message.log_time, message.publish_time) == (START + index * 10_000_000, START + index)
            assert content.position == [index * 0.001]


@pytest.mark.parametrize("kept", [0.3, 0.7, 0.999])
def test_what_a_killed_writer_left_is_read_and_repaired(tmp_path: Path, kept: float) -> None:
    writer = RecordWriter(tmp_path / "killed.mcap")
    write_joint_states(writer, 2000)
    writer.flush()
    whole = (tmp_path / "killed.mcap").read_bytes()
    (tmp_path / "killed.mcap").write_bytes(whole[: int(len(whole) * kept)])
    reader = RecordReader(tmp_path / "killed.mcap")
    found = [message.topic.decode(message.data).position[0] for message in reader.messages()]
    assert not reader.complete
    assert 0.9 * kept * 2000 - 300 < len(found) < 2000
    assert found == [index * 0.001 for index in range(len(found))]
    assert repair(tmp_path / "killed.mcap", tmp_path / "whole.mcap") == len(found)
    with (tmp_path / "whole.mcap").open("rb") as file:
        summary = make_reader(file).get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.message_count == len(found)


def test_no_record_is_written_over_another(tmp_path: Path) -> None:
    (tmp_path / "run.mcap").write_text("precious")
    with pytest.raises(RecordError, match=r"run\.mcap exists already; give another name, or remove it"):
        RecordWriter(tmp_path / "run.mcap")
    assert (tmp_path / "run.mcap").read_text() == "precious"


def test_a_full_disc_is_said_with_what_the_record_holds() -> None:
    writer = RecordWriter(Path("/dev/full"))

    def fill() -> None:
        write_joint_states(writer, 100_000)

    with pytest.raises(RecordError, match=r"/dev/full: No space left on device; the record holds \d+ messages up to"):
        fill()
    writer.abandon()


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda path: path.unlink(), r"run\.mcap: No such file or directory; give the path of an MCAP file"),
        (lambda path: path.write_bytes(b""), r"run\.mcap is not an MCAP file"),
        (lambda path: path.write_bytes(b"PK\x03\x04" * 100), r"run\.mcap is not an MCAP file"),
        (lambda path: flip(path, 400), r"run\.mcap is damaged before byte \d+: "),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, spoil: Callable[[Path], None], text: str) -> None:
    path = tmp_path / "run.mcap"
    writer = RecordWriter(path)
    write_joint_states(writer, 2000)
    writer.close()
    spoil(path)
    with pytest.raises(RecordError, match=text):
        list(RecordReader(path).messages())


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)


def test_a_record_without_a_whole_message_is_refused(tmp_path: Path) -> None:
    RecordWriter(tmp_path / "run.mcap").close()
    with pytest.raises(RecordError, match=r"run\.mcap holds no whole message"):
        RecordReader(tmp_path / "run.mcap").outline()
    with pytest.raises(RecordError, match="there is nothing to repair"):
        repair(tmp_path / "run.mcap", tmp_path / "whole.mcap")


def test_a_folder_takes_a_file_named_after_the_time(tmp_path: Path) -> None:
    assert record_path("run.mcap") == Path("run.mcap")
    for output in (str(tmp_path), "runs/", ""):
        path = record_path(output)
        assert path.parent == Path(output)
        assert re.fullmatch(r"manipulator3d_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.mcap", path.name)


@pytest.mark.parametrize(
    ("topic", "namespace", "belongs"),
    [
        ("/joint_states", "", True),
        ("/joint_states", "/left", False),
        ("/left/joint_states", "/left", True),
        ("/left/joint_states", "", False),
        ("/leftover/joint_states", "/left", False),
        ("/pick_place/_action/feedback", "", True),
        ("/left/pick_place/_action/status", "/left", True),
        ("/left/pick_place/_action/status", "", False),
        ("/arm_controller/follow_joint_trajectory/_action/status", "", True),
        ("/tf_static", "/left", True),
        ("/rosout", "", False),
    ],
)
def test_an_arms_topics_are_those_of_its_namespace(topic: str, namespace: str, belongs: bool) -> None:
    assert belongs_to_arm(topic, namespace) is belongs
