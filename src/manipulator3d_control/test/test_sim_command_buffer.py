# SPDX-License-Identifier: Apache-2.0
"""Commands become setpoints: interpolated, braked on underflow, refused when they cannot be followed."""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from manipulator3d_control.command_buffer import CommandBuffer, CommandRefused, JointLimits, Joints, Knot
from manipulator3d_kinematics import ArmModel

NAMES = ("base_yaw", "shoulder_pitch", "elbow_pitch")
LIMITS = JointLimits(NAMES, (-2.9, -0.5, -2.6), (2.9, 2.6, 2.6), (2.0, 1.5, 2.0), (8.0, 6.0, 8.0))
HOME = (0.0, 1.2, -1.6)
REST = (0.0, 0.0, 0.0)
PERIOD = 0.01
LEAD = 0.1

Motion = Callable[[float], tuple[Joints, Joints]]


def swing(t: float) -> tuple[Joints, Joints]:
    """Out and back within the limits, from home at t = 0."""
    w = 2.0
    sizes = (0.6, 0.3, 0.5)
    t = min(max(t, 0.0), 2.0 * math.pi / w)
    return (
        tuple(h + a * (1.0 - math.cos(w * t)) for h, a in zip(HOME, sizes, strict=True)),
        tuple(a * w * math.sin(w * t) for a in sizes),
    )


def push(buffer: CommandBuffer, now: float, stamp: float, position: Joints, velocity: Joints = ()) -> None:
    buffer.push(now, stamp, NAMES, position, velocity, buffer.setpoint.position)


def stream(buffer: CommandBuffer, start: float, end: float, motion: Motion = swing) -> list[Knot]:
    """Send the motion, which begins at 0, at the usual rate and lead; give the setpoint of every tick."""
    setpoints = []
    for tick in range(round(start / PERIOD), round(end / PERIOD)):
        now = tick * PERIOD
        push(buffer, now, now + LEAD, *motion(now))
        setpoints.append(buffer.advance(now + PERIOD))
    return setpoints


def run(buffer: CommandBuffer, start: float, end: float, period: float = PERIOD) -> list[Knot]:
    """Let time pass without commands."""
    ticks = round((end - start) / period)
    return [buffer.advance(start + tick * period) for tick in range(1, ticks + 1)]


def assert_within_limits(knots: Iterable[Knot], factor: float = 1.1) -> None:
    """Velocity and acceleration, from the positions themselves and from the velocities given with them."""
    knots = list(knots)
    for before, after in pairwise(knots):
        dt = after.time - before.time
        for i in range(3):
            assert LIMITS.lower[i] <= after.position[i] <= LIMITS.upper[i]
            assert abs(after.velocity[i]) <= LIMITS.velocity[i] * 1.02
            assert abs(after.velocity[i] - before.velocity[i]) <= LIMITS.acceleration[i] * dt * factor + 1e-9
            mean = (after.position[i] - before.position[i]) / dt
            between = 0.5 * (after.velocity[i] + before.velocity[i])
            assert abs(mean - between) <= 0.26 * LIMITS.acceleration[i] * dt


def test_without_commands_the_setpoint_stays() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    assert buffer.advance(5.0) == Knot(5.0, HOME, REST)
    assert not buffer.streaming


def test_the_limits_are_those_of_the_arm() -> None:
    assert JointLimits.of(ArmModel.profile("capstone")) == LIMITS


def test_a_stream_is_followed_by_its_stamps() -> None:
    setpoints = stream(CommandBuffer(LIMITS, HOME, 0.0), 0.0, 3.0)
    for setpoint in setpoints:
        position, velocity = swing(setpoint.time - LEAD)
        assert setpoint.position == pytest.approx(position, abs=1e-9)
        assert setpoint.velocity == pytest.approx(velocity, abs=1e-9)


def test_between_two_commands_the_setpoint_is_on_the_cubic_through_both() -> None:
    def cubic(t: float) -> tuple[Joints, Joints]:
        return (
            tuple(h + c * t * t * (1.0 + t) for h, c in zip(HOME, (0.5, -0.3, 0.4), strict=True)),
            tuple(c * (2.0 * t + 3.0 * t * t) for c in (0.5, -0.3, 0.4)),
        )

    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    for tick in range(8):
        push(buffer, 0.0, 0.1 * tick, *cubic(0.1 * tick))
    for setpoint in run(buffer, 0.0, 0.7, 0.003):
        position, velocity = cubic(setpoint.time)
        assert setpoint.position == pytest.approx(position, abs=1e-12)
        assert setpoint.velocity == pytest.approx(velocity, abs=1e-12)


