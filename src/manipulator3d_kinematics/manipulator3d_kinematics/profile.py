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


def rod(mass: float, start: float, stop: float, radius: float) -> RigidBody:
    """A uniform rod along x: m L²/12 across its middle, m r²/2 about its axis."""
    across = mass * (stop - start) ** 2 / 12.0
    inertia = np.diag([mass * radius * radius / 2.0, across, across])
    return RigidBody(mass, np.array([(start + stop) / 2.0, 0.0, 0.0]), inertia)


def upright_cylinder(mass: float, start: float, stop: float, radius: float) -> RigidBody:
    """A uniform cylinder along z."""
    across = mass * (3.0 * radius * radius + (stop - start) ** 2) / 12.0
    inertia = np.diag([across, across, mass * radius * radius / 2.0])
    return RigidBody(mass, np.array([0.0, 0.0, (start + stop) / 2.0]), inertia)


def _bodies(reader: "_Reader", fields: Mapping[str, Any]) -> tuple[RigidBody, ...]:
    """The turret is the upper half of the stand, links are rods between joints, the tool ends at the tool point."""

    def mass(part: str) -> float:
        return reader.number("masses", part, default=0.0)

    def shape(measure: str) -> float:
        return reader.number("shape", measure, default=0.0)

    top, forearm = fields["base_height"], fields["forearm"]
    turret = upright_cylinder(mass("turret"), top - 0.5 * shape("stand_height"), top, shape("stand_radius"))
    upper_arm = rod(mass("upper_arm"), 0.0, fields["upper_arm"], shape("upper_arm_radius"))
    tool_start = forearm - reader.number("gripper", "length", default=0.0)
    tool = rod(mass("tool"), tool_start, forearm, reader.number("gripper", "radius", default=0.0))
    return turret, upper_arm, combined((rod(mass("forearm"), 0.0, forearm, shape("forearm_radius")), tool))


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
