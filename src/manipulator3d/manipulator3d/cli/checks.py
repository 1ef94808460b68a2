# SPDX-License-Identifier: Apache-2.0
"""The verb `test`: style, types and all tests."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_PACKAGES = (
    "manipulator3d",
    "manipulator3d_control",
    "manipulator3d_dashboard",
    "manipulator3d_description",
    "manipulator3d_hw_bridge",
    "manipulator3d_kinematics",
    "manipulator3d_node",
)
_HELP = """usage: ./manipulator3d test [PYTEST ARGUMENTS]

Without arguments: style (ruff), types (mypy), all tests (pytest) with line coverage.
With arguments: pytest with these alone, such as  ./manipulator3d test src/manipulator3d_kinematics -k jacobian"""


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Run the checks; returns 0 only if all of them passed."""
    if list(arguments[:1]) in (["-h"], ["--help"]):
        print(_HELP)
        return 0
    root = Path(os.environ["MANIPULATOR3D_ROOT"])
    python = [sys.executable, "-m"]
    if arguments:
        return _run("tests", [*python, "pytest", *arguments], root)
    coverage = ["--cov", "--cov-report=term:skip-covered"]
    checks = {
        "style": [*python, "ruff", "check", "."],
        "types": [*python, "mypy", *(part for name in _PACKAGES for part in ("-p", name)), "-p", "bootstrap"],
        "tests": [*python, "pytest", *coverage],
    }
    failed = [name for name, command in checks.items() if _run(name, command, root) != 0]
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed", flush=True)
    return 1 if failed else 0


def _run(name: str, command: Sequence[str], root: Path) -> int:
    print(f"== {name}: {' '.join(command[2:])}", flush=True)
    started = time.monotonic()
    paths = [*sorted(str(path.parent) for path in root.glob("src/*/setup.py")), str(root)]
    env = dict(os.environ, MYPYPATH=os.pathsep.join(paths))
    code = subprocess.run(command, cwd=root, env=env).returncode
    print(f"== {name}: {'passed' if code == 0 else 'failed'} in {time.monotonic() - started:.0f} s", flush=True)
    return code
