"""Programs that are stopped when their time is over, with all processes that they have started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LAST_WORDS = 1500  # characters


class Ended(NamedTuple):
    """How a program ended: its status, None if it was stopped; and what it had printed."""

    status: int | None
    printed: str

    @property
    def last_words(self) -> str:
        """The end of what it printed."""
        return self.printed.strip()[-LAST_WORDS:]

    def lines(self) -> list[dict[str, Any]]:
        """What it printed in JSON, a line each."""
        return json_lines(self.printed)


def json_lines(text: str) -> list[dict[str, Any]]:
    """The lines of a text that are objects in JSON. One that was torn off in the middle is left out."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return found


def run(command: Sequence[str | Path], seconds: float, **env: str) -> Ended:
    """Runs a program for so many seconds at most.

    It prints into a file: what a process prints that outlives it must not keep us waiting at a pipe's end.
    """
    # Tests call cmake and other tools that lie beside the interpreter.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            env={**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1", **env},
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(timeout=max(seconds, 0))
        except BaseException as stop:  # an interrupt, too: else the program would go on without us
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
            if not isinstance(stop, subprocess.TimeoutExpired):
                raise
        printed.seek(0)
        return Ended(status, printed.read())
