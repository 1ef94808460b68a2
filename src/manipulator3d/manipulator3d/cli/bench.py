# SPDX-License-Identifier: Apache-2.0
"""The verb `bench`: measures the figures of docs/performance.md."""

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

AREAS = ("kinematics", "trajectories", "dynamics", "ros", "serial", "firmware", "stack", "dashboard")


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Measure and print one table per area; returns 0 when all was measured, whether or not the goals were met."""
    areas = _present_areas()
    parser = argparse.ArgumentParser(prog="./manipulator3d bench", description="Measure figures against peers.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"{', '.join(areas)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args(arguments)
    unknown = [area for area in options.areas if area not in areas]
    if unknown:
        parser.error(f"there is no area '{unknown[0]}'; the areas are {', '.join(areas)}")
    rows: dict[str, list[dict[str, Any]]] = {}
    for area in options.areas or areas:
        print(f"measuring {area} …", file=sys.stderr, flush=True)
        rows[area] = importlib.import_module(f"benchmarks.{area}").rows()
    if options.json:
        print(json.dumps([row for area in rows.values() for row in area], indent=1))
        return 0
    for area, measured in rows.items():
        _print_table(area, measured)
    return 0


def _present_areas() -> list[str]:
    folder = Path(os.environ["MANIPULATOR3D_ROOT"], "benchmarks")
    return [area for area in AREAS if (folder / f"{area}.py").is_file()]


def _print_table(area: str, rows: Sequence[dict[str, Any]]) -> None:
    print(f"\n{area}")
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        if row["value"] is None:
            print(f"  {row['name']:{width}s}  missing: {row['reference']}")
            continue
        ratio = "" if row["ratio"] is None else f"{row['ratio']:8.3g} x {row['reference']}"
        goal = "" if row["goal"] is None else f"goal {row['goal']}: {'met' if row['met'] else 'NOT met'}"
        print(f"  {row['name']:{width}s}  {row['value']:10.4g} {row['unit']:10s} {ratio:40s} {goal}")
