# SPDX-License-Identifier: Apache-2.0
"""The rules by which the Arduino IDE and arduino-cli open and build a sketch."""

import re

import pytest
from firmware_build import FIRMWARE, run
from firmware_paths import rest_to_rest
from virtual_board import HOME, AvrPort, Host

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.messages import Mode

SKETCH = FIRMWARE / "manipulator3d_firmware"
SOURCES = sorted(path for path in SKETCH.rglob("*") if path.is_file())


def test_the_sketch_has_the_name_of_its_folder_and_is_the_only_one():
    assert [path.name for path in SKETCH.rglob("*.ino")] == [f"{SKETCH.name}.ino"]
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", SKETCH.name)


def test_the_sketch_consists_of_itself_and_of_sources_below_src_alone():
    # the IDE copies the folder elsewhere and compiles what is at its top and below src
    assert {path.relative_to(SKETCH).parts[0] for path in SOURCES} == {f"{SKETCH.name}.ino", "src"}
    assert {path.suffix for path in SOURCES} == {".ino", ".h", ".cpp"}
    assert not [path for path in SKETCH.rglob("*") if path.is_symlink()]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(SKETCH)))
def test_what_is_included_lies_in_the_sketch_or_belongs_to_the_compiler(source):
    for kind, name in re.findall(r'#include ([<"])([^>"]+)[>"]', source.read_text()):
        if kind == '"':
            assert (source.parent / name).resolve().is_relative_to(SKETCH)
            assert (source.parent / name).is_file()
        else:
            assert re.fullmatch(r"stdint\.h|(avr|util)/[a-z0-9]+\.h", name), name


def test_the_sketch_has_setup_and_loop_and_no_main_of_its_own():
    ino = (SKETCH / f"{SKETCH.name}.ino").read_text()
    assert re.search(r"^void setup\(\)", ino, re.MULTILINE)
    assert re.search(r"^void loop\(\)", ino, re.MULTILINE)
    for source in SOURCES:
        assert not re.search(r"\bmain\s*\(", source.read_text()), source


def test_no_heap_no_waiting_and_no_arduino_clock_in_the_sketch():
    for source in SOURCES:
        code = re.sub(r"//.*", "", source.read_text())
        assert not re.search(r"\b(new|malloc|delay|delayMicroseconds|millis|micros|String)\s*[( ]", code), source


def test_the_sketch_builds_with_the_flags_of_the_arduino_ide_and_runs(elf, avr_library, tmp_path):
    # those of arduino:avr 1.8.x, which differ from the Makefile's: link-time optimisation, fewer warnings
    copy = tmp_path / SKETCH.name
    for source in SOURCES:
        target = copy / source.relative_to(SKETCH)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    core = "/usr/share/arduino/hardware/arduino/avr"
    flags = (
        "-mmcu=atmega2560 -Os -w -std=gnu++11 -fpermissive -fno-exceptions -ffunction-sections -fdata-sections "
        "-fno-threadsafe-statics -Wno-error=narrowing -flto -DF_CPU=16000000L -DARDUINO=10819 -DARDUINO_AVR_MEGA2560 "
        f"-DARDUINO_ARCH_AVR -I{core}/cores/arduino -I{core}/variants/mega"
    ).split()
    ino = copy / f"{SKETCH.name}.ino.cpp"
    ino.write_text("#include <Arduino.h>\n" + (copy / f"{SKETCH.name}.ino").read_text())
    sources = [str(ino), *map(str, sorted(copy.rglob("src/**/*.cpp")))]
    output = tmp_path / "sketch.elf"
    archive = elf.parent / "arduino.a"
    run(
        [
            "avr-g++",
            *flags,
            "-fuse-linker-plugin",
            "-Wl,--gc-sections",
            "-o",
            str(output),
            *sources,
            str(archive),
            "-lm",
        ]
    )
    size = run(["avr-size", "-A", str(output)])
    sections = {line.split()[0]: int(line.split()[1]) for line in size.splitlines() if line.startswith(".")}
    assert 10_000 < sections[".text"] + sections[".data"] < 253_952
    assert sections[".data"] + sections[".bss"] < 8192 - 1024
    port = AvrPort(avr_library, output)
    host = Host(port)
    host.run(60)
    host.configure()
    host.do(messages.SetHere(joints=7, position=HOME))
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(60)
    host.do(messages.SetMode(mode=Mode.TRACK))
    host.follow(rest_to_rest(HOME, (0.1, 1.15, -1.5), 0.5), 0.5)
    host.run_alive(100)
    assert host.port.observe().position == pytest.approx((0.1, 1.15, -1.5), abs=3e-3)
    assert host.state.mode == Mode.TRACK
    port.close()
