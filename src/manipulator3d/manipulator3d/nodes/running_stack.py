# SPDX-License-Identifier: Apache-2.0
"""Notices a stack that runs already in the same domain and namespace."""

import os
import time

from rclpy.node import Node

from manipulator3d.nodes.stack_client import StackClient

# what the nodes of replays are called, before the process's number
REPLAY = "manipulator3d_replay"

# Fast DDS announces a process every 3 s by default, with the project's own profile every 0.5 s
_OWN_PROFILE = "fastdds_this_computer.xml"
_LOOK_S = {True: 1.5, False: 3.5}


def running_stack(namespace: str) -> str | None:
    """Look for a motion server, or the replay of a record, in the namespace.

    Args:
        namespace: where to look.

    Returns:
        What is in the way and the remedy, None when nothing is.
    """
    wanted = f"/{namespace.strip('/')}" if namespace.strip("/") else "/"
    with StackClient(namespace) as client:
        # counted from here: what came before was this process's own start
        profiles = (os.environ.get(f"{name}_DEFAULT_PROFILES_FILE", "") for name in ("FASTDDS", "FASTRTPS"))
        own_profile = any(profile.endswith(_OWN_PROFILE) for profile in profiles)
        deadline = time.monotonic() + _LOOK_S[own_profile]
        while time.monotonic() < deadline:
            found = next(filter(None, map(_kind, names_in(client.node, wanted))), None)
            if found:
                domain = os.environ.get("ROS_DOMAIN_ID", "0")
                return (
                    f"{found} is running in ROS domain {domain}, namespace {wanted}; stop it, or start this one with "
                    "namespace:=NAME or another ROS_DOMAIN_ID"
                )
            client.spin_until(lambda: False, 0.05)
    return None


def names_in(node: Node, namespace: str) -> list[str]:
    """List the nodes of a namespace."""
    return [name for name, space in node.get_node_names_and_namespaces() if space == namespace]


def _kind(name: str) -> str:
    if name == "motion_server":
        return "a stack"
    return "a replay" if name.startswith(REPLAY) else ""
