"""What tests of the driver "process" see of its subprocesses. Child processes import this module too."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from .harness import wait_until

# What calls return for a device whose executor has gone, and the setting that chooses the executor in Python.
LOST = "orErrorDeviceLost"
PYTHON = f"executor=python,python={sys.executable}"

# A driver under test that is another one with other settings.
VARIANTS = {
    "process-python": {"OPENREG_DRIVER": "process", "OPENREG_PROCESS": PYTHON},
    "cuda": {"OPENREG_DRIVER": "cuda", "OPENREG_CUDA": "devices=2"},  # on one GPU, too
}


def driver_environment(driver: str) -> dict[str, str]:
    """How a driver, by the name that it has in the tests, is chosen."""
    return VARIANTS.get(driver, {"OPENREG_DRIVER": driver})


def _cmdline(pid: str) -> list[str]:
    try:
        return Path("/proc", pid, "cmdline").read_text().split("\0")
    except OSError:
        return []


def executors(parent: int | None = None) -> dict[int, int]:
    """The executors that a process has: device → process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        words = _cmdline(entry.name) if entry.name.isdigit() else []
        at = next((i for i, word in enumerate(words) if word.startswith("--device=")), 0)
        if at and words[at - 1] == str(parent or os.getpid()) and is_alive(int(entry.name)):
            found[int(words[at].removeprefix("--device="))] = int(entry.name)
    return found


def is_alive(pid: int) -> bool:
    """False for a zombie, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill(device: int) -> int:
    """Kills the executor of a device; its process id."""
    pid = executors()[device]
    os.kill(pid, signal.SIGKILL)
    return pid


def stop(device: int) -> int:
    """Stops the executor of a device, which then hangs; its process id."""
    pid = executors()[device]
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T", "it has stopped")
    return pid


def shared_memory() -> set[str]:
    """Names of memory in /dev/shm.

    Without semaphores: no driver makes named ones, but Python's queues do, in whatever test runs beside this one.
    """
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")}
