# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from firmware_build import FIRMWARE, run
from virtual_board import AvrPort, EmulatedPort, Host, load, load_avr


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory):
    """Folder with the emulated board: the one that is built already, else a new one."""
    built = Path(os.environ.get("MANIPULATOR3D_EMULATOR", "/nowhere/emulator")).parent
    if (built / "libmanipulator3d_virtual_board.so").is_file():
        return built
    folder = tmp_path_factory.mktemp("firmware_build")
    run(["cmake", "-S", str(FIRMWARE), "-B", str(folder)])
    run(["cmake", "--build", str(folder), "--parallel", str(os.cpu_count() or 1)])
    return folder


@pytest.fixture(scope="session")
def library(build_folder):
    """The emulated board in virtual time."""
    return load(build_folder)


@pytest.fixture(scope="session")
def elf(tmp_path_factory):
    """The board's own binary."""
    if shutil.which("avr-g++") is None or not Path("/usr/share/arduino/hardware/arduino/avr").is_dir():
        pytest.skip("gcc-avr and arduino-core-avr are not installed, so the board's binary cannot be built")
    folder = tmp_path_factory.mktemp("firmware_avr")
    run(["make", "-s", "-C", str(FIRMWARE), f"BUILD={folder}", f"-j{os.cpu_count() or 1}"])
    return folder / "manipulator3d_firmware.elf"


@pytest.fixture(scope="session")
def avr_library(build_folder, tmp_path_factory):
    """The simulator of the board's binary."""
    folder = build_folder
    if not (folder / "libmanipulator3d_avr_board.so").is_file():
        if not Path("/usr/include/simavr/sim_avr.h").is_file():
            pytest.skip("libsimavr-dev is not installed, so the board's binary cannot be run")
        folder = tmp_path_factory.mktemp("firmware_simavr")
        run(["cmake", "-S", str(FIRMWARE), "-B", str(folder)])
        run(["cmake", "--build", str(folder), "--target", "manipulator3d_avr_board"])
    return load_avr(folder)


@pytest.fixture
def make_avr_host(avr_library, elf):
    """Makes hosts of boards that run the binary; arguments are those of AvrPort."""
    ports = []

    def make(**arguments):
        port = AvrPort(avr_library, elf, **arguments)
        ports.append(port)
        host = Host(port)
        host.run(60)
        return host

    yield make
    for port in ports:
        port.close()


@pytest.fixture
def make_host(library):
    """Makes hosts of new boards; arguments are those of EmulatedPort."""
    ports = []

    def make(**arguments):
        port = EmulatedPort(library, **arguments)
        ports.append(port)
        host = Host(port)
        host.run(20)
        return host

    yield make
    for port in ports:
        port.close()


@pytest.fixture
def host(make_host):
    """The host of a configured board with known positions, at rest in mode IDLE."""
    made = make_host()
    made.configure()
    return made
