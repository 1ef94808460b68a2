# SPDX-License-Identifier: Apache-2.0
"""The door for joint commands: nothing that is misnamed, not finite or outside the limits gets to the board."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# rad; a command this much beyond a limit is rounding on its way here and is clipped.
_ROUNDING = 1e-6
# Fraction by which a commanded velocity may exceed its limit through rounding.
_VELOCITY_ROUNDING = 1e-3


@dataclass(frozen=True)
class JointBounds:
    """What the commands of the joints may be.

    Attributes:
        names: in the order of the board.
        lower, upper: rad.
        velocity: rad/s, largest absolute value.
    """

    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity: tuple[float, ...]


class CommandRefused(ValueError):
    """A command that must not be followed; the text names the joint, the value and the bound."""


def check_command(
    bounds: JointBounds, names: Sequence[str], position: Sequence[float], velocity: Sequence[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return positions (rad) and velocities (rad/s) of a command in the order of the board.

    Args:
        bounds: of the arm.
        names: of the joints, in any order.
        position: rad, one for each name.
        velocity: rad/s, one for each name; empty means zero.

    Raises:
        CommandRefused: the command must not be followed.
    """
    if len(position) != len(names) or len(velocity) not in (0, len(names)):
        raise CommandRefused(
            f"{len(names)} names, {len(position)} positions and {len(velocity)} velocities do not belong together; "
            "give one position and one or no velocity for each name"
        )
    if len(set(names)) != len(names) or set(names) != set(bounds.names):
        raise CommandRefused(f"joints {', '.join(names) or 'none'}; expected {', '.join(bounds.names)}, each once")
    at = {name: index for index, name in enumerate(names)}
    order = [at[name] for name in bounds.names]
    positions = tuple(
        _within(*row)
        for row in zip(bounds.names, [position[i] for i in order], bounds.lower, bounds.upper, strict=True)
    )
    if not velocity:
        return positions, (0.0,) * len(positions)
    velocities = tuple(
        _slow_enough(*row) for row in zip(bounds.names, [velocity[i] for i in order], bounds.velocity, strict=True)
    )
    return positions, velocities


def _within(name: str, value: float, lower: float, upper: float) -> float:
    if not math.isfinite(value):
        raise CommandRefused(f"{name}: a position of {value} is not a finite number of rad")
    if value < lower - _ROUNDING:
        raise CommandRefused(f"{name}: {value:.4f} rad is below its lower limit of {lower:.4f} rad")
    if value > upper + _ROUNDING:
        raise CommandRefused(f"{name}: {value:.4f} rad is above its upper limit of {upper:.4f} rad")
    return min(max(value, lower), upper)


def _slow_enough(name: str, value: float, limit: float) -> float:
    if not math.isfinite(value):
        raise CommandRefused(f"{name}: a velocity of {value} is not a finite number of rad/s")
    if abs(value) > limit * (1.0 + _VELOCITY_ROUNDING):
        raise CommandRefused(f"{name}: {value:.4f} rad/s is above its limit of {limit:.4f} rad/s")
    return min(max(value, -limit), limit)
