# SPDX-License-Identifier: Apache-2.0
"""Which key moves the arm which way, and when it has been let go.

A terminal tells of key presses only. A key that is held repeats, after a first delay of the keyboard; each press
therefore counts for a short time, and the arm comes to rest when no further one follows.
"""

from dataclasses import dataclass

# s; longer than the pause between two repetitions of a key, also over a slow line
HELD_S = 0.2
# m/s and rad/s at full speed
TOOL_SPEED, JOINT_SPEED = 0.2, 1.0
_SPEED_STEPS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
_TOOL_KEYS = {"w": (0, 1), "s": (0, -1), "a": (1, 1), "d": (1, -1), "r": (2, 1), "f": (2, -1)}
_JOINT_KEYS = {"2": (0, 1), "1": (0, -1), "4": (1, 1), "3": (1, -1), "6": (2, 1), "5": (2, -1)}
_QUIT = ("q", "\x04")

HELP = """w s   tool forward, back (x)      1 2   first joint
a d   tool left, right (y)        3 4   second joint
r f   tool up, down (z)           5 6   third joint
+ -   faster, slower              space rest        q  quit
The arm moves while a key is held."""


@dataclass(frozen=True)
class KeyWish:
    """What is asked for.

    Attributes:
        of_tool: the tool point instead of the joints.
        velocity: m/s along x, y, z of the arm's base, or rad/s of the joints.
    """

    of_tool: bool
    velocity: tuple[float, float, float]


class HeldKeys:
    """Follows the keys that are pressed."""

    def __init__(self) -> None:
        self._step = 2
        self._key = ""
        self._until = 0.0
        self.quits = False

    @property
    def fraction(self) -> float:
        """Share of the full speed."""
        return _SPEED_STEPS[self._step]

    def press(self, key: str, now: float) -> None:
        """Take a key; any other than those of the help lets go."""
        if key in _QUIT:
            self.quits = True
        elif key in "+-":
            self._step = min(max(self._step + (1 if key == "+" else -1), 0), len(_SPEED_STEPS) - 1)
            return
        self._key, self._until = key.lower(), now + HELD_S

    def wish(self, now: float) -> KeyWish | None:
        """What the key asks for that is held at a time, None where none is."""
        if now > self._until:
            return None
        for keys, of_tool, full in ((_TOOL_KEYS, True, TOOL_SPEED), (_JOINT_KEYS, False, JOINT_SPEED)):
            if self._key in keys:
                axis, sign = keys[self._key]
                x, y, z = (sign * full * self.fraction if index == axis else 0.0 for index in range(3))
                return KeyWish(of_tool, (x, y, z))
        return None
