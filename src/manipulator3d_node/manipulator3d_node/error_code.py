# SPDX-License-Identifier: Apache-2.0
"""The codes of msg/ErrorCode as an enumeration, for code that must not import messages."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Outcome of a request; names and numbers are those of manipulator3d_interfaces/msg/ErrorCode."""

    SUCCESS = 0
    INVALID_INPUT = 100
    TOO_FAR = 101
    TOO_CLOSE = 102
    BELOW_FLOOR = 103
    JOINT_LIMIT = 104
    UNKNOWN_FRAME = 105
    NO_STATE = 106
    BUSY = 200
    CANCELED = 201
    PATH_BLOCKED = 202
    PATH_UNREACHABLE = 203
    TRACKING_ERROR = 204
    STALE_STATE = 205
    GRASP_FAILED = 206
    STOPPED = 207
    TIMEOUT = 208
    INVALID_TRAJECTORY = 209
    LINK_DOWN = 300
    PROTOCOL_MISMATCH = 301
    NOT_HOMED = 302
    ESTOP = 303
    FIRMWARE_FAULT = 304
    HOMING_FAILED = 305
