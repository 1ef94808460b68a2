# SPDX-License-Identifier: Apache-2.0
"""Inverse and forward kinematics against the libraries that one would pick instead."""

import importlib
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable, Collection, Sequence
from math import atan2, pi, sqrt
from typing import Any

import numpy as np

from manipulator3d_description.robot_description import robot_description
from manipulator3d_kinematics import (
    ArmModel,
    DHChain,
    ccd,
    forward_kinematics,
    inverse_kinematics,
    inverse_kinematics_batch,
    jacobian,
)

_TARGETS = 200
_ROUNDS = 31
_SOLVED_M = 1e-4
_SCALES = (10**5, 10**6, 10**7)

Call = Callable[[int], Any]


def rows() -> list[dict[str, Any]]:
    """Measure everything on the arm `capstone`, with the same targets for all."""
    arm = ArmModel.profile("capstone")
    targets, positions, starts = _targets(arm, _TARGETS)
    return [
        *_scalar_rows(arm, targets, positions, starts),
        *_batch_rows(arm, targets),
        *_descent_rows(arm, targets, starts),
        *_forward_rows(arm, positions),
    ]


def row(name: str, value: float, unit: str, reference: str, ratio: float | None, goal: float | None) -> dict[str, Any]:
    """One row; the goal is the largest ratio wished for."""
    met = None if goal is None or ratio is None else bool(ratio <= goal)
    text = None if goal is None else f"<= {goal:.3g}"
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "reference": reference,
        "ratio": ratio,
        "goal": text,
        "met": met,
    }


def missing(name: str, peer: str) -> dict[str, Any]:
    """The row of a peer that is not installed."""
    remedy = "./manipulator3d shell -- pip install -c bootstrap/constraints.txt -r bootstrap/requirements/peers.txt"
    return row(name, 0.0, "", f"{peer} is not installed; {remedy}", None, None) | {"value": None}


def interleaved(
    calls: dict[str, Call], count: int = _TARGETS, rounds: int = _ROUNDS, batches: Collection[str] = ()
) -> dict[str, float]:
    """Time per call in µs: calls take turns round by round, the median round counts.

    Args:
        calls: by name; the argument is the number of the call in its round.
        count: calls in one round.
        rounds: number of rounds.
        batches: names of those that are called once in a round.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            repeated = 1 if name in batches else count
            started = time.perf_counter()
            for index in range(repeated):
                call(index)
            times[name].append((time.perf_counter() - started) / repeated * 1e6)
    return {name: statistics.median(measured) for name, measured in times.items()}


def _targets(arm: ArmModel, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reachable tool points above the floor, the joint angles they come from, and starts near those."""
    rng = np.random.default_rng(1)
    q = rng.uniform(arm.lower, arm.upper, (4 * count, 3))
    q = q[forward_kinematics(arm, q)[:, 2] > 0.0][:count]
    starts = np.clip(q + rng.uniform(-0.3, 0.3, q.shape), arm.lower, arm.upper)
    return forward_kinematics(arm, q), q, starts


def _scalar_rows(arm: ArmModel, targets: np.ndarray, q: np.ndarray, starts: np.ndarray) -> list[dict[str, Any]]:
    points = [tuple(point) for point in targets.tolist()]
    calls: dict[str, Call] = {"ours": lambda index: inverse_kinematics(arm, points[index]).angles}
    goals = {"eaik": 0.7, "roboticstoolbox": 0.3, "pinocchio": None, "ikpy": 1 / 400}
    makers = {"eaik": _eaik, "roboticstoolbox": _toolbox, "pinocchio": _pinocchio, "ikpy": _ikpy}
    absent = []
    for peer, make in makers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                calls[peer] = make(arm, targets, q, starts)
        except ModuleNotFoundError:
            absent.append(peer)
    took = interleaved({name: call for name, call in calls.items() if name != "ikpy"})
    if "ikpy" in calls:
        took |= interleaved({"ikpy": calls["ikpy"]}, count=20, rounds=3)
    made = [_quality("one target, with branches, limits, floor and reason", arm, targets, calls["ours"], took["ours"])]
    for peer in makers:
        if peer in absent:
            made.append(missing(f"one target against {peer}", peer))
            continue
        solved, error = _solved(arm, targets, calls[peer], 20 if peer == "ikpy" else _TARGETS)
        reference = f"{peer}: {took[peer]:.3g} us, {solved:.0%} solved, median error {error:.1g} m"
        made.append(
            row(f"one target against {peer}", took["ours"], "us", reference, took["ours"] / took[peer], goals[peer])
        )
    return made


def _quality(name: str, arm: ArmModel, targets: np.ndarray, call: Call, took: float) -> dict[str, Any]:
    solved, error = _solved(arm, targets, call, _TARGETS)
    return row(f"{name}: {solved:.0%} solved, median error {error:.1g} m", took, "us", "itself", None, None)


