# SPDX-License-Identifier: Apache-2.0
"""Arm profiles: YAML files with everything that is known of one arm, checked field by field."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from manipulator3d_description.share_folder import share_folder

JOINT_NAMES = ("base_yaw", "shoulder_pitch", "elbow_pitch")


class _Number(NamedTuple):
    unit: str
    bound: str


class _Triple(NamedTuple):
    unit: str


_FINITE = "a finite number"
_ABOVE_ZERO = "a number above zero"
_NOT_NEGATIVE = "zero or above"
_WHOLE = "a whole number above zero"

_LENGTH = _Number("m", _ABOVE_ZERO)
_COORDINATE = _Number("m", _FINITE)
_ANGLE = _Number("rad", _FINITE)
_MASS = _Number("kg", _ABOVE_ZERO)
_TEXT = str

_JOINT = {
    "lower": _ANGLE,
    "upper": _ANGLE,
    "velocity": _Number("rad/s", _ABOVE_ZERO),
    "acceleration": _Number("rad/s²", _ABOVE_ZERO),
    "jerk": _Number("rad/s³", _ABOVE_ZERO),
    "effort": _Number("N·m", _ABOVE_ZERO),
    "damping": _Number("N·m·s/rad", _NOT_NEGATIVE),
    "friction": _Number("N·m", _NOT_NEGATIVE),
    "home": _ANGLE,
    "counts_per_revolution": _Number("counts", _WHOLE),
}
_PROFILE: dict[str, Any] = {
    "name": _TEXT,
    "geometry": {
        "base_height": _Number("m", _NOT_NEGATIVE),
        "upper_arm": _LENGTH,
        "lateral_offset": _COORDINATE,
        "forearm": _LENGTH,
    },
    "mounting": {"xyz": _Triple("m"), "rpy": _Triple("rad")},
    "floor_z": _COORDINATE,
    "joints": {name: _JOINT for name in JOINT_NAMES},
    "masses": {name: _MASS for name in ("pedestal", "turret", "upper_arm", "forearm", "tool")},
    "gripper": {"length": _LENGTH, "radius": _LENGTH},
    "shape": {name: _LENGTH for name in ("stand_height", "stand_radius", "upper_arm_radius", "forearm_radius")},
}


def profile_names() -> list[str]:
    """List the names of the profiles that come with the package."""
    return sorted(path.stem for path in _profile_folder().glob("*.yaml"))


def profile_path(arm: str) -> Path:
    """Find a profile.

    Args:
        arm: name of a profile of this package, or the path of a YAML file.

    Returns:
        The file's absolute path.

    Raises:
        ValueError: there is no such file; lists the profiles there are.
    """
    is_path = "/" in arm or arm.endswith((".yaml", ".yml"))
    path = Path(arm).expanduser().absolute() if is_path else _profile_folder() / f"{arm}.yaml"
    if not path.is_file():
        known = ", ".join(profile_names())
        what = f"there is no file {path}" if is_path else f"there is no arm profile '{arm}'"
        raise ValueError(f"{what}; the profiles are {known}, or give the path of a YAML file of your own")
    return path


def load_profile(arm: str) -> dict[str, Any]:
    """Read and check a profile.

    Args:
        arm: name of a profile of this package, or the path of a YAML file.

    Returns:
        The content of the file: `name`, `geometry`, `mounting`, `floor_z`, `joints`, `masses`, `gripper`, `shape`;
        SI units.

    Raises:
        ValueError: no such file, not YAML, or a wrong field; names the file, the field and what is allowed.
    """
    path = profile_path(arm)
    try:
        profile = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path} cannot be read as YAML: {error}") from error
    try:
        _check_fields(profile, _PROFILE, "")
        _check_together(profile)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return profile


def _profile_folder() -> Path:
    return share_folder() / "config" / "arms"


def _check_fields(values: Any, fields: Mapping[str, Any], parent: str) -> None:
    if not isinstance(values, Mapping):
        where = f"field {parent}" if parent else "the profile"
        raise ValueError(f"{where} is {_shown(values)}; expected the fields {', '.join(fields)}")
    dot = f"{parent}." if parent else ""
    for name in fields:
        if name not in values:
            raise ValueError(f"field {dot}{name} is missing; take it over from capstone.yaml and set its value")
    for name in values:
        if name not in fields:
            raise ValueError(f"field {dot}{name} is unknown; allowed here: {', '.join(fields)}")
    for name, field in fields.items():
        if isinstance(field, Mapping):
            _check_fields(values[name], field, f"{dot}{name}")
        elif isinstance(field, _Number):
            _check_number(values[name], field, f"{dot}{name}")
        elif isinstance(field, _Triple):
            _check_triple(values[name], field, f"{dot}{name}")
        else:
            _check_text(values[name], f"{dot}{name}")


def _check_text(value: Any, name: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"field {name} is {_shown(value)}; expected a text, such as capstone")


def _check_triple(value: Any, field: _Triple, name: str) -> None:
    if not isinstance(value, list) or len(value) != 3:
        expected = f"three numbers in {field.unit}, such as [0.0, 0.0, 0.0]"
        raise ValueError(f"field {name} is {_shown(value)}; expected {expected}")
    for index, number in enumerate(value):
        _check_number(number, _Number(field.unit, _FINITE), f"{name}[{index}]")


def _check_number(value: Any, field: _Number, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        hint = " (YAML takes 1e-3 for a text; write 1.0e-3)" if _is_exponent(value) else ""
        raise ValueError(f"field {name} is {_shown(value)}; expected a number in {field.unit}{hint}")
    refused = (
        not math.isfinite(value)
        or (field.bound in (_ABOVE_ZERO, _WHOLE) and value <= 0)
        or (field.bound == _NOT_NEGATIVE and value < 0)
        or (field.bound == _WHOLE and not isinstance(value, int))
    )
    if refused:
        raise ValueError(f"field {name} is {value} {field.unit}; expected {field.bound}")


def _is_exponent(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[-+]?[0-9.]+[eE][-+]?[0-9]+", value) is not None


def _check_together(profile: Mapping[str, Any]) -> None:
    for name in JOINT_NAMES:
        joint = profile["joints"][name]
        lower, upper, home = joint["lower"], joint["upper"], joint["home"]
        if lower >= upper:
            raise ValueError(f"joints.{name}: lower is {lower} rad and upper is {upper} rad; lower must be below upper")
        if not lower <= home <= upper:
            limits = f"lower, {lower} rad, and upper, {upper} rad"
            raise ValueError(f"joints.{name}: home is {home} rad; it must lie between {limits}")
    tool, forearm = profile["gripper"]["length"], profile["geometry"]["forearm"]
    if tool >= forearm:
        raise ValueError(f"gripper.length is {tool} m; it must be shorter than geometry.forearm, {forearm} m")


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    return f"{value!r} ({type(value).__name__})"
