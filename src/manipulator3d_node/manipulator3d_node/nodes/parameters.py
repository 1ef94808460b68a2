# SPDX-License-Identifier: Apache-2.0
"""Declares the fields of a parameter dataclass at a node."""

from typing import TypeVar

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from manipulator3d_node.parameter import ParameterSpec, parameter_specs, parameters_from

_Parameters = TypeVar("_Parameters")


def declare_parameters(node: Node, parameters: type[_Parameters]) -> _Parameters:
    """Declare every field of `parameters` as a read-only parameter of `node` and return the values given.

    The bounds are checked here and not by rcl's ranges, so that the error names value, bounds and unit.

    Raises:
        ValueError: a value of the wrong type or outside its bounds; names the parameter, the value and the bounds.
    """
    values = {}
    for spec in parameter_specs(parameters):
        default = list(spec.default) if isinstance(spec.default, tuple) else spec.default
        values[spec.name] = node.declare_parameter(spec.name, default, _descriptor(spec)).value
    return parameters_from(parameters, values)


def _descriptor(spec: ParameterSpec) -> ParameterDescriptor:
    return ParameterDescriptor(
        name=spec.name,
        description=f"{spec.description} [{spec.unit}]" if spec.unit else spec.description,
        additional_constraints=spec.bounds,
        read_only=True,
        dynamic_typing=True,
    )
