"""Runs make in a copy of the repository for another version of PyTorch, with an environment and a build of its own.

    python tools/other_torch.py 2.14.1 test PART=backend        (make test PART=backend TORCH=2.14.1)

The copy is in build/torch/VERSION, and differs from the repository in one thing: where pyproject.toml names PyTorch, it
names this version alone. Each time it gets what has changed; what is installed and built there stays.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from files import ROOT, all_files

NAMED = re.compile(r"(?<=\"torch)[<>=][^\"]*")  # torch>=2.13,<2.15, which the build takes, and torch==2.13.0
LISTED = "build/copied.txt"  # in the copy: what was copied, to know what has gone


def write(file: Path, data: bytes, mode: int) -> None:
    """Writes a file unless it is there already: make and the compiler go by the time."""
    if not file.is_file() or file.read_bytes() != data:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)


def copy(version: str, root: Path, files: list[Path]) -> Path:
    """Brings the copy for a version up to date, and returns its folder."""
    folder = root / "build" / "torch" / version
    names = [file.relative_to(root).as_posix() for file in files]
    listed = folder / LISTED
    for gone in set(listed.read_text().splitlines() if listed.is_file() else []) - set(names):
        (folder / gone).unlink(missing_ok=True)
    for name, file in zip(names, files, strict=True):
        data = file.read_bytes()
        if name == "pyproject.toml":
            data = NAMED.sub(f"=={version}", data.decode()).encode()
        write(folder / name, data, file.stat().st_mode)
    write(listed, "\n".join(names).encode(), 0o644)
    return folder


def main() -> None:
    """Reads the command line."""
    version, *wanted = sys.argv[1:]
    folder = copy(version, ROOT, all_files())
    if not (folder / ".git").exists():  # else git would look at the repository around it
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    # What make tells its children is about the repository.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    print(f"torch {version}: make {' '.join(wanted)} in {folder.relative_to(ROOT)}", flush=True)
    sys.exit(subprocess.run(["make", *wanted], cwd=folder, env=env, check=False).returncode)


if __name__ == "__main__":
    main()
