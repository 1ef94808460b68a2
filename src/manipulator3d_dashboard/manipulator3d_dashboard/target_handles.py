# SPDX-License-Identifier: Apache-2.0
"""START and GOAL in the 3D view: a ball each, with arrows to drag it by."""

from collections.abc import Callable

import numpy as np
import viser

from manipulator3d_dashboard.pose import Vector

_RADIUS = 0.014
_HANDLE = 0.09
_UNREACHABLE = (90, 90, 90)


class TargetHandle:
    """One target.

    Args:
        scene: of viser.
        name: START or GOAL.
        colour: red, green and blue, 0 to 255, when it is reachable.
        on_drag: called in viser's thread with the new place, m, while someone drags it.
    """

    def __init__(
        self, scene: viser.SceneApi, name: str, colour: tuple[int, int, int], on_drag: Callable[[Vector], None]
    ) -> None:
        self._colour = colour
        node = f"/targets/{name}"
        self._controls = scene.add_transform_controls(
            node, scale=_HANDLE, disable_rotations=True, disable_sliders=True, line_width=3.0
        )
        self._ball = scene.add_icosphere(f"{node}/ball", radius=_RADIUS, color=colour, opacity=0.55, cast_shadow=False)
        scene.add_label(f"{node}/name", name, position=(0.0, 0.0, 0.035), anchor="bottom-center", font_screen_scale=0.9)

        @self._controls.on_update
        async def _(event: viser.TransformControlsEvent) -> None:
            x, y, z = (round(float(number), 4) for number in event.target.position)
            on_drag((x, y, z))

    @property
    def place(self) -> Vector:
        """Where it is, m."""
        x, y, z = (float(number) for number in self._controls.position)
        return (x, y, z)

    def move(self, point: Vector) -> None:
        """Put it somewhere, m."""
        if np.all(np.isfinite(point)):
            self._controls.position = point

    def mark(self, reachable: bool) -> None:
        """Show whether the arm reaches it."""
        self._ball.color = self._colour if reachable else _UNREACHABLE

    def show(self, visible: bool) -> None:
        """Show or hide it."""
        self._controls.visible = visible
