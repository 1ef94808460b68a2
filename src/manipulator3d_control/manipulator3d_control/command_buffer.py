# SPDX-License-Identifier: Apache-2.0
"""Turns stamped joint commands into a setpoint at any time, within the joints' limits whatever arrives."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from manipulator3d_kinematics import ArmModel

Joints = tuple[float, ...]

# s between arrivals, or after the last stamp, beyond which the next command begins a new stream.
STREAM_GAP = 0.2
# s between two stamps that are interpolated.
_WIDEST_STEP = 0.25
# s that a command may lie ahead.
_FARTHEST_AHEAD = 1.0
# rad; a command this much beyond a limit is rounding on its way here and is clipped.
_ROUNDING = 1e-6
# Fraction by which a velocity may exceed its limit through rounding.
_VELOCITY_ROUNDING = 1e-3
# Fraction of the velocity limit, and rad, that a command may be beyond what its predecessor allows.
_JUMP_FACTOR = 1.1
_JUMP_MARGIN = 0.005
# Fractions by which interpolation between samples may exceed the velocity and acceleration of the sampled motion.
_SAMPLED_VELOCITY = 1.02
_SAMPLED_ACCELERATION = 1.1
# Fraction of the acceleration limit with which a gap to the commands is closed; the commands need some as well.
_CLOSING = 0.5
# Steps of the setpoint in which the last of a gap shrinks to 1/e.
_SETTLING_STEPS = 2.0


@dataclass(frozen=True)
class JointLimits:
    """What setpoints may be.

    Attributes:
        names: of the joints.
        lower, upper: rad.
        velocity, acceleration: rad/s and rad/s², largest absolute values.
    """

    names: tuple[str, ...]
    lower: Joints
    upper: Joints
    velocity: Joints
    acceleration: Joints

    @staticmethod
    def of(arm: ArmModel) -> "JointLimits":
        """Return the limits of an arm."""
        rows = (arm.lower, arm.upper, arm.velocity, arm.acceleration)
        return JointLimits(tuple(arm.joint_names), *(tuple(float(value) for value in row) for row in rows))


@dataclass(frozen=True)
class Knot:
    """Where the joints shall be at a time.

    Attributes:
        time: s.
        position, velocity: rad and rad/s, one for each joint.
    """

    time: float
    position: Joints
    velocity: Joints


class CommandRefused(ValueError):
    """A command that is not followed; the text names the joint, the value, the bound and the remedy."""


class CommandBuffer:
    """Follows one stream of commands, by their stamps.

    Between two commands the setpoint runs on the cubic Hermite curve through both. After the last one it brakes, all
    joints together, and holds. Where the commands are not where the setpoint is (a stream that begins beside the arm or
    comes back after a gap), the setpoint closes the gap within the limits of velocity and acceleration.

    Args:
        limits: of the joints.
        position: rad, setpoint at the start.
        now: s, time of the start.
        start_tolerance: rad, how far from the measured position a stream may begin.
    """

    def __init__(self, limits: JointLimits, position: Joints, now: float, start_tolerance: float = 0.1) -> None:
        self._limits = limits
        self._start_tolerance = start_tolerance
        self._setpoint = Knot(now, position, (0.0,) * len(position))
        self._knots: deque[Knot] = deque([self._setpoint])
        self._latest_arrival = -math.inf
        self._streaming = False
        self._barred = False

    @property
    def setpoint(self) -> Knot:
        """The setpoint at the time of the latest `advance`."""
        return self._setpoint

    @property
    def streaming(self) -> bool:
        """True while a stream of commands is followed."""
        return self._streaming

    def push(
        self,
        now: float,
        stamp: float,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        measured: Joints,
    ) -> None:
        """Take a command.

        Args:
            now: s.
            stamp: s, when the command applies.
            names: of the joints, in any order.
            position: rad, one for each name.
            velocity: rad/s, one for each name; empty means zero.
            measured: rad, where the arm is.

        Raises:
            CommandRefused: the command must not be followed.
        """
        gap = now - self._latest_arrival
        self._latest_arrival = now
        if self._barred and gap < STREAM_GAP:
            raise CommandRefused(
                f"the arm was stopped; it follows commands again after they pause for {STREAM_GAP:g} s"
            )
        self._barred = False
        knot = Knot(stamp, *self._checked(names, position, velocity))
        if stamp < now - STREAM_GAP:
            raise CommandRefused(f"applies {now - stamp:.3f} s ago; stamp commands ahead of their time, 0.1 s is usual")
        if stamp > now + _FARTHEST_AHEAD:
            raise CommandRefused(f"applies {stamp - now:.3f} s ahead; at most {_FARTHEST_AHEAD:g} s is possible")
        if self._streaming and gap < STREAM_GAP:
            self._check_step(self._knots[-1], knot)
        else:
            self._check_start(knot, measured)
            self._restart()
        self._streaming = True
        self._knots.append(knot)

    def ignore(self, now: float) -> None:
        """Note that a command has come and is not followed."""
        self._latest_arrival = now

    def stop(self) -> None:
        """Forget all commands and brake to rest; only a new stream, after a pause, moves the arm again."""
        self._restart()
        self._streaming = False
        self._barred = True

    def jump(self, now: float, position: Joints) -> None:
        """Stand at a position at a time before or after any other: what a jump of the clock needs."""
        self._setpoint = Knot(now, position, (0.0,) * len(position))
        self._latest_arrival = min(self._latest_arrival, now)
        self.stop()

    def advance(self, now: float) -> Knot:
        """Return the setpoint at a time not before that of the latest call."""
        dt = now - self._setpoint.time
        if dt <= 0.0:
            return self._setpoint
        while len(self._knots) > 1 and self._knots[1].time <= now:
            self._knots.popleft()
        if self._streaming and now > max(self._knots[-1].time, self._latest_arrival) + STREAM_GAP:
            self._streaming = False
        wanted = self._reference(now)
        joints = [self._follow(i, wanted.position[i], wanted.velocity[i], dt) for i in range(len(wanted.position))]
        self._setpoint = Knot(now, tuple(q for q, _ in joints), tuple(v for _, v in joints))
        return self._setpoint

    def _restart(self) -> None:
        self._knots.clear()
        self._knots.append(self._setpoint)

    def _reference(self, now: float) -> Knot:
        """Return where the commands want the joints now."""
        first = self._knots[0]
        if len(self._knots) > 1:
            second = self._knots[1]
            if first.time <= now and second.time - first.time <= _WIDEST_STEP:
                return _hermite(first, second, now)
        return _braked(first, self._limits, now)

    def _follow(self, i: int, wanted: float, speed: float, dt: float) -> tuple[float, float]:
        """Return position and velocity of joint i after dt: the wanted ones, or nearer to them within its limits."""
        q, v = self._setpoint.position[i], self._setpoint.velocity[i]
        fastest, strongest = self._limits.velocity[i], self._limits.acceleration[i]
        step = strongest * dt
        beside = wanted - (q + 0.5 * (v + speed) * dt)
        is_near = abs(speed - v) <= _SAMPLED_ACCELERATION * step and abs(beside) <= 0.25 * step * dt
        if is_near and abs(speed) <= _SAMPLED_VELOCITY * fastest:
            return wanted, speed
        settling = _SETTLING_STEPS * dt
        lower, upper = self._limits.lower[i], self._limits.upper[i]
        gap = wanted - q - speed * dt
        closing = _closing_speed(abs(gap), _CLOSING * strongest, settling)
        fall, rise = (_closing_speed(way, strongest, settling) for way in (q - lower, upper - q))
        aim = min(max(speed + math.copysign(closing, gap), -fastest, -fall), fastest, rise)
        after = v + min(max(aim - v, -step), step)
        return _clipped(q + 0.5 * (v + after) * dt, after, lower, upper)

    def _checked(
        self, names: Sequence[str], position: Sequence[float], velocity: Sequence[float]
    ) -> tuple[Joints, Joints]:
        limits = self._limits
        if len(position) != len(names) or len(velocity) not in (0, len(names)):
            raise CommandRefused(
                f"{len(names)} names, {len(position)} positions and {len(velocity)} velocities do not belong together; "
                "give one position and one or no velocity for each name"
            )
        if len(set(names)) != len(names) or set(names) != set(limits.names):
            raise CommandRefused(f"joints {', '.join(names) or 'none'}; expected {', '.join(limits.names)}, each once")
        order = [names.index(name) for name in limits.names]
        positions = [position[i] for i in order]
        velocities = [velocity[i] for i in order] if velocity else [0.0] * len(order)
        return (
            tuple(map(_within, limits.names, positions, limits.lower, limits.upper)),
            tuple(map(_slow_enough, limits.names, velocities, limits.velocity)),
        )

    def _check_step(self, before: Knot, knot: Knot) -> None:
        dt = knot.time - before.time
        if dt <= 0.0:
            raise CommandRefused(
                f"applies {-dt:.3f} s before the command that came before it; is there a second publisher on "
                "joint_commands?"
            )
        for name, start, end, limit in zip(
            self._limits.names, before.position, knot.position, self._limits.velocity, strict=True
        ):
            if abs(end - start) > _JUMP_FACTOR * limit * dt + _JUMP_MARGIN:
                raise CommandRefused(
                    f"{name}: a step of {abs(end - start):.4f} rad within {dt:.3f} s is faster than its limit of "
                    f"{limit:.4f} rad/s; is there a second publisher on joint_commands?"
                )

    def _check_start(self, knot: Knot, measured: Joints) -> None:
        for name, wanted, actual in zip(self._limits.names, knot.position, measured, strict=True):
            if abs(wanted - actual) > self._start_tolerance:
                raise CommandRefused(
                    f"{name}: the stream begins at {wanted:.3f} rad, {abs(wanted - actual):.3f} rad from the measured "
                    f"{actual:.3f} rad; at most {self._start_tolerance:g} rad is possible: begin where the arm is"
                )


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


def _hermite(a: Knot, b: Knot, now: float) -> Knot:
    """Cubic Hermite curve between two knots."""
    h = b.time - a.time
    s = (now - a.time) / h
    s2, s3 = s * s, s * s * s
    p0, p1, m0, m1 = 2 * s3 - 3 * s2 + 1, 3 * s2 - 2 * s3, (s3 - 2 * s2 + s) * h, (s3 - s2) * h
    d1, e0, e1 = 6 * (s - s2) / h, 3 * s2 - 4 * s + 1, 3 * s2 - 2 * s
    rows = list(zip(a.position, b.position, a.velocity, b.velocity, strict=True))
    return Knot(
        now,
        tuple(p0 * qa + p1 * qb + m0 * va + m1 * vb for qa, qb, va, vb in rows),
        tuple(d1 * (qb - qa) + e0 * va + e1 * vb for qa, qb, va, vb in rows),
    )


def _braked(knot: Knot, limits: JointLimits, now: float) -> Knot:
    """All joints brake from a knot in the same time, the slowest one at its limit."""
    t = max(now - knot.time, 0.0)
    duration = max(abs(v) / a for v, a in zip(knot.velocity, limits.acceleration, strict=True))
    if t >= duration:
        way, left = duration / 2.0, 0.0
    else:
        way, left = t - t * t / (2.0 * duration), 1.0 - t / duration
    rows = zip(knot.position, knot.velocity, limits.lower, limits.upper, strict=True)
    joints = [_clipped(q + v * way, v * left, lower, upper) for q, v, lower, upper in rows]
    return Knot(now, tuple(q for q, _ in joints), tuple(v for _, v in joints))


def _clipped(q: float, v: float, lower: float, upper: float) -> tuple[float, float]:
    """Stop at a position limit."""
    if lower <= q <= upper:
        return q, v
    return min(max(q, lower), upper), 0.0


def _closing_speed(gap: float, braking: float, settling: float) -> float:
    """Speed at which to close a gap: sqrt(2·braking·gap) from afar and gap/settling near by.

    Kept to while the gap shrinks, it never brakes with more than `braking`.
    """
    return braking * (math.sqrt(settling * settling + 2.0 * gap / braking) - settling)
