# SPDX-License-Identifier: Apache-2.0
"""Why a request ends without success."""

from manipulator3d_node.error_code import ErrorCode


class Refusal(Exception):
    """A request that cannot be done, or could not be finished.

    Attributes:
        code: reason.
    """

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
