# SPDX-License-Identifier: Apache-2.0
"""Parameters of the dashboard node."""

from dataclasses import dataclass

from manipulator3d_node.parameter import parameter


@dataclass(frozen=True)
class DashboardParameters:
    """Where the page is served, who may open it, and how often it changes."""

    host: str = parameter("127.0.0.1", "address the page is served on; any but this computer's own needs a token")
    port: int = parameter(8080, "TCP port the page is served on", lower=0, upper=65535)
    token: str = parameter("", "secret that a browser must show once, as http://host:port/?token=…; empty for none")
    spectator_token: str = parameter(
        "", "secret that lets a browser watch but change nothing; as token, and only beside one"
    )
    update_rate_hz: float = parameter(30.0, "rate of the arm's picture", unit="Hz", lower=1.0, upper=60.0)
