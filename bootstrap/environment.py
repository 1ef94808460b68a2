# SPDX-License-Identifier: Apache-2.0
"""The environment variables in which the built stack runs."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from bootstrap.places import Places
from bootstrap.ros_installation import RosInstallation

_DDS_PROFILE = "src/manipulator3d_node/config/fastdds_this_computer.xml"
# ROS 2 older than Kilted reads the older name alone, newer ones warn about it
_DDS_PROFILE_VARIABLE = {"jazzy": "FASTRTPS_DEFAULT_PROFILES_FILE"}


def base_environment(places: Places, ros: RosInstallation | None, env: Mapping[str, str]) -> dict[str, str]:
    """Give the variables with ROS 2 and the virtual environment, without the built workspace.

    Args:
        places: the checkout's folders.
        ros: the installed ROS 2, None for the wheels.
        env: variables to start from.
    """
    made = dict(ros.env if ros else env)
    venv = places.environment
    made["VIRTUAL_ENV"] = str(venv)
    made["PATH"] = _joined([str(venv / "bin"), made.get("PATH", "")])
    made.pop("PYTHONHOME", None)
    made.setdefault("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    site = _site_packages(places)
    if ros is None:
        libraries = sorted(str(path) for path in site.glob("ros_*.libs"))
        made["LD_LIBRARY_PATH"] = _joined([str(venv / "lib"), *libraries, made.get("LD_LIBRARY_PATH", "")])
        # set here, in a fixed order; otherwise a start-up hook of the wheels executes Python a second time
        made["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
        made["AMENT_PREFIX_PATH"] = str(venv)
        made["CMAKE_PREFIX_PATH"] = str(venv)
        made["PYTHONPATH"] = ""
        made |= {"ROS_VERSION": "2", "ROS_PYTHON_VERSION": "3", "ROS_DISTRO": "kilted"}
        # inside this environment the front door must not take the wheels for an installed ROS 2
        made["MANIPULATOR3D_WHEELS"] = "1"
    else:
        made["PYTHONPATH"] = _joined([str(site), made.get("PYTHONPATH", "")])
    return made


def built_environment(places: Places, ros: RosInstallation | None, env: Mapping[str, str]) -> dict[str, str]:
    """Give the variables with the built workspace on top.

    The Python sources come first, so that a changed source file counts at once, without a build.
    """
    made = base_environment(places, ros, env)
    install = places.install
    sources = sorted(str(path.parent) for path in places.root.glob("src/*/setup.py"))
    installed = sorted(str(path) for path in install.glob("lib/python3*/site-packages"))
    installed += sorted(str(path) for path in install.glob("local/lib/python3*/dist-packages"))
    made["PYTHONPATH"] = _joined([*sources, *installed, str(places.root), made.get("PYTHONPATH", "")])
    made["AMENT_PREFIX_PATH"] = _joined([str(install), made.get("AMENT_PREFIX_PATH", "")])
    made["LD_LIBRARY_PATH"] = _joined([str(install / "lib"), made.get("LD_LIBRARY_PATH", "")])
    made["PATH"] = _joined([str(install / "bin"), made["PATH"]])
    made["MANIPULATOR3D_ROOT"] = str(places.root)
    made["MANIPULATOR3D_EMULATOR"] = str(places.firmware_build / "manipulator3d_emulator")
    return made


def keep_on_this_computer(made: dict[str, str], places: Places) -> None:
    """Keep ROS traffic on this computer, unless the user has chosen a range or a Fast DDS profile.

    ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST would do so as well, but rmw_fastrtps then adds shared memory, over which a
    client that joins holds up the messages of a moving arm by tenths of a second. The profile gives the same range
    with UDP on the loopback interface alone; programs started with plain LOCALHOST are heard and hear.
    """
    variable = _DDS_PROFILE_VARIABLE.get(made.get("ROS_DISTRO", ""), "FASTDDS_DEFAULT_PROFILES_FILE")
    chosen = ("ROS_AUTOMATIC_DISCOVERY_RANGE", variable)
    if any(made.get(name) for name in chosen) or made["RMW_IMPLEMENTATION"] != "rmw_fastrtps_cpp":
        made.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        return
    made["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SYSTEM_DEFAULT"
    made[variable] = str(places.root / _DDS_PROFILE)


def _joined(parts: Iterable[str]) -> str:
    return os.pathsep.join(part for part in parts if part)


def _site_packages(places: Places) -> Path:
    major, minor = sys.version_info[:2]
    return places.environment / "lib" / f"python{major}.{minor}" / "site-packages"
