# SPDX-License-Identifier: Apache-2.0
"""The firmware's binary in simavr: cycles, load, counting, and the tool's error through binary and plant."""

import importlib
import itertools
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kinematics import missing, row
from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Mode
from manipulator3d_kinematics import ArmModel, forward_kinematics, inverse_kinematics

_ROOT = Path(__file__).resolve().parents[1]
_CLOCK_HZ = 16e6
# Cycles from an edge to the first instruction of its interrupt, which simavr does not count.
_ENTRY_CYCLES = 5
# Saving and restoring fifteen registers and the calls in the control interrupt.
_SAVING_CYCLES = 100
_SPEED, _ACCELERATION = 0.15, 1.0  # m/s, m/s²
_FLASH, _RAM = 253952, 8192

Curve = Callable[[float], np.ndarray]


def rows() -> list[dict[str, Any]]:
    """Measure everything on the board's own binary, in virtual time."""
    needed = {"avr-g++": "gcc-avr", "avr-nm": "binutils-avr"}
    absent = [package for program, package in needed.items() if shutil.which(program) is None]
    if absent:
        return [missing("the firmware's binary", absent[0])]
    elf = _build()
    board = importlib.import_module("virtual_board")
    try:
        library = board.load_avr(_library_folder())
    except OSError:
        return [missing("the firmware's binary", "libsimavr-dev")]

    def make(start: Sequence[float]) -> Any:
        return _ready(board, board.AvrPort(library, elf, start=start))

    cycles = _cycle_rows(make(board.HOME), elf)
    return [
        *cycles,
        *_latency_rows(board, make),
        *_count_rows(board, library, elf),
        *_size_rows(elf),
        *_shape_rows(make),
    ]


def _library_folder() -> Path:
    return Path(os.environ["MANIPULATOR3D_EMULATOR"]).parent


def _build() -> Path:
    sys.path.insert(0, str(_ROOT / "firmware/tests"))
    folder = _library_folder() / "avr"
    subprocess.run(["make", "-s", "-C", str(_ROOT / "firmware"), f"BUILD={folder}"], check=True)
    return folder / "manipulator3d_firmware.elf"


def _ready(board: Any, port: Any) -> Any:
    """Return the host of a board that tracks."""
    host = board.Host(port)
    host.run(60)
    host.configure()
    host.do(messages.SetHere(joints=7, position=tuple(port.observe().position)))
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(200)
    host.do(messages.SetMode(mode=Mode.TRACK))
    return host


def _cycle_rows(host: Any, elf: Path) -> list[dict[str, Any]]:
    path = importlib.import_module("firmware_paths").rest_to_rest
    a, b = (0.0, 1.2, -1.6), (0.5, 0.8, -1.2)
    port = host.port
    port.clear_costs()
    began = port.observe().time
    host.follow(path(a, b, 1.0), 1.0)
    lasted = port.observe().time - began
    encoder = max(port.cost(vector)[3] for vector in port.ENCODERS)
    line = [port.cost(vector) for vector in (port.RECEIVE, port.TRANSMIT)]
    spent = sum(total + _ENTRY_CYCLES * count for count, total, _, _ in line) / lasted
    mean = np.mean([port.cost(vector)[1] / port.cost(vector)[0] for vector in port.ENCODERS])
    spent += 3 * 10_000 * (mean + _ENTRY_CYCLES)
    port.watch_function(_address(elf, "JointLoop::control()"))
    host.follow(path(b, a, 1.0), 1.0)
    joint = port.function_cost()[3]
    port.watch_function(_address(elf, "Control::step(Inputs const&)"))
    host.follow(path(a, b, 1.0), 1.0)
    step = port.function_cost()
    # Steps that waited for a lock are made outside the interrupt, so all are counted by their function instead, with
    # what stands around it: the collecting of the counts, the setting of the drives, the saving of registers.
    port.watch_function(_address(elf, "encoders::collect(Inputs*)"))
    host.run_alive(100)
    around = port.function_cost()[3]
    port.watch_function(_address(elf, "motors::drive(int const*)"))
    host.run_alive(100)
    around += port.function_cost()[3] + _SAVING_CYCLES + _ENTRY_CYCLES
    port.watch_function(_address(elf, "Board::setpoint()"))
    host.follow(path(b, a, 1.0), 1.0)
    setpoint = port.function_cost()
    load = (spent + 1000 * (step[1] / step[0] + around)) / _CLOCK_HZ
    return [
        row("encoder interrupt", encoder, "cycles", "81 cycles", encoder / 81, 1.0),
        row("three-axis control", 3 * joint, "cycles", "1102 cycles", 3 * joint / 1102, 1.0),
        row("all of a control step, mean", step[1] / step[0], "cycles", "1 ms", step[1] / step[0] / 16000, None),
        row("a setpoint in the main loop, mean", setpoint[1] / setpoint[0] / 16000, "ms", "10 ms", None, None),
        row("interrupts at 10 000 counts/s an axis", 100 * load, "% of time", "25 %", load / 0.25, 1.0),
    ]