def test_joints_are_taken_by_name() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    buffer.push(0.0, 0.1, ("elbow_pitch", "base_yaw", "shoulder_pitch"), (-1.55, 0.02, 1.21), (), HOME)
    assert run(buffer, 0.0, 0.5)[-1].position == (0.02, 1.21, -1.55)


def test_an_underflow_brakes_all_joints_together_within_limits_and_holds() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    moving = stream(buffer, 0.0, 0.8)
    position, velocity = swing(0.79)
    braking = run(buffer, 0.8, 2.0)
    assert_within_limits(moving + braking)
    rest = braking[-1]
    assert rest.velocity == REST
    # uniform deceleration of all joints over the time that the slowest one needs
    duration = max(abs(v) / a for v, a in zip(velocity, LIMITS.acceleration, strict=True))
    ends = tuple(q + v * duration / 2.0 for q, v in zip(position, velocity, strict=True))
    assert rest.position == pytest.approx(ends, abs=1e-9)
    assert not buffer.streaming


def test_the_stream_counts_as_running_until_its_gap_is_over() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    push(buffer, 0.0, 0.1, HOME)
    buffer.advance(0.29)
    assert buffer.streaming
    buffer.advance(0.31)
    assert not buffer.streaming


def test_a_stream_that_comes_back_after_a_gap_is_caught_up_with_within_limits() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    knots = stream(buffer, 0.0, 0.6)
    knots += run(buffer, 0.6, 0.78)
    knots += stream(buffer, 0.78, 3.6, lambda t: swing(t - 0.18))
    assert_within_limits(knots)
    assert knots[-1].position == pytest.approx(HOME, abs=1e-9)


def test_a_stream_that_begins_beside_the_arm_is_joined_within_limits() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    target = (0.09, 1.29, -1.69)
    knots = stream(buffer, 0.0, 1.5, lambda _t: (target, REST))
    assert_within_limits(knots)
    assert knots[-1].position == target


@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=6),
    st.sampled_from([0.002, 0.01]),
)
def test_whatever_gaps_a_stream_has_the_setpoint_keeps_the_limits(gaps: list[tuple[int, int]], period: float) -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0, start_tolerance=10.0)
    knots = [buffer.setpoint]
    now, silent_until, talk_until = 0.0, 0.0, 0.0
    pauses = iter(gaps)
    while now < 4.0:
        if now >= talk_until:
            talk, silence = next(pauses, (400, 0))
            silent_until = talk_until + silence * PERIOD
            talk_until = silent_until + talk * PERIOD
        if now >= silent_until:
            try:
                push(buffer, now, now + LEAD, *swing(now))
            except CommandRefused as refusal:
                assert "is faster than its limit" in str(refusal)  # noqa: PT017
        knots += run(buffer, now, now + PERIOD, period)
        now = round((now + PERIOD) / PERIOD) * PERIOD
    assert_within_limits(knots)
    assert knots[-1].position == pytest.approx(HOME, abs=1e-9)


@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(
        st.tuples(*(st.floats(lower, upper) for lower, upper in zip(LIMITS.lower, LIMITS.upper, strict=True))),
        min_size=1,
        max_size=10,
    ),
    st.sampled_from([0.002, 0.01]),
)
def test_however_far_the_commands_are_the_setpoint_gets_there_within_limits(
    targets: list[Joints], period: float
) -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0, start_tolerance=10.0)
    knots, now = [buffer.setpoint], 0.0
    for target in targets:
        now += 0.3
        push(buffer, now, now + LEAD, target)
        knots += run(buffer, knots[-1].time, now + 0.3, period)
    knots += run(buffer, knots[-1].time, knots[-1].time + 5.0, period)
    assert_within_limits(knots)
    assert knots[-1].position == pytest.approx(targets[-1], abs=1e-9)
    assert knots[-1].velocity == REST


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("names", "position", "velocity", "text"),
    [
        (NAMES, (NAN, 1.2, -1.6), (), "base_yaw: a position of nan is not a finite number of rad"),
        (NAMES, (0.0, INF, -1.6), (), "shoulder_pitch: a position of inf is not a finite number of rad"),
        (NAMES, HOME, (0.0, 0.0, NAN), "elbow_pitch: a velocity of nan is not a finite number of rad/s"),
        (NAMES, (2.95, 1.2, -1.6), (), "base_yaw: 2.9500 rad is above its upper limit of 2.9000 rad"),
        (NAMES, (0.0, -0.6, -1.6), (), "shoulder_pitch: -0.6000 rad is below its lower limit of -0.5000 rad"),
        (NAMES, HOME, (0.0, 1.6, 0.0), "shoulder_pitch: 1.6000 rad/s is above its limit of 1.5000 rad/s"),
        (NAMES, HOME, (0.0, 0.0, -2.1), "elbow_pitch: -2.1000 rad/s is above its limit of 2.0000 rad/s"),
        (NAMES[:2], HOME[:2], (), "joints base_yaw, shoulder_pitch; expected base_yaw, shoulder_pitch, elbow_pitch"),
        (("a", "b", "c"), HOME, (), "joints a, b, c; expected base_yaw, shoulder_pitch, elbow_pitch, each once"),
        (("base_yaw",) * 3, HOME, (), "joints base_yaw, base_yaw, base_yaw; expected"),
        ((), (), (), "joints none; expected base_yaw, shoulder_pitch, elbow_pitch, each once"),
        (NAMES, HOME[:2], (), "3 names, 2 positions and 0 velocities do not belong together"),
        (NAMES, HOME, (0.0,), "3 names, 3 positions and 1 velocities do not belong together"),
    ],
)
def test_a_command_that_is_not_one_is_refused(
    names: tuple[str, ...], position: Joints, velocity: Joints, text: str
) -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    with pytest.raises(CommandRefused, match=text):
        buffer.push(0.0, 0.1, names, position, velocity, HOME)
    assert buffer.advance(1.0) == Knot(1.0, HOME, REST)


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        (0.0, r"applies 9.000 s ago; stamp commands ahead of their time, 0.1 s is usual"),
        (11.0, r"applies 2.000 s ahead; at most 1 s is possible"),
    ],
)
def test_a_command_of_another_time_is_refused(stamp: float, text: str) -> None:
    with pytest.raises(CommandRefused, match=text):
        push(CommandBuffer(LIMITS, HOME, 9.0), 9.0, stamp, HOME)


