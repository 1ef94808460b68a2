# SPDX-License-Identifier: Apache-2.0
"""Joint angles that put the tool point or the elbow on a floor that may be tilted against the yaw axis.

In the arm's frame the floor is n · p = level. In the angles of the DH table the height n · p of a point of the arm is,
in each single angle, a cosine plus a constant. So for two given angles, the third that puts the point on the floor is
one of two, in closed form.
"""

from dataclasses import dataclass

import numpy as np

from manipulator3d_kinematics.checked_numbers import Array
from manipulator3d_kinematics.model import ArmModel

# an argument of the arc cosine this far beyond 1 is 1
_ROUNDING = 1e-12


@dataclass(frozen=True)
class FloorPlane:
    """The floor as one point of the arm meets it.

    Angles may be numbers or arrays; `side` +1 or -1 chooses between the two solutions. NaN where there is none.

    Attributes:
        arm: the arm.
        length: m; from the elbow to the point along the forearm: `arm.forearm` for the tool point, 0 for the elbow.
    """

    arm: ArmModel
    length: float

    def height(self, t0: Array, t1: Array, t2: Array) -> Array:
        """Height of the point above the floor, m."""
        radial, up = self._in_plane(t1, t2)
        forward, aside = self._seen(t0)
        return np.asarray(forward * radial + self._normal[2] * up - aside)

    def yaw(self, t1: Array, t2: Array, side: int) -> Array:
        """The yaw angle for given pitches."""
        nx, ny, nz = self._normal
        d = self.arm.lateral_offset
        radial, up = self._in_plane(t1, t2)
        return _angle(nx * radial - ny * d, ny * radial + nx * d, self._level - nz * up, side)

    def shoulder(self, t0: Array, t2: Array, side: int) -> Array:
        """The shoulder angle for a given yaw and elbow angle."""
        forward, aside = self._seen(t0)
        nz = self._normal[2]
        along, across = self.arm.upper_arm + self.length * np.cos(t2), self.length * np.sin(t2)
        rest = aside - forward * self.arm.shoulder_offset - nz * self.arm.base_height
        return _angle(forward * along + nz * across, nz * along - forward * across, rest, side)

    def elbow(self, t0: Array, t1: Array, side: int) -> Array:
        """The elbow angle for a given yaw and shoulder angle."""
        forward, aside = self._seen(t0)
        nz = self._normal[2]
        radial = self.arm.shoulder_offset + self.arm.upper_arm * np.cos(t1)
        up = self.arm.base_height + self.arm.upper_arm * np.sin(t1)
        rest = aside - forward * radial - nz * up
        return _angle(self.length * forward, self.length * nz, rest, side) - t1

    def on_cylinder(self, t0: Array) -> Array:
        """Height along the yaw axis, m, at which the floor cuts the line that the point has at radial 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self._seen(t0)[1] / self._normal[2])

    def yaw_on_cylinder(self, up: Array, side: int) -> Array:
        """The yaw angle at which the floor cuts the inner cylinder at a height along the yaw axis."""
        nx, ny, nz = self._normal
        d = self.arm.lateral_offset
        return _angle(-ny * d, nx * d, self._level - nz * up, side)

    @property
    def _normal(self) -> tuple[float, float, float]:
        nx, ny, nz = self.arm.mount[2, :3].tolist()
        return nx, ny, nz

    @property
    def _level(self) -> float:
        return self.arm.floor_z - float(self.arm.mount[2, 3])

    def _in_plane(self, t1: Array, t2: Array) -> tuple[Array, Array]:
        arm, t12 = self.arm, t1 + t2
        radial = arm.shoulder_offset + arm.upper_arm * np.cos(t1) + self.length * np.cos(t12)
        return radial, arm.base_height + arm.upper_arm * np.sin(t1) + self.length * np.sin(t12)

    def _seen(self, t0: Array) -> tuple[Array, Array]:
        """The normal along the arm's plane, and the level less what the lateral offset contributes."""
        nx, ny, _ = self._normal
        c0, s0 = np.cos(t0), np.sin(t0)
        return nx * c0 + ny * s0, self._level - self.arm.lateral_offset * (nx * s0 - ny * c0)


def _angle(a: Array | float, b: Array | float, c: Array, side: int) -> Array:
    """One of the two solutions of a cos t + b sin t = c."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = c / np.hypot(a, b)
        ratio = np.where(np.abs(ratio) <= 1.0 + _ROUNDING, np.clip(ratio, -1.0, 1.0), np.nan)
    return np.asarray(np.arctan2(b, a) + side * np.arccos(ratio))
