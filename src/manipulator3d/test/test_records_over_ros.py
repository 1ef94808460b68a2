# SPDX-License-Identifier: Apache-2.0
"""Recording a stack from its start to its end, and showing the record again."""

import itertools
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from domain_coordinator import domain_id
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from manipulator3d import Arm, ArmError, ErrorCode
from manipulator3d.cli.__main__ import main
from manipulator3d.nodes.spinning_node import SpinningNode
from manipulator3d.records.record_reader import RecordReader

Stack = Any
Start = Callable[..., Stack]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records")


@pytest.fixture(scope="module")
def recorded(folder: Path, stack_class: Any) -> Path:
    """A run that was recorded from its start by the launch argument, and twice besides by the verb."""
    with domain_id() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        stack = stack_class(number, "hardware:=mock", f"record:={folder}/run.mcap")
        try:
            killed = stack.start_verb("record", "--output", f"{folder}/killed.mcap")
            with Arm(find_timeout=90.0) as arm:
                arm.wait_until_ready(90.0)
                timed = stack.start_verb("record", "--output", f"{folder}/timed.mcap", "--seconds", "1.5")
                stack.wait_for(lambda: has_moved(arm))
            stack.wait_for(lambda: holds(folder / "killed.mcap", {"/joint_states": 100, "/tf": 1, "/arm_status": 1}))
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            assert timed.wait(90.0) == 0
            refused = stack.verb("replay", f"{folder}/timed.mcap", "--headless")
            assert refused.returncode == 1
            assert "a stack is running in ROS domain" in refused.stderr
        finally:
            stack.end()
        assert stack.process.returncode == 0, "\n".join(stack.lines)
    return folder / "run.mcap"


def has_moved(arm: Arm) -> bool:
    """Try to move; a computer that is held up for long ends a motion."""
    try:
        return arm.move_joints([0.3, 1.2, -1.6]).position_error < 1e-3
    except ArmError as error:
        if error.code is not ErrorCode.TIMEOUT:
            raise
        return False


