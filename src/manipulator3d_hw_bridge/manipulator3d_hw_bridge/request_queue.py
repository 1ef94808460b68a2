# SPDX-License-Identifier: Apache-2.0
"""Requests that the board must acknowledge or answer: one at a time, each with a limit of time and of attempts."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from manipulator3d_node.error_code import ErrorCode


@dataclass(frozen=True)
class Outcome:
    """How a request ended.

    Attributes:
        code: SUCCESS, or why not.
        message: what is wrong and the remedy; empty after a success.
        reason: the board's reason when it refused, else 0.
        answer: the message that answered, when one did.
    """

    code: ErrorCode = ErrorCode.SUCCESS
    message: str = ""
    reason: int = 0
    answer: Any = None

    @property
    def ok(self) -> bool:
        """True after a success."""
        return self.code is ErrorCode.SUCCESS


@dataclass(frozen=True)
class Request:
    """One message to be acknowledged or answered.

    Attributes:
        message: what is sent.
        done: called once with the outcome.
        answers: tells whether a message is the answer; None when the request is acknowledged instead.
        attempts: how often it is sent, None for the queue's number.
    """

    message: Any
    done: Callable[[Outcome], None]
    answers: Callable[[Any], bool] | None = None
    attempts: int | None = None

    @property
    def name(self) -> str:
        """Name of the message."""
        return type(self.message).__name__


class RequestQueue:
    """Sends requests one after the other, each again until it is acknowledged or its attempts are used up.

    A repetition carries the sequence number of the first attempt, so that the board does it once.

    Args:
        send: sends a message; takes the sequence number of a repetition or None, and returns the number used.
        port: names the port in messages.
        limit: s to wait for an acknowledgement.
        attempts: how often a request is sent.
    """

    def __init__(
        self, send: Callable[[Any, int | None], int], port: str, limit: float = 0.1, attempts: int = 10
    ) -> None:
        self._send = send
        self._port = port
        self._limit = limit
        self._attempts = attempts
        self._waiting: deque[Request] = deque()
        self._current: Request | None = None
        self._sequence = 0
        self._sent = 0
        self._deadline = float("inf")
        self.repeated = 0

    @property
    def idle(self) -> bool:
        """True when nothing waits for an acknowledgement."""
        return self._current is None and not self._waiting

    @property
    def deadline(self) -> float:
        """When `advance` has something to do."""
        return self._deadline

    def add(self, now: float, request: Request, urgent: bool = False) -> None:
        """Take a request; an urgent one goes out at once, and what was under way is repeated after it."""
        if not urgent:
            self._waiting.append(request)
        elif self._current is None:
            self._waiting.appendleft(request)
        else:
            self._waiting.appendleft(self._current)
            self._waiting.appendleft(request)
            self._current = None
        self._next(now)

    def advance(self, now: float) -> None:
        """Repeat or give up the request whose acknowledgement is overdue."""
        if self._current is None or now < self._deadline:
            return
        attempts = self._current.attempts or self._attempts
        if self._sent < attempts:
            self.repeated += 1
            self._transmit(now, self._sequence)
            return
        request = self._current
        self._current = None
        text = (
            f"{self._port}: no answer to {request.name} after {attempts} attempts in {self._limit * attempts:g} s; "
            "check cable and power, then try again"
        )
        request.done(Outcome(ErrorCode.LINK_DOWN, text))
        self._next(now)

    def acknowledge(self, now: float, sequence: int, outcome: Outcome) -> bool:
        """Take an acknowledgement or a refusal; False when it belongs to nothing that waits for one."""
        if self._current is None or sequence != self._sequence:
            return False
        request = self._current
        self._current = None
        request.done(outcome)
        self._next(now)
        return True

    def answer(self, now: float, message: Any) -> bool:
        """Take a message that may be an answer; False when nothing waits for it."""
        request = self._current
        if request is None or request.answers is None or not request.answers(message):
            return False
        self._current = None
        request.done(Outcome(answer=message))
        self._next(now)
        return True

    def abandon(self, outcome: Outcome) -> None:
        """End every request with the same outcome."""
        requests = ([self._current] if self._current else []) + list(self._waiting)
        self._current = None
        self._waiting.clear()
        self._deadline = float("inf")
        for request in requests:
            request.done(outcome)

    def _next(self, now: float) -> None:
        if self._current is not None:
            return
        if not self._waiting:
            self._deadline = float("inf")
            return
        self._current = self._waiting.popleft()
        self._sent = 0
        self._transmit(now, None)

    def _transmit(self, now: float, sequence: int | None) -> None:
        assert self._current is not None
        self._sequence = self._send(self._current.message, sequence)
        self._sent += 1
        self._deadline = now + self._limit
