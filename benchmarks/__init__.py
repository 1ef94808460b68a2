# SPDX-License-Identifier: Apache-2.0
"""Measures the figures of docs/performance.md; `./manipulator3d bench` runs them."""
