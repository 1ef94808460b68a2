# SPDX-License-Identifier: Apache-2.0
"""Draw a circle and a rounded rectangle, one lying, one standing."""

from manipulator3d import Arm

with Arm() as arm:
    arm.wait_until_ready()
    circle = arm.draw_circle([0.25, 0.0, 0.12], radius=0.05, timeout=60.0)
    print(f"circle: {circle.length:.3f} m in {circle.duration:.2f} s, off by {circle.max_deviation * 1000:.2f} mm")

    standing = arm.draw_rectangle(
        [0.28, 0.0, 0.20], width=0.12, height=0.06, normal=[1, 0, 0], along=[0, 1, 0], corner_radius=0.01, speed=0.2
    )
    print(f"rectangle: {standing.length:.3f} m in {standing.duration:.2f} s")
