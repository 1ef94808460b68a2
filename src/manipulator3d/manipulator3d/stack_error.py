# SPDX-License-Identifier: Apache-2.0
"""The failure of a request to the stack."""


class StackError(Exception):
    """A request was refused, failed or not answered; the text says why and what to do.

    Attributes:
        code: a constant of msg/ErrorCode, None where no answer came.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code
