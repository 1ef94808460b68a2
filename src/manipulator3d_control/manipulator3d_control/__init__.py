# SPDX-License-Identifier: Apache-2.0
"""Paths, time laws, missions and the simulated arm."""
