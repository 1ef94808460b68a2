# SPDX-License-Identifier: Apache-2.0
"""Joint angles that come with names in any order."""

from collections.abc import Sequence
from math import isfinite

from manipulator3d_kinematics.checked_numbers import Triple
from manipulator3d_kinematics.model import ArmModel


def ordered_positions(arm: ArmModel, names: Sequence[str], positions: Sequence[float], field: str) -> Triple | None:
    """Put joint angles into the order of the chain.

    Args:
        arm: the arm.
        names: of the joints in any order, or none for the order of the chain.
        positions: rad.
        field: name of the message field, for errors.

    Returns:
        Three angles, rad; None when both are empty.

    Raises:
        ValueError: wrong number, an unknown or missing name, or an angle that is not finite; names the field and what
            it expects.
    """
    expected = ", ".join(arm.joint_names)
    if not names and not len(positions):
        return None
    if names and len(names) != len(positions):
        raise ValueError(f"{field}: {len(names)} names with {len(positions)} positions; expected one position for each")
    if len(positions) != 3:
        raise ValueError(f"{field}: {len(positions)} positions; expected 3 ({expected})")
    if names:
        unknown = [name for name in names if name not in arm.joint_names]
        if unknown:
            raise ValueError(f"{field}: unknown joint '{unknown[0]}'; the joints are {expected}")
        if len(set(names)) != 3:
            raise ValueError(
                f"{field}: joint '{max(names, key=list(names).count)}' is named twice; the joints are {expected}"
            )
        by_name = dict(zip(names, positions, strict=True))
        positions = [by_name[name] for name in arm.joint_names]
    for name, position in zip(arm.joint_names, positions, strict=True):
        if not isfinite(position):
            raise ValueError(f"{field}: {name} is {position} rad; expected a finite angle")
    return positions[0], positions[1], positions[2]
