# SPDX-License-Identifier: Apache-2.0
"""Draws markers into the 3D view and keeps what is drawn while only its pose changes."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser

from manipulator3d_dashboard.glb import Part, glb
from manipulator3d_dashboard.marker import Key, Marker, MarkerKind
from manipulator3d_dashboard.solid import box, cylinder

_THINNEST_LINE = 0.002
_TEXT_SCALE = 0.9


@dataclass
class _Known:
    marker: Marker
    handle: Any  # None while it is not drawn
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
        self._markers: dict[Key, _Known] = {}
        self._hidden: set[str] = set()

    def put(self, marker: Marker, now: float) -> None:
        """Draw a marker, or move it where it is drawn already; one on an unknown link waits for `hang_anew`."""
        until = now + marker.lifetime if marker.lifetime > 0.0 else float("inf")
        known = self._markers.get(marker.key)
        if known is not None and known.marker.looks_like(marker):
            known.marker, known.until = marker, until
            if known.handle is not None:
                known.handle.position = marker.pose.position
                known.handle.wxyz = marker.pose.wxyz
            return
        self.remove(marker.key)
        self._markers[marker.key] = _Known(marker, self._hang(marker), until)

    def remove(self, key: Key) -> None:
        """Take one marker off."""
        known = self._markers.pop(key, None)
        if known is not None and known.handle is not None:
            known.handle.remove()

    def clear(self) -> None:
        """Take all markers off."""
        for key in list(self._markers):
            self.remove(key)

    def expire(self, now: float) -> None:
        """Take off the markers whose lifetime is over."""
        for key, known in list(self._markers.items()):
            if now >= known.until:
                self.remove(key)

    def show(self, namespace: str, visible: bool) -> None:
        """Show or hide all markers of a namespace, present and future."""
        if visible:
            self._hidden.discard(namespace)
        else:
            self._hidden.add(namespace)
        for (of, _), known in self._markers.items():
            if of == namespace and known.handle is not None:
                known.handle.visible = visible

    def hang_anew(self) -> None:
        """Draw everything again, after the arm that carries the markers was drawn anew."""
        for known in self._markers.values():
            known.handle = self._hang(known.marker)

    def _hang(self, marker: Marker) -> Any:
        node = self._node_of(marker.frame)
        if node is None:
            return None
        namespace, number = marker.key
        handle = self._draw(f"{node}/marker_{re.sub('[^A-Za-z0-9_]', '_', namespace)}_{number}", marker)
        if handle is not None:
            handle.visible = namespace not in self._hidden
        return handle

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
        if len(marker.points) < (3 if kind is MarkerKind.TRIANGLE_LIST else 1):
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
            solid = opacity >= 1.0
            return scene.add_glb(name, _triangles(marker), cast_shadow=solid, receive_shadow=solid, **at)
        return scene.add_point_cloud(
            name,
            marker.points,
            colours,
            point_size=scale[0],
            point_shape="square" if kind is MarkerKind.CUBE_LIST else "circle",
            precision="float32",
            **at,
        )


def _triangles(marker: Marker) -> bytes:
    corners = (marker.points[: len(marker.points) // 3 * 3] * np.array(marker.scale)).reshape(-1, 3, 3)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(across, axis=1, keepdims=True)
    # a triangle without area is not seen from anywhere
    normals = np.where(length > 0.0, across / np.where(length > 0.0, length, 1.0), (0.0, 0.0, 1.0))
    faces = np.arange(3 * len(corners)).reshape(-1, 3)
    return glb([Part(corners.reshape(-1, 3), normals.repeat(3, axis=0), faces, marker.colour, 0.0, 1.0, True)])


def _neighbours(rows: np.ndarray) -> np.ndarray:
    return np.stack([rows[:-1], rows[1:]], axis=1)


def _bytes(colours: Any) -> np.ndarray:
    return np.clip(np.asarray(colours) * 255.0, 0, 255).astype(np.uint8)
