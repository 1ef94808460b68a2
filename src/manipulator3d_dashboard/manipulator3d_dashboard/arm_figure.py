# SPDX-License-Identifier: Apache-2.0
"""The arm in the 3D view: one frame a link, moved by joint positions."""

from collections.abc import Mapping

import viser

from manipulator3d_dashboard.solid import link_as_glb
from manipulator3d_dashboard.urdf_drawing import Drawing

# A turn below this is not visible and not sent.
_SMALLEST_CHANGE = 1e-4


class ArmFigure:
    """Draws a robot below one node of the scene.

    Args:
        scene: of viser.
        name: node that everything hangs on.
        ghost: draw it translucent and in one colour.
    """

    def __init__(self, scene: viser.SceneApi, name: str, drawing: Drawing, ghost: bool = False) -> None:
        self._drawing = drawing
        self._positions: dict[str, float] = {}
        self._paths = {link: f"{name}/{path}" for link, path in drawing.paths().items()}
        self._frames: dict[str, viser.FrameHandle] = {}
        self._root = scene.add_frame(name, show_axes=False)
        scene.add_frame(self._paths[drawing.root], show_axes=False)
        for joint in drawing.joints:
            position, wxyz = joint.origin
            self._frames[joint.name] = scene.add_frame(
                self._paths[joint.child], show_axes=False, position=position, wxyz=wxyz
            )
        for link, shapes in drawing.shapes.items():
            scene.add_glb(
                f"{self._paths[link]}/surface",
                link_as_glb(shapes, ghost),
                cast_shadow=not ghost,
                receive_shadow=not ghost,
            )

    def node_of(self, link: str) -> str | None:
        """Name of the scene's node of a link; None when there is no such link."""
        return self._paths.get(link)

    def move(self, positions: Mapping[str, float]) -> None:
        """Show joint positions (rad or m by joint name); what hardly changed is not sent."""
        for joint in self._drawing.joints:
            position = positions.get(joint.name)
            if position is None or abs(position - self._positions.get(joint.name, 0.0)) < _SMALLEST_CHANGE:
                continue
            self._positions[joint.name] = position
            pose = joint.pose(position)
            frame = self._frames[joint.name]
            frame.wxyz = pose.wxyz
            if joint.kind == "prismatic":
                frame.position = pose.position

    def show(self, visible: bool) -> None:
        """Show or hide the whole figure."""
        self._root.visible = visible

    def remove(self) -> None:
        """Take everything off the scene, with what others hung on the links."""
        self._root.remove()
