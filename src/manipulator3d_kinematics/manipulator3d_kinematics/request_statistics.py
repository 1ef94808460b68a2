# SPDX-License-Identifier: Apache-2.0
"""Counts requests and the time they took."""

from dataclasses import dataclass


@dataclass
class RequestStatistics:
    """Figures since the start.

    Attributes:
        count: answered requests.
        failures: those answered without success.
        mean_latency, max_latency: s; from the arrival of a request in the node to its answer.
    """

    count: int = 0
    failures: int = 0
    mean_latency: float = 0.0
    max_latency: float = 0.0

    def add(self, latency: float, success: bool) -> None:
        """Count one request that took `latency`, s."""
        self.count += 1
        self.failures += not success
        self.mean_latency += (latency - self.mean_latency) / self.count
        self.max_latency = max(self.max_latency, latency)
