# SPDX-License-Identifier: Apache-2.0
"""What a record tells of a run: motion, tracking error, goals, phases, faults."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manipulator3d.records.record_error import RecordError
from manipulator3d.records.record_reader import RecordOutline, RecordReader
from manipulator3d_kinematics import ArmModel, forward_kinematics
from manipulator3d_node.error_code import ErrorCode

Array = NDArray[np.float64]
# commands come every 0.01 s; between others the arm was not commanded
_LONGEST_STEP_S = 0.05
# constants of action_msgs/GoalStatus
_OUTCOMES = {4: "succeeded", 5: "canceled", 6: "aborted"}
_EXECUTING, _CANCELING = 2, 3


@dataclass(frozen=True, eq=False)
class Motion:
    """Joints and tool over time.

    Attributes:
        times: shape (N,), s from the start of the record; when it was measured or applies.
        joints, velocities: shape (N, 3), rad and rad/s.
        tool: shape (N, 3), m.
    """

    times: Array
    joints: Array
    velocities: Array
    tool: Array


@dataclass(frozen=True)
class Span:
    """Something that lasted: a phase, a goal or a fault.

    Attributes:
        name: what it was.
        start, end: s from the start of the record; `end` is that of the record where it went on.
        text: how it ended, or what it said.
        cycle: of a phase, from 1; 0 otherwise.
    """

    name: str
    start: float
    end: float
    text: str = ""
    cycle: int = 0

    @property
    def duration(self) -> float:
        """Its length, s."""
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """All that the report shows.

    Attributes:
        outline: of the record.
        joint_names: in the order of the chain.
        driver: what moved: mock, sim, emulated or serial; empty where the record does not tell.
        measured, commanded: the two motions.
        error: shape (N, 3), rad; measured minus commanded joints at the times of `measured`; NaN where not commanded.
        tool_error: shape (N,), m; distance between the measured and the commanded tool point; NaN likewise.
        phases, goals, faults, warnings: in the order of their start.
    """

    outline: RecordOutline
    joint_names: tuple[str, ...]
    driver: str
    measured: Motion
    commanded: Motion
    error: Array
    tool_error: Array
    phases: list[Span]
    goals: list[Span]
    faults: list[Span]
    warnings: list[Span] = field(default_factory=list)


def measure_run(reader: RecordReader) -> MeasuredRun:
    """Read a record and measure it.

    Raises:
        RecordError: it cannot be read, or lacks the arm's description or its joint states.
    """
    outline = reader.outline()
    collected = _Collected(outline)
    for message in reader.messages():
        collected.take(message.topic.name, message.publish_time, message.topic.decode, message.data)
    if collected.description is None:
        raise RecordError(f"{reader.path} holds no robot_description; record while a stack runs")
    try:
        model = ArmModel.from_urdf(collected.description)
    except ValueError as error:
        raise RecordError(f"{reader.path}: robot_description: {error}") from error
    measured = collected.motion("joint_states", model)
    if len(measured.times) == 0:
        raise RecordError(f"{reader.path} holds no joint states; record while an arm is connected")
    commanded = collected.motion("joint_commands", model)
    joints = commanded_at(commanded, measured.times)
    tool = np.full_like(measured.tool, np.nan)
    known = np.isfinite(joints[:, 0])
    tool[known] = forward_kinematics(model, joints[known]).reshape(-1, 3)
    return MeasuredRun(
        outline=outline,
        joint_names=tuple(model.joint_names),
        driver=collected.driver,
        measured=measured,
        commanded=commanded,
        error=measured.joints - joints,
        tool_error=np.linalg.norm(measured.tool - tool, axis=1),
        phases=collected.phases.closed(outline.seconds),
        goals=collected.goals_ended(),
        faults=collected.faults.closed(outline.seconds),
        warnings=collected.warnings.closed(outline.seconds),
    )


def commanded_at(commanded: Motion, times: Array) -> Array:
    """Give the commanded joints at any times, as the driver does: cubic Hermite between two commands.

    Args:
        commanded: the commands.
        times: shape (N,), s.

    Returns:
        Shape (N, 3), rad; NaN where no command is near.
    """
    joints = np.full((len(times), 3), np.nan)
    if len(commanded.times) < 2:
        return joints
    after = np.clip(np.searchsorted(commanded.times, times, side="right"), 1, len(commanded.times) - 1)
    before = after - 1
    step = commanded.times[after] - commanded.times[before]
    inside = (times >= commanded.times[before]) & (times <= commanded.times[after]) & (step <= _LONGEST_STEP_S)
    before, after, step = before[inside], after[inside], step[inside, None]
    s = (times[inside, None] - commanded.times[before, None]) / step
    joints[inside] = (
        (1.0 + 2.0 * s) * (1.0 - s) ** 2 * commanded.joints[before]
        + s * (1.0 - s) ** 2 * step * commanded.velocities[before]
        + s**2 * (3.0 - 2.0 * s) * commanded.joints[after]
        - s**2 * (1.0 - s) * step * commanded.velocities[after]
    )
    return joints


class _Spans:
    """Spans of which one begins when the last one of its key ends."""

    def __init__(self) -> None:
        self._open: dict[str, Span] = {}
        self._closed: list[Span] = []

    def set(self, key: str, name: str, time: float, text: str = "", cycle: int = 0) -> None:
        """Say what holds for a key now; an empty name for nothing."""
        present = self._open.get(key)
        if present is not None:
            if (present.name, present.text, present.cycle) == (name, text, cycle):
                return
            self._closed.append(dataclasses.replace(present, end=time))
            del self._open[key]
        if name:
            self._open[key] = Span(name, time, time, text, cycle)

    def closed(self, end: float) -> list[Span]:
        """Give all spans; those that still hold end with the record."""
        still = [dataclasses.replace(span, end=max(end, span.start)) for span in self._open.values()]
        return sorted([*self._closed, *still], key=lambda span: span.start)


class _Collected:
    """The contents of a record, topic by topic."""

    def __init__(self, outline: RecordOutline) -> None:
        self._outline = outline
        self._prefix = outline.namespace.rstrip("/") + "/"
        self._joints: dict[str, list[tuple[float, dict[str, float], dict[str, float]]]] = {}
        self._goals: dict[bytes, Span] = {}
        self.description: str | None = None
        self.driver = ""
        self.phases, self.faults, self.warnings = _Spans(), _Spans(), _Spans()

    def take(self, topic: str, published: int, decode: Any, data: bytes) -> None:
        """Sort one message in; those of no use are not decoded."""
        name = topic.removeprefix(self._prefix)
        time = (published - self._outline.start) * 1e-9
        if name in ("joint_states", "joint_commands"):
            message = decode(data)
            self._joints.setdefault(name, []).append(
                (
                    self._stamp(message.header.stamp),
                    dict(zip(message.name, message.position, strict=False)),
                    dict(zip(message.name, message.velocity, strict=False)),
                )
            )
        elif name == "robot_description":
            self.description = decode(data).data
        elif name == "hardware_status":
            self.driver = decode(data).driver
        elif name == "arm_status":
            status = decode(data)
            fault = _code_name(status.fault) if status.fault else ""
            self.faults.set("arm", fault, time, status.fault_message if fault else "")
        elif name == "diagnostics":
            for status in decode(data).status:
                level = status.level if isinstance(status.level, int) else status.level[0]
                self.warnings.set(status.name, status.name if level else "", time, status.message if level else "")
        elif name == "pick_place/_action/feedback":
            feedback = decode(data).feedback
            self.phases.set("arm", feedback.phase_name, time, cycle=feedback.cycle)
        elif name.endswith("/_action/status"):
            action = name.removesuffix("/_action/status")
            for goal in decode(data).status_list:
                self._take_goal(action, bytes(goal.goal_info.goal_id.uuid), goal.status, time)

    def motion(self, topic: str, model: ArmModel) -> Motion:
        """Give the joints of a topic in the order of the chain and of time; incomplete messages are left out."""
        names = model.joint_names
        rows = [
            (stamp, [positions[name] for name in names], [speeds.get(name, np.nan) for name in names])
            for stamp, positions, speeds in sorted(self._joints.get(topic, []), key=lambda row: row[0])
            if set(names) <= set(positions)
        ]
        times = np.array([row[0] for row in rows])
        joints = np.array([row[1] for row in rows]).reshape(-1, 3)
        speeds = np.array([row[2] for row in rows]).reshape(-1, 3)
        tool = forward_kinematics(model, joints).reshape(-1, 3) if len(rows) else np.empty((0, 3))
        return Motion(times, joints, speeds, tool)

    def goals_ended(self) -> list[Span]:
        """Give the goals that were seen to begin; those without an outcome were running at the end."""
        end = self._outline.seconds
        goals = [
            goal if goal.text else dataclasses.replace(goal, end=end, text="running") for goal in self._goals.values()
        ]
        return sorted(goals, key=lambda goal: goal.start)

    def _take_goal(self, action: str, goal_id: bytes, status: int, time: float) -> None:
        goal = self._goals.get(goal_id)
        if goal is None:
            # what had ended before the record began is still told by the server
            if status in (_EXECUTING, _CANCELING):
                self._goals[goal_id] = Span(action, time, time)
        elif status in _OUTCOMES and not goal.text:
            self._goals[goal_id] = dataclasses.replace(goal, end=time, text=_OUTCOMES[status])
            if action == "pick_place":
                self.phases.set("arm", "", time)

    def _stamp(self, stamp: Any) -> float:
        # decoded messages of ROS 2 say nanosec
        return (stamp.sec * 1_000_000_000 + stamp.nanosec - self._outline.start) * 1e-9


def phase_table(phases: list[Span]) -> Iterator[tuple[str, int, float, float, float]]:
    """Give name, number, and mean, shortest and longest duration in s of each phase, in the order of their first."""
    names = list(dict.fromkeys(phase.name for phase in phases))
    for name in names:
        durations = [phase.duration for phase in phases if phase.name == name]
        yield name, len(durations), sum(durations) / len(durations), min(durations), max(durations)


def _code_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
