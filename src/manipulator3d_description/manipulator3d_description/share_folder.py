# SPDX-License-Identifier: Apache-2.0
"""Where this package's profiles, xacro and RViz configuration lie."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory


def share_folder() -> Path:
    """Give the folder with `config`, `urdf` and `rviz`: in the source tree if the code runs from it, else installed.

    Raises:
        PackageNotFoundError: the code runs from neither.
    """
    source = Path(__file__).resolve().parents[1]
    if (source / "config" / "arms").is_dir():
        return source
    return Path(get_package_share_directory("manipulator3d_description"))
