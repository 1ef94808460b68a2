# SPDX-License-Identifier: Apache-2.0
"""What happens when a wish cannot be met: every refusal is an ArmError with a code and the remedy in its text."""

from manipulator3d import Arm, ArmError, ErrorCode

FAR = [0.60, 0.0, 0.20]

with Arm() as arm:
    arm.wait_until_ready()

    try:
        arm.move_to(FAR)
    except ArmError as error:
        print(f"refused, and nothing moved: {error}")
        if error.code == ErrorCode.TOO_FAR:
            nearest = arm.solve_ik(FAR, allow_closest=True)
            print(f"the nearest point is {nearest.position_error:.3f} m from there")

    try:
        arm.pick_place([0.25, -0.15, 0.06], [0.20, 0.20, 0.08], cycles=0, timeout=1.0)
    except ArmError as error:
        print(f"given up, at rest on the path: {error}")

    arm.emergency_stop()
    try:
        arm.move_to([0.22, 0.10, 0.20])
    except ArmError as error:
        print(f"nothing moves after an emergency stop: {error}")
    arm.reset_fault()
    arm.wait_until_ready()
    print("ready again")
