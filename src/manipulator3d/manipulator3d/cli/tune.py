# SPDX-License-Identifier: Apache-2.0
"""The verb `tune`: how a joint answers to steps, what its motor is, and which gains would fit it."""

import dataclasses
import importlib.util
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from manipulator3d.cli.options import print_json, show_progress, verb_parser
from manipulator3d.cli.tune_experiment import Experiment, Step
from manipulator3d.nodes.stack_client import StackClient
from manipulator3d.stack_error import StackError
from manipulator3d_hw_bridge.loop_design import Gains, LoopQuality, loop_quality, suggest_gains
from manipulator3d_hw_bridge.motor_model import MotorModel, NotIdentifiable, identify_motor
from manipulator3d_hw_bridge.step_response import StepResponse, step_response

_RESPONSE_UNITS = {
    "rise_time": ("s", 1.0),
    "commanded_rise_time": ("s", 1.0),
    "overshoot": ("%", 100.0),
    "settling_time": ("s", 1.0),
    "steady_state_error": ("mrad", 1e3),
    "rms_error": ("mrad", 1e3),
    "largest_error": ("mrad", 1e3),
}
_LARGEST_AMPLITUDE = 1.5


def main(_verb: str, arguments: Sequence[str]) -> int:
    """Step the joint, identify its motor, print figures and gains; returns the exit code.

    Raises:
        StackError: the arm is not ready, a motion fails, or the motor is not made out; says the remedy.
    """
    parser = verb_parser(
        "tune",
        "Steps one joint there and back, tells how it follows, identifies its motor and suggests gains. The arm moves!",
    )
    parser.add_argument("joint", help="name of the joint, such as base_yaw")
    parser.add_argument("--amplitude", type=float, default=0.4, help="rad, size of the steps (default: 0.4)")
    parser.add_argument("--repeats", type=int, default=2, help="how often, at three speeds each (default: 2)")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="picture of a step and its error, such as step.png")
    options = parser.parse_args(arguments)
    if not 0.02 <= options.amplitude <= _LARGEST_AMPLITUDE:
        parser.error(f"--amplitude {options.amplitude:g} rad is not within 0.02 to {_LARGEST_AMPLITUDE:g} rad")
    if not 1 <= options.repeats <= 20:
        parser.error(f"--repeats {options.repeats} is not within 1 to 20")
    if options.plot is not None:
        _check_plot(options.plot)
    with StackClient(options.namespace) as client:
        experiment = Experiment(client, options.joint)
        steps = experiment.run(options.amplitude, options.repeats)
    if experiment.refused:
        show_progress(
            f"the board refused {experiment.refused} setpoints, so the figures may be off; is this computer overloaded?"
        )
    response = _median([step_response(step.times, step.commanded, step.measured) for step in steps])
    present = Gains(**experiment.present)
    try:
        motor = identify_motor(experiment.record, present.proportional, present.derivative)
        suggested = suggest_gains(motor, experiment.counts_per_radian)
    except (NotIdentifiable, ValueError) as error:
        _print_response(response)
        raise StackError(f"{options.joint}: {error}") from error
    if options.plot is not None:
        _plot(options.plot, options.joint, steps[0], response)
    qualities = loop_quality(motor, present), loop_quality(motor, suggested)
    if options.json:
        answer = _as_json(options.joint, response, motor, present, suggested, qualities)
        board = {"rms_error_on_board": experiment.record.tracking_error(), "setpoints_refused": experiment.refused}
        print_json(answer | board)
        return 0
    _print_response(response)
    on_board = 1e3 * experiment.record.tracking_error()
    print(
        f"  {'rms error on the board':22s} {on_board:9.3f} mrad (in its own clock, all speeds: compare gains by this)"
    )
    _print_motor(motor)
    _print_gains(present, suggested, qualities)
    print(
        f"\nTo try them, start with params_file:=FILE, where FILE holds\n\n{_parameters(experiment, suggested)}", end=""
    )
    return 0


