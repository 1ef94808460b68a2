# SPDX-License-Identifier: Apache-2.0
"""The command line that starts a node without ROS 2's launch."""

import os
from collections.abc import Mapping
from pathlib import Path

import yaml

from manipulator3d.launch_arguments import LaunchArguments
from manipulator3d.stack import NodeSpec


def executable_path(spec: NodeSpec, env: Mapping[str, str]) -> Path:
    """Find the program of a node below AMENT_PREFIX_PATH.

    Raises:
        ValueError: it is not installed; names the package, the program and where it was looked for.
    """
    prefixes = [entry for entry in env.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    for prefix in prefixes:
        path = Path(prefix, "lib", spec.package, spec.executable)
        if os.access(path, os.X_OK):
            return path
    places = ", ".join(prefixes) or "AMENT_PREFIX_PATH"
    raise ValueError(f"{spec.package} has no program {spec.executable} below {places}")


def is_installed(package: str, env: Mapping[str, str]) -> bool:
    """Whether a ROS package is installed below AMENT_PREFIX_PATH."""
    prefixes = [entry for entry in env.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    return any(Path(p, "share/ament_index/resource_index/packages", package).is_file() for p in prefixes)


def node_command(spec: NodeSpec, arguments: LaunchArguments, folder: Path, env: Mapping[str, str]) -> list[str]:
    """Give the command of one node; its parameters go into a file below `folder`.

    Raises:
        ValueError: the program is not installed.
    """
    parameter_file = folder / f"{spec.name}.yaml"
    parameter_file.write_text(yaml.safe_dump({"/**": {"ros__parameters": spec.parameters}}))
    command = [str(executable_path(spec, env)), *spec.arguments, "--ros-args", "-r", f"__node:={spec.name}"]
    if arguments.namespace:
        command += ["-r", f"__ns:=/{arguments.namespace.strip('/')}"]
    command += ["--log-level", arguments.log_level, "--params-file", str(parameter_file)]
    if arguments.params_file:
        command += ["--params-file", arguments.params_file]  # later files win
    return command
