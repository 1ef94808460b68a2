# SPDX-License-Identifier: Apache-2.0
"""Whether the whole arm keeps clear of obstacles along a whole path.

Between two samples of a path no point of a link moves farther than the joints' travel times its largest distance from
their axes. With that travel D and the clearances c1 and c2 at the samples, the clearance in between is at least
(c1 + c2 − D) / 2, since it is at least c1 − x and at least c2 − (D − x). Intervals for which this is not enough are
halved until it is, or until D is below a fixed resolution: conservative advancement. So what is accepted keeps the
margin, and what is refused comes nearer than the margin and that resolution.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from manipulator3d_control.arm_capsules import FOREARM, ArmCapsules
from manipulator3d_control.obstacle import Obstacle
from manipulator3d_control.path import Array
from manipulator3d_control.refusal import Refusal
from manipulator3d_node.error_code import ErrorCode

RESOLUTION_M = 0.0005
# distances beyond the margin and this are bounded by those of bounding spheres
_EXACT_WITHIN_M = 0.1
_FIRST_SAMPLES = 33
# of segments in the search for their nearest points: links are shorter than 1 m, so the first locate them to 6e-8 m
_HALVINGS, _FEW_HALVINGS = 24, 11
# from so many halvings on, joints turn one way between samples; paths start and end in singular positions at worst
_MONOTONE_DEPTH = 14
_LOCATING_HALVINGS = 12
# what stands for the infinite derivative of a path at a singular position
_LARGEST_SLOPE = 1e6
# m; an arm that starts within the margin need not move away from an obstacle more exactly than this
_TOLERANCE_M = 2.0 * RESOLUTION_M
_TOUCHING_M = 1e-9

# joint angles and their derivatives by s, each of shape (N, 3), at values of s of shape (N,)
Sampler = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Contact:
    """Where a path comes too near to an obstacle.

    Attributes:
        obstacle, link: names.
        fraction: of the path, 0 to 1.
        point: shape (3,), m; the nearest point of the link's axis, in the base frame.
        clearance: m; between the link's surface and the obstacle; not above 0 where they touch.
    """

    obstacle: str
    link: str
    fraction: float
    point: Array
    clearance: float


class Clearance:
    """Checks paths of one arm among obstacles.

    Forearm, tool and what they hold are kept from the arm's own base, too, with a margin of 0.

    Args:
        body: the arm.
        obstacles: what it keeps clear of.
        margin: m; least distance between the surfaces.
    """

    def __init__(self, body: ArmCapsules, obstacles: tuple[Obstacle, ...], margin: float) -> None:
        self.body = body
        self.obstacles = obstacles
        self.margin = margin
        self._solids = obstacles + body.fixed
        self._margins = np.array([margin] * len(obstacles) + [0.0] * len(body.fixed))
        # the upper arm stands on the base
        self._apart = np.array([capsule.mover != FOREARM for capsule in body.capsules])[:, None] & (
            np.arange(len(self._solids)) >= len(obstacles)
        )

    def of_positions(self, q: Array, exact_within: float = _EXACT_WITHIN_M, halvings: int = _HALVINGS) -> Array:
        """Clearances of every link from every obstacle.

        Args:
            q: shape (N, 3), rad.
            exact_within: m; up to so much above the margin they are exact, beyond it no larger than the true ones.
            halvings: see Obstacle.segment_distances.

        Returns:
            Shape (N, capsules, obstacles), m. A link whose axis enters an obstacle has minus its radius.
        """
        starts, ends = self.body.segments(q)
        shape = (*starts.shape[:2], len(self._solids))
        clearances = np.empty(shape)
        middles, halves = 0.5 * (starts + ends), 0.5 * np.linalg.norm(ends - starts, axis=2)
        for index, obstacle in enumerate(self._solids):
            distances = np.linalg.norm(middles - obstacle.centre, axis=2) - halves - obstacle.bounding_radius
            near = distances < self._margins[index] + self.body.radii + exact_within
            near[:, self._apart[:, index]] = False
            if near.any():
                distances[near] = obstacle.segment_distances(starts[near], ends[near], halvings)[0]
            clearances[:, :, index] = distances - self.body.radii
        clearances[:, self._apart] = np.inf
        return clearances

    def are_clear(self, q: Array) -> np.ndarray:
        """Which positions of shape (N, 3) keep the margin and half a millimetre at most; booleans of shape (N,)."""
        return np.asarray(np.all(self.of_positions(q, 0.0, _FEW_HALVINGS) >= self._margins, axis=(1, 2)))

    def keep_clear(self, q: Array) -> bool:
        """Whether positions of shape (N, 3) that follow each other keep the margin, or move out of it as below."""
        clearances = self.of_positions(q)
        return bool(np.all(clearances >= self._required(clearances)))

    def first_contact(self, sample: Sampler, length: float) -> Contact | None:
        """Find where a path first comes nearer than the margin.

        A path that starts within the margin is allowed as long as each link that does moves away from the obstacle,
        until it has left the margin. One that starts with a link's axis in an obstacle is not.

        Args:
            sample: the path.
            length: of its parameter s.
        """
        if not self._solids:
            return None
        s = np.linspace(0.0, length, _FIRST_SAMPLES if length > 0.0 else 1)
        q, slope = sample(s)
        clearances = self.of_positions(q)
        entered = np.argwhere(clearances[0] <= -self.body.radii[:, None] + _TOUCHING_M)
        if entered.size:
            return self._contact(q[0], 0.0, *entered[0])
        depth = 0
        while True:
            required = self._required(clearances)
            too_near = np.any(clearances < required, axis=(1, 2))
            travels = self._travels(s, q, slope, depth)
            least = 0.5 * (clearances[:-1] + clearances[1:] - travels[:, :, None])
            doubtful = np.any(least < required[:-1], axis=(1, 2))
            split = doubtful & (travels.max(axis=1) > 2.0 * RESOLUTION_M)
            if too_near.any():
                # what comes later on the path does not matter any more
                first = int(np.argmax(too_near))
                split[max(first - 1, 0) :] = False
                doubtful[first:] = False
            if not split.any():
                return self._first_found(sample, s, q, clearances, too_near, doubtful)
            middles = 0.5 * (s[:-1] + s[1:])[split]
            at = np.flatnonzero(split) + 1
            more_q, more_slope = sample(middles)
            s, q, slope = np.insert(s, at, middles), np.insert(q, at, more_q, 0), np.insert(slope, at, more_slope, 0)
            clearances = np.insert(clearances, at, self.of_positions(more_q), 0)
            depth += 1

    def refusal(self, contact: Contact) -> Refusal:
        """Say what is in the way."""
        x, y, z = contact.point
        place = f"at {contact.fraction:.0%} of the path, {contact.link} at ({x:.3f}, {y:.3f}, {z:.3f}) m"
        if any(contact.obstacle == obstacle.name for obstacle in self.obstacles):
            message = (
                f"obstacle '{contact.obstacle}' is in the way: {place} would be {contact.clearance:.3f} m from it, "
                f"nearer than the margin of {self.margin:g} m; move the obstacle or the target, "
                "or lower obstacle_margin"
            )
        else:
            message = f"the arm's own {contact.obstacle} is in the way: {place} would touch it; move the target away"
        return Refusal(ErrorCode.PATH_BLOCKED, message)

    def _required(self, clearances: Array) -> Array:
        """What each clearance must be at least, of the same shape."""
        required = np.broadcast_to(self._margins, clearances.shape)
        inside = clearances[0] < self._margins
        if inside.any():
            required = required.copy()
            margins = required[:, inside]
            gained = np.maximum.accumulate(clearances[:, inside], axis=0)
            required[:, inside] = np.where(gained < margins, gained - _TOLERANCE_M, margins)
        return required

    def _travels(self, s: Array, q: Array, slope: Array, depth: int) -> Array:
        """How far any point of each capsule moves at most between neighbouring samples, shape (N - 1, capsules), m."""
        turned = np.abs(np.diff(q, axis=0))
        if depth < _MONOTONE_DEPTH:
            # the derivative is at most that of the ends and what it changes by between them
            before, after = slope[:-1], slope[1:]
            rate = np.maximum(np.abs(before), np.abs(after)) + 0.5 * np.abs(after - before)
            rate = np.nan_to_num(rate, nan=_LARGEST_SLOPE, posinf=_LARGEST_SLOPE)
            turned = np.maximum(turned, rate * np.diff(s)[:, None])
        return np.asarray(turned @ self.body.travel_weights.T)

    def _first_found(
        self, sample: Sampler, s: Array, q: Array, clearances: Array, too_near: np.ndarray, doubtful: np.ndarray
    ) -> Contact | None:
        length = s[-1]
        if doubtful.any() and (not too_near.any() or np.argmax(doubtful) < np.argmax(too_near) - 1):
            at = int(np.argmax(doubtful))
            at += int(clearances[at + 1].min() < clearances[at].min())
            return self._contact(q[at], float(s[at] / length), *_index_of_least(clearances[at]))
        if not too_near.any():
            return None
        first = int(np.argmax(too_near))
        pair = _index_of_least(clearances[first] - self._required(clearances)[first])
        low, high = s[max(first - 1, 0)], s[first]
        position = q[first]
        limit = self._required(clearances)[(max(first - 1, 0), *pair)]
        for _ in range(_LOCATING_HALVINGS):
            middle = 0.5 * (low + high)
            candidate = sample(np.array([middle]))[0]
            if self.of_positions(candidate)[(0, *pair)] < limit:
                high, position = middle, candidate[0]
            else:
                low = middle
        return self._contact(position, float(high / length) if length > 0.0 else 0.0, *pair)

    def _contact(self, position: Array, fraction: float, capsule: int, obstacle: int) -> Contact:
        starts, ends = self.body.segments(position[None])
        distances, points = self._solids[obstacle].segment_distances(starts[:, capsule], ends[:, capsule])
        radius = float(self.body.radii[capsule])
        link = self.body.capsules[capsule].name
        return Contact(self._solids[obstacle].name, link, fraction, points[0], float(distances[0]) - radius)


def _index_of_least(values: Array) -> tuple[int, int]:
    capsule, obstacle = np.unravel_index(int(np.argmin(values)), values.shape)
    return int(capsule), int(obstacle)