def _median(responses: Sequence[StepResponse]) -> StepResponse:
    """Return the median of each figure."""
    rows = [dataclasses.asdict(response) for response in responses]
    return StepResponse(**{name: statistics.median(row[name] for row in rows) for name in rows[0]})


def _check_plot(path: Path) -> None:
    """Look before the arm moves whether the picture can be made.

    Raises:
        StackError: matplotlib or the folder is missing.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise StackError(
            "the picture needs matplotlib, which is not installed; run ./manipulator3d shell -- pip install matplotlib"
        )
    if not path.absolute().parent.is_dir():
        raise StackError(f"{path}: its folder does not exist; give another --plot")


def _plot(path: Path, joint: str, step: Step, response: StepResponse) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.0), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=(2, 1))
    above.plot(step.times, step.commanded, color="tab:orange", label="commanded")
    above.plot(step.times, step.measured, color="tab:blue", lw=1.0, label="measured")
    above.set(ylabel="position [rad]", title=f"{joint}: step of {step.commanded[-1] - step.commanded[0]:+.3f} rad")
    above.legend()
    below.plot(step.times, 1e3 * (step.commanded - step.measured), color="tab:blue", lw=1.0)
    below.set(xlabel="time [s]", ylabel="error [mrad]", title=f"RMS in motion {1e3 * response.rms_error:.2f} mrad")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise StackError(f"{path}: the picture cannot be written ({error}); give another --plot") from error
    show_progress(f"wrote {path}")


def _print_response(response: StepResponse) -> None:
    print("step response, median of the steps at full speed")
    for name, (unit, factor) in _RESPONSE_UNITS.items():
        print(f"  {name.replace('_', ' '):22s} {factor * getattr(response, name):9.3f} {unit}")


def _print_motor(motor: MotorModel) -> None:
    print(
        f"motor, from {motor.samples} instants: angle/drive = gain / (s (time constant s + 1)) beyond friction and load"
    )
    print(f"  gain                   {motor.gain:9.3f} ± {motor.gain_error:.3f} rad/s at full drive")
    print(f"  time constant          {motor.time_constant:9.4f} ± {motor.time_constant_error:.4f} s")
    print(f"  friction               {motor.friction:9.4f} ± {motor.friction_error:.4f} of the full drive")
    print(f"  load                   {motor.load:9.4f} of the full drive")


def _print_gains(present: Gains, suggested: Gains, qualities: tuple[LoopQuality, LoopQuality]) -> None:
    print("gains                         present  suggested")
    for field in dataclasses.fields(Gains):
        print(f"  {field.name:24s} {getattr(present, field.name):10.5g} {getattr(suggested, field.name):10.5g}")
    print(f"  {'largest sensitivity':24s} {qualities[0].sensitivity:10.2f} {qualities[1].sensitivity:10.2f}")
    print(f"  {'error² after load [rad²s]':24s} {qualities[0].load_error:9.3g} {qualities[1].load_error:10.3g}")
    print("  method: least squared error after a load at a sensitivity of at most 2 (Garpinger and Hägglund, 2008)")


def _parameters(experiment: Experiment, suggested: Gains) -> str:
    """Return the parameters of the bridge with the suggestion for this joint, as YAML."""
    values = {}
    for name, suggestion in dataclasses.asdict(suggested).items():
        row = [gains[name] for gains in experiment.all_present]
        row[experiment.index] = suggestion
        values[name] = row
    return str(
        yaml.safe_dump({"/**/bridge_node": {"ros__parameters": values}}, default_flow_style=None, sort_keys=False)
    )


def _as_json(
    joint: str,
    response: StepResponse,
    motor: MotorModel,
    present: Gains,
    suggested: Gains,
    qualities: tuple[LoopQuality, LoopQuality],
) -> dict[str, Any]:
    return {
        "joint": joint,
        "response": dataclasses.asdict(response),
        "motor": dataclasses.asdict(motor),
        "present": dataclasses.asdict(present) | dataclasses.asdict(qualities[0]),
        "suggested": dataclasses.asdict(suggested) | dataclasses.asdict(qualities[1]),
    }
