# SPDX-License-Identifier: Apache-2.0
"""Reads an arm profile: the YAML file that states geometry, limits and masses of one arm."""

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.model import JOINTS
from manipulator3d_kinematics.rigid_body import RigidBody, combined

_GEOMETRY = ("base_height", "upper_arm", "lateral_offset", "forearm")
_PACKAGE = "manipulator3d_description"
# key in the file: attribute of the model, unit; the last four have defaults
_LIMITS = ("lower", "upper", "velocity", "effort")
_EXTRAS = ("acceleration", "jerk", "counts_per_revolution", "home", "damping", "friction")


def profile_path(name: str) -> Path:
    """Find a profile of manipulator3d_description.

    Raises:
        ValueError: there is no such profile; lists those that there are.
    """
    found = {path.stem: path for folder in _profile_folders() for path in sorted(folder.glob("*.yaml"))}
    if name not in found:
        known = ", ".join(sorted(found)) or f"none; is {_PACKAGE} installed and its set-up script sourced?"
        raise ValueError(f"there is no arm profile '{name}'; profiles: {known}")
    return found[name]


def _profile_folders() -> Iterator[Path]:
    yield Path(__file__).resolve().parents[2] / _PACKAGE / "config" / "arms"
    for prefix in reversed(os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        if prefix:
            yield Path(prefix) / "share" / _PACKAGE / "config" / "arms"


def arm_fields(path: Path) -> dict[str, Any]:
    """Read the fields of an ArmModel from a profile.

    Raises:
        ValueError: the file cannot be read, or a field is missing or no number; names file and field.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot read the arm profile: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: the arm profile is not YAML: {error}") from error
    if not isinstance(document, Mapping):
        raise ValueError(f"{path}: the arm profile has no fields; expected name, geometry, joints, masses")
    reader = _Reader(path, document)
    fields: dict[str, Any] = {name: reader.number("geometry", name) for name in _GEOMETRY}
    fields["name"] = str(document.get("name", path.stem))
    fields["floor_z"] = reader.number("floor_z", default=0.0)
    fields["mount"] = _mount(reader)
    for key in _LIMITS:
        fields[key] = np.array([reader.number("joints", joint, key) for joint in JOINTS])
    for key in _EXTRAS:
        defaults = _defaults(key, fields)
        fields[key] = np.array(
            [reader.number("joints", joint, key, default=value) for joint, value in zip(JOINTS, defaults, strict=True)]
        )
    fields["bodies"] = _bodies(reader, fields)
    return fields


def _defaults(key: str, fields: Mapping[str, Any]) -> Array:
    if key == "acceleration":
        return np.asarray(4.0 * fields["velocity"])
    if key == "jerk":
        return np.asarray(8.0 * fields["acceleration"])
    return np.full(3, {"counts_per_revolution": 8384.0}.get(key, 0.0))


def rod(mass: float, length: float, radius: float) -> RigidBody:
    """A uniform rod from the origin along x: m L²/12 across its middle, m r²/2 about its axis."""
    across = mass * length * length / 12.0
    return RigidBody(mass, np.array([length / 2.0, 0.0, 0.0]), np.diag([mass * radius * radius / 2.0, across, across]))


def _bodies(reader: "_Reader", fields: Mapping[str, Any]) -> tuple[RigidBody, ...]:
    """Turret as an upright cylinder below the shoulder, links as rods, tool as a mass at the tool point."""
    turret = reader.number("masses", "turret", default=0.0)
    radius = reader.number("shape", "stand_radius", default=0.0)
    about_axis = turret * radius * radius / 2.0
    across = turret * (3.0 * radius * radius) / 12.0
    upper_arm = rod(
        reader.number("masses", "upper_arm", default=0.0),
        fields["upper_arm"],
        reader.number("shape", "upper_arm_radius", default=0.0),
    )
    forearm = rod(
        reader.number("masses", "forearm", default=0.0),
        fields["forearm"],
        reader.number("shape", "forearm_radius", default=0.0),
    )
    tool = RigidBody.point(reader.number("masses", "tool", default=0.0), (fields["forearm"], 0.0, 0.0))
    return (
        RigidBody(turret, np.array([0.0, 0.0, fields["base_height"]]), np.diag([across, across, about_axis])),
        upper_arm,
        combined((forearm, tool)),
    )


def _mount(reader: "_Reader") -> Array:
    x, y, z = reader.numbers("mounting", "xyz")
    roll, pitch, yaw = reader.numbers("mounting", "rpy")
    mount = np.eye(4)
    mount[:3, :3] = rotation_from_rpy(roll, pitch, yaw)
    mount[:3, 3] = (x, y, z)
    return mount


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Rotation matrix of URDF's roll, pitch, yaw (about fixed x, then y, then z), rad."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


class _Reader:
    """Takes numbers from the document and says where one is missing."""

    def __init__(self, path: Path, document: Mapping[str, Any]) -> None:
        self._path = path
        self._document = document

    def number(self, *keys: str, default: float | None = None) -> float:
        value = self._find(keys)
        if value is None and default is not None:
            return float(default)
        return self._as_number(value, ".".join(keys))

    def numbers(self, *keys: str) -> list[float]:
        """Three numbers, zero when absent."""
        value = self._find(keys)
        if value is None:
            return [0.0, 0.0, 0.0]
        if not isinstance(value, list) or len(value) != 3:
            raise ValueError(f"{self._path}: {'.'.join(keys)} is {value!r}; expected three numbers")
        return [self._as_number(number, ".".join(keys)) for number in value]

    def _find(self, keys: tuple[str, ...]) -> Any:
        value: Any = self._document
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def _as_number(self, value: Any, name: str) -> float:
        if value is None:
            raise ValueError(f"{self._path}: {name} is missing; expected a number")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{self._path}: {name} is {value!r}; expected a finite number")
        return float(value)
