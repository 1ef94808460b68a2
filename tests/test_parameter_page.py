# SPDX-License-Identifier: Apache-2.0
"""docs/parameters.md says what the nodes declare."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "make_parameters.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_parameter_has_a_meaning() -> None:
    rows = [line.split("|") for line in (ROOT / "docs" / "parameters.md").read_text().splitlines() if "| `" in line]
    assert len(rows) > 30
    assert all(len(row[5].strip()) > 8 for row in rows)
