# SPDX-License-Identifier: Apache-2.0
"""The state of the arm in words and figures."""

import html
import math

from manipulator3d_dashboard.arm_state import ArmState, Mode
from manipulator3d_dashboard.health import Level
from manipulator3d_dashboard.markdown import escape, table
from manipulator3d_dashboard.pose import Vector
from manipulator3d_node.error_code import ErrorCode

_GREEN, _ORANGE, _RED, _GREY = "#2f9e44", "#f08c00", "#e03131", "#868e96"
_HEALTH = {None: _GREY, Level.OK: _GREEN, Level.WARN: _ORANGE, Level.ERROR: _RED, Level.STALE: _ORANGE}
_LIGHTS = {
    Mode.DISCONNECTED: _GREY,
    Mode.IDLE: _GREEN,
    Mode.MOVING: "#1c7ed6",
    Mode.PAUSED: _ORANGE,
    Mode.STOPPING: _ORANGE,
    Mode.HOMING: "#1c7ed6",
    Mode.FAULT: _RED,
}


def mode_html(state: ArmState) -> str:
    """The headline: a light, the mode, the phase and the cycle."""
    mode = state.current_mode
    parts = [f"<b>{mode.name}</b>"]
    if mode in (Mode.MOVING, Mode.PAUSED, Mode.STOPPING):
        if state.phase:
            parts.append(html.escape(state.phase.replace("_", " ")))
        if state.cycle:
            parts.append(f"cycle {state.cycle}")
    light = f'<span style="color:{_LIGHTS[mode]};font-size:1.3em">&#9679;</span>'
    return f'<div id="arm-mode" style="padding:0.2em 0.75em">{light} {" &middot; ".join(parts)}</div>'


def lights_html(state: ArmState) -> str:
    """A row of lights: link, joint states, homing, motion server, diagnostics."""
    lights = {
        "link": _GREEN if state.link else _RED,
        "states": _GREEN if state.has_measurement else _RED,
        "homed": _GREEN if state.homed else _ORANGE,
        "motion": _RED if state.current_mode is Mode.DISCONNECTED else _GREEN,
        "diagnostics": _HEALTH[state.diagnostics],
    }
    dots = " ".join(
        f'<span style="white-space:nowrap"><span class="light" data-light="{name}" '
        f'style="color:{colour}">&#9679;</span> {name}</span>'
        for name, colour in lights.items()
    )
    return f'<div id="arm-lights" style="padding:0 0.75em 0.4em;font-size:0.85em">{dots}</div>'


def fault_text(state: ArmState) -> str:
    """What is wrong and the remedy, as Markdown; empty when nothing is."""
    if state.status_age is None:
        return "No `arm_status` yet: start the motion server."
    if state.current_mode is Mode.DISCONNECTED and state.mode is not Mode.DISCONNECTED:
        return f"The last `arm_status` came {state.status_age:.0f} s ago: is the motion server running?"
    if state.fault:
        return f"**{code_name(state.fault)}** {escape(state.fault_message)}"
    if state.hardware_fault:
        return f"**{code_name(state.hardware_fault)}** {escape(state.hardware_message)}"
    if not state.has_measurement:
        age = "yet" if state.joints_age is None else f"for {state.joints_age:.0f} s"
        return f"No `joint_states` {age}: start the arm's driver, or look at its connection."
    if not state.homed:
        return "The joint positions are not known: press HOME."
    return ""


def figures_text(state: ArmState, tool: Vector | None) -> str:
    """Link, homing, load, joints and tool point, as a Markdown table."""
    driver = state.driver or "no driver"
    link = f"{driver}, {'connected' if state.link else 'not connected'}"
    gripper = "closed" if state.gripper_closed else "open"
    rows = [
        ("Arm", f"{link}, {'homed' if state.homed else 'not homed'}"),
        ("Gripper", f"{gripper}, {'holding' if state.holding else 'empty'}"),
    ]
    if state.current_mode in (Mode.MOVING, Mode.STOPPING):
        rows.append(("Speed", f"{100.0 * state.speed:.0f} % of the planned one"))
    for name, position in state.joints.items():
        rows.append((name, f"{position:+.3f} rad ({math.degrees(position):+.1f}°)"))
    if tool is not None:
        rows.append(("tool", point_text(tool)))
    return table(("", ""), [(escape(name), text) for name, text in rows])


def point_text(point: Vector) -> str:
    """A point in m."""
    # adding 0 turns -0 into 0
    return "({:.3f}, {:.3f}, {:.3f}) m".format(*(round(number, 3) + 0.0 for number in point))


def code_name(code: int) -> str:
    """The name of an error code, the number where it has none."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
