# SPDX-License-Identifier: Apache-2.0
"""The verb `firmware` with programs in the place of make, avr-size and avrdude, and with the real ones."""

import json
import os
import pty
import shutil
import subprocess
import sys
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from manipulator3d.cli import firmware_flash
from manipulator3d.cli.firmware import main
from manipulator3d.stack_error import StackError

ROOT = Path(__file__).resolve().parents[3]
SIZES = (
    "elf  :\nsection  size  addr\n.data   120  8388864\n.text  20000  0\n.bss  3000  8388984\n.comment 17 0\nTotal 1\n"
)


@pytest.fixture
def port() -> Iterator[str]:
    """A serial line that nobody uses."""
    board, line = pty.openpty()
    tty.setraw(line)
    yield os.ttyname(line)
    os.close(board)
    os.close(line)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Makes shell scripts that are found before all other programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return make


@pytest.fixture
def checkout(tmp_path: Path, program: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose firmware is built by a Makefile of one line."""
    source = tmp_path / "firmware"
    source.mkdir()
    makefile = (
        "all:\n\t@mkdir -p $(BUILD) && touch $(BUILD)/manipulator3d_firmware.elf $(BUILD)/manipulator3d_firmware.hex"
    )
    (source / "Makefile").write_text(makefile + "\n")
    monkeypatch.setenv("MANIPULATOR3D_ROOT", str(tmp_path))
    program("avr-g++", "exit 0")
    program("avr-size", f"cat <<'END'\n{SIZES}END")
    return tmp_path


def flash(port: str) -> int:
    return main("firmware", ["flash", "--port", port])


def test_size_adds_up_the_sections_that_lie_in_each_memory(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("firmware", ["size", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["flash"] == {"used": 20120, "available": 253952, "fraction": 20120 / 253952}
    assert answer["RAM"] == {"used": 3120, "available": 8192, "fraction": 3120 / 8192}
    assert main("firmware", ["size"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["RAM", "3120", "of", "8192", "bytes", "38.1%"]


def test_a_binary_larger_than_the_board_is_refused(checkout: Path, program: Callable[[str, str], None]) -> None:
    program("avr-size", "echo '.bss 9000 0'")
    with pytest.raises(StackError, match="takes 9000 bytes of RAM; the Mega 2560 has 8192"):
        main("firmware", ["build"])


def test_a_failed_build_shows_the_compilers_words(checkout: Path) -> None:
    (checkout / "firmware" / "Makefile").write_text("all:\n\t@echo 'board.cpp:7: error: no such pin'; exit 3\n")
    with pytest.raises(StackError, match=r"(?s)board.cpp:7: error: no such pin.*does not build.*gcc-avr"):
        main("firmware", ["build"])


def test_outside_a_checkout_and_without_a_compiler_the_remedy_is_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(checkout / "bin"))
    with pytest.raises(StackError, match="make is missing; install what it needs: sudo apt-get install"):
        main("firmware", ["build"])
    monkeypatch.delenv("MANIPULATOR3D_ROOT")
    with pytest.raises(StackError, match=r"sources are not here; run ./manipulator3d firmware in a checkout"):
        main("firmware", ["build"])


def test_flash_calls_avrdude_for_the_megas_boot_loader(
    checkout: Path, program: Callable[[str, str], None], port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program("avrdude", f'printf "%s\\n" "$@" > {checkout}/arguments')
    assert flash(port) == 0
    assert capsys.readouterr().out == f"{port}: flashed and verified; home the arm before it moves\n"
    binary = checkout / ".manipulator3d/firmware/avr/manipulator3d_firmware.hex"
    given = (checkout / "arguments").read_text().split()
    given.remove("-D")  # has no value
    assert dict(zip(given[::2], given[1::2], strict=True)) == {
        "-p": "atmega2560", "-c": "wiring", "-b": "115200", "-P": port, "-U": f"flash:w:{binary}:i"
    }  # fmt: skip


def test_a_failing_avrdude_is_shown_with_the_port_and_the_remedy(
    checkout: Path, program: Callable[[str, str], None], port: str
) -> None:
    program("avrdude", "echo 'stk500v2_getsync(): timeout communicating with programmer' >&2; exit 1")
    with pytest.raises(StackError, match=rf"(?s)getsync.*{port}: avrdude ended with 1; is it an Arduino Mega 2560"):
        flash(port)


def test_a_missing_avrdude_is_named(checkout: Path, port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout / "bin"))
    with pytest.raises(StackError, match="avrdude is missing; sudo apt-get install"):
        firmware_flash.flash(port, checkout)


def test_flash_needs_a_port(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main("firmware", ["flash"])
    assert ended.value.code == 2
    assert "--port" in capsys.readouterr().err
    with pytest.raises(StackError, match="flashing needs the board's own port, not auto; give --port"):
        flash("auto")


def test_a_missing_port_and_a_file_are_refused_before_anything_is_built(checkout: Path) -> None:
    for wrong, text in (("/dev/no-such-board", "no such port"), (str(checkout / "firmware/Makefile"), "not a serial")):
        with pytest.raises(StackError, match=f"^{wrong}: {text}"):
            flash(wrong)
    assert not (checkout / ".manipulator3d").exists()


def test_a_port_that_a_bridge_holds_is_refused_with_the_bridges_name(checkout: Path, port: str) -> None:
    holder = checkout / "bridge_node"
    holder.write_text(
        "import sys\nfrom manipulator3d_hw_bridge.serial_link import SerialLink\n"
        "with SerialLink(sys.argv[1]):\n    print(flush=True)\n    sys.stdin.read()\n"
    )
    command = [sys.executable, str(holder), port]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        with pytest.raises(
            StackError, match=rf"^{port}: in use by .*bridge_node \(process {process.pid}\).*; close it"
        ):
            flash(port)


def test_another_device_is_refused_by_its_usb_identity(port: str) -> None:
    uno = SimpleNamespace(device=port, vid=0x2341, pid=0x0043, product="Arduino Uno")
    with pytest.raises(StackError, match=r"another Arduino \(2341:0043, Arduino Uno\), not an Arduino Mega 2560"):
        firmware_flash.check_port(port, lambda: [uno])


@pytest.mark.skipif(
    shutil.which("avr-g++") is None or not Path("/usr/share/arduino/hardware/arduino/avr").is_dir(),
    reason="gcc-avr and arduino-core-avr are not installed",
)
def test_the_real_firmware_builds_and_fits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MANIPULATOR3D_ROOT", str(ROOT))
    assert main("firmware", ["build", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    lines = Path(answer["file"]).read_text().split()
    assert all(line.startswith(":") for line in lines)
    assert lines[-1] == ":00000001FF"  # the end record of Intel HEX
    assert 10_000 < answer["flash"]["used"] < 128_000
    assert 500 < answer["RAM"]["used"] < 6_000
