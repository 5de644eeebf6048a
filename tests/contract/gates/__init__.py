"""Gates: what holds a stream still until a test lets it go, on any driver that calls functions of the host."""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("gates.cpp")
LIBRARY = SOURCE.parents[3] / "build" / "tests" / "gates.so"


def build() -> None:
    """Compiles them if need be. The first process of a run does it, and the others wait for that."""
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    with LIBRARY.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not LIBRARY.exists() or LIBRARY.stat().st_mtime < SOURCE.stat().st_mtime:
            made = LIBRARY.with_suffix(".new")
            options = ["-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"]
            warnings = ["-Wall", "-Wextra", "-Werror"]
            subprocess.run([os.environ.get("CXX", "c++"), *options, *warnings, SOURCE, "-o", made], check=True)
            made.replace(LIBRARY)


@cache
def functions() -> ctypes.CDLL:
    """The functions of gates.cpp; calls let other threads of Python run."""
    build()
    library = ctypes.CDLL(str(LIBRARY))
    library.gateCreate.restype = ctypes.c_void_p
    library.gateCreate.argtypes = [ctypes.c_char_p, ctypes.c_double]
    for name in ("gateOpen", "gateDestroy", "gateWaiting", "gateIsLate"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    return library


def address(name: str) -> int:
    """The address of one of them, for a driver to call."""
    return ctypes.cast(functions()[name], ctypes.c_void_p).value or 0
