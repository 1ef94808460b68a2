# SPDX-License-Identifier: Apache-2.0
"""Bring-up and command line of the manipulator3d arm."""
