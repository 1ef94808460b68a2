# SPDX-License-Identifier: Apache-2.0
"""Finds an installed ROS 2."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SUPPORTED = ("rolling", "kilted", "jazzy")


@dataclass(frozen=True)
class RosInstallation:
    """An installed ROS 2 and the environment that it is used with.

    Attributes:
        distribution: its name, such as jazzy.
        env: environment variables with it sourced.
    """

    distribution: str
    env: Mapping[str, str]


def find_ros(env: Mapping[str, str], opt: Path = Path("/opt/ros")) -> RosInstallation | None:
    """Find the ROS 2 that is sourced in `env`, else the newest supported one below `opt`.

    Returns:
        None where there is none; the project then uses its wheels.
    """
    if env.get("MANIPULATOR3D_WHEELS") == "1":
        return None
    sourced = env.get("ROS_DISTRO", "")
    if sourced and _has_rclpy(env):
        return RosInstallation(sourced, dict(env))
    for distribution in _SUPPORTED:
        setup = opt / distribution / "setup.bash"
        if setup.is_file():
            found = _source(setup, env)
            if _has_rclpy(found):
                return RosInstallation(distribution, found)
    return None


def _has_rclpy(env: Mapping[str, str]) -> bool:
    prefixes = env.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return any((Path(p) / "share/ament_index/resource_index/packages/rclpy").is_file() for p in prefixes if p)


def _source(setup: Path, env: Mapping[str, str]) -> dict[str, str]:
    printed = subprocess.run(
        ["bash", "-c", f'. "{setup}" >&2 && env -0'], env=dict(env), capture_output=True, check=True
    ).stdout.decode()
    return dict(entry.split("=", 1) for entry in printed.split("\0") if "=" in entry)
