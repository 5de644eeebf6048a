"""The files of the repository, and which of them include which."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
INCLUDE_PATH = ("openreg/csrc", "openreg", "openreg/driver", "openreg/driver/include")
NOT_OURS = {"build", "dist", "node_modules", "__pycache__"}


def git(*arguments: str) -> list[str] | None:
    """Returns the lines that git prints, or None where there is no git repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def all_files() -> list[Path]:
    """Returns what is tracked by git or could be; without git, everything that isn't built or hidden."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard")
    if names is None:
        names = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in NOT_OURS and not name.startswith(".")]
            names += [str((Path(folder) / name).relative_to(ROOT)) for name in files]
    return sorted(path for path in {ROOT / name for name in names} if path.is_file())


def changed_files() -> set[Path] | None:
    """Returns what differs from the last commit, or None if there is none to compare with."""
    changed = git("diff", "--name-only", "HEAD")
    new = git("ls-files", "--others", "--exclude-standard")
    return None if changed is None or new is None else {ROOT / name for name in [*changed, *new]}


def with_includes(source: Path) -> set[Path]:
    """Returns a C++ file and all files of ours that it includes, directly or not."""
    found: set[Path] = set()
    open_ends = [source]
    while open_ends:
        file = open_ends.pop()
        if file in found:
            continue
        found.add(file)
        for name in INCLUDE.findall(file.read_text()):
            places = [file.parent / name, *(ROOT / folder / name for folder in INCLUDE_PATH)]
            open_ends += [place.resolve() for place in places if place.is_file()][:1]
    return found


def ending(files: Iterable[Path], *suffixes: str) -> list[Path]:
    """Returns the files that end in one of the suffixes."""
    return [file for file in files if file.suffix in suffixes]
