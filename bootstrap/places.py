# SPDX-License-Identifier: Apache-2.0
"""Where the checkout keeps what the set-up makes. All below the checkout, so that two do not disturb each other."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """Folders of one checkout.

    Attributes:
        root: the checkout.
    """

    root: Path

    @property
    def state(self) -> Path:
        """All that the set-up makes; may be deleted at any time."""
        return self.root / ".manipulator3d"

    @property
    def environment(self) -> Path:
        """The virtual environment."""
        return self.state / "venv"

    @property
    def python(self) -> Path:
        """Interpreter of the virtual environment."""
        return self.environment / "bin" / "python"

    @property
    def install(self) -> Path:
        """What colcon installs, merged."""
        return self.state / "install"

    @property
    def firmware_build(self) -> Path:
        """Build folder of the emulated board."""
        return self.state / "firmware"

    @property
    def requirements(self) -> Path:
        """Lists of Python packages."""
        return self.root / "bootstrap" / "requirements"

    def log(self, step: str) -> Path:
        """Log file of a step."""
        return self.state / "logs" / f"{step}.log"

    def stamp(self, step: str) -> Path:
        """Stamp file of a step."""
        return self.state / "stamps" / step
