# SPDX-License-Identifier: Apache-2.0
"""The page on the hardware against the sources that it describes."""

import dataclasses
import math
import re
from pathlib import Path

import pytest

from manipulator3d_hw_bridge.bridge_parameters import BridgeParameters
from manipulator3d_hw_bridge.messages import JointConfiguration

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "hardware.md"
PINS = ROOT / "firmware" / "manipulator3d_firmware" / "src" / "board_pins.h"

if not PAGE.is_file() or not PINS.is_file():
    pytest.skip("page and firmware are in the checkout alone", allow_module_level=True)


def table(name):
    """Cells of the row of a table that begins with a name."""
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {name}"))
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


def pins_of(pattern):
    """Numbers in the comments of board_pins.h."""
    text = " ".join(line.removeprefix("//").strip() for line in PINS.read_text().splitlines())
    found = re.search(pattern, text)
    assert found, pattern
    return list(found.groups())


def test_the_pins_of_the_table_are_those_of_the_firmware():
    encoders = pins_of(
        r"joint 0: pins (\d+) \(INT0\), (\d+) .*?joint 1: pins (\d+) .*?, (\d+) .*?joint 2: pins (\d+) .*?, (\d+) "
    )
    assert table("encoder A") == encoders[::2]
    assert table("encoder B") == encoders[1::2]
    assert table("motor driver PWM") == pins_of(r"PWM: pins (\d+), (\d+), (\d+)")
    directions = pins_of(r"pins (\d+), (\d+) of joint 0, (\d+), (\d+) of joint 1, (\d+), (\d+) of joint")
    assert table("motor driver INA") == directions[::2]
    assert table("motor driver INB") == directions[1::2]
    assert table("home switch") == pins_of(r"pins (\d+), (\d+), (\d+): home switches")
    for name, pattern in {
        "gripper servo, signal": r"servo: pin (\d+)",
        "emergency-stop contact": r"pin (\d+): emergency stop",
        "push button": r"pin (\d+): push button",
        "grasp sensor": r"pin (\d+): grasp sensor",
    }.items():
        assert table(name)[0] == pins_of(pattern)[0], name


def test_the_diagram_shows_the_pins_of_the_table():
    diagram = re.findall(r"```\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    for joint in range(3):
        motor = "/".join(table(row)[joint] for row in ("motor driver PWM", "motor driver INA", "motor driver INB"))
        encoder = rf"{table('encoder A')[joint]}, +{table('encoder B')[joint]}"
        assert motor in diagram
        assert re.search(encoder, diagram)
    assert " ".join(table("home switch")) in diagram
    for name in ("gripper servo", "emergency-stop contact", "push button", "grasp sensor"):
        assert table(name)[0] in diagram


def test_the_parameters_that_the_page_names_exist():
    names = {field.name for field in dataclasses.fields(BridgeParameters)}
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ", PAGE.read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {"signs", "home_directions", "command_silence", "park_on_shutdown"} <= named <= names
    example = re.search(r"ros__parameters:\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert set(re.findall(r"^ +(\w+):", example.group(1), re.MULTILINE)) <= names


def test_the_counts_of_the_page_are_right():
    text = PAGE.read_text()
    assert "64 × 131 = 8384" in text
    assert f"8384 / 2π = {8384 / (2 * math.pi):.3f}" in text
    default = next(f for f in dataclasses.fields(JointConfiguration) if f.name == "counts_per_radian").default
    assert default == pytest.approx(8384 / (2 * math.pi), abs=1e-3)