def _latency_rows(board: Any, make: Callable[[Sequence[float]], Any]) -> list[dict[str, Any]]:
    """From the last byte of a frame to the PWM register that it changes.

    Two boards run in step; one gets the frame, the other one of the same length that changes nothing. What differs
    first is its effect. The setpoint is for a time that is so near that the motion begins as soon as it can.
    """
    stop: list[float] = []
    setpoint: list[float] = []
    for phase in range(0, 4000, 370):  # the joints take turns of four ticks
        stop.append(_latency(board, make, phase, lambda _: (messages.EmergencyStop(), messages.ReadBoard()), True))
        setpoint.append(_latency(board, make, phase, _setpoint_and_rest, False))
    return [
        row("emergency stop to motor, median", float(np.median(stop)), "ms", "", None, None),
        row("emergency stop to motor, worst", max(stop), "ms", "", None, None),
        row("setpoint to motor, median", float(np.median(setpoint)), "ms", "", None, None),
        row("setpoint to motor, worst", max(setpoint), "ms", "", None, None),
    ]


def _setpoint_and_rest(host: Any) -> tuple[messages.Setpoint, messages.Setpoint]:
    time = round((host.port_time() + 0.020) * 1e6)
    rest = tuple(host.state.position)
    moved = (rest[0] + 0.0005, *rest[1:])
    return (
        messages.Setpoint(time=time, position=moved, velocity=(0.05, 0.0, 0.0)),
        messages.Setpoint(time=time, position=rest, velocity=(0.0, 0.0, 0.0)),
    )


def _latency(
    board: Any,
    make: Callable[[Sequence[float]], Any],
    phase_us: int,
    frames: Callable[[Any], tuple[messages.Message, messages.Message]],
    moving: bool,
) -> float:
    """Time in ms from a frame's last byte until the drives of the board that got it differ from the other's."""
    hosts = [make(board.HOME), make(board.HOME)]
    path = importlib.import_module("firmware_paths").steady(board.HOME, (0.8, 0.0, 0.0), ramp=0.2)
    sent = []
    for host, which in zip(hosts, (0, 1), strict=True):
        if moving:
            # all of a motion that lasts 0.2 s longer than this waits in the queue
            start = host.port_time() + 0.05
            for k in range(38):
                position, velocity = path(k / 50)
                time = round((start + k / 50) * 1e6)
                host.send(messages.Setpoint(time=time, position=tuple(position), velocity=tuple(velocity)))
                host.run(4)
            host.run_alive(400)
        message = frames(host)[which]
        host.port.advance_us(phase_us)
        host.send(message)
        sent.append(len(board.encode(message, 0)))
    if sent[0] != sent[1]:
        raise RuntimeError(f"the frames have {sent} bytes")
    step_us, waited_us = 10, 0
    while list(hosts[0].port.observe().drive) == list(hosts[1].port.observe().drive):
        for host in hosts:
            host.port.advance_us(step_us)
        waited_us += step_us
        if waited_us > 100_000:
            raise RuntimeError("the frame has changed no drive within 0.1 s")
    for host in hosts:
        host.port.close()
    return (waited_us - sent[0] * 10 / messages.BAUD * 1e6) / 1000


def _address(elf: Path, name: str) -> int:
    symbols = subprocess.run(["avr-nm", "-C", str(elf)], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(name))


def _count_rows(board: Any, library: Any, elf: Path) -> list[dict[str, Any]]:
    best = 0
    for rate in (20_000, 33_000, 40_000, 50_000, 60_000):
        port = board.AvrPort(library, elf)
        host = board.Host(port)
        host.run(60)
        host.configure(counts_per_radian=10000.0, velocity=1.0)
        host.do(messages.SetHere(joints=7, position=(0.0, 0.0, 0.0)))
        before = [port.encoder_counts(joint) for joint in range(3)]
        port.spin((rate, -rate, 0.97 * rate))
        host.run_alive(1000)
        port.spin((0.0, 0.0, 0.0))
        host.run_alive(40)
        made = [port.encoder_counts(joint) - start for joint, start in enumerate(before)]
        counted = [round(position * 10000) for position in host.state.position]
        port.close()
        if counted != made:
            break
        best = rate
    ratio = 33_000 / best if best else math.inf
    return [row("counts without loss on each of three axes", best, "1/s", "33 000 (inverse)", ratio, 1.0)]