def _solved(arm: ArmModel, targets: np.ndarray, call: Call, count: int) -> tuple[float, float]:
    """Share of targets met within 0.1 mm, and the median error."""
    errors = []
    for index in range(count):
        answers = np.atleast_2d(np.asarray(call(index), dtype=np.float64))[:, :3]
        reached = forward_kinematics(arm, answers)
        errors.append(float(np.linalg.norm(reached - targets[index], axis=1).min()))
    return float(np.mean(np.array(errors) <= _SOLVED_M)), statistics.median(errors)


def _eaik(arm: ArmModel, targets: np.ndarray, q: np.ndarray, _starts: np.ndarray) -> Call:
    """EAIK solves arms of six joints: ours with a wrist of no size at the tool point."""
    robot = importlib.import_module("eaik.IK_DH").DhRobot(
        np.array([pi / 2, 0.0, 0.0, pi / 2, -pi / 2, 0.0]),
        np.array([0.0, arm.upper_arm, arm.forearm, 0.0, 0.0, 0.0]),
        np.array([arm.base_height, 0.0, arm.lateral_offset, 0.0, 0.0, 0.0]),
    )
    poses = [robot.fwdKin(np.array([*angles, 0.1, 0.2, 0.3])) for angles in q]
    return lambda index: robot.IK(poses[index]).Q


def _toolbox(arm: ArmModel, targets: np.ndarray, _q: np.ndarray, starts: np.ndarray) -> Call:
    toolbox = importlib.import_module("roboticstoolbox")
    limits = [[low, high] for low, high in zip(arm.lower, arm.upper, strict=True)]
    chain = toolbox.DHRobot(
        [
            toolbox.RevoluteDH(d=arm.base_height, alpha=pi / 2, qlim=limits[0]),
            toolbox.RevoluteDH(a=arm.upper_arm, qlim=limits[1]),
            toolbox.RevoluteDH(d=arm.lateral_offset, a=arm.forearm, qlim=limits[2]),
        ]
    ).ets()
    poses = [np.eye(4) for _ in targets]
    for pose, target in zip(poses, targets, strict=True):
        pose[:3, 3] = target
    mask = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    return lambda index: chain.ik_LM(poses[index], q0=starts[index], mask=mask, tol=1e-10)[0]


def _pinocchio(_arm: ArmModel, targets: np.ndarray, _q: np.ndarray, starts: np.ndarray) -> Call:
    """The closed loop of pinocchio's example, for the position alone."""
    pin = importlib.import_module("pinocchio")
    model = pin.buildModelFromXML(robot_description("capstone"))
    data = model.createData()
    tool = model.getFrameId("tool0")

    def solve(index: int) -> np.ndarray:
        angles = starts[index].copy()
        for _ in range(100):
            pin.framesForwardKinematics(model, data, angles)
            error = data.oMf[tool].translation - targets[index]
            if error @ error < 1e-12:
                break
            matrix = pin.computeFrameJacobian(model, data, angles, tool, pin.LOCAL_WORLD_ALIGNED)[:3]
            angles -= matrix.T @ np.linalg.solve(matrix @ matrix.T + 1e-6 * np.eye(3), error)
        return angles

    return solve


def _ikpy(arm: ArmModel, targets: np.ndarray, _q: np.ndarray, starts: np.ndarray) -> Call:
    chain_module = importlib.import_module("ikpy.chain")
    link_module = importlib.import_module("ikpy.link")
    joints = (
        ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        ((0.0, 0.0, arm.base_height), (0.0, -1.0, 0.0)),
        ((arm.upper_arm, -arm.lateral_offset, 0.0), (0.0, -1.0, 0.0)),
    )
    links = [
        link_module.URDFLink(str(number), list(origin), [0.0] * 3, rotation=list(axis), bounds=(low, high))
        for number, ((origin, axis), low, high) in enumerate(zip(joints, arm.lower, arm.upper, strict=True))
    ]
    tip = link_module.URDFLink("tip", [arm.forearm, 0.0, 0.0], [0.0] * 3, joint_type="fixed", rotation=None)
    chain = chain_module.Chain(
        [link_module.OriginLink(), *links, tip], active_links_mask=[False, True, True, True, False]
    )
    return lambda index: chain.inverse_kinematics(targets[index], initial_position=[0.0, *starts[index], 0.0])[1:4]


