# SPDX-License-Identifier: Apache-2.0
"""Shows the steps of the set-up: what runs, how long it took, and what a failed one printed last."""

import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_LAST_LINES = 25
_TICK_S = 5.0


class StepError(Exception):
    """A step of the set-up failed; the text says what to do."""


def say(text: str) -> None:
    """Print one line of progress on stderr, where it does not mix with a verb's answer."""
    print(text, file=sys.stderr, flush=True)


def run_step(title: str, command: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path | None = None) -> None:
    """Run a command with its output in `log`, showing the title and the elapsed time.

    Raises:
        StepError: the command failed; holds the end of the log and its path.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    say(f"{title} …")
    finished = threading.Event()
    ticker = threading.Thread(target=_tick, args=(title, started, finished), daemon=True)
    ticker.start()
    try:
        with log.open("ab") as output:
            output.write(f"$ {' '.join(command)}\n".encode())
            output.flush()
            code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=dict(env), cwd=cwd).returncode
    except FileNotFoundError as error:
        raise StepError(f"{title}: {command[0]} was not found ({error})") from error
    finally:
        finished.set()
        ticker.join()
    if code != 0:
        lines = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        raise StepError("\n".join([*lines, f"{title}: failed with exit code {code}; the whole log: {log}"]))
    say(f"{title}: done in {time.monotonic() - started:.1f} s")


def _tick(title: str, started: float, finished: threading.Event) -> None:
    while not finished.wait(_TICK_S):
        say(f"{title} … {time.monotonic() - started:.0f} s")
