# SPDX-License-Identifier: Apache-2.0
"""Lets one process at a time set the checkout up."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from bootstrap.console import say
from bootstrap.places import Places


@contextmanager
def setup_lock(places: Places) -> Iterator[None]:
    """Hold the checkout's lock, waiting for another set-up to end; the system frees it when the process dies."""
    places.state.mkdir(exist_ok=True)
    with (places.state / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for another set-up of this checkout …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
