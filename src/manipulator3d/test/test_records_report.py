# SPDX-License-Identifier: Apache-2.0
"""What the report says of a run whose figures are known beforehand."""

import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.serialization import serialize_message
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from manipulator3d.nodes.topic_recorder import installed_definition
from manipulator3d.records.measured_run import MeasuredRun, Motion, commanded_at, measure_run, phase_table
from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_reader import RecordReader
from manipulator3d.records.record_writer import RecordWriter
from manipulator3d.records.report_page import error_figures, report_page
from manipulator3d.records.run_plots import peaks
from manipulator3d_description.robot_description import robot_description
from manipulator3d_interfaces.action import PickPlace
from manipulator3d_interfaces.msg import ArmStatus, HardwareStatus

NAMES = ["base_yaw", "shoulder_pitch", "elbow_pitch"]
START = 1_700_000_000_000_000_000
# rad; how far the measured joints are from the commanded ones, with a sign that changes from sample to sample
ERRORS = (0.001, 0.002, 0.0005)


def command(t: float) -> tuple[list[float], list[float]]:
    """A motion of three joints, all cubic in time, and its velocity."""
    return [0.2 * t**3, 1.2 - 0.1 * t, -1.6 + 0.05 * t**2], [0.6 * t**2, -0.1, 0.1 * t]


class Recording:
    """A record under construction; times in s from its start."""

    def __init__(self, path: Path, namespace: str) -> None:
        self.writer = RecordWriter(path)
        self._namespace = namespace
        self._channels: dict[str, int] = {}

    def add(self, t: float, topic: str, type_name: str, message: Any) -> None:
        if topic not in self._channels:
            definition = installed_definition(type_name)
            self._channels[topic] = self.writer.add_topic(f"{self._namespace}/{topic}", type_name, definition, "")
        stamp = START + round(t * 1e9)
        self.writer.write(self._channels[topic], stamp, stamp, serialize_message(message))

    def joints(self, t: float, topic: str, position: list[float], velocity: list[float]) -> None:
        message = JointState(name=NAMES, position=position, velocity=velocity)
        message.header.stamp = Time(nanoseconds=START + round(t * 1e9)).to_msg()
        self.add(t, topic, "sensor_msgs/msg/JointState", message)

    def phase(self, t: float, name: str, cycle: int) -> None:
        message = PickPlace.Impl.FeedbackMessage()
        message.feedback.phase_name, message.feedback.cycle = name, cycle
        kind = "manipulator3d_interfaces/action/PickPlace_FeedbackMessage"
        self.add(t, "pick_place/_action/feedback", kind, message)

    def goal(self, t: float, action: str, *statuses: int) -> None:
        message = GoalStatusArray()
        for number, status in enumerate(statuses):
            goal = GoalStatus(status=status)
            goal.goal_info.goal_id.uuid = [number + 1] * 16
            message.status_list.append(goal)
        self.add(t, f"{action}/_action/status", "action_msgs/msg/GoalStatusArray", message)

    def status(self, t: float, fault: int, text: str) -> None:
        self.add(t, "arm_status", "manipulator3d_interfaces/msg/ArmStatus", ArmStatus(fault=fault, fault_message=text))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("record") / "run <1>.mcap"
    recording = Recording(path, "/left")
    recording.add(0.0, "robot_description", "std_msgs/msg/String", String(data=robot_description("capstone", "")))
    recording.add(
        0.0, "hardware_status", "manipulator3d_interfaces/msg/HardwareStatus", HardwareStatus(driver="emulated")
    )
    # ended before the record began; running; and the next one, which is cancelled
    recording.goal(0.1, "pick_place", 4, 2)
    for index in range(101):
        position, velocity = command(index * 0.01)
        recording.joints(1.0 + index * 0.01, "joint_commands", position, velocity)
    for index in range(250):
        # between two commands, also before the first and after the last
        t = index * 0.01 + 0.003
        position, velocity = command(min(max(t - 1.0, 0.0), 1.0))
        sign = 1 if index % 2 else -1
        recording.joints(
            t, "joint_states", [angle + sign * error for angle, error in zip(position, ERRORS, strict=True)], velocity
        )
    for t, name, cycle in ((0.2, "TO_PICK", 1), (0.25, "TO_PICK", 1), (0.7, "PICK", 1), (1.0, "TO_PICK", 2)):
        recording.phase(t, name, cycle)
    recording.goal(1.8, "pick_place", 4, 6)
    recording.goal(2.0, "home", 1)
    recording.goal(2.1, "home", 2)
    for t, fault, text in (
        (0.0, 0, ""),
        (0.4, 303, "pressed <b>"),
        (0.6, 303, "pressed <b>"),
        (0.9, 0, ""),
        (2.2, 999, "?"),
    ):
        recording.status(t, fault, text)
    for t, level in ((0.5, b"\x00"), (0.8, b"\x01"), (1.2, b"\x01"), (1.4, b"\x00")):
        warning = DiagnosticArray(status=[DiagnosticStatus(name="link", level=level, message="lost 3")])
        recording.add(t, "diagnostics", "diagnostic_msgs/msg/DiagnosticArray", warning)
    recording.writer.close()
    return path


@pytest.fixture(scope="module")
def run(path: Path) -> MeasuredRun:
    return measure_run(RecordReader(path))


def test_the_error_is_that_of_each_measurement_against_the_command_for_its_time(run: MeasuredRun) -> None:
    commanded = (run.measured.times >= 1.0) & (run.measured.times <= 2.0)
    assert np.all(np.isfinite(run.error[commanded]))
    assert np.all(np.isnan(run.error[~commanded]))
    assert np.abs(run.error[commanded]) == pytest.approx(np.tile(ERRORS, (commanded.sum(), 1)), abs=1e-9)
    for (name, rms, largest), wanted_name, error in zip(error_figures(run), NAMES, ERRORS, strict=False):
        assert name == wanted_name
        assert (rms, largest) == pytest.approx((error, error), abs=1e-9)


