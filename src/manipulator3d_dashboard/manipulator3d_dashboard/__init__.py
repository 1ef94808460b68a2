# SPDX-License-Identifier: Apache-2.0
"""A web page that shows the arm and steers it, as one ROS client among others."""
