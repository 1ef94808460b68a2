# SPDX-License-Identifier: Apache-2.0
"""Where the firmware is, and running the programs that build it."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parents[1]


def run(command: Sequence[str]) -> str:
    """Run a program that must succeed; return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
