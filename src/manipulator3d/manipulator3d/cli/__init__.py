# SPDX-License-Identifier: Apache-2.0
"""The verbs of `./manipulator3d`."""