def test_a_position_beyond_its_limit_by_rounding_is_clipped() -> None:
    buffer = CommandBuffer(LIMITS, (0.0, 2.6, 0.0), 0.0)
    push(buffer, 0.0, 0.1, (0.0, 2.6 + 1e-9, 0.0))
    assert buffer.advance(0.5).position == (0.0, 2.6, 0.0)


def test_a_stream_that_begins_elsewhere_is_refused() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    text = "elbow_pitch: the stream begins at -1.300 rad, 0.300 rad from the measured -1.600 rad; at most 0.1 rad"
    with pytest.raises(CommandRefused, match=text):
        push(buffer, 0.0, 0.1, (0.0, 1.2, -1.3))
    assert buffer.advance(1.0) == Knot(1.0, HOME, REST)


def test_a_second_publisher_among_the_commands_is_refused_and_the_first_one_followed() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    for tick in range(60):
        now = tick * PERIOD
        push(buffer, now, now + LEAD, *swing(now))
        with pytest.raises(CommandRefused, match=r"applies 0.010 s before the command that came before it; is there a"):
            push(buffer, now, now + LEAD - PERIOD, HOME)
        if tick > 30:
            with pytest.raises(CommandRefused, match=r"a step of .* is faster than its limit .*; is there a second"):
                push(buffer, now, now + LEAD + 0.001, HOME)
        assert buffer.advance(now).position == pytest.approx(swing(now - LEAD)[0], abs=1e-9)


def test_a_stop_brakes_and_only_a_new_stream_after_a_pause_is_followed() -> None:
    buffer = CommandBuffer(LIMITS, HOME, 0.0)
    knots = stream(buffer, 0.0, 0.8)
    buffer.stop()
    for tick in range(80, 140):
        now = tick * PERIOD
        with pytest.raises(CommandRefused, match="the arm was stopped; it follows commands again after they pause for"):
            push(buffer, now, now + LEAD, *swing(now))
        knots.append(buffer.advance(now + PERIOD))
    assert_within_limits(knots)
    assert knots[-1].velocity == REST
    rest = knots[-1].position
    assert run(buffer, 1.4, 1.7)[-1].position == rest
    with pytest.raises(CommandRefused, match="begin where the arm is"):
        push(buffer, 1.7, 1.8, HOME)
    assert run(buffer, 1.7, 2.0)[-1].position == rest
    push(buffer, 2.0, 2.1, rest)
    push(buffer, 2.0, 2.2, tuple(q + 0.01 for q in rest))
    assert run(buffer, 2.0, 2.5)[-1].position == tuple(q + 0.01 for q in rest)


def test_a_brake_ends_at_a_position_limit() -> None:
    buffer = CommandBuffer(LIMITS, (2.85, 1.2, -1.6), 0.0)
    for tick in range(5):
        push(buffer, 0.0, 0.1 * tick, (2.85 + 0.01 * tick, 1.2, -1.6), (0.1 if tick < 4 else 2.0, 0.0, 0.0))
    assert run(buffer, 0.0, 1.5)[-1] == Knot(1.5, (2.9, 1.2, -1.6), REST)
