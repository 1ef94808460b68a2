# SPDX-License-Identifier: Apache-2.0
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from firmware_build import FIRMWARE, run  # noqa: E402
from virtual_board import EmulatedPort, Host, load  # noqa: E402


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
