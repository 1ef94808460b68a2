# SPDX-License-Identifier: Apache-2.0
"""Fields for the shape that the tool draws."""

import viser

from manipulator3d_dashboard.markdown import escape
from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.sketch import PLANES, Sketch, SketchKind, corner_points
from manipulator3d_dashboard.target import Verdict

_LARGEST = 2.0
_STEP = 0.005


class SketchPanel:
    """What stands in the tab Draw, but for its button.

    Args:
        gui: of viser, in the tab.
    """

    def __init__(self, gui: viser.GuiApi) -> None:
        self._kind = gui.add_dropdown("shape", [kind.name.lower() for kind in SketchKind], initial_value="circle")
        self._plane = gui.add_dropdown("plane", list(PLANES))
        far = (_LARGEST,) * 3
        self._centre = gui.add_vector3(
            "centre",
            (0.0, 0.0, 0.0),
            min=(-_LARGEST,) * 3,
            max=far,
            step=_STEP,
            hint="x, y, z in m, in the arm's base",
        )
        self._width = _add_length(gui, "width", 0.1, "m; diameter of a circle, length of a line")
        self._height = _add_length(gui, "height", 0.06, "m")
        self._points = gui.add_text("points", "0 0, 0.04 0.04, 0.08 0", hint="x y, x y, … in the plane, m")
        self._closed = gui.add_checkbox("closed", False, hint="a polyline returns to its first point")
        self._corner_radius = _add_length(gui, "corner radius", 0.01, "m; 0 stops in each corner")
        self._speed = gui.add_number(
            "tool speed", 0.1, min=0.0, max=5.0, step=0.01, hint="m/s; 0: as fast as the limits allow"
        )
        self._rounds = gui.add_number("rounds", 1, min=1, max=100000, step=1)
        self.preview = gui.add_checkbox("show in the view", False)
        self._verdict = gui.add_markdown("")

    def put_centre(self, point: Vector) -> None:
        """Put a point into the field of the centre, m."""
        self._centre.value = point  # type: ignore[misc]

    def sketch(self) -> Sketch:
        """What the fields say now.

        Raises:
            ValueError: the points of a polyline are not points; says what is expected.
        """
        kind = SketchKind[self._kind.value.upper()]
        width, height = float(self._width.value), float(self._height.value)
        return Sketch(
            kind,
            self._plane.value,
            self._centre.value,
            width,
            height,
            corner_points(kind, width, height, self._points.value),
            bool(self._closed.value) and kind is SketchKind.POLYLINE,
            float(self._corner_radius.value),
            float(self._speed.value),
            int(self._rounds.value),
        )

    def show_verdict(self, verdict: Verdict) -> None:
        """Say whether the arm reaches it, and show the fields that count for the shape."""
        self._verdict.content = f"{'✓' if verdict.reachable else '✗'} {escape(verdict.text)}"
        kind = SketchKind[self._kind.value.upper()]
        round_or_free = (SketchKind.CIRCLE, SketchKind.LINE, SketchKind.POLYLINE)
        wanted = (
            (self._width, kind is not SketchKind.POLYLINE),
            (self._height, kind not in round_or_free),
            (self._points, kind is SketchKind.POLYLINE),
            (self._closed, kind is SketchKind.POLYLINE),
            (self._corner_radius, kind not in (SketchKind.CIRCLE, SketchKind.LINE)),
        )
        for field, visible in wanted:
            if field.visible is not visible:
                field.visible = visible


def _add_length(gui: viser.GuiApi, label: str, value: float, hint: str) -> viser.GuiNumberHandle[float]:
    return gui.add_number(label, value, min=0.0, max=_LARGEST, step=_STEP, hint=hint)
