# SPDX-License-Identifier: Apache-2.0
"""Records of a running stack as MCAP files: written, read, measured, shown on a page."""
