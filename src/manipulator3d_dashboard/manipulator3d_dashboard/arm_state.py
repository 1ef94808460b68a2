# SPDX-License-Identifier: Apache-2.0
"""What the page knows of the arm, in plain values, and which buttons make sense in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum, unique

from manipulator3d_dashboard.health import Level

STALE_AFTER = 1.0


@unique
class Mode(IntEnum):
    """Mode of the arm; names and numbers are those of manipulator3d_interfaces/msg/ArmStatus."""

    DISCONNECTED = 0
    IDLE = 1
    MOVING = 2
    PAUSED = 3
    STOPPING = 4
    HOMING = 5
    FAULT = 6


@unique
class Command(Enum):
    """What a button asks for."""

    PLAY = "play"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    EMERGENCY_STOP = "emergency stop"
    RESET = "reset"
    HOME = "home"
    GRIPPER = "gripper"
    DRAW = "draw"


@dataclass(frozen=True)
class ArmState:
    """A snapshot.

    Attributes:
        joints: rad, last measured positions by name; empty when none came yet.
        joints_age: s since the last measurement; None when none came yet.
        status_age: s since the last report of the motion server; None when none came yet.
        mode, fault, fault_message, homed, phase, holding: as last reported by the motion server.
        driver: what drives the arm (mock, sim, emulated, serial); empty when unknown.
        link: the driver reports that the arm answers.
        hardware_fault, hardware_message: fault that the driver reports.
        gripper_closed: as last reported by the driver.
        cycle: present cycle of the pick-and-place that this page started, 0 for none.
        diagnostics: worst level that a node reports; None when none came yet.
        speed: fraction of the planned speed, as last reported by the motion server.
    """

    joints: Mapping[str, float] = field(default_factory=dict)
    joints_age: float | None = None
    status_age: float | None = None
    mode: Mode = Mode.DISCONNECTED
    fault: int = 0
    fault_message: str = ""
    homed: bool = False
    phase: str = ""
    holding: bool = False
    driver: str = ""
    link: bool = False
    hardware_fault: int = 0
    hardware_message: str = ""
    gripper_closed: bool = False
    cycle: int = 0
    diagnostics: Level | None = None
    speed: float = 0.0

    @property
    def current_mode(self) -> Mode:
        """The mode, DISCONNECTED when the motion server has fallen silent."""
        if self.status_age is None or self.status_age > STALE_AFTER:
            return Mode.DISCONNECTED
        return self.mode

    @property
    def has_measurement(self) -> bool:
        """Whether the joints are measured now."""
        return self.joints_age is not None and self.joints_age <= STALE_AFTER


def sensible_commands(state: ArmState, targets_reachable: bool, sketch_reachable: bool = False) -> frozenset[Command]:
    """Name the commands that can do something now; the emergency stop is always one."""
    mode = state.current_mode
    commands = {Command.EMERGENCY_STOP}
    if mode is Mode.IDLE:
        commands |= {Command.GRIPPER, Command.HOME}
    if mode in (Mode.IDLE, Mode.PAUSED) and state.homed and targets_reachable:
        commands.add(Command.PLAY)
    if mode is Mode.IDLE and state.homed and sketch_reachable:
        commands.add(Command.DRAW)
    if mode is Mode.MOVING:
        commands.add(Command.PAUSE)
    if mode is Mode.PAUSED:
        commands.add(Command.RESUME)
    if mode in (Mode.MOVING, Mode.PAUSED, Mode.HOMING):
        commands.add(Command.STOP)
    if mode is Mode.FAULT or state.hardware_fault:
        commands.add(Command.RESET)
    return frozenset(commands)


def can_jog(state: ArmState) -> bool:
    """Whether holding a jog button makes sense: at rest, or already moving by it."""
    free = state.current_mode in (Mode.IDLE, Mode.MOVING, Mode.STOPPING)
    return free and state.homed and not state.phase
