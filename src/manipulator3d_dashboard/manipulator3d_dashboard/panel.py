# SPDX-License-Identifier: Apache-2.0
"""The panel beside the 3D view: state, buttons, fields and the log of faults."""

from collections.abc import Callable
from typing import Literal

import viser

from manipulator3d_dashboard.arm_state import ArmState, Command, Mode, can_jog, sensible_commands
from manipulator3d_dashboard.jog_panel import JogPanel
from manipulator3d_dashboard.markdown import escape
from manipulator3d_dashboard.plot_panel import PlotPanel
from manipulator3d_dashboard.pose import Vector
from manipulator3d_dashboard.request import Request, SpeedChange
from manipulator3d_dashboard.sketch_panel import SketchPanel
from manipulator3d_dashboard.state_text import fault_text, figures_text, lights_html, mode_html
from manipulator3d_dashboard.target import Verdict

_RANGE = 2.0
_STEP = 0.005
_WIDTH = 340

_Colour = Literal["red", "green", "blue", "orange", "violet", "gray"]
# Text, colour and icon of each button, and what it does, shown when the pointer rests on it.
_BUTTONS: dict[Command, tuple[str, _Colour, viser.IconName, str]] = {
    Command.EMERGENCY_STOP: (
        "E-STOP",
        "red",
        viser.Icon.HAND_STOP,
        "Brake at once and latch a fault. Works through software: it is not a safety-rated emergency stop.",
    ),
    Command.PLAY: ("PLAY", "green", viser.Icon.PLAYER_PLAY, "Check START and GOAL, then pick and place between them"),
    Command.PAUSE: ("PAUSE", "blue", viser.Icon.PLAYER_PAUSE, "Come to rest on the path and wait"),
    Command.RESUME: ("RESUME", "blue", viser.Icon.PLAYER_PLAY, "Go on along the path"),
    Command.STOP: ("STOP", "orange", viser.Icon.PLAYER_STOP, "Come to rest on the path and end the task"),
    Command.RESET: ("RESET", "violet", viser.Icon.REFRESH, "Clear the fault; nothing moves until the next task"),
    Command.HOME: ("HOME", "gray", viser.Icon.HOME, "Find the home switches of the joints"),
    Command.GRIPPER: ("GRIPPER", "gray", viser.Icon.MAGNET, "Close or open the gripper"),
    Command.DRAW: ("DRAW", "green", viser.Icon.PENCIL, "Move the tool along the shape"),
}

_IN_TABS = (Command.HOME, Command.GRIPPER, Command.DRAW)
_TOP_BUTTONS = [command for command in _BUTTONS if command not in _IN_TABS]


