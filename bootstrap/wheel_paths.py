# SPDX-License-Identifier: Apache-2.0
"""Points the CMake files of ROS 2 wheels at this computer's Python.

The wheels' exported CMake targets name the include folders of the machine that built them.
"""

import re
import subprocess
from pathlib import Path

_BUILDER_NUMPY = re.compile(r"/opt/python/[^\";: ]*/site-packages/numpy/_core/include")
_BUILDER_PYTHON = re.compile(r"/opt/python/[^\";: ]*/include/python3\.\d+")


def point_cmake_files_at(python: Path) -> int:
    """Rewrite the include folders in `<prefix>/share/*/cmake` to those of the interpreter `python`.

    Args:
        python: interpreter of the virtual environment that holds the wheels.

    Returns:
        Number of files changed; 0 the second time.
    """
    prefix, include, numpy_include = subprocess.run(
        [
            str(python),
            "-c",
            "import sys, sysconfig, numpy\n"
            "print(sys.prefix, sysconfig.get_path('include'), numpy.get_include(), sep='\\n')",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")[:3]
    changed = 0
    for path in Path(prefix, "share").glob("*/cmake/*.cmake"):
        text = path.read_text()
        rewritten = _BUILDER_PYTHON.sub(include, _BUILDER_NUMPY.sub(numpy_include, text))
        if rewritten != text:
            path.write_text(rewritten)
            changed += 1
    return changed
