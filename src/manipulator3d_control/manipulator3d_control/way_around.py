# SPDX-License-Identifier: Apache-2.0
"""Makes clear motions: the straight one if it is, else one by via points with rounded corners."""

from collections.abc import Sequence

from manipulator3d_control.blend import BlendedPath, blended
from manipulator3d_control.motion import Motion
from manipulator3d_control.path import Path, PathError
from manipulator3d_control.path_motion import motion_along
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_control.surroundings import Surroundings
from manipulator3d_kinematics import ArmModel

# of the wanted radius; where a corner cannot be rounded so widely, less is tried before the arm stops in it
_RADIUS_SHARES = (1.0, 0.25)


def clear_paths(path: Path, around: Surroundings | None, holding: bool = False) -> list[Path]:
    """Give the path itself if it is clear, else straight lines in joint space that lead around what is in its way.

    Args:
        path: the path.
        around: the obstacles; None for none.
        holding: whether an object is at the tool.

    Raises:
        Refusal: PATH_BLOCKED, and there is no way around.
    """
    if around is None:
        return [path]
    try:
        around.check_path(path, holding)
    except Refusal as blocked:
        return _around(path.start, path.end, around, holding, blocked)
    return [path]


def clear_motions(
    arm: ArmModel, motion: Motion, around: Surroundings | None, radius: float, holding: bool = False
) -> list[Motion]:
    """Give the motion itself if it is clear, else motions that lead around what is in its way.

    Args:
        arm: the arm.
        motion: from rest to rest.
        around: the obstacles; None for none.
        radius: m; within which corners are rounded, 0: the arm stops in them.
        holding: whether an object is at the tool.

    Raises:
        Refusal: PATH_BLOCKED, and there is no way around.
    """
    if around is None:
        return [motion]
    try:
        around.check_motion(motion, holding)
    except Refusal as blocked:
        start, end = motion.sample([0.0, motion.duration]).position
        paths = _around(start, end, around, holding, blocked)
        rounded = rounded_clear(arm, paths, radius, around, holding)
        return [motion_along(arm, path) for path in (paths if rounded is None else [rounded.path])]
    return [motion]


def rounded_clear(
    arm: ArmModel, paths: Sequence[Path], radius: float, around: Surroundings | None, holding: bool = False
) -> BlendedPath | None:
    """Join paths that follow each other and round their corners.

    Args: as clear_motions.

    Returns:
        None for a single path, where a limit, the floor or an obstacle is too near to a corner, and for a radius of 0:
        the arm is to stop at the end of each path.
    """
    paths = [path for path in paths if path.length > 0.0]
    for share in _RADIUS_SHARES if radius > 0.0 and len(paths) > 1 else ():
        try:
            rounded = blended(arm, paths, share * radius)
            if around is not None:
                around.check_path(rounded.path, holding)
        except (PathError, Refusal):
            # the paths themselves are clear; only this rounding is not
            continue
        return rounded
    return None


def _around(start: Array, end: Array, around: Surroundings, holding: bool, blocked: Refusal) -> list[Path]:
    way = around.way_around(start, end, holding)
    if way is None:
        raise Refusal(blocked.code, f"{blocked}; no way around it was found") from blocked
    return way
