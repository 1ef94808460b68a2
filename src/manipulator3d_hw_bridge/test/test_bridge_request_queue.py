# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from manipulator3d_hw_bridge.request_queue import Outcome, Request, RequestQueue
from manipulator3d_node.error_code import ErrorCode


@dataclass(frozen=True)
class SetMode:
    number: int


class Line:
    """Records what is sent and numbers it."""

    def __init__(self):
        self.sent = []
        self.sequence = 0
        self.outcomes = []

    def send(self, message, sequence):
        if sequence is None:
            self.sequence += 1
            sequence = self.sequence
        self.sent.append((message.number, sequence))
        return sequence

    def request(self, number):
        return Request(SetMode(number), lambda outcome: self.outcomes.append((number, outcome)))


def make():
    line = Line()
    return line, RequestQueue(line.send, "/dev/ttyACM0", limit=0.25, attempts=4)


def test_one_request_at_a_time_in_order():
    line, queue = make()
    queue.add(0.0, line.request(1))
    queue.add(0.0, line.request(2))
    assert line.sent == [(1, 1)]
    assert queue.acknowledge(0.1, 1, Outcome())
    assert line.sent == [(1, 1), (2, 2)]
    assert queue.acknowledge(0.2, 2, Outcome())
    assert [number for number, _ in line.outcomes] == [1, 2]
    assert queue.idle


def test_a_repetition_carries_the_number_of_the_first_attempt():
    line, queue = make()
    queue.add(0.0, line.request(1))
    queue.advance(0.2)
    assert len(line.sent) == 1
    queue.advance(0.25)
    assert line.sent == [(1, 1), (1, 1)]
    assert queue.repeated == 1


def test_a_request_without_answer_ends_with_message_port_and_remedy():
    line, queue = make()
    queue.add(0.0, line.request(1))
    queue.add(0.0, line.request(2))
    for i in range(1, 5):
        queue.advance(0.25 * i)
    ((number, outcome),) = line.outcomes
    assert number == 1
    assert outcome.code is ErrorCode.LINK_DOWN
    assert outcome.message == (
        "/dev/ttyACM0: no answer to SetMode after 4 attempts in 1 s; check cable and power, then try again"
    )
    assert line.sent[-1] == (2, 2)


def test_an_urgent_request_overtakes_and_the_overtaken_one_is_sent_again():
    line, queue = make()
    queue.add(0.0, line.request(1))
    queue.add(0.0, line.request(2))
    queue.add(0.0, line.request(9), urgent=True)
    assert line.sent == [(1, 1), (9, 2)]
    queue.acknowledge(0.1, 2, Outcome())
    assert line.sent[-1] == (1, 3)
    queue.acknowledge(0.1, 3, Outcome())
    queue.acknowledge(0.1, 4, Outcome())
    assert [number for number, _ in line.outcomes] == [9, 1, 2]


def test_a_late_or_foreign_acknowledgement_is_nobodys():
    line, queue = make()
    assert not queue.acknowledge(0.0, 1, Outcome())
    queue.add(0.0, line.request(1))
    assert not queue.acknowledge(0.0, 7, Outcome())
    assert line.outcomes == []


def test_an_answer_ends_the_request_that_waits_for_it():
    _, queue = make()
    outcomes = []
    queue.add(0.0, Request(SetMode(1), outcomes.append, lambda message: message == "one", attempts=2))
    assert not queue.answer(0.0, "two")
    assert queue.answer(0.0, "one")
    assert outcomes == [Outcome(answer="one")]
    assert not queue.answer(0.0, "one")


def test_a_request_may_have_its_own_number_of_attempts():
    line, queue = make()
    outcomes = []
    queue.add(0.0, Request(SetMode(1), outcomes.append, attempts=2))
    queue.advance(0.25)
    queue.advance(0.5)
    assert len(line.sent) == 2
    assert "after 2 attempts in 0.5 s" in outcomes[0].message


def test_a_lost_link_ends_every_request():
    line, queue = make()
    for number in (1, 2, 3):
        queue.add(0.0, line.request(number))
    queue.abandon(Outcome(ErrorCode.LINK_DOWN, "gone"))
    assert [(number, outcome.message) for number, outcome in line.outcomes] == [(1, "gone"), (2, "gone"), (3, "gone")]
    assert queue.idle
    assert queue.deadline == float("inf")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(losses=st.lists(st.booleans(), max_size=60), count=st.integers(1, 6))
def test_every_request_ends_exactly_once_whatever_is_lost(losses, count):
    line, queue = make()
    for number in range(count):
        queue.add(0.0, line.request(number))
    now, lost = 0.0, iter(losses)
    while not queue.idle:
        if next(lost, False):
            now = queue.deadline
            queue.advance(now)
        else:
            queue.acknowledge(now, line.sent[-1][1], Outcome())
    assert sorted(number for number, _ in line.outcomes) == list(range(count))
