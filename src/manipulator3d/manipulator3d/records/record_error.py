# SPDX-License-Identifier: Apache-2.0
"""The failure to write or read a record."""

from manipulator3d.stack_error import StackError


class RecordError(StackError):
    """A record cannot be written or read; the text names the file, the reason and the remedy."""
