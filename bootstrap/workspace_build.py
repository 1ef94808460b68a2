# SPDX-License-Identifier: Apache-2.0
"""Builds the ROS packages with colcon and the emulated board with cmake."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bootstrap.console import run_step
from bootstrap.places import Places
from bootstrap.stamp import Stamp, fingerprint

# Built only where the ROS installation has no package of that name.
COMPAT_PACKAGES = ("tf2_msgs", "control_msgs")


def build_workspace(places: Places, env: Mapping[str, str]) -> None:
    """Build all ROS packages; does nothing when only Python sources have changed since the last time.

    Args:
        places: the checkout's folders.
        env: environment with ROS 2 and the virtual environment.

    Raises:
        StepError: the build failed.
    """
    missing = [name for name in COMPAT_PACKAGES if not _is_installed(name, env)]
    inputs = fingerprint(_build_files(places.root), [*missing, env["AMENT_PREFIX_PATH"], str(places.root)])
    stamp = Stamp(places.stamp("workspace"))
    if stamp.holds(inputs):
        return
    stamp.clear()
    command = ["colcon", "--log-base", str(places.state / "colcon-log"), "build", "--merge-install"]
    # compat/ itself is ignored by colcon, so that a build by hand never hides an installation's own packages
    command += ["--base-paths", str(places.root / "src"), *(str(places.root / "compat" / name) for name in missing)]
    command += ["--build-base", str(places.state / "build"), "--install-base", str(places.install)]
    command += ["--metas", str(places.root / "colcon.meta")]
    command += ["--cmake-args", f"-DPython3_EXECUTABLE={places.python}"]
    # the python of the virtual environment, and not the one colcon happens to run under
    build_env = dict(env, PYTHONWARNINGS="ignore")
    run_step("Building the ROS packages", command, places.log("workspace"), build_env, cwd=places.root)
    stamp.set(inputs)


def build_emulator(places: Places, env: Mapping[str, str]) -> None:
    """Build the emulated board; does nothing when the firmware's sources have not changed.

    Raises:
        StepError: the build failed.
    """
    source = places.root / "firmware"
    inputs = fingerprint(path for path in source.rglob("*") if _is_firmware_source(path))
    stamp = Stamp(places.stamp("emulator"))
    if stamp.holds(inputs):
        return
    stamp.clear()
    build = str(places.firmware_build)
    log = places.log("emulator")
    configure = ["cmake", "-S", str(source), "-B", build, "-DCMAKE_BUILD_TYPE=Release"]
    run_step("Configuring the emulated board", configure, log, env)
    compile_all = ["cmake", "--build", build, "--parallel", str(os.cpu_count() or 1)]
    run_step("Compiling the emulated board", compile_all, log, env)
    stamp.set(inputs)


def _is_installed(package: str, env: Mapping[str, str]) -> bool:
    prefixes = env["AMENT_PREFIX_PATH"].split(os.pathsep)
    return any(Path(p, "share/ament_index/resource_index/packages", package).is_file() for p in prefixes if p)


def _is_firmware_source(path: Path) -> bool:
    return path.suffix in {".cpp", ".h", ".txt", ".cmake"} and path.is_file()


def _build_files(root: Path) -> Iterator[Path]:
    yield root / "colcon.meta"
    for folder in (root / "src", root / "compat"):
        for path in folder.rglob("*"):
            hidden = "__pycache__" in path.parts or ".egg-info" in str(path) or "test" in path.relative_to(root).parts
            is_python_source = path.suffix == ".py" and path.name != "setup.py" and "launch" not in path.parts
            if path.is_file() and not hidden and not is_python_source:
                yield path
