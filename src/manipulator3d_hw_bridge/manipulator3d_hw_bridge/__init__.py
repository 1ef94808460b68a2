# SPDX-License-Identifier: Apache-2.0
"""The way from ROS to the arm's firmware: frames, clock, serial link, session and the bridge node."""
