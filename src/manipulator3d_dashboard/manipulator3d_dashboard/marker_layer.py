# SPDX-License-Identifier: Apache-2.0
"""Draws markers into the 3D view and keeps what is drawn while only its pose changes."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser

from manipulator3d_dashboard.marker import Key, Marker, MarkerKind
from manipulator3d_dashboard.solid import box, cylinder

_THINNEST_LINE = 0.002
_TEXT_SCALE = 0.9


@dataclass
class _Drawn:
    marker: Marker
    handle: Any
    until: float


class MarkerLayer:
    """The markers on the scene.

    Args:
        scene: of viser.
        node_of: gives the node of a link, None for an unknown one.
    """

    def __init__(self, scene: viser.SceneApi, node_of: Callable[[str], str | None]) -> None:
        self._scene = scene
        self._node_of = node_of
        self._drawn: dict[Key, _Drawn] = {}
        self._hidden: set[str] = set()

    def put(self, marker: Marker, now: float) -> None:
        """Draw a marker, or move it where it is drawn already; on an unknown link it is not drawn."""
        until = now + marker.lifetime if marker.lifetime > 0.0 else float("inf")
        drawn = self._drawn.get(marker.key)
        if drawn is not None and drawn.marker.looks_like(marker):
            drawn.marker, drawn.until = marker, until
            drawn.handle.position = marker.pose.position
            drawn.handle.wxyz = marker.pose.wxyz
            return
        self.remove(marker.key)
        node = self._node_of(marker.frame)
        if node is None:
            return
        name = f"{node}/marker_{re.sub('[^A-Za-z0-9_]', '_', marker.key[0])}_{marker.key[1]}"
        handle = self._draw(name, marker)
        if handle is not None:
            handle.visible = marker.key[0] not in self._hidden
            self._drawn[marker.key] = _Drawn(marker, handle, until)

    def remove(self, key: Key) -> None:
        """Take one marker off."""
        drawn = self._drawn.pop(key, None)
        if drawn is not None:
            drawn.handle.remove()

    def clear(self) -> None:
        """Take all markers off."""
        for key in list(self._drawn):
            self.remove(key)

    def expire(self, now: float) -> None:
        """Take off the markers whose lifetime is over."""
        for key, drawn in list(self._drawn.items()):
            if now >= drawn.until:
                self.remove(key)

    def show(self, namespace: str, visible: bool) -> None:
        """Show or hide all markers of a namespace, present and future."""
        if visible:
            self._hidden.discard(namespace)
        else:
            self._hidden.add(namespace)
        for (of, _), drawn in self._drawn.items():
            if of == namespace:
                drawn.handle.visible = visible

    def hang_anew(self) -> None:
        """Draw everything again, after the arm that carries the markers was drawn anew."""
        for key, drawn in list(self._drawn.items()):
            self._drawn.pop(key)
            self.put(drawn.marker, 0.0)
            if key in self._drawn:
                self._drawn[key].until = drawn.until

    def _draw(self, name: str, marker: Marker) -> Any:
        scene, kind, scale = self._scene, marker.kind, marker.scale
        red, green, blue, opacity = marker.colour
        at: dict[str, Any] = {"position": marker.pose.position, "wxyz": marker.pose.wxyz}
        one_colour = _bytes((red, green, blue))
        colours = _bytes(marker.colours[:, :3]) if len(marker.colours) else one_colour
        look: dict[str, Any] = {"color": (red, green, blue), "opacity": opacity if opacity < 1.0 else None}
        if kind is MarkerKind.SPHERE:
            return scene.add_icosphere(name, radius=0.5, scale=scale, subdivisions=4, **look, **at)
        if kind in (MarkerKind.CUBE, MarkerKind.CYLINDER):
            surface = box(*scale) if kind is MarkerKind.CUBE else cylinder(0.5 * scale[0], scale[2])
            return scene.add_mesh_simple(name, surface.vertices, surface.faces, flat_shading=True, **look, **at)
        if kind is MarkerKind.TEXT_VIEW_FACING:
            return scene.add_label(name, marker.text, font_screen_scale=_TEXT_SCALE, anchor="bottom-center", **at)
        if kind is MarkerKind.ARROW:
            ends = marker.points[:2] if len(marker.points) >= 2 else np.array([[0.0, 0.0, 0.0], [scale[0], 0.0, 0.0]])
            thickness = scale[0] if len(marker.points) >= 2 else scale[1]
            return scene.add_arrows(
                name,
                ends[None],
                one_colour,
                shaft_radius=thickness / 2,
                head_radius=thickness,
                head_length=2 * thickness,
                **at,
            )
        if len(marker.points) == 0:
            return None
        if kind in (MarkerKind.LINE_STRIP, MarkerKind.LINE_LIST):
            if kind is MarkerKind.LINE_STRIP:
                pairs = _neighbours(marker.points)
                colours = _neighbours(colours) if colours.ndim == 2 else colours
            else:
                even = len(marker.points) // 2 * 2
                pairs = marker.points[:even].reshape(-1, 2, 3)
                colours = colours[:even].reshape(-1, 2, 3) if colours.ndim == 2 else colours
            if len(pairs) == 0:
                return None
            return scene.add_line_segments(name, pairs, colours, thickness=max(scale[0], _THINNEST_LINE), **at)
        if kind is MarkerKind.TRIANGLE_LIST:
            faces = np.arange(len(marker.points) // 3 * 3).reshape(-1, 3)
            return scene.add_mesh_simple(
                name,
                marker.points * np.array(scale),
                faces,
                side="double",
                cast_shadow=opacity >= 1.0,
                receive_shadow=opacity >= 1.0,
                **look,
                **at,
            )
        return scene.add_point_cloud(
            name,
            marker.points,
            colours,
            point_size=scale[0],
            point_shape="square" if kind is MarkerKind.CUBE_LIST else "circle",
            precision="float32",
            **at,
        )


def _neighbours(rows: np.ndarray) -> np.ndarray:
    return np.stack([rows[:-1], rows[1:]], axis=1)


def _bytes(colours: Any) -> np.ndarray:
    return np.clip(np.asarray(colours) * 255.0, 0, 255).astype(np.uint8)
