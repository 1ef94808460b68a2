# SPDX-License-Identifier: Apache-2.0
"""A line whose bytes come late, as through a busy hub or a radio link, in virtual time."""

import math

import pytest
from firmware_paths import rest_to_rest, steady
from test_firmware_bridge_session import Rig, set_here
from virtual_board import HOME, EmulatedPort

from manipulator3d_hw_bridge import messages
from manipulator3d_hw_bridge.board_status import DriveMode, LinkState
from manipulator3d_hw_bridge.messages import Fault, Mode, Reason
from manipulator3d_node.error_code import ErrorCode

ASIDE = (0.4, 1.0, -1.3)
COUNT = 2 * math.pi / 8384


@pytest.fixture
def rig(library):
    port = EmulatedPort(library, homed=False)
    made = Rig(port)
    made.run_until(lambda: made.session.status.link is LinkState.ARMED, 10.0)
    set_here(made)
    yield made
    port.close()


def track(host):
    host.do(messages.SetMode(mode=Mode.HOLD))
    host.run_alive(100)
    host.do(messages.SetMode(mode=Mode.TRACK))


def test_bytes_that_come_late_keep_their_order_and_none_is_lost(host):
    host.port.command("delay 0.05")
    sent = host.port.observe().time
    for token in range(20):
        host.send(messages.SynchroniseClock(token=token))
    host.received.clear()
    host.run(49)
    assert not [m for m in host.received if isinstance(m, messages.Clock)]
    host.run(120)
    answers = [m for m in host.received if isinstance(m, messages.Clock)]
    assert [m.token for m in answers] == list(range(20))
    # the delay, and the line's 0.9 ms for each frame of ten bytes
    assert answers[0].time * 1e-6 - sent == pytest.approx(0.051, abs=0.002)
    assert answers[-1].time * 1e-6 - sent == pytest.approx(0.050 + 20 * 10 / 11520, abs=0.003)


def test_setpoints_that_still_come_in_time_are_followed_and_later_ones_refused_as_late(host):
    track(host)
    host.port.command("delay 0.03")
    host.follow(rest_to_rest(HOME, ASIDE, 0.8), 0.8, lead=0.1)
    host.run_alive(300)
    assert not [m for m in host.received if isinstance(m, messages.Refuse)]
    assert host.port.observe().position == pytest.approx(ASIDE, abs=3 * COUNT)
    # the host has not noticed that its bytes need 60 ms more, longer than its setpoints are ahead
    host.port.command("delay 0.09")
    host.follow(rest_to_rest(ASIDE, HOME, 0.8), 0.8, lead=0.05)
    host.run_alive(300)
    refused = [m for m in host.received if isinstance(m, messages.Refuse)]
    assert {m.reason for m in refused} <= {Reason.LATE, Reason.JUMP}
    assert Reason.LATE in {m.reason for m in refused}
    assert host.port.observe().velocity == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_a_delay_that_begins_in_motion_is_a_silence_and_the_arm_brakes(host):
    track(host)
    host.follow(steady(HOME, (1.0, 0.0, 0.0)), 0.5, lead=0.02)
    host.port.command("delay 0.3")
    host.run_alive(200 + round(1e3 * 1.0 / 8.0))
    seen = host.port.observe()
    assert seen.fault == Fault.COMMAND_SILENCE
    assert max(map(abs, seen.velocity)) < 1e-6
    host.run_alive(600)
    assert (host.state.mode, host.state.fault) == (Mode.FAULT, Fault.COMMAND_SILENCE)
    host.port.command("delay 0")
    host.run_alive(400)
    host.do(messages.ResetFault())


def test_the_bridge_moves_the_arm_over_a_slow_line(rig):
    rig.port.command("delay 0.02")
    rig.run(3.0)
    assert rig.session.status.link is LinkState.ARMED
    rig.follow(rest_to_rest(HOME, ASIDE, 1.0), 1.0)
    assert rig.port.observe().position == pytest.approx(ASIDE, abs=4 * COUNT)
    assert rig.session.status.fault is ErrorCode.SUCCESS


def test_the_bridge_names_the_silence_that_a_delay_has_made_and_goes_on_after_it(rig):
    path, start = steady(HOME, (0.5, 0.0, 0.0)), rig.now + 0.1
    for k in range(60):
        rig.session.motion.command(rig.now, start + k / 100, *path(k / 100))
        rig.run(0.01)
    rig.port.command("delay 0.25")
    rig.run_until(lambda: rig.session.status.fault is ErrorCode.FIRMWARE_FAULT, 2.0)
    assert "heard nothing from the bridge for longer than command_silence" in rig.session.status.fault_message
    rig.port.command("delay 0")
    rig.run(1.0)
    assert rig.ask(lambda done: rig.session.reset_fault(rig.now, done)).ok
    rig.run_until(lambda: rig.session.status.mode is DriveMode.HOLD, 2.0)
    assert rig.session.status.link is LinkState.ARMED
    assert max(map(abs, rig.port.observe().velocity)) < 1e-6
