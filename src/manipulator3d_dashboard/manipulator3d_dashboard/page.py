# SPDX-License-Identifier: Apache-2.0
"""The whole page: the 3D view and the panel, brought up to date by one caller, read by many browsers."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping

import numpy as np
import viser

from manipulator3d_dashboard.arm_figure import ArmFigure
from manipulator3d_dashboard.arm_state import ArmState
from manipulator3d_dashboard.arm_text import arm_text
from manipulator3d_dashboard.fault_log import FaultLog
from manipulator3d_dashboard.health import Health
from manipulator3d_dashboard.jog import JogAxis, JogBeat, JogHold, JogRelease, jog_velocity
from manipulator3d_dashboard.marker import Key, Marker
from manipulator3d_dashboard.marker_layer import MarkerLayer
from manipulator3d_dashboard.page_server import open_page
from manipulator3d_dashboard.panel import Panel
from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.request import Request, Task
from manipulator3d_dashboard.sketch import Sketch, check_sketch, outline
from manipulator3d_dashboard.target import TARGETS, Verdict, check_target, default_centre, default_targets, refusal
from manipulator3d_dashboard.target_handles import TargetHandle
from manipulator3d_dashboard.urdf_drawing import Drawing
from manipulator3d_kinematics import ArmModel, forward_kinematics

_TEXT_PERIOD = 0.2
_TRAIL_LENGTH = 200
_TRAIL_STEP = 0.001
_TRAIL_COLOUR = (255, 170, 40)
_TARGET_COLOURS = {"START": (38, 166, 64), "GOAL": (217, 64, 51)}
_SKETCH_COLOUR = (80, 200, 120)
# what does nothing must not look as if it did
_SPECTATOR_NOTICE = """<style>
.mantine-Button-root, .mantine-Slider-root, .mantine-Checkbox-root, .mantine-Input-wrapper {
  pointer-events: none; opacity: 0.45;
}
</style>
<div id="watching" style="padding:0.4em 0.75em">Watching only: this browser cannot stop or move the arm.</div>"""
_NO_ARM = Verdict(False, "no arm is known yet")


class Page:
    """A page that is served from now on.

    Its methods are for one thread at a time; viser's own threads only call `on_request`.

    Args:
        host, port, token: as in Door.
        spectator_token: as in Door.
        on_request: called in viser's thread when a button is pressed or held; must return at once.

    Raises:
        ValueError: the page cannot be served there; names the reason and the remedy.
    """

    def __init__(
        self, host: str, port: int, token: str, spectator_token: str, on_request: Callable[[Request], None]
    ) -> None:
        self._server = open_page(host, port, token, "manipulator3d", spectator_token)
        self.log = FaultLog()
        self.health = Health()
        self._hold = JogHold()
        self._arm: ArmModel | None = None
        self._root = ""
        self._figure: ArmFigure | None = None
        self._ghost: ArmFigure | None = None
        self._trail: deque[Vector] = deque(maxlen=_TRAIL_LENGTH)
        self._trail_handle: viser.LineSegmentsHandle | None = None
        self._checked: dict[str, Vector] = {}
        self._verdicts = dict.fromkeys(_TARGET_COLOURS, _NO_ARM)
        self._checked_sketch: Sketch | str | None = None
        self._sketch_verdict = _NO_ARM
        self._sketch_lines: viser.LineSegmentsHandle | None = None
        self._next_text = 0.0
        self._dark: dict[int, bool] = {}
        self._markers = MarkerLayer(self._server.scene, self._node_of)
        self._prepare_scene()
        self._panel = Panel(self._server.gui, on_request, self._on_field, self._switch_theme)
        self._handles = {
            name: TargetHandle(self._server.scene, name, colour, self._on_drag(name))
            for name, colour in _TARGET_COLOURS.items()
        }
        for name, verdict in self._verdicts.items():
            self._panel.show_verdict(name, verdict)

        self._server.open_to_spectators.add(self._panel.theme_id)

        @self._server.on_client_connect
        async def _(client: viser.ClientHandle) -> None:
            if not self._server.may_steer(client.client_id):
                client.gui.add_html(_SPECTATOR_NOTICE, order=-1.0)

        @self._server.on_client_disconnect
        async def _(client: viser.ClientHandle) -> None:
            # whoever closes the page lets go of the arm
            on_request(JogRelease(client.client_id))
            self._dark.pop(client.client_id, None)

    @property
    def port(self) -> int:
        """Port on which the page is served."""
        return self._server.get_port()

    @property
    def wants_commands(self) -> bool:
        """Whether someone looks at the commanded arm or at its tracking error."""
        return self._panel.ghost.value or self._panel.plots.wanted

    @property
    def wants_plots(self) -> bool:
        """Whether someone looks at the plots."""
        return self._panel.plots.wanted

    @property
    def browsers(self) -> int:
        """Number of browsers that have the page open."""
        return len(self._server.get_clients())

    def task(self) -> Task:
        """What the fields say now."""
        return Task(self._panel.target("START"), self._panel.target("GOAL"), self._panel.speed, self._panel.cycles)

    def targets(self) -> dict[str, Vector]:
        """START and GOAL as the fields say now, m."""
        return {name: self._panel.target(name) for name in TARGETS}

    def set_target(self, name: str, point: Vector) -> None:
        """Put START or GOAL somewhere, m."""
        self._panel.set_target(name, point)
        self._handles[name].move(point)

    def refusal(self, task: Task) -> str:
        """Say why a task cannot be played; empty when it can."""
        return refusal(self._arm, task.start, task.goal)

    def sketch(self) -> Sketch:
        """The shape that the fields say now.

        Raises:
            ValueError: they say none that the arm can draw; says why.
        """
        if self._arm is None:
            raise ValueError(_NO_ARM.text)
        sketch = self._panel.sketch.sketch()
        verdict = check_sketch(self._arm, sketch)
        if not verdict.reachable:
            raise ValueError(verdict.text)
        return sketch

    def jog(self, beat: JogBeat) -> Vector | None:
        """Velocity that a held button asks for, m/s or rad/s; None while another browser holds the arm."""
        if self._arm is None or not self._hold.take(beat, time.monotonic()):
            return None
        return jog_velocity(self._arm, beat.axis, self._panel.jog.speed)

    def let_go(self, release: JogRelease) -> JogAxis | None:
        """The way in which the arm was moved by the browser that lets go; None when it was not."""
        return self._hold.release(release)

    def set_robot(self, drawing: Drawing, arm: ArmModel) -> None:
        """Draw another robot."""
        first = self._arm is None
        with self._server.atomic():
            for figure in (self._figure, self._ghost):
                if figure is not None:
                    figure.remove()
            self._arm, self._root = arm, drawing.root
            self._figure = ArmFigure(self._server.scene, "/arm", drawing)
            self._ghost = ArmFigure(self._server.scene, "/ghost", drawing, ghost=True)
            self._ghost.show(self._panel.ghost.value)
            self._markers.hang_anew()
            self._trail.clear()
            self._checked.clear()
            self._checked_sketch = None
            self._panel.show_arm(arm_text(arm))
            self._panel.jog.name_joints(arm.joint_names)
            self._panel.plots.name_joints(arm.joint_names)
            if first:
                self._panel.sketch.put_centre(default_centre(arm))
                for name, point in zip(TARGETS, default_targets(arm), strict=True):
                    self.set_target(name, point)
            self._add_floor(arm.floor_z)

    def put_marker(self, marker: Marker) -> None:
        """Draw or move a marker."""
        self._markers.put(marker, time.monotonic())

    def remove_marker(self, key: Key) -> None:
        """Take a marker off."""
        self._markers.remove(key)

    def clear_markers(self) -> None:
        """Take all markers off."""
        self._markers.clear()

    def plot(self, errors: Mapping[str, float], velocities: Mapping[str, float]) -> None:
        """Add to the plots: tracking errors, rad, and velocities, rad/s, by joint name."""
        self._panel.plots.add(time.monotonic(), errors, velocities)

    def plot_load(self, load: float) -> None:
        """Add to the plots: load of the serial line, % of its rate."""
        self._panel.plots.add_load(time.monotonic(), load)

    def show(self, state: ArmState, commanded: Mapping[str, float]) -> None:
        """Bring the page up to date.

        Args:
            state: of the arm.
            commanded: rad by joint name; empty when nothing is commanded.
        """
        now = time.monotonic()
        with self._server.atomic():
            if self._figure is not None and state.joints:
                self._figure.move(state.joints)
            if self._ghost is not None:
                self._ghost.show(self._panel.ghost.value and bool(commanded))
                self._ghost.move(commanded)
            self._check_targets()
            is_text_due = now >= self._next_text
            if is_text_due:
                self._check_sketch()
            self._panel.show_state(
                state, all(verdict.reachable for verdict in self._verdicts.values()), self._sketch_verdict.reachable
            )
            tool = self._tool(state)
            if tool is not None and (not self._trail or math.dist(tool, self._trail[-1]) > _TRAIL_STEP):
                self._trail.append(tool)
            if is_text_due:
                self._next_text = now + _TEXT_PERIOD
                self._panel.show_figures(state, tool)
                self._panel.show_log(self.log.text(), self.health.text(now))
                self._panel.plots.show(now)
                self._show_layers()
                self._markers.expire(now)

    def close(self) -> None:
        """Stop serving."""
        self._server.stop()

    def _prepare_scene(self) -> None:
        scene = self._server.scene
        scene.set_up_direction("+z")
        self._server.gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False)
        scene.configure_environment_map("studio", environment_intensity=0.55)
        scene.configure_default_lights(True, cast_shadow=True)
        self._server.initial_camera.position = (0.72, -0.62, 0.55)
        self._server.initial_camera.look_at = (0.05, 0.0, 0.14)
        self._server.initial_camera.fov = math.radians(42.0)

    def _add_floor(self, height: float) -> None:
        self._server.scene.add_grid(
            "/floor",
            width=2.0,
            height=2.0,
            cell_size=0.05,
            section_size=0.25,
            cell_color=(120, 130, 140),
            section_color=(90, 110, 130),
            shadow_opacity=0.35,
            plane_color=(128, 134, 140),
            plane_opacity=0.25,
            fade_distance=3.0,
            position=(0.0, 0.0, height - 0.001),
        )

    def _node_of(self, frame: str) -> str | None:
        if self._figure is None:
            return None
        return self._figure.node_of(frame or self._root)

    def _tool(self, state: ArmState) -> Vector | None:
        if self._arm is None or not state.has_measurement:
            return None
        if any(name not in state.joints for name in self._arm.joint_names):
            return None
        point = forward_kinematics(self._arm, np.array([state.joints[name] for name in self._arm.joint_names]))
        return (float(point[0]), float(point[1]), float(point[2]))

    def _check_targets(self) -> None:
        if self._arm is None:
            return
        for name in _TARGET_COLOURS:
            point = self._panel.target(name)
            if point != self._checked.get(name):
                self._checked[name] = point
                self._verdicts[name] = verdict = check_target(self._arm, point)
                self._panel.show_verdict(name, verdict)
                self._handles[name].mark(verdict.reachable)

    def _check_sketch(self) -> None:
        if self._arm is None:
            return
        try:
            sketch: Sketch | str = self._panel.sketch.sketch()
        except ValueError as error:
            sketch = str(error)
        if sketch == self._checked_sketch:
            return
        self._checked_sketch = sketch
        if isinstance(sketch, str):
            self._sketch_verdict = Verdict(False, sketch)
        else:
            self._sketch_verdict = check_sketch(self._arm, sketch)
        self._panel.sketch.show_verdict(self._sketch_verdict)

    def _show_layers(self) -> None:
        self._show_sketch()
        self._markers.show("obstacles", self._panel.obstacles.value)
        self._markers.show("workspace", self._panel.workspace.value)
        self._markers.show("path", self._panel.path.value)
        for handle in self._handles.values():
            handle.show(self._panel.targets.value)
        if len(self._trail) < 2:
            return
        points = np.array(self._trail)
        pairs = np.stack([points[:-1], points[1:]], axis=1)
        if self._trail_handle is None:
            self._trail_handle = self._server.scene.add_line_segments("/trail", pairs, _TRAIL_COLOUR, thickness=0.0025)
        else:
            self._trail_handle.points = pairs
        self._trail_handle.visible = self._panel.trail.value

    def _show_sketch(self) -> None:
        sketch = self._checked_sketch
        points: np.ndarray = np.empty((0, 3))
        if isinstance(sketch, Sketch) and self._panel.sketch.preview.value:
            points = outline(sketch)
        wanted = len(points) > 1 and bool(np.all(np.isfinite(points)))
        if wanted:
            pairs = np.stack([points[:-1], points[1:]], axis=1)
            if self._sketch_lines is None:
                self._sketch_lines = self._server.scene.add_line_segments(
                    "/sketch", pairs, _SKETCH_COLOUR, thickness=0.003
                )
            elif not np.array_equal(self._sketch_lines.points, pairs.astype(np.float32)):
                self._sketch_lines.points = pairs
        if self._sketch_lines is not None:
            self._sketch_lines.visible = wanted

    def _on_drag(self, name: str) -> Callable[[Vector], None]:
        return lambda point: self._panel.set_target(name, point)

    def _on_field(self, name: str, point: Vector) -> None:
        self._handles[name].move(point)

    def _switch_theme(self, browser: viser.ClientHandle) -> None:
        dark = not self._dark.get(browser.client_id, True)
        self._dark[browser.client_id] = dark
        browser.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)
