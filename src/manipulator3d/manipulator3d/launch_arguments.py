# SPDX-License-Identifier: Apache-2.0
"""The arguments of `bringup.launch.py` and of `./manipulator3d up`."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

_NAMESPACE = re.compile(r"^(/?[A-Za-z_][A-Za-z0-9_]*)(/[A-Za-z_][A-Za-z0-9_]*)*$")
_PREFIX = re.compile(r"^[A-Za-z_][A-Za-z0-9_/]*$")


@dataclasses.dataclass(frozen=True)
class Argument:
    """One launch argument.

    Attributes:
        name: as typed before `:=`.
        default: text used when it is not given.
        description: one sentence.
        choices: the allowed texts, empty for any.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


_YES_NO = ("true", "false")

ARGUMENTS = (
    Argument(
        "hardware",
        "emulated",
        "what moves: mock echoes the commands, sim computes rigid-body dynamics, emulated runs the firmware on this "
        "computer with motors and encoders, serial is the board",
        ("mock", "sim", "emulated", "serial"),
    ),
    Argument("port", "auto", "serial line of the board, such as /dev/ttyACM0; auto finds it by its USB identity"),
    Argument("arm", "capstone", "arm profile by name (capstone, classic) or the path of a YAML file"),
    Argument("rviz", "false", "start RViz with the project's configuration", _YES_NO),
    Argument("dashboard", "false", "serve the page that shows and steers the arm", _YES_NO),
    Argument("dashboard_port", "8080", "TCP port of the page on this computer"),
    Argument("namespace", "", "namespace of all nodes, topics, services and actions"),
    Argument("tf_prefix", "", "text before every frame name, such as left_"),
    Argument("record", "", "MCAP file to record into; a folder takes a file named after the time"),
    Argument("preferred_elbow", "down", "branch taken where nothing else decides", ("down", "up")),
    Argument("log_level", "info", "least severe messages shown", ("debug", "info", "warn", "error", "fatal")),
    Argument("params_file", "", "YAML file of ROS parameters for the nodes, such as the bridge's wiring and gains"),
    Argument("use_sim_time", "false", "take the time from /clock", _YES_NO),
)


@dataclasses.dataclass(frozen=True)
class LaunchArguments:
    """Checked values of all arguments; the fields are described in ARGUMENTS."""

    hardware: str = "emulated"
    port: str = "auto"
    arm: str = "capstone"
    rviz: bool = False
    dashboard: bool = False
    dashboard_port: str = "8080"
    namespace: str = ""
    tf_prefix: str = ""
    record: str = ""
    preferred_elbow: str = "down"
    log_level: str = "info"
    params_file: str = ""
    use_sim_time: bool = False


def parse_assignments(assignments: Sequence[str]) -> dict[str, str]:
    """Split `name:=value` texts.

    Raises:
        ValueError: a text without `:=`, or an unknown or repeated name.
    """
    known = {argument.name for argument in ARGUMENTS}
    values: dict[str, str] = {}
    for assignment in assignments:
        name, separator, value = assignment.partition(":=")
        if not separator:
            raise ValueError(f"'{assignment}' is not of the form name:=value, such as hardware:=sim")
        if name not in known:
            raise ValueError(f"there is no argument '{name}'; the arguments are {', '.join(sorted(known))}")
        if name in values:
            raise ValueError(f"argument {name} is given twice: '{values[name]}' and '{value}'")
        values[name] = value
    return values


def checked_arguments(values: Mapping[str, str]) -> LaunchArguments:
    """Check the texts of launch arguments; those not given take their defaults.

    Raises:
        ValueError: a value that its argument does not allow; names the argument, the value and what is allowed.
    """
    checked: dict[str, str | bool] = {}
    for argument in ARGUMENTS:
        text = values.get(argument.name, argument.default)
        if argument.choices == _YES_NO:
            text = text.lower()
        if argument.choices and text not in argument.choices:
            raise ValueError(f"{argument.name}:={text} is not allowed; allowed: {', '.join(argument.choices)}")
        checked[argument.name] = text == "true" if argument.choices == _YES_NO else text
    namespace, prefix = str(checked["namespace"]), str(checked["tf_prefix"])
    if namespace and not _NAMESPACE.match(namespace):
        raise ValueError(f"namespace:={namespace} is not a ROS name; use letters, digits, _ and /, such as left_arm")
    if prefix and not _PREFIX.match(prefix):
        raise ValueError(f"tf_prefix:={prefix} is not a ROS name; use letters, digits, _ and /, such as left_")
    if not str(checked["dashboard_port"]).isdecimal() or not 1 <= int(checked["dashboard_port"]) <= 65535:
        raise ValueError(f"dashboard_port:={checked['dashboard_port']} is not allowed; allowed: 1 to 65535")
    if checked["hardware"] != "serial" and values.get("port", "auto") != "auto":
        raise ValueError(f"port:={values['port']} has an effect with hardware:=serial alone; give that, too")
    if checked["params_file"]:
        checked["params_file"] = _parameter_file(str(checked["params_file"]))
    return LaunchArguments(**checked)  # type: ignore[arg-type]


def _parameter_file(path: str) -> str:
    """Return the absolute path of a file of ROS parameters.

    Raises:
        ValueError: it cannot be read, or is not of the form `node: {ros__parameters: {name: value}}`.
    """
    example = "/**/bridge_node: {ros__parameters: {park_on_shutdown: true}}"
    try:
        nodes = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"params_file:={path} cannot be read: {error.strerror}; give the path of a YAML file"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"params_file:={path} is not YAML: {error}") from error
    if not isinstance(nodes, dict) or not all(
        isinstance(node, dict) and isinstance(node.get("ros__parameters"), dict) for node in nodes.values()
    ):
        raise ValueError(f"params_file:={path} holds no parameters of nodes; it is to be of the form {example}")
    return str(Path(path).absolute())
