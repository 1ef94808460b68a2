# SPDX-License-Identifier: Apache-2.0
"""Draws the figure of docs/simulation.md and prints its table.

To run it: `./manipulator3d shell -- python docs/figures/simulation_figures.py`.
"""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from manipulator3d_control.arm_plant import LONGEST_STEP, ArmPlant
from manipulator3d_control.command_buffer import Knot
from manipulator3d_control.joint_controller import CONTROL_LAWS, JointController
from manipulator3d_control.mission import PickPlaceRequest, plan_pick_place
from manipulator3d_control.motion import Motion
from manipulator3d_kinematics import ArmModel, forward_kinematics

FOLDER = Path(__file__).parent
COLOURS = ("#888888", "#d9731a", "#1f6fb4", "#222222")
PAYLOAD_KG = 0.3
# what the mechanism carries, and what the controller takes it to carry, kg
CASES = {"no payload": (0.0, 0.0), "payload, known": (PAYLOAD_KG, PAYLOAD_KG), "payload, unknown": (PAYLOAD_KG, 0.0)}


def main() -> None:
    """Write the figure next to this script and print the table in Markdown."""
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "manipulator3d", "font.size": 9})
    arm = ArmModel.profile("capstone")
    request = PickPlaceRequest(np.array([0.25, -0.15, 0.06]), np.array([0.20, 0.20, 0.08]), 0.1, "up", "up", 0.05)
    motions = [move.motion for move in plan_pick_place(arm, request, arm.home).moves]
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    rows = figure.subplots(len(CASES), 1, sharex=True)
    print("| law | " + " | ".join(f"{case}: RMS, worst" for case in CASES) + " |")
    print("|---|" + "---|" * len(CASES))
    for law, colour in zip(CONTROL_LAWS, COLOURS, strict=True):
        cells = []
        for axes, (case, (carried, known)) in zip(rows, CASES.items(), strict=True):
            times, errors = tracked(arm, motions, law, carried, known)
            axes.semilogy(times[::15], 1e3 * np.maximum(errors[::15], 1e-6), color=colour, lw=1, label=law)
            axes.set_ylabel(f"{case}\ntool error, mm")
            axes.grid(alpha=0.3)
            axes.set_ylim(1e-2, 1e2)
            cells.append(f"{1e3 * np.sqrt(np.mean(errors**2)):.2f}, {1e3 * np.max(errors):.2f} mm")
        print(f"| `{law}` | " + " | ".join(cells) + " |")
    rows[0].legend(ncols=len(CONTROL_LAWS), loc="upper center", frameon=False)
    rows[-1].set_xlabel("time, s")
    figure.savefig(
        FOLDER / "simulation_control_laws.svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )


def tracked(
    arm: ArmModel, motions: list[Motion], law: str, carried: float, known: float
) -> tuple[np.ndarray, np.ndarray]:
    """Run the motions one after the other; times, s, and distances of the tool from where it is to be, m."""
    start = tuple(motions[0].sample(0.0).position.tolist())
    plant = ArmPlant(arm.with_payload(carried), start)
    controller = JointController(arm.with_payload(known), Knot(0.0, start, (0.0, 0.0, 0.0)), law)
    wanted, reached = [], []
    for motion in motions:
        for t in np.arange(0.0, motion.duration, LONGEST_STEP):
            state = motion.sample(float(t))
            setpoint = Knot(float(t), tuple(state.position.tolist()), tuple(state.velocity.tolist()))
            wanted.append(setpoint.position)
            reached.append(plant.position)
            plant.step(controller.torque(setpoint, plant.position, plant.velocity, LONGEST_STEP), LONGEST_STEP)
    apart = forward_kinematics(arm, np.array(wanted)) - forward_kinematics(arm, np.array(reached))
    return np.arange(len(wanted)) * LONGEST_STEP, np.linalg.norm(apart, axis=1)


if __name__ == "__main__":
    main()
