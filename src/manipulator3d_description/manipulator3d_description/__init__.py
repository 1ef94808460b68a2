# SPDX-License-Identifier: Apache-2.0
"""The arm's profiles, its URDF and the transforms that follow from it."""
