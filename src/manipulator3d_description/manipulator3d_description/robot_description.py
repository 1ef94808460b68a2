# SPDX-License-Identifier: Apache-2.0
"""The URDF of an arm from its profile."""

import re

import xacro

from manipulator3d_description.arm_profile import load_profile, profile_path
from manipulator3d_description.share_folder import share_folder

_PREFIX = re.compile(r"^([A-Za-z_][A-Za-z0-9_/]*)?$")


def robot_description(arm: str = "capstone", tf_prefix: str = "") -> str:
    """Expand the xacro.

    Args:
        arm: name of a profile, or the path of a YAML file.
        tf_prefix: text before every link's name; joints keep theirs.

    Returns:
        The URDF.

    Raises:
        ValueError: the profile or the prefix is not usable; names the file and the field.
    """
    if not _PREFIX.match(tf_prefix):
        raise ValueError(f"tf_prefix '{tf_prefix}' is not a ROS name; use letters, digits, _ and /, such as left_")
    load_profile(arm)
    mappings = {"arm": str(profile_path(arm)), "prefix": tf_prefix}
    source = share_folder() / "urdf" / "manipulator3d.urdf.xacro"
    try:
        document = xacro.process_file(str(source), mappings=mappings)
    except xacro.XacroException as error:
        raise ValueError(f"{source} cannot be expanded for {mappings['arm']}: {error}") from error
    return document.toprettyxml(indent="  ")
