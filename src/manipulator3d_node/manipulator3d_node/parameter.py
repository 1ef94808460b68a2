# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node as fields of a frozen dataclass, with unit, bounds and description."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

_KEY = "manipulator3d_parameter"
_Parameters = TypeVar("_Parameters")


@dataclasses.dataclass(frozen=True)
class ParameterSpec:
    """What is known of one parameter.

    Attributes:
        name: as in `ros2 param list`.
        default: value when nothing is given; its type is the parameter's type.
        description: one sentence without unit and bounds.
        unit: SI unit, empty for none.
        lower, upper: inclusive bounds of a number, None for none.
        choices: allowed texts, empty for any.
    """

    name: str
    default: Any
    description: str
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def bounds(self) -> str:
        """The allowed values in words, empty when all are allowed."""
        if self.choices:
            return ", ".join(self.choices)
        if self.lower is None and self.upper is None:
            return ""
        if self.upper is None:
            return f"at least {self.lower:g}"
        if self.lower is None:
            return f"at most {self.upper:g}"
        return f"{self.lower:g} to {self.upper:g}"

    def check(self, value: Any) -> Any:
        """Return `value` in the parameter's type.

        Raises:
            ValueError: wrong type, not finite, or outside the bounds; names parameter, value and bounds.
        """
        value = self._as_type(value)
        numbers = value if isinstance(value, tuple) else (value,)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            outside = (
                not math.isfinite(number)
                or (self.lower is not None and number < self.lower)
                or (self.upper is not None and number > self.upper)
            )
            if outside:
                allowed = self.bounds or "finite numbers"
                unit = f" {self.unit}" if self.unit else ""
                raise ValueError(f"parameter {self.name}: {number:g}{unit} is not allowed; allowed: {allowed}{unit}")
        if self.choices and value not in self.choices:
            raise ValueError(f"parameter {self.name}: '{value}' is not allowed; allowed: {self.bounds}")
        return value

    def _as_type(self, value: Any) -> Any:
        wanted = type(self.default)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if wanted is tuple and isinstance(value, Sequence) and not isinstance(value, str):
            return tuple(value)
        if type(value) is not wanted:
            raise ValueError(
                f"parameter {self.name}: {value!r} is of type {type(value).__name__}; expected {wanted.__name__}"
            )
        return value


def parameter(
    default: Any,
    description: str,
    unit: str = "",
    lower: float | None = None,
    upper: float | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """Give a dataclass field that is a parameter; the arguments are those of ParameterSpec."""
    metadata = {_KEY: ParameterSpec("", default, description, unit, lower, upper, tuple(choices))}
    return dataclasses.field(default=default, metadata=metadata)


def parameter_specs(parameters: type) -> list[ParameterSpec]:
    """List the parameters of a dataclass in the order of its fields."""
    return [
        dataclasses.replace(field.metadata[_KEY], name=field.name)
        for field in dataclasses.fields(parameters)
        if _KEY in field.metadata
    ]


def parameters_from(parameters: type[_Parameters], values: Mapping[str, Any]) -> _Parameters:
    """Build the dataclass from named values, checked.

    Raises:
        ValueError: an unknown name, or a value that its parameter does not allow.
    """
    specs = {spec.name: spec for spec in parameter_specs(parameters)}
    unknown = sorted(set(values) - set(specs))
    if unknown:
        raise ValueError(f"unknown parameter {unknown[0]}; known: {', '.join(specs)}")
    return parameters(**{name: specs[name].check(value) for name, value in values.items()})
