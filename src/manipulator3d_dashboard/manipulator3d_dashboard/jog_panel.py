# SPDX-License-Identifier: Apache-2.0
"""Buttons that move the arm as long as they are held."""

from collections.abc import Callable, Sequence

import viser

from manipulator3d_dashboard.jog import JOINT_SPEED, TOOL_SPEED, JogAxis, JogBeat, JogRelease

# The stream that a held button makes; the motion server stops the arm when it ends.
_BEAT_HZ = 20.0
_TOOL_AXES = ("X", "Y", "Z")


class JogPanel:
    """What stands in the tab Jog.

    A browser sends beats while a button is held down, and none once it is let go, hidden or closed.

    Args:
        gui: of viser, in the tab.
        on_jog: called in viser's thread with each beat and when a browser lets go.
    """

    def __init__(self, gui: viser.GuiApi, on_jog: Callable[[JogBeat | JogRelease], None]) -> None:
        self._gui = gui
        self._on_jog = on_jog
        self._speed = gui.add_slider(
            "jog speed",
            min=0.05,
            max=1.0,
            step=0.05,
            initial_value=0.25,
            hint=f"fraction of {TOOL_SPEED:g} m/s of the tool and of {JOINT_SPEED:g} rad/s of a joint",
        )
        self._buttons: list[viser.GuiButtonHandle] = []
        self._joint_buttons: list[viser.GuiButtonHandle] = []
        ways = gui.add_tab_group()
        with ways.add_tab("Tool"):
            for index, name in enumerate(_TOOL_AXES):
                self._add_pair(False, index, name)
        with ways.add_tab("Joints"):
            for index in range(3):
                self._joint_buttons += self._add_pair(True, index, f"joint {index + 1}")

    @property
    def speed(self) -> float:
        """Fraction of the full jog speed."""
        return float(self._speed.value)

    def name_joints(self, names: Sequence[str]) -> None:
        """Write the joints' names on their buttons."""
        for number, button in enumerate(self._joint_buttons):
            button.label = f"{names[number // 2]} {'+−'[number % 2]}"

    def enable(self, enabled: bool) -> None:
        """Say whether holding a button makes sense; a button that is held is let go by this."""
        for button in self._buttons:
            if button.disabled is enabled:
                button.disabled = not enabled

    def _add_pair(self, joint: bool, index: int, name: str) -> list[viser.GuiButtonHandle]:
        return [self._add_button(JogAxis(joint, index, sign), f"{name} {'+' if sign > 0 else '−'}") for sign in (1, -1)]

    def _add_button(self, axis: JogAxis, label: str) -> viser.GuiButtonHandle:
        button = self._gui.add_button(label, hint="moves as long as it is held", color="gray", disabled=True)
        self._buttons.append(button)

        async def held(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            if event.client_id is not None:
                self._on_jog(JogBeat(event.client_id, axis))

        button.on_hold(held, callback_hz=_BEAT_HZ)

        @button.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            # a browser tells the click when the button is let go
            if event.client_id is not None:
                self._on_jog(JogRelease(event.client_id))

        return button
