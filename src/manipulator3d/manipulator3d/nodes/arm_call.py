# SPDX-License-Identifier: Apache-2.0
"""The two kinds of call that the Python interface makes, and how their messages are filled and read."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from sensor_msgs.msg import JointState

from manipulator3d.arm_answers import Array, Progress
from manipulator3d.arm_error import ArmError
from manipulator3d.nodes.stack_client import StackClient

T = TypeVar("T")
OnProgress: TypeAlias = Callable[[Progress], None] | None
Vector: TypeAlias = Sequence[float] | Array
Joints: TypeAlias = Vector | Mapping[str, float]
ELBOWS = {"auto": 0, "down": 1, "up": 2}


def xyz(point: Any) -> Array:
    """Give a Point as an array of shape (3,)."""
    return np.array([point.x, point.y, point.z])


def tool_progress(feedback: Any) -> Progress:
    """Read the feedback that most actions give."""
    return Progress(feedback.progress, xyz(feedback.tool))


class Call(Generic[T]):
    """Something asked of a stack, not yet carried out; T is what the caller gets."""


@dataclass(frozen=True)
class Request(Call[T]):
    """A call that is answered at once.

    Attributes:
        perform: asks, in the client's thread, and gives what the caller gets.
    """

    perform: Callable[[StackClient], Coroutine[Any, Any, T]]


@dataclass(frozen=True)
class Motion(Call[T]):
    """A call that takes its time, tells its progress and can be cancelled.

    Attributes:
        action_type, name: of the action.
        goal: what is sent.
        read: turns the result message into what the caller gets.
        timeout: s until it is cancelled; None for ever.
        on_progress: takes what `read_progress` makes of a feedback message.
    """

    action_type: Any
    name: str
    goal: Any
    read: Callable[[Any], T]
    timeout: float | None = None
    on_progress: Callable[[Any], None] | None = None
    read_progress: Callable[[Any], Any] = tool_progress


def set_point(stamped: Any, point: Vector, what: str, frame: str) -> None:
    """Fill a PointStamped with three numbers in m."""
    stamped.header.frame_id = frame
    stamped.point.x, stamped.point.y, stamped.point.z = three(point, what)


def elbow_number(elbow: str) -> int:
    """Give the number of a branch's name.

    Raises:
        ValueError: no such branch.
    """
    if elbow not in ELBOWS:
        raise ValueError(f"elbow: {elbow!r} is none of {', '.join(ELBOWS)}")
    return ELBOWS[elbow]


def joint_message(joints: Joints, what: str) -> JointState:
    """Make a message of angles in the chain's order, or by name; the server checks names and number."""
    if isinstance(joints, Mapping):
        return JointState(name=list(joints), position=[float(angle) for angle in joints.values()])
    return JointState(position=three(joints, what))


def checked(response: Any, result: Any = None) -> None:
    """Raise ArmError with the server's text and code unless a response reports success."""
    if not response.success:
        code = getattr(response, "error_code", None)
        raise ArmError(response.message or "refused without a reason", code, result)


def service(service_type: Any, name: str, request: Any, read: Callable[[Any], T]) -> Request[T]:
    """Make the call of a service; `read` turns a successful response into what the caller gets."""

    async def perform(client: StackClient) -> T:
        response = await client.ask(service_type, name, request)
        checked(response)
        return read(response)

    return Request(perform)


def three(numbers: Vector, what: str) -> list[float]:
    """Give three numbers; whether they are finite and sensible is for the server to say.

    Raises:
        ValueError: not three numbers.
    """
    array = np.asarray(numbers, dtype=float)
    if array.shape != (3,):
        raise ValueError(f"{what}: expected three numbers, got {numbers!r}")
    return [float(number) for number in array]
