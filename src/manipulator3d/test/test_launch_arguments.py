# SPDX-License-Identifier: Apache-2.0
"""The arguments of bring-up."""

import dataclasses
from pathlib import Path

import pytest

from manipulator3d.launch_arguments import ARGUMENTS, LaunchArguments, checked_arguments, parse_assignments


def test_defaults_are_those_of_the_table() -> None:
    assert checked_arguments({}) == LaunchArguments()


def test_every_argument_has_a_field_and_a_description() -> None:
    assert [argument.name for argument in ARGUMENTS] == [field.name for field in dataclasses.fields(LaunchArguments)]
    assert all(len(argument.description) > 10 for argument in ARGUMENTS)


def test_given_values_replace_the_defaults() -> None:
    values = parse_assignments(["hardware:=mock", "namespace:=left", "tf_prefix:=left_", "rviz:=True"])
    checked = checked_arguments(values)
    assert (checked.hardware, checked.namespace, checked.tf_prefix, checked.rviz) == ("mock", "left", "left_", True)


@pytest.mark.parametrize(
    ("assignments", "text"),
    [
        (["hardware=sim"], "'hardware=sim' is not of the form name:=value"),
        (["hardwear:=sim"], "there is no argument 'hardwear'; the arguments are arm,"),
        (["arm:=a", "arm:=b"], "argument arm is given twice: 'a' and 'b'"),
    ],
)
def test_malformed_assignments_are_refused(assignments: list[str], text: str) -> None:
    with pytest.raises(ValueError, match=r"arg|form") as error:
        parse_assignments(assignments)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"hardware": "real"}, "hardware:=real is not allowed; allowed: mock, sim, emulated, serial"),
        ({"rviz": "yes"}, "rviz:=yes is not allowed; allowed: true, false"),
        ({"preferred_elbow": "auto"}, "preferred_elbow:=auto is not allowed; allowed: down, up"),
        ({"log_level": "loud"}, "log_level:=loud is not allowed"),
        ({"namespace": "2arms"}, "namespace:=2arms is not a ROS name"),
        ({"namespace": "a//b"}, "namespace:=a//b is not a ROS name"),
        ({"dashboard_port": "page"}, "dashboard_port:=page is not allowed; allowed: 1 to 65535"),
        ({"tf_prefix": "left arm"}, "tf_prefix:=left arm is not a ROS name"),
        ({"port": "/dev/ttyACM0"}, "port:=/dev/ttyACM0 has an effect with hardware:=serial alone"),
    ],
)
def test_values_outside_their_bounds_are_refused(values: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=":=") as error:
        checked_arguments(values)
    assert text in str(error.value)


def test_a_parameter_file_is_passed_on_by_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gains.yaml").write_text("/**/bridge_node: {ros__parameters: {proportional: [1.0, 2.0, 3.0]}}\n")
    monkeypatch.chdir(tmp_path)
    assert checked_arguments({"params_file": "gains.yaml"}).params_file == str(tmp_path / "gains.yaml")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "cannot be read: No such file or directory; give the path of a YAML file"),
        ("a: [1", "is not YAML: "),
        ("proportional: [1.0, 2.0, 3.0]", "holds no parameters of nodes; it is to be of the form /**/bridge_node: {"),
        ("", "holds no parameters of nodes"),
    ],
)
def test_a_parameter_file_that_would_have_no_effect_is_refused(tmp_path: Path, content: str | None, text: str) -> None:
    path = tmp_path / "gains.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=r"params_file:=") as error:
        checked_arguments({"params_file": str(path)})
    assert text in str(error.value)