def holds(path: Path, numbers: dict[str, int]) -> bool:
    """Whether a record that is being written holds so many messages of each topic."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    found = Counter(message.topic.name for message in RecordReader(path).messages())
    return all(found[topic] >= number for topic, number in numbers.items())


def test_the_launch_argument_records_all_topics_of_the_run_with_their_content(recorded: Path) -> None:
    contents: dict[str, list[Any]] = {}
    with recorded.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        summary = reader.get_summary()
        assert summary is not None
        types = {channel.topic: summary.schemas[channel.schema_id].name for channel in summary.channels.values()}
        offered = {channel.topic: channel.metadata["offered_qos_profiles"] for channel in summary.channels.values()}
        actions = [topic for topic in types if topic.endswith("/_action/feedback")]
        for _, channel, _, content in reader.iter_decoded_messages(sorted(set(types) - set(actions))):
            contents.setdefault(channel.topic, []).append(content)
    assert {"/joint_states", "/joint_commands", "/tf", "/tf_static", "/robot_description", "/markers"} <= set(contents)
    assert {"/arm_status", "/hardware_status", "/diagnostics", "/move_to/_action/status"} <= set(contents)
    assert types["/move_to/_action/feedback"] == "manipulator3d_interfaces/action/MoveTo_FeedbackMessage"
    assert "durability: transient_local" in offered["/robot_description"]
    assert "durability: volatile" in offered["/joint_states"]
    commands, states = contents["/joint_commands"], contents["/joint_states"]
    assert commands[-1].position == pytest.approx([0.3, 1.2, -1.6], abs=1e-9)
    assert states[-1].position == pytest.approx([0.3, 1.2, -1.6], abs=1e-6)
    # of an even stream of commands, none is missing
    stamps = [message.header.stamp.sec * 10**9 + message.header.stamp.nanosec for message in commands]
    steps = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    assert sorted(steps)[len(steps) // 2] == pytest.approx(10_000_000, abs=2_000)
    assert "<robot" in contents["/robot_description"][0].data
    reader = RecordReader(recorded)
    feedback = [m.topic.decode(m.data).feedback for m in reader.messages({"/move_to/_action/feedback"})]
    assert all(0.0 <= entry.progress <= 1.0 for entry in feedback)
    assert len(feedback) >= 1


def test_a_killed_recorder_leaves_a_record(recorded: Path, folder: Path) -> None:
    reader = RecordReader(folder / "killed.mcap")
    outline = reader.outline()
    assert not reader.complete
    assert outline.seconds > 0.5
    assert {"/joint_states", "/tf", "/arm_status"} <= {topic.name for topic in outline.topics}


def test_the_verb_ends_by_itself_after_its_time(recorded: Path, folder: Path) -> None:
    reader = RecordReader(folder / "timed.mcap")
    outline = reader.outline()
    assert reader.complete
    assert 1.0 < outline.seconds < 30.0


def test_a_replay_shows_the_arm_and_commands_nothing(recorded: Path, start_verb: Any) -> None:
    with domain_id() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        states: list[JointState] = []
        descriptions: list[str] = []
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        with SpinningNode("", "viewer") as viewer:
            viewer.node.create_subscription(JointState, "joint_states", states.append, 1000)
            viewer.node.create_subscription(
                String, "robot_description", lambda message: descriptions.append(message.data), latched
            )
            replay = start_verb("replay", str(recorded), "--headless", "--rate", "2")
            seen: set[str] = set()

            def has_shown_the_end() -> bool:
                if (f"manipulator3d_replay_{replay.pid}", "/") in viewer.node.get_node_names_and_namespaces():
                    published = viewer.node.get_publisher_names_and_types_by_node(
                        f"manipulator3d_replay_{replay.pid}", "/"
                    )
                    seen.update(name for name, _ in published)
                return {"/tf", "/markers"} <= seen and bool(states) and states[-1].position[0] > 0.299

            assert viewer.spin_until(has_shown_the_end, 90.0), replay.poll()
            assert not {"/joint_commands", "/speed_scale"} & seen
            assert viewer.spin_until(lambda: bool(descriptions), 30.0)
            assert "<robot" in descriptions[0]
            # the stamps have moved to the present
            stamp = states[-1].header.stamp
            assert abs(stamp.sec + stamp.nanosec * 1e-9 - viewer.node.get_clock().now().nanoseconds * 1e-9) < 20.0
            assert replay.wait(90.0) == 0, replay.stderr.read()


def test_a_replay_and_others_that_speak_for_the_arm_exclude_each_other(recorded: Path, start_verb: Any) -> None:
    with domain_id() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        with SpinningNode("", "viewer") as viewer:
            # slow enough to last longer than the test
            replay = start_verb("replay", str(recorded), "--headless", "--rate", "0.001")
            assert viewer.spin_until(lambda: viewer.node.count_publishers("joint_states") == 1, 90.0)
            up = start_verb("up", "hardware:=mock")
            assert up.wait(90.0) == 1
            assert "a replay is running in ROS domain" in up.stderr.read()
            viewer.node.create_publisher(JointState, "joint_states", 1)
            assert replay.wait(90.0) == 1
            assert "joint_states is published by viewer" in replay.stderr.read()


def test_without_a_stack_nothing_is_recorded_and_no_file_is_left(tmp_path: Path, start_verb: Any) -> None:
    with domain_id() as number, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(number))
        verb = start_verb("record", "--output", str(tmp_path / "none.mcap"))
        assert "recording into" in verb.stderr.readline()
        verb.send_signal(signal.SIGINT)
        assert verb.wait(60.0) == 1
        assert "nothing was recorded: no arm's topic was found" in verb.stderr.read()
    assert os.listdir(tmp_path) == []


def test_a_report_is_made_from_the_record(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(recorded)]) == 0
    assert capsys.readouterr().out == f"{recorded.with_suffix('.html')}\n"
    page = recorded.with_suffix(".html").read_text()
    assert "<td>move_to</td>" in page
    assert "succeeded" in page
    assert "hardware mock" in page
    assert main(["report", str(recorded), "--output", "/nowhere/page.html"]) == 1
    assert "/nowhere/page.html: No such file or directory; give another --output" in capsys.readouterr().err
