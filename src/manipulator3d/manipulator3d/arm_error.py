# SPDX-License-Identifier: Apache-2.0
"""What the Python interface of the arm raises."""

from typing import Any

from manipulator3d.stack_error import StackError
from manipulator3d_node.error_code import ErrorCode


class ArmError(StackError):
    """The arm refused, failed or did not answer; the text is the server's and says why and what to do.

    Attributes:
        code: an ErrorCode: LINK_DOWN when no stack was found or its server went away, TIMEOUT when an answer did not
            come in time; None where the refusing service has no codes (such as pause).
        result: what the action had done by then, such as a PickPlaceResult; None where there is none.
    """

    def __init__(self, message: str, code: int | None = None, result: Any = None) -> None:
        super().__init__(message, None if code is None else _known(code))
        self.result = result

    def __str__(self) -> str:
        name = self.code.name if isinstance(self.code, ErrorCode) else self.code
        return super().__str__() if name is None else f"{name}: {super().__str__()}"


def _known(code: int) -> int:
    """Give the code as ErrorCode; one of a newer stack stays a number."""
    return ErrorCode(code) if code in set(ErrorCode) else code