def _size_rows(elf: Path) -> list[dict[str, Any]]:
    text = subprocess.run(["avr-size", "-A", str(elf)], capture_output=True, text=True, check=True).stdout
    size = {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if line.startswith(".")}
    flash = size[".text"] + size[".data"]
    ram = size[".data"] + size[".bss"] + size.get(".noinit", 0)
    return [
        row("flash", flash, "bytes", "what there is", flash / _FLASH, None),
        row("RAM", ram, "bytes", "what there is", ram / _RAM, None),
    ]


def _shape_rows(make: Callable[[Sequence[float]], Any]) -> list[dict[str, Any]]:
    arm = ArmModel.profile("capstone")
    center = np.array([0.26, 0.0, 0.16])
    square = [(-0.05, -0.04), (0.05, -0.04), (0.05, 0.04), (-0.05, 0.04), (-0.05, -0.04)]
    triangle = [(-0.05, -0.04), (0.05, -0.04), (0.0, 0.05), (-0.05, -0.04)]
    shapes: dict[str, tuple[Curve, float]] = {
        "circle": _circle(center, 0.05),
        "rectangle": _polygon([center + np.array([x, y, 0.0]) for x, y in square]),
        "triangle": _polygon([center + np.array([x, y, 0.0]) for x, y in triangle]),
    }
    made = []
    for name, (curve, duration) in shapes.items():
        errors = 1e3 * _tool_errors(arm, make, curve, duration)
        rms, worst = float(np.sqrt(np.mean(errors**2))), float(errors.max())
        made.append(row(f"tool error, {name} at 0.15 m/s, RMS", rms, "mm", "0.4 mm", rms / 0.4, 1.0))
        made.append(row(f"tool error, {name} at 0.15 m/s, worst", worst, "mm", "1 mm", worst, 1.0))
    return made


def _tool_errors(arm: ArmModel, make: Callable[[Sequence[float]], Any], curve: Curve, duration: float) -> np.ndarray:
    """Distances in m of the tool from the curve, each ms."""
    seed = [0.0, 1.2, -1.6]
    times = np.arange(round(duration * 100) + 2) / 100
    joints = []
    for time in times:
        result = inverse_kinematics(arm, curve(time), seed=seed)
        seed = list(result.q)
        joints.append(seed)
    positions = np.array(joints)
    velocities = np.gradient(positions, 0.01, axis=0)
    velocities[0] = velocities[-1] = 0.0
    line = np.array([curve(time) for time in np.arange(0.0, duration, 0.0005)])
    host = make(positions[0])
    seen: list[list[float]] = []

    def path(time: float) -> tuple[list[float], list[float]]:
        index = min(round(time * 100), len(positions) - 1)
        return positions[index].tolist(), velocities[index].tolist()

    def note(time: float, observation: Any) -> None:
        if 0.0 <= time <= duration:
            seen.append(list(observation.position))

    host.follow(path, duration, each=note)
    refused = [message for message in host.received if isinstance(message, messages.Refuse)]
    host.port.close()
    if refused or host.state.mode != Mode.TRACK:
        raise RuntimeError(f"the board did not follow: {refused[:1]}, state {host.state}")
    tools = forward_kinematics(arm, np.array(seen))
    return np.array([np.linalg.norm(line - tool, axis=1).min() for tool in tools])


def _ramp(length: float) -> tuple[Callable[[float], float], float]:
    """Way along a length from rest to rest at the speed and acceleration, and how long it takes."""
    ramp = _SPEED / _ACCELERATION
    duration = length / _SPEED + ramp

    def way(time: float) -> float:
        t = min(max(time, 0.0), duration)
        if t < ramp:
            return _ACCELERATION * t * t / 2
        if t > duration - ramp:
            return length - _ACCELERATION * (duration - t) ** 2 / 2
        return _SPEED * (t - ramp / 2)

    return way, duration


def _circle(center: np.ndarray, radius: float) -> tuple[Curve, float]:
    way, duration = _ramp(2 * math.pi * radius)

    def curve(time: float) -> np.ndarray:
        angle = way(time) / radius
        return center + radius * np.array([math.cos(angle), math.sin(angle), 0.0])

    return curve, duration


def _polygon(corners: Sequence[np.ndarray]) -> tuple[Curve, float]:
    """Edge by edge, at rest in each corner."""
    edges = [(a, b, *_ramp(float(np.linalg.norm(b - a)))) for a, b in itertools.pairwise(corners)]

    def curve(time: float) -> np.ndarray:
        for a, b, way, duration in edges:
            if time <= duration:
                return a + (b - a) * way(time) / np.linalg.norm(b - a)
            time -= duration
        return corners[-1]

    return curve, sum(duration for *_, duration in edges)
