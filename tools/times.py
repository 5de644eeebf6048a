"""Measures what the first commands take in a fresh clone, and writes docs/times.toml.

    python tools/times.py                   make, the build alone, and make step N=01: each in a clone of its own
    python tools/times.py build             one of them
    python tools/times.py test              make test from nothing: most of an hour

Do it on a machine that does nothing else. Clones and their empty caches lie in build/times and go away.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "times.toml"
PLACE = ROOT / "build" / "times"
COMMANDS = {"make": ["make"], "build": ["make", "build"], "step": ["make", "step", "N=01"], "test": ["make", "test"]}
TOUCHED = "openreg/csrc/ops/pointwise/arithmetic.cpp"  # of the group that takes longest


def clone(name: str) -> tuple[Path, dict[str, str]]:
    """Makes a clone of the last commit; returns its folder and the environment of its commands."""
    tree = PLACE / name
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
    caches = tree / "build" / "caches"
    return tree, os.environ | {"CCACHE_DIR": str(caches / "ccache"), "XDG_CACHE_HOME": str(caches)}


def size(tree: Path) -> float:
    """Returns the GB that a tree takes, without the caches, which are usually elsewhere."""
    done = subprocess.run(["du", "-sk", "--exclude=caches", tree], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) / 1e6


def measure(name: str) -> dict[str, float]:
    """Runs one of the commands in a fresh clone; returns what it took."""
    tree, environment = clone(name)
    parts = tree / "build" / "test" / "seconds.json"

    def run(*command: str) -> float:
        start = time.monotonic()
        failed = subprocess.run(command, cwd=tree, env=environment, check=False).returncode
        seconds = time.monotonic() - start
        if failed:  # what it took is not what it takes; said all the same, for it may have been an hour
            known = parts.read_text() if parts.is_file() else "no parts"
            raise SystemExit(f"times: {' '.join(command)} failed after {seconds:.0f} s; not written down: {known}")
        return seconds

    try:
        if name == "build":
            run("make", "setup")
        took = {name: run(*COMMANDS[name])}
        if name == "build":
            time.sleep(1)  # the clock of files is coarse, and make wants it newer than what it has built
            with (tree / TOUCHED).open("a") as file:
                file.write("static_assert(true);\n")  # less than code the compiler's cache would not notice
            took["rebuild"] = run(*COMMANDS[name])
            run("make", "doctor")  # which compiles modules of Python's, and a kernel
            took["doctor"] = run("make", "doctor")
        if name == "test":
            took |= json.loads(parts.read_text())
        return took | ({"disk": size(tree)} if name == "make" else {})
    finally:
        shutil.rmtree(tree)


def renewed(text: str, figures: dict[str, float]) -> str:
    """Returns the text of the file with some of its figures replaced."""
    for name, figure in figures.items():
        shown = f"{figure:.1f}" if name == "disk" else f"{figure:.0f}"
        text, found = re.subn(rf"^({name} = )[\d.]+", rf"\g<1>{shown}", text, flags=re.MULTILINE)
        if found != 1:
            raise SystemExit(f"times: {FILE.name} has {found} lines that begin with {name!r}; expected one")
    return text


if __name__ == "__main__":
    for each in sys.argv[1:] or ["make", "build", "step"]:
        FILE.write_text(renewed(FILE.read_text(), measure(each)))
    print(f"times: {FILE.relative_to(ROOT)}; make format brings them into README.md and the start page")
