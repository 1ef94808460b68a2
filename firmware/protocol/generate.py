# SPDX-License-Identifier: Apache-2.0
"""Makes everything that follows from messages.yaml, or with --check says what is out of date."""

import argparse
import sys
from pathlib import Path

import definition
import emit_cpp
import emit_markdown
import emit_python
import golden

ROOT = definition.FOLDER.parents[1]


def outputs() -> dict[Path, str]:
    """Return the text of every generated file."""
    protocol = definition.load()
    return {
        ROOT / "firmware/manipulator3d_firmware/src/messages.h": emit_cpp.emit(protocol),
        ROOT / "firmware/protocol/repack.h": emit_cpp.emit_repack(protocol),
        ROOT / "firmware/protocol/golden_frames.json": golden.emit(protocol),
        ROOT / "src/manipulator3d_hw_bridge/manipulator3d_hw_bridge/messages.py": emit_python.emit(protocol),
        ROOT / "docs/protocol.md": emit_markdown.emit(protocol),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files; with --check only compare. Returns 1 when one was out of date under --check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit with 1 when a file is out of date")
    check = parser.parse_args(arguments).check
    stale = [path for path, text in outputs().items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is out of date; run python firmware/protocol/generate.py", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(outputs()[path])
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
