"""Remembers by content what was found good, in the user's cache, as ccache does for the compiler.

So only changes cost time, in a fresh clone, too. Delete the folder to forget.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from files import ROOT

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openreg"


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
        digest.update(file.read_bytes())
    return CACHE / kind / digest.hexdigest()


KEPT = 30 * 24 * 3600  # seconds


def remember(found: Path, text: str) -> None:
    """Leaves a stamp; the text is for whoever asks again, or looks into the cache. Old stamps of its kind go away."""
    found.parent.mkdir(parents=True, exist_ok=True)
    for old in found.parent.iterdir():
        with contextlib.suppress(OSError):  # another process has been faster
            if old.stat().st_mtime < time.time() - KEPT:
                old.unlink()
    found.write_text(text + "\n", encoding="utf-8")
