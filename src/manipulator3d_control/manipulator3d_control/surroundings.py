# SPDX-License-Identifier: Apache-2.0
"""What stands around the arm, and what planners ask of it: is a motion clear, and which way leads around."""

from itertools import pairwise

from manipulator3d_control.arm_capsules import ArmCapsules
from manipulator3d_control.clearance import Clearance, Sampler
from manipulator3d_control.detour import Detours
from manipulator3d_control.joint_path import joint_line, plan_joint_path
from manipulator3d_control.motion import Motion
from manipulator3d_control.obstacle import Obstacle
from manipulator3d_control.path import Path, PathError
from manipulator3d_control.piecewise_polynomial import Array
from manipulator3d_control.refusal import Refusal


class Surroundings:
    """The obstacles around an arm; never changes, new obstacles make a new one.

    Args:
        body: the arm.
        obstacles: what it keeps clear of, besides its own base.
        margin: m; least distance between the surfaces.
        object_radius: m; of the ball around the tool point that a held object is taken for.
    """

    def __init__(
        self,
        body: ArmCapsules,
        obstacles: tuple[Obstacle, ...] = (),
        margin: float = 0.01,
        object_radius: float = 0.015,
    ) -> None:
        self._arm = body.arm
        self.obstacles = obstacles
        self._free = Clearance(body, obstacles, margin)
        self._holding = Clearance(body.with_object(object_radius), obstacles, margin)
        self._detours: dict[tuple[str, bool], Detours] = {}

    def check_motion(self, motion: Motion, holding: bool = False, start: float = 0.0) -> None:
        """Check a motion, the whole arm all along.

        Args:
            motion: the motion.
            holding: whether an object is at the tool.
            start: time of the motion from which on it is checked, s.

        Raises:
            Refusal: PATH_BLOCKED; names the obstacle, the link and the place.
        """

        def sample(passed: Array) -> tuple[Array, Array]:
            state = motion.sample(start + passed)
            return state.position, state.velocity

        self._check(sample, max(motion.duration - start, 0.0), holding)

    def check_path(self, path: Path, holding: bool = False) -> None:
        """Check a path; otherwise as check_motion."""

        def sample(s: Array) -> tuple[Array, Array]:
            joints, slope = path.derivatives(s, 1)
            return joints, slope

        self._check(sample, path.length, holding)

    def check_step(self, before: Array, after: Array, holding: bool = False) -> None:
        """Check the straight way in joint space between two positions, each of shape (3,), rad; see check_motion."""
        self.check_path(joint_line(before, after), holding)

    def keep_clear(self, positions: Array, holding: bool = False) -> bool:
        """Whether the arm may be at positions of shape (N, 3), rad, one after the other; the first is where it is."""
        return (self._holding if holding else self._free).keep_clear(positions)

    def way_around(self, start: Array, end: Array, holding: bool = False) -> list[Path] | None:
        """Find a way between two positions by via points, the shortest first.

        Args:
            start, end: shape (3,), rad.
            holding: whether an object is at the tool.

        Returns:
            Straight lines in joint space that follow each other; one if that is clear; None where no way was found.
        """
        elbow = "up" if self._arm.theta(end)[2] < 0.0 else "down"
        clearance = self._holding if holding else self._free
        if (elbow, holding) not in self._detours:
            self._detours[elbow, holding] = Detours(self._arm, elbow, clearance.are_clear)
        vias = self._detours[elbow, holding].vias(
            start, end, lambda before, after: self._is_free(before, after, holding)
        )
        return None if vias is None else [joint_line(*ends) for ends in pairwise([start, *vias, end])]

    def _is_free(self, start: Array, end: Array, holding: bool) -> bool:
        try:
            self.check_path(plan_joint_path(self._arm, start, end), holding)
        except (PathError, Refusal):
            return False
        return True

    def _check(self, sample: Sampler, length: float, holding: bool) -> None:
        clearance = self._holding if holding else self._free
        contact = clearance.first_contact(sample, length)
        if contact is not None:
            raise clearance.refusal(contact)
