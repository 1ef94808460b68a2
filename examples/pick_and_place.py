# SPDX-License-Identifier: Apache-2.0
"""Carry an object from one place to another, and tell each phase."""

from manipulator3d import Arm
from manipulator3d.arm_answers import Progress

START, GOAL = [0.25, -0.15, 0.06], [0.20, 0.20, 0.08]


class PhaseTeller:
    """Prints each phase when it begins."""

    phase = ""

    def __call__(self, progress: Progress) -> None:
        """Take the progress of the motion."""
        if progress.phase != self.phase:
            self.phase = progress.phase
            print(f"  {progress.fraction:4.0%}  {self.phase}{' (holding)' if progress.holding else ''}")


with Arm() as arm:
    arm.wait_until_ready()
    done = arm.pick_place(START, GOAL, approach_height=0.08, on_progress=PhaseTeller(), timeout=60.0)
    print(f"{done.cycles_completed} cycle in {done.duration:.2f} s")
