# SPDX-License-Identifier: Apache-2.0
"""Ask where the arm is and where it could go, then move it and look again."""

import numpy as np

from manipulator3d import Arm

TARGET = [0.22, 0.10, 0.20]

with Arm() as arm:
    arm.wait_until_ready()
    print(f"the tool is at {np.round(arm.tool, 3)} m, the joints at {np.round(arm.joints, 3)} rad")

    solution = arm.solve_ik(TARGET, elbow="down")
    print(f"{TARGET} m takes {np.round(solution.joints, 3)} rad; {len(solution.alternatives)} solution(s)")

    moved = arm.move_to(TARGET, on_progress=lambda progress: print(f"  {progress.fraction:4.0%}", end="\r"))
    print(f"there after {moved.duration:.2f} s, {moved.position_error * 1000:.2f} mm off")

    arm.move_joints({"base_yaw": 0.0, "shoulder_pitch": 1.2, "elbow_pitch": -1.6})
    print(f"back at {np.round(arm.tool, 3)} m")