def test_the_tools_error_is_the_distance_of_two_tool_points_of_the_dh_table(run: MeasuredRun) -> None:
    def tool(q: Any) -> np.ndarray:
        reach, offset = 0.22 * math.cos(q[1]) + 0.18 * math.cos(q[1] + q[2]), -0.065
        z = 0.15 + 0.22 * math.sin(q[1]) + 0.18 * math.sin(q[1] + q[2])
        x, y = reach * math.cos(q[0]) + offset * math.sin(q[0]), reach * math.sin(q[0]) - offset * math.cos(q[0])
        return np.array([x, y, z])

    distances = []
    for t, joints in zip(run.measured.times, run.measured.joints, strict=True):
        if 1.0 <= t <= 2.0:
            distances.append(np.linalg.norm(tool(joints) - tool(command(t - 1.0)[0])))
    name, rms, largest = error_figures(run)[-1]
    assert name == "tool"
    assert rms == pytest.approx(math.sqrt(np.mean(np.square(distances))), abs=1e-9)
    assert largest == pytest.approx(max(distances), abs=1e-9)


def test_phases_last_from_their_first_feedback_to_the_next_or_to_the_end_of_the_goal(run: MeasuredRun) -> None:
    found = [(span.name, span.cycle, round(span.start, 6), round(span.duration, 6)) for span in run.phases]
    assert found == [("TO_PICK", 1, 0.2, 0.5), ("PICK", 1, 0.7, 0.3), ("TO_PICK", 2, 1.0, 0.8)]
    table = [(name, number, *(round(x, 6) for x in rest)) for name, number, *rest in phase_table(run.phases)]
    assert table == [("TO_PICK", 2, 0.65, 0.5, 0.8), ("PICK", 1, 0.3, 0.3, 0.3)]


def test_goals_faults_and_warnings_have_their_time_and_outcome(run: MeasuredRun) -> None:
    def rounded(spans: Any) -> list[Any]:
        return [(span.name, round(span.start, 6), round(span.end, 6), span.text) for span in spans]

    assert rounded(run.goals) == [("pick_place", 0.1, 1.8, "aborted"), ("home", 2.1, 2.493, "running")]
    assert rounded(run.faults) == [("ESTOP", 0.4, 0.9, "pressed <b>"), ("999", 2.2, 2.493, "?")]
    assert rounded(run.warnings) == [("link", 0.8, 1.4, "lost 3")]
    assert run.driver == "emulated"


def test_the_page_shows_the_figures_and_needs_nothing_beside_itself(run: MeasuredRun) -> None:
    page = report_page(run, "run <1>.mcap", complete=False)
    for name, error in zip(NAMES, ERRORS, strict=True):
        assert f"<td>{name}</td><td class=number>{error * 1e3:.3f} mrad</td>" in page
    assert "<td>TO_PICK</td><td class=number>2</td><td class=number>0.650</td>" in page
    assert "pressed &lt;b&gt;" in page
    assert "run &lt;1&gt;.mcap" in page
    assert "The end of the record is missing" in page
    assert page.count("<svg") == 4
    links = re.findall(r'(?:src|href)\s*=\s*["\']?([^"\'\s>]+)', page) + re.findall(r"url\(([^)]+)\)", page)
    assert [link for link in links if not link.startswith("#")] == []
    assert "<script" not in page
    assert unclosed(page) == []


def unclosed(page: str) -> list[str]:
    """Elements that are opened and not closed."""
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            if tag != "meta":
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(page)
    return opened


def test_cubic_commands_are_met_exactly_between_their_samples_and_gaps_are_left_out() -> None:
    times = np.array([0.0, 0.02, 0.04, 0.2, 0.22])
    joints, velocities = (np.array([command(t)[part] for t in times]) for part in (0, 1))
    commanded = Motion(times, joints, velocities, np.empty((5, 3)))
    asked = np.array([-0.01, 0.0, 0.013, 0.039, 0.1, 0.21, 0.23])
    found = commanded_at(commanded, asked)
    assert list(np.isnan(found[:, 0])) == [True, False, False, False, True, False, True]
    for t, row in zip(asked, found, strict=True):
        if not np.isnan(row[0]):
            assert row == pytest.approx(command(t)[0], abs=1e-12)


def test_thinning_out_keeps_the_peaks() -> None:
    values = np.sin(np.arange(10_007) * 0.01)
    values[4321], values[77] = -9.0, np.nan
    times, shown = peaks(np.arange(10_007.0), values, 500)
    assert len(times) <= 500
    assert shown.min() == -9.0
    assert times[np.argmin(shown)] == 4321.0
    assert np.all(np.diff(times) > 0)


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        (("joint_states",), "holds no robot_description; record while a stack runs"),
        (("robot_description",), "holds no joint states; record while an arm is connected"),
    ],
)
def test_a_record_that_lacks_the_arm_is_refused(tmp_path: Path, topics: tuple[str, ...], text: str) -> None:
    recording = Recording(tmp_path / "part.mcap", "")
    if "joint_states" in topics:
        recording.joints(0.0, "joint_states", [0.0, 0.0, 0.0], [])
    if "robot_description" in topics:
        description = String(data=robot_description("capstone", ""))
        recording.add(0.0, "robot_description", "std_msgs/msg/String", description)
    recording.writer.close()
    with pytest.raises(RecordError, match=text):
        measure_run(RecordReader(tmp_path / "part.mcap"))
