"""Remembers by content what was found good, in the user's cache, as ccache does for the compiler.

So only changes cost time, in a fresh clone, too. Delete the folder to forget.
"""

import contextlib
import hashlib
import os
import platform
import re
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from files import ROOT, all_files

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openreg"
KEPT = 30 * 24 * 3600  # seconds
IMPORTED = re.compile(r"^from \.(test_\w+) import", re.MULTILINE)


def shared_by_tests(*folders: str) -> set[Path]:
    """Returns what tests in some folders share: all that is there but tests, and the tests that others import from."""
    files = {file for file in all_files() if any(file.is_relative_to(ROOT / folder) for folder in folders)}
    tests = {file for file in files if file.name.startswith("test_")}
    imported = {name for file in tests for name in IMPORTED.findall(file.read_text(encoding="utf-8"))}
    return {file for file in files if file not in tests or file.stem in imported}


@cache
def content(file: Path) -> bytes:
    """Returns a digest of a file, which many stamps ask for."""
    return hashlib.sha256(file.read_bytes()).digest()


def stamp(kind: str, words: Iterable[str], files: Iterable[Path]) -> Path:
    """Returns the file that is there if something was found good. It is the same in every clone.

    Args:
        kind: what is remembered: a folder of the cache.
        words: what the answer depends on beside files: commands, versions.
        files: all that it depends on; their order doesn't matter.
    """
    digest = hashlib.sha256(" ".join(words).replace(str(ROOT), "").encode())
    for file in sorted(files):
        digest.update(f"\0{os.path.relpath(file, ROOT)}\0".encode())
        digest.update(content(file))
    return CACHE / kind / digest.hexdigest()


@cache
def processor() -> str:
    """Returns what tells a kind of processor from others: compilers and PyTorch choose instructions by it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())


def forget_old(folder: Path) -> None:
    """Makes a folder of the cache, or removes what is old from it and from those in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.rglob("*"):
        with contextlib.suppress(OSError):  # another process has been faster
            if old.is_file() and old.stat().st_mtime < time.time() - KEPT:
                old.unlink()


def remember(found: Path, text: str) -> None:
    """Leaves a stamp; the text is for whoever asks again, or looks into the cache. Old stamps of its kind go away."""
    forget_old(found.parent)
    found.write_text(text + "\n", encoding="utf-8")