def _batch_rows(arm: ArmModel, targets: np.ndarray) -> list[dict[str, Any]]:
    points = [tuple(point) for point in targets.tolist()]
    many = np.tile(targets, (50, 1))
    calls: dict[str, Call] = {
        "one": lambda index: inverse_kinematics(arm, points[index]),
        "many": lambda _index: inverse_kinematics_batch(arm, many, "auto"),
    }
    took = interleaved(calls, batches=("many",))
    each = took["many"] / len(many)
    made = [row("batch of 1e+04, per target", each, "us", "one at a time", each / took["one"], 0.15)]
    for count in _SCALES:
        ours, small = _in_turns(arm, np.tile(targets, (count // len(targets), 1)), many)
        made.append(row(f"batch of {count:.0e}, per target", ours, "us", "batches of 1e+04", ours / small, 1.5))
    block = np.tile(targets, (10**6 // len(targets), 1))
    tracemalloc.start()
    inverse_kinematics_batch(arm, block, "auto")
    peak = tracemalloc.get_traced_memory()[1] / len(block)
    tracemalloc.stop()
    made.append(row("memory of a batch of 1e6, per target", peak, "bytes", "its result, 28 bytes", peak / 28.0, 1.5))
    return made


def _in_turns(arm: ArmModel, block: np.ndarray, part: np.ndarray) -> tuple[float, float]:
    """Time per target in µs of one batch, and of the same number in small batches: the quickest of three turns each."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        for targets, repeated, taken in ((block, 1, times[0]), (part, len(block) // len(part), times[1])):
            started = time.perf_counter()
            for _ in range(repeated):
                inverse_kinematics_batch(arm, targets, "auto")
            taken.append((time.perf_counter() - started) / len(block) * 1e6)
    return min(times[0]), min(times[1])


def _descent_rows(arm: ArmModel, targets: np.ndarray, starts: np.ndarray) -> list[dict[str, Any]]:
    chain = DHChain.from_arm(arm)
    calls: dict[str, Call] = {
        "ours": lambda index: ccd(chain, targets[index], starts[index]).q,
        "textbook": lambda index: textbook_descent(chain, targets[index].tolist(), starts[index].tolist()),
    }
    took = interleaved(calls, rounds=5)
    (ours, _), (textbook, _) = (_solved(arm, targets, calls[name], _TARGETS) for name in ("ours", "textbook"))
    reference = f"the textbook form: {textbook:.0%} solved"
    name = f"coordinate descent: {ours:.1%} solved within 0.1 mm"
    return [
        row(name, took["ours"], "us", reference, took["ours"] / took["textbook"], 1.0),
        row("coordinate descent, targets missed", 1.0 - ours, "of all", "none", 1.0 - ours, 0.0),
    ]


def textbook_descent(chain: DHChain, target: Sequence[float], start: Sequence[float]) -> list[float]:
    """Cyclic coordinate descent as usually printed: clamped, forward kinematics at each joint, 100 sweeps at most."""
    q = list(start)
    lower, upper = chain.lower.tolist(), chain.upper.tolist()
    tx, ty, tz = target
    origins, axes, (px, py, pz) = chain.axes(q)
    for _ in range(100):
        for joint in range(len(q) - 1, -1, -1):
            (ox, oy, oz), (wx, wy, wz) = origins[joint], axes[joint]
            ax, ay, az, bx, by, bz = px - ox, py - oy, pz - oz, tx - ox, ty - oy, tz - oz
            along = ax * wx + ay * wy + az * wz
            ax, ay, az = ax - along * wx, ay - along * wy, az - along * wz
            cross = wx * (ay * bz - az * by) + wy * (az * bx - ax * bz) + wz * (ax * by - ay * bx)
            turn = atan2(cross, ax * bx + ay * by + az * bz)
            q[joint] = min(max(q[joint] + turn, lower[joint]), upper[joint])
            origins, axes, (px, py, pz) = chain.axes(q)
        if sqrt((px - tx) ** 2 + (py - ty) ** 2 + (pz - tz) ** 2) <= _SOLVED_M:
            break
    return q


def _forward_rows(arm: ArmModel, q: np.ndarray) -> list[dict[str, Any]]:
    angles = [tuple(position) for position in q.tolist()]
    many = np.tile(q, (50, 1))
    calls: dict[str, Call] = {
        "forward kinematics": lambda index: forward_kinematics(arm, angles[index]),
        "Jacobian": lambda index: jacobian(arm, angles[index]),
    }
    batches: dict[str, Call] = {
        "batch forward kinematics": lambda _index: forward_kinematics(arm, many),
        "batch Jacobian": lambda _index: jacobian(arm, many),
    }
    try:
        pin = importlib.import_module("pinocchio")
    except ModuleNotFoundError:
        return [missing(f"{name} against pinocchio", "pinocchio") for name in calls]
    model = pin.buildModelFromXML(robot_description("capstone"))
    data = model.createData()
    tool = model.getFrameId("tool0")

    rows, axes = list(q), pin.LOCAL_WORLD_ALIGNED

    def locate(index: int) -> np.ndarray:
        pin.framesForwardKinematics(model, data, rows[index])
        return data.oMf[tool].translation.copy()

    peers: dict[str, Call] = {
        "forward kinematics": locate,
        "Jacobian": lambda index: pin.computeFrameJacobian(model, data, rows[index], tool, axes),
    }
    named = {f"pinocchio {name}": call for name, call in peers.items()}
    ours = interleaved(calls | named | batches, batches=batches)
    made = []
    for name, goal in (("forward kinematics", 0.5), ("Jacobian", 1.1)):
        peer, each = ours[f"pinocchio {name}"], ours[f"batch {name}"] / len(many)
        made.append(row(f"{name}, one position", ours[name], "us", "pinocchio", ours[name] / peer, goal))
        made.append(row(f"{name}, batch of 10^4, per position", each, "us", "pinocchio", each / peer, goal))
    return made
