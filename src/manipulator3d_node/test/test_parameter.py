# SPDX-License-Identifier: Apache-2.0
"""Parameters as fields of a dataclass."""

import dataclasses
import math

import pytest

from manipulator3d_node.parameter import parameter, parameter_specs, parameters_from


@dataclasses.dataclass(frozen=True)
class Example:
    rate_hz: float = parameter(100.0, "rate of the stream", unit="Hz", lower=1, upper=500)
    retries: int = parameter(3, "number of tries", lower=0)
    port: str = parameter("auto", "serial line")
    elbow: str = parameter("down", "preferred branch", choices=("down", "up"))
    homed: bool = parameter(False, "whether positions are known")
    start: tuple[float, ...] = parameter((0.0, 1.0), "start position", unit="rad", lower=-4, upper=4)


def test_defaults_and_given_values() -> None:
    assert parameters_from(Example, {}) == Example()
    made = parameters_from(Example, {"rate_hz": 200, "start": [1.0, 2.0], "homed": True})
    assert (made.rate_hz, made.start, made.homed) == (200.0, (1.0, 2.0), True)
    assert isinstance(made.rate_hz, float)


def test_specs_tell_name_unit_and_bounds() -> None:
    specs = {spec.name: spec for spec in parameter_specs(Example)}
    assert list(specs) == ["rate_hz", "retries", "port", "elbow", "homed", "start"]
    assert (specs["rate_hz"].unit, specs["rate_hz"].bounds) == ("Hz", "1 to 500")
    assert specs["retries"].bounds == "at least 0"
    assert specs["elbow"].bounds == "down, up"
    assert specs["port"].bounds == ""


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"rate_hz": 0.5}, "parameter rate_hz: 0.5 Hz is not allowed; allowed: 1 to 500 Hz"),
        ({"rate_hz": math.nan}, "parameter rate_hz: nan Hz is not allowed; allowed: 1 to 500 Hz"),
        ({"rate_hz": "fast"}, "parameter rate_hz: 'fast' is of type str; expected float"),
        ({"retries": -1}, "parameter retries: -1 is not allowed; allowed: at least 0"),
        ({"retries": True}, "parameter retries: True is of type bool; expected int"),
        ({"elbow": "left"}, "parameter elbow: 'left' is not allowed; allowed: down, up"),
        ({"start": [0.0, 5.0]}, "parameter start: 5 rad is not allowed; allowed: -4 to 4 rad"),
        ({"start": [0.0, math.inf]}, "parameter start: inf rad is not allowed; allowed: -4 to 4 rad"),
        ({"speed": 1.0}, "unknown parameter speed; known: rate_hz, retries, port, elbow, homed, start"),
    ],
)
def test_refusals_name_parameter_value_and_bounds(values: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match="parameter") as error:
        parameters_from(Example, values)
    assert str(error.value) == text
