# SPDX-License-Identifier: Apache-2.0
"""Remembers with which inputs a step of the set-up last succeeded."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def fingerprint(files: Iterable[Path], texts: Iterable[str] = ()) -> str:
    """Hash the names and contents of `files`, and `texts`."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(str(path).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


class Stamp:
    """A file that exists only after the step succeeded with the inputs it names."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def holds(self, inputs: str) -> bool:
        """Whether the step last succeeded with `inputs`, a fingerprint."""
        return self._path.is_file() and self._path.read_text() == inputs

    def clear(self) -> None:
        """Forget; called before the step starts, so that a half-finished one runs again."""
        self._path.unlink(missing_ok=True)

    def set(self, inputs: str) -> None:
        """Remember that the step succeeded with `inputs`."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(inputs)
