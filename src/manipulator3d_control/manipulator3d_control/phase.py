# SPDX-License-Identifier: Apache-2.0
"""The phases of a pick-and-place."""

from enum import IntEnum


class Phase(IntEnum):
    """Names and numbers are those of the feedback of action/PickPlace."""

    HOME = 1
    TO_PICK = 2
    DESCEND_PICK = 3
    PICK = 4
    LIFT = 5
    TO_PLACE = 6
    DESCEND_PLACE = 7
    PLACE = 8
    RETREAT = 9
    TO_HOME = 10
    WAIT = 11
