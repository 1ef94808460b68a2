# SPDX-License-Identifier: Apache-2.0
"""Equations of motion against pinocchio."""

import importlib
from typing import Any

import numpy as np

from benchmarks.kinematics import Call, interleaved, missing, row
from manipulator3d_description.robot_description import robot_description
from manipulator3d_kinematics import (
    ArmModel,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    mechanical_energy,
    motion_step,
)

_STATES = 200
_SWING_S, _STEP_S = 10.0, 0.0005


def rows() -> list[dict[str, Any]]:
    """Measure everything on the arm `capstone`."""
    arm = ArmModel.profile("capstone")
    states = np.random.default_rng(0).uniform(-2.0, 2.0, (3, _STATES, 3))
    return [*_term_rows(arm, states), *_motion_rows(arm, states)]


def _term_rows(arm: ArmModel, states: np.ndarray) -> list[dict[str, Any]]:
    plain = [tuple(tuple(part) for part in state) for state in states.transpose(1, 0, 2).tolist()]
    many = [np.tile(part, (50, 1)) for part in states]
    functions = {
        "inverse dynamics": (inverse_dynamics, 3, 3.0),
        "forward dynamics": (forward_dynamics, 3, None),
        "mass matrix": (mass_matrix, 1, None),
    }
    try:
        pin = importlib.import_module("pinocchio")
    except ModuleNotFoundError:
        return [missing(f"{name} against pinocchio", "pinocchio") for name in functions]
    model = pin.buildModelFromXML(robot_description("capstone"))
    data = model.createData()
    arrays = [tuple(state) for state in states.transpose(1, 0, 2)]
    peers: dict[str, Call] = {
        "inverse dynamics": lambda index: pin.rnea(model, data, *arrays[index]),
        "forward dynamics": lambda index: pin.aba(model, data, *arrays[index]),
        "mass matrix": lambda index: pin.crba(model, data, arrays[index][0]),
    }
    ours: dict[str, Call] = {
        "inverse dynamics": lambda index: inverse_dynamics(arm, *plain[index]),
        "forward dynamics": lambda index: forward_dynamics(arm, *plain[index]),
        "mass matrix": lambda index: mass_matrix(arm, plain[index][0]),
    }
    calls: dict[str, Call] = ours | {f"pinocchio {name}": call for name, call in peers.items()}
    batches: dict[str, Call] = {}
    for name, (function, count, _) in functions.items():
        batches[f"batch {name}"] = lambda _index, function=function, count=count: function(arm, *many[:count])  # type: ignore[misc]
    took = interleaved(calls | batches, batches=batches)
    made = []
    for name, (_, _, goal) in functions.items():
        peer, each = took[f"pinocchio {name}"], took[f"batch {name}"] / len(many[0])
        made.append(row(f"{name}, one state", took[name], "us", "pinocchio", took[name] / peer, goal))
        batch_goal = 0.15 if goal else None
        made.append(row(f"{name}, batch of 10^4, per state", each, "us", "pinocchio", each / peer, batch_goal))
    return made


def _motion_rows(arm: ArmModel, states: np.ndarray) -> list[dict[str, Any]]:
    plain = [tuple(tuple(part) for part in state) for state in states.transpose(1, 0, 2).tolist()]
    took = interleaved({"step": lambda index: motion_step(arm, *plain[index], 0.001)})
    q, qd, none = (0.0, 1.2, -1.6), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    before = mechanical_energy(arm, q, qd)
    for _ in range(round(_SWING_S / _STEP_S)):
        q, qd = motion_step(arm, q, qd, none, _STEP_S)
    drift = abs(mechanical_energy(arm, q, qd) - before)
    return [
        row("one step of the motion", took["step"], "us", "a step of 1 ms in real time", took["step"] / 1e3, 0.05),
        row("energy lost in 10 s of free swing", drift, "J", "1e-6 J", drift / 1e-6, 1.0),
    ]