class Panel:
    """Everything in the panel.

    Args:
        gui: of viser.
        on_request: called in viser's thread when a button is pressed or held, or the speed is changed.
        on_target: called in viser's thread with START or GOAL and the new point, m, when someone edits a field.
        on_theme: called in viser's thread with the browser that wants the other theme.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        on_request: Callable[[Request], None],
        on_target: Callable[[str, Vector], None],
        on_theme: Callable[[viser.ClientHandle], None],
    ) -> None:
        self._gui = gui
        self._on_request = on_request
        self._on_target = on_target
        self._buttons: dict[Command, viser.GuiButtonHandle] = {}
        self._shown: tuple[str, str, str, frozenset[Command], bool] | None = None
        self._mode = gui.add_html("")
        self._lights = gui.add_html("")
        for command in _TOP_BUTTONS:
            self._add_button(command)
        # below the buttons, so that none of them moves when a fault comes up
        self._fault = gui.add_markdown("", visible=False)
        with gui.add_folder("Task"):
            self._fields: dict[str, viser.GuiVector3Handle] = {}
            self._verdicts: dict[str, viser.GuiMarkdownHandle] = {}
            for name in ("START", "GOAL"):
                self._add_target(name)
            self._cycles = gui.add_number("cycles", 0, min=0, max=100000, step=1, hint="0: until it is stopped")
            self._speed = gui.add_slider(
                "speed",
                min=0.05,
                max=1.0,
                step=0.05,
                initial_value=1.0,
                hint="fraction of the planned speed, at once",
            )

            @self._speed.on_update
            async def _(event: viser.GuiEvent[viser.GuiSliderHandle]) -> None:
                if event.client is not None:
                    on_request(SpeedChange(float(event.target.value)))

        gui.main_panel.dock_right()
        gui.main_panel.set_width(_WIDTH)
        side = gui.add_panel()
        with side.add_tab("Arm"):
            self._figures = gui.add_markdown("")
            self._add_button(Command.GRIPPER)
            self._add_button(Command.HOME)
            with gui.add_folder("Lengths, limits, masses", expand_by_default=False):
                self._arm = gui.add_markdown("No `robot_description` yet.")
        with side.add_tab("Jog"):
            self.jog = JogPanel(gui, on_request)
        with side.add_tab("Draw"):
            self.sketch = SketchPanel(gui)
            self._add_button(Command.DRAW)
        with side.add_tab("View"):
            self.ghost = gui.add_checkbox("commanded arm", False, hint="translucent: where the arm is told to be")
            self.workspace = gui.add_checkbox("workspace", False, hint="what the tool point reaches")
            self.path = gui.add_checkbox("planned path", True)
            self.trail = gui.add_checkbox("travelled path", True, hint="of the last seconds")
            self.obstacles = gui.add_checkbox("obstacles", True)
            self.targets = gui.add_checkbox("START and GOAL", True)
            self._theme = gui.add_button("dark / light", icon=viser.Icon.SUN_MOON, hint="in this browser")
        with side.add_tab("Plots"):
            self.plots = PlotPanel(gui)
        with side.add_tab("Faults"):
            self._log = gui.add_markdown("Nothing so far.")
            self._health = gui.add_markdown("No diagnostics yet.")
        side.float(x=15, y=-15, width=_WIDTH)

        @self._theme.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            if event.client is not None:
                on_theme(event.client)

    @property
    def theme_id(self) -> str:
        """Id of the button for dark and light."""
        return self._theme._impl.uuid

    @property
    def cycles(self) -> int:
        """Number of cycles asked for, 0 for no end."""
        return int(self._cycles.value)

    @property
    def speed(self) -> float:
        """Fraction of the limits asked for."""
        return float(self._speed.value)

    def target(self, name: str) -> Vector:
        """The point in the field START or GOAL, m."""
        return self._fields[name].value

    def set_target(self, name: str, point: Vector) -> None:
        """Put a point into the field START or GOAL."""
        self._fields[name].value = point  # type: ignore[misc]

    def show_verdict(self, name: str, verdict: Verdict) -> None:
        """Say below its field whether START or GOAL can be reached."""
        sign = "✓" if verdict.reachable else "✗"
        self._verdicts[name].content = f"{sign} {escape(verdict.text)}"

    def show_state(self, state: ArmState, targets_reachable: bool, sketch_reachable: bool) -> None:
        """Bring the headline and the buttons up to date; cheap when nothing changed."""
        headline, lights, fault = mode_html(state), lights_html(state), fault_text(state)
        sensible = sensible_commands(state, targets_reachable, sketch_reachable)
        self.jog.enable(can_jog(state))
        shown = (headline, lights, fault, sensible, state.gripper_closed)
        if shown == self._shown:
            return
        self._shown = shown
        self._mode.content = headline
        self._lights.content = lights
        self._fault.content = f"⚠ {fault}"
        self._fault.visible = bool(fault)
        for command, button in self._buttons.items():
            button.disabled = command not in sensible
        paused = state.current_mode is Mode.PAUSED
        self._buttons[Command.PAUSE].visible = not paused
        self._buttons[Command.RESUME].visible = paused
        self._buttons[Command.GRIPPER].label = "OPEN GRIPPER" if state.gripper_closed else "CLOSE GRIPPER"

    def show_figures(self, state: ArmState, tool: Vector | None) -> None:
        """Bring the figures up to date."""
        self._set(self._figures, figures_text(state, tool))

    def show_log(self, faults: str, health: str) -> None:
        """Bring the log of faults and the diagnostics up to date."""
        self._set(self._log, faults)
        self._set(self._health, health)

    def show_arm(self, text: str) -> None:
        """Say what is known of the arm itself."""
        self._set(self._arm, text)

    def _set(self, handle: viser.GuiMarkdownHandle, text: str) -> None:
        if handle.content != text:
            handle.content = text

    def _add_button(self, command: Command) -> None:
        label, colour, icon, hint = _BUTTONS[command]
        button = self._gui.add_button(label, color=colour, icon=icon, hint=hint, disabled=True)
        self._buttons[command] = button

        @button.on_click
        async def _(_event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            self._on_request(command)

    def _add_target(self, name: str) -> None:
        low, high = (-_RANGE, -_RANGE, -_RANGE), (_RANGE, _RANGE, _RANGE)
        field = self._gui.add_vector3(
            name, (0.0, 0.0, 0.0), min=low, max=high, step=_STEP, hint="x, y, z in m, in the arm's base"
        )
        self._fields[name] = field
        self._verdicts[name] = self._gui.add_markdown("")

        @field.on_update
        async def _(event: viser.GuiEvent[viser.GuiVector3Handle]) -> None:
            # only what a person typed: what the page itself put in came from the handle in the 3D view
            if event.client is not None:
                self._on_target(name, event.target.value)
