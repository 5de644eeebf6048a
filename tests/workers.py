"""What the processes of one run of pytest share."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock beside `path`: one process makes what is to be there, and the others wait and find it made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_folder(factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of a run. With pytest-xdist each process has one of its own below it."""
    base = factory.getbasetemp()
    return base.parent if base.name.startswith("popen-") else base
