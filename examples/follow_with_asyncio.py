# SPDX-License-Identifier: Apache-2.0
"""Watch the arm while it moves, pause it on the way, and give up a motion that takes too long, with asyncio."""

import asyncio

import numpy as np

from manipulator3d import AsyncArm


async def watch(arm: AsyncArm) -> None:
    """Print the tool point until cancelled."""
    while True:
        print(f"  {arm.status.mode:8s} {np.round(arm.tool, 3)} m")
        await asyncio.sleep(0.2)


async def main() -> None:
    """Move, pause, go on; then give up."""
    async with AsyncArm() as arm:
        await arm.wait_until_ready()
        watching = asyncio.create_task(watch(arm))
        motion = asyncio.create_task(arm.move_joints([1.0, 1.2, -1.6], speed_scale=0.8))
        await asyncio.sleep(0.3)
        print(await arm.pause())
        print(await arm.resume())
        print(f"there after {(await motion).duration:.2f} s")
        try:
            async with asyncio.timeout(0.5):
                await arm.move_joints([-1.0, 1.2, -1.6], speed_scale=0.3)
        except TimeoutError:
            print(f"given up at {np.round(arm.joints, 2)} rad; the arm is {arm.status.mode}")
        watching.cancel()


asyncio.run(main())
