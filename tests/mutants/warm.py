"""Runs pytest again and again, each time in a fork of a process that has loaded what takes long to load.

    python -m mutants.warm torch cffi       loads these, then reads a line of JSON for each run

Importing PyTorch takes longer than most of the tests that find a bug. The backend is loaded by the fork, so each run
has its own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest


def run(order: dict[str, Any]) -> NoReturn:
    """In the fork: a session of its own, so that what it starts can be ended with it."""
    os.setsid()
    with Path(order["output"]).open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(order["env"])
    sys.path[:0] = order["env"]["PYTHONPATH"].split(os.pathsep)
    status = int(pytest.main(order["arguments"]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def wait(process: int, seconds: float) -> int | None:
    """The exit status, negative for a signal; None if it has not ended in time, which ends it."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        return None
    finally:
        end_session(process)


def end_session(session: int) -> None:
    """Ends what a run has left behind: a bug may well have made a program hang."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended by itself
            process = int(stat.parent.name)
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(process, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(session, 0)


def main() -> None:
    """Serves until the other side closes the pipe."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    gc.freeze()  # what is imported: else each run would go through all of it, and copy it
    for line in sys.stdin:
        order = json.loads(line)
        process = os.fork()
        if process == 0:
            run(order)
        print(json.dumps(wait(process, order["seconds"])), flush=True)


if __name__ == "__main__":
    main()
