# SPDX-License-Identifier: Apache-2.0
"""Streams setpoints at a fixed rate, each ahead of the time at which it applies.

The stream follows path time: a tick that comes late makes the motion later, never faster. Setpoints are stamped evenly,
so what receives them can interpolate between them; a delay shorter than the lead is therefore without effect. After a
longer one the receiver, out of commands, has braked the arm, and the motion goes on from rest.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Protocol

from manipulator3d_control.motion import Setpoint

_IDLE_POLL_S = 0.1
# a receiver without commands for so long has brought the arm to rest and takes the next command for a new stream
_RESTART_AFTER_S = 0.25
# a driver that stopped the arm follows commands again only after they paused; this leaves time for late ones to arrive
_PAUSE_AFTER_HALT_S = 0.5
# a motion that stood still for longer does not go on by itself
_LONGEST_DELAY_S = 1.0
# a FIFO priority above all ordinary programs and below the kernel's own threads
_PRIORITY = 40

Done = Callable[[bool], None]


class Player(Protocol):
    """What makes setpoints from tick to tick: MotionPlayer says what its methods mean, JogPlayer is the other one."""

    @property
    def progress(self) -> float: ...
    @property
    def time(self) -> float: ...
    @property
    def finished(self) -> bool: ...
    @property
    def at_rest(self) -> bool: ...
    def advance(self, dt: float) -> Setpoint: ...
    def setpoint(self) -> Setpoint: ...
    def stop(self) -> None: ...
    def resume(self) -> None: ...
    def change_speed(self, speed_scale: float) -> None: ...
    def restart(self) -> None: ...


class CommandStream:
    """Plays motions and rests; one at a time, for one goal at a time.

    Args:
        publish: called with the time at which a setpoint applies, s, and the setpoint.
        now: the clock of those times, s.
        rate_hz: setpoints per second.
        lead: how long before its time a setpoint is published, s.
    """

    def __init__(
        self, publish: Callable[[float, Setpoint], None], now: Callable[[], float], rate_hz: float, lead: float
    ) -> None:
        self._publish = publish
        self._now = now
        self._dt = 1.0 / rate_hz
        self._lead = lead
        self._lock = threading.RLock()
        self._woken = threading.Event()
        self._closing = False
        self._active = False
        self._paused = False
        self._interrupted = False
        self._hold: Setpoint | None = None
        self._player: Player | None = None
        self._rest_left = 0.0
        self._done: Done | None = None
        self._stamp = 0.0
        self._earliest_begin = 0.0
        self._speed_scale = 1.0
        self._goal_scale = 1.0
        self._delay = 0.0
        self._broken = False
        self._thread = threading.Thread(target=self._run, name="command_stream", daemon=True)

    @property
    def active(self) -> bool:
        """Whether setpoints are being published."""
        return self._active

    @property
    def paused(self) -> bool:
        """Whether the motion stands, or comes to rest, until `resume`."""
        return self._paused

    @property
    def stopping(self) -> bool:
        """Whether the arm decelerates because of `interrupt`."""
        return self._interrupted and self._active

    @property
    def speed_scale(self) -> float:
        """Present speed as a fraction of the limits."""
        return 0.0 if self._paused else self._speed_scale * self._goal_scale

    @property
    def delay(self) -> float:
        """Longest time by which setpoints of the present goal came too late to be followed, s; 0 if none did."""
        return self._delay

    @property
    def broken(self) -> bool:
        """Whether such a delay was so long that the motion was ended."""
        return self._broken

    @property
    def last(self) -> Setpoint | None:
        """The last setpoint that was published."""
        return self._hold

    @property
    def progress(self) -> float:
        """Fraction of the present motion's time, 0 to 1."""
        player = self._player
        return 0.0 if player is None else player.progress

    @property
    def playing(self) -> bool:
        """Whether a motion is being played, or paused in it."""
        return self._player is not None

    @property
    def motion_time(self) -> float:
        """Time of the present motion that has been commanded, s."""
        player = self._player
        return 0.0 if player is None else player.time

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End the thread; what is being played ends where it is."""
        self._closing = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()
        self._player = None

    def begin(self, hold: Setpoint, speed_scale: float) -> None:
        """Start to publish: hold a position for a goal that is to come."""
        with self._lock:
            self._hold, self._goal_scale = hold, speed_scale
            self._player, self._done, self._rest_left = None, None, 0.0
            self._paused = self._interrupted = False
            self._delay, self._broken = 0.0, False
            now = self._now()
            # a clock that was set back must not make it wait for longer
            pause = min(max(self._earliest_begin - now, 0.0), _PAUSE_AFTER_HALT_S)
            self._stamp = now + pause + self._lead
            self._active = True
        self._woken.set()

    def end(self) -> None:
        """Stop publishing; what receives the setpoints holds the last one."""
        with self._lock:
            self._active = False
            self._woken.clear()

    def play(self, player: Player, done: Done) -> None:
        """Run a motion from rest; `done` is told, from the stream's thread, whether its end was reached."""
        with self._lock:
            player.change_speed(self._speed_scale * self._goal_scale)
            if self._paused or self._interrupted:
                player.stop()
            self._player = player
            self._accept(done)

    def rest(self, duration: float, done: Done) -> None:
        """Hold for `duration` seconds; `done` is told whether it was not interrupted."""
        with self._lock:
            self._player, self._rest_left = None, duration
            self._accept(done)

    def pause(self) -> None:
        """Come to rest along the path."""
        with self._lock:
            self._paused = True
            if self._player is not None:
                self._player.stop()

    def resume(self) -> None:
        """Go on after `pause`."""
        with self._lock:
            self._paused = False
            if self._player is not None and not self._interrupted:
                self._player.resume()

    def change_speed(self, speed_scale: float) -> None:
        """Use another fraction of the goal's speed, above 0 to 1, now and for later goals."""
        with self._lock:
            self._speed_scale = speed_scale
            if self._player is not None:
                self._player.change_speed(self._speed_scale * self._goal_scale)

    def interrupt(self) -> None:
        """Decelerate along the path; what is being played is done when the last of its commands has applied."""
        with self._lock:
            if not self._interrupted:
                self._rest_left = self._lead
            self._interrupted = True
            if self._player is not None:
                self._player.stop()

    def halt(self) -> None:
        """Stop publishing at once and end what is being played; the receiver brings the arm to rest."""
        with self._lock:
            self._interrupted = True
            if self._active:
                self._earliest_begin = self._now() + _PAUSE_AFTER_HALT_S
            self._active = False
            done, self._done = self._done, None
        if done is not None:
            done(False)

    def tick(self) -> None:
        """Publish the next setpoint."""
        with self._lock:
            if not self._active or self._hold is None:
                return
            late = self._now() + self._lead - self._stamp
            if late > self._lead:
                self._catch_up(late)
                return
            outcome = self._advance()
            self._publish(self._stamp, self._hold)
            self._stamp += self._dt
            done = None
            if outcome is not None:
                done, self._done = self._done, None
                self._player = None
        if done is not None and outcome is not None:
            done(outcome)

    def _accept(self, done: Done) -> None:
        """Keep whom to tell; at once where the stream was halted in between."""
        if self._active:
            self._done = done
        else:
            done(False)

    def _catch_up(self, late: float) -> None:
        """Go on from rest after a delay that the receiver could not bridge."""
        self._delay = max(self._delay, late)
        if late > _LONGEST_DELAY_S:
            self._broken = True
            self.halt()
            return
        if self._player is not None:
            self._player.restart()
            self._hold = self._player.setpoint()
        self._stamp = self._now() + self._lead + _RESTART_AFTER_S

    def _advance(self) -> bool | None:
        """Take the present motion or rest one tick further; tells its outcome when it is done."""
        if self._done is None:
            return None
        if self._player is not None:
            self._hold = self._player.advance(self._dt)
            if not self._interrupted:
                return True if self._player.finished else None
            if not self._player.at_rest:
                return None
        if self._interrupted or not self._paused:
            self._rest_left -= self._dt
        return None if self._rest_left > 0.0 else not self._interrupted

    def _run(self) -> None:
        _ask_for_priority()
        while not self._closing:
            if not self._active:
                self._woken.wait()
                continue
            wait = self._stamp - self._lead - self._now()
            if wait > 0.0:
                # in pieces, for a clock that is not the wall's
                time.sleep(min(wait, _IDLE_POLL_S))
                continue
            self.tick()


def _ask_for_priority() -> None:
    """Run before ordinary programs where the system allows it; the lead covers for it where it does not."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except PermissionError:
        return
