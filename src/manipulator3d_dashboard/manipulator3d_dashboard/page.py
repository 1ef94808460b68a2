# SPDX-License-Identifier: Apache-2.0
"""The whole page: the 3D view and the panel, brought up to date by one caller, read by many browsers."""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import viser

from manipulator3d_dashboard.arm_figure import ArmFigure
from manipulator3d_dashboard.arm_state import ArmState, Command
from manipulator3d_dashboard.fault_log import FaultLog
from manipulator3d_dashboard.marker import Key, Marker
from manipulator3d_dashboard.marker_layer import MarkerLayer
from manipulator3d_dashboard.page_server import open_page
from manipulator3d_dashboard.panel import Panel
from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.target import Verdict, check_target, default_targets, refusal
from manipulator3d_dashboard.target_handles import TargetHandle
from manipulator3d_dashboard.urdf_drawing import Drawing
from manipulator3d_kinematics import ArmModel, forward_kinematics

_TEXT_PERIOD = 0.2
_TRAIL_LENGTH = 200
_TRAIL_STEP = 0.001
_TRAIL_COLOUR = (255, 170, 40)
_TARGET_COLOURS = {"START": (38, 166, 64), "GOAL": (217, 64, 51)}


@dataclass(frozen=True)
class Task:
    """What PLAY asks for: points in m, fraction of the limits, number of cycles (0 for no end)."""

    start: Vector
    goal: Vector
    speed: float
    cycles: int


class Page:
    """A page that is served from now on. All methods are for one thread; viser's own threads only call `on_command`.

    Args:
        host, port, token: as in Door.
        on_command: called in viser's thread when a button is pressed; must return at once.

    Raises:
        ValueError: the page cannot be served there; names the reason and the remedy.
    """

    def __init__(self, host: str, port: int, token: str, on_command: Callable[[Command], None]) -> None:
        self._server = open_page(host, port, token, "manipulator3d")
        self.log = FaultLog()
        self._arm: ArmModel | None = None
        self._root = ""
        self._figure: ArmFigure | None = None
        self._ghost: ArmFigure | None = None
        self._trail: deque[Vector] = deque(maxlen=_TRAIL_LENGTH)
        self._trail_handle: viser.LineSegmentsHandle | None = None
        self._checked: dict[str, Vector] = {}
        self._verdicts = {name: Verdict(False, "no arm is known yet") for name in _TARGET_COLOURS}
        self._next_text = 0.0
        self._dark: dict[int, bool] = {}
        self._markers = MarkerLayer(self._server.scene, self._node_of)
        self._prepare_scene()
        self._panel = Panel(self._server.gui, on_command, self._on_field, self._switch_theme)
        self._handles = {
            name: TargetHandle(self._server.scene, name, colour, self._on_drag(name))
            for name, colour in _TARGET_COLOURS.items()
        }
        for name, verdict in self._verdicts.items():
            self._panel.show_verdict(name, verdict)

    @property
    def port(self) -> int:
        """Port on which the page is served."""
        return self._server.get_port()

    @property
    def wants_commands(self) -> bool:
        """Whether someone looks at the commanded arm."""
        return self._panel.ghost.value

    @property
    def browsers(self) -> int:
        """Number of browsers that have the page open."""
        return len(self._server.get_clients())

    def task(self) -> Task:
        """What the fields say now."""
        return Task(self._panel.target("START"), self._panel.target("GOAL"), self._panel.speed, self._panel.cycles)

    def refusal(self, task: Task) -> str:
        """Say why a task cannot be played; empty when it can."""
        return refusal(self._arm, task.start, task.goal)

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
            self._ghost.show(self.wants_commands)
            self._markers.hang_anew()
            self._trail.clear()
            self._checked.clear()
            if first:
                for name, point in zip(_TARGET_COLOURS, default_targets(arm), strict=True):
                    self._panel.set_target(name, point)
                    self._handles[name].move(point)
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
                self._ghost.show(self.wants_commands and bool(commanded))
                self._ghost.move(commanded)
            self._check_targets()
            self._panel.show_state(state, all(verdict.reachable for verdict in self._verdicts.values()))
            tool = self._tool(state)
            if tool is not None and (not self._trail or math.dist(tool, self._trail[-1]) > _TRAIL_STEP):
                self._trail.append(tool)
            if now >= self._next_text:
                self._next_text = now + _TEXT_PERIOD
                self._panel.show_figures(state, tool)
                self._panel.show_log(self.log.text())
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

    def _show_layers(self) -> None:
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

    def _on_drag(self, name: str) -> Callable[[Vector], None]:
        return lambda point: self._panel.set_target(name, point)

    def _on_field(self, name: str, point: Vector) -> None:
        self._handles[name].move(point)

    def _switch_theme(self, browser: viser.ClientHandle) -> None:
        dark = not self._dark.get(browser.client_id, True)
        self._dark[browser.client_id] = dark
        browser.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)
