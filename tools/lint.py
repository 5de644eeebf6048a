"""Checks the form of all files: ruff, clang-format, clang-tidy, and a few rules of our own.

    python tools/lint.py            clang-tidy looks at what differs from the last commit       (make check)
    python tools/lint.py --all      clang-tidy looks at everything                              (make lint)
    python tools/lint.py --fix      formats, and mends what ruff can mend                       (make format)

clang-tidy takes seconds a file. What it found clean is remembered (remembered.py), so that only changes cost time.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from files import ROOT, all_files, changed_files, ending, with_includes
from lines import check_lines, fix_lines
from readme import check_readme, fix_readme
from remembered import remember, stamp
from units import read_units

BIN = Path(sys.executable).parent
COMMANDS = ROOT / "build" / "cmake" / "compile_commands.json"
C_LIKE = (".c", ".cpp", ".h")
PRIVATE = re.compile(r"(?<![\w.~)}])/(root|work)/")  # paths of the machine that somebody happened to work on
WIDTH = 120
LONG = 300  # lines of C++; the aim is 150
SECONDS = 600  # for clang-tidy on one unit


def run(*command: str | Path) -> str:
    """Runs a tool of the virtual environment and returns its complaints, or nothing."""
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}".strip()


def check_text(files: list[Path]) -> Iterator[str]:
    """Yields what breaks our own rules: paths of one machine, wide lines that clang-format leaves, files too long."""
    for file in files:
        try:
            lines = file.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        name = file.relative_to(ROOT)
        for number, line in enumerate(lines, 1):
            if PRIVATE.search(line):
                yield f"{name}:{number}: names a path of one machine: {line.strip()[:80]}"
            if file.suffix in C_LIKE and len(line) > WIDTH:
                yield f"{name}:{number}: has {len(line)} columns; at most {WIDTH}"
        if file.suffix in (".c", ".cpp") and len(lines) > LONG:
            yield f"{name}: has {len(lines)} lines; more than {LONG} are more than one concept"


def tidy(file: Path, clean: Path) -> str:
    """Runs clang-tidy on one file and remembers if it is clean; returns the complaints."""
    start = time.monotonic()
    gcc = "--extra-arg=-Wno-unused-command-line-argument"  # the commands have options that GCC alone knows
    command = [BIN / "clang-tidy", "--quiet", gcc, "-p", COMMANDS.parent, file]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"{file.relative_to(ROOT)}: clang-tidy has not finished after {SECONDS} s"
    if done.returncode == 0:
        remember(clean, f"{file.relative_to(ROOT)} {time.monotonic() - start:.1f} s")
        return ""
    # What a compiler would have said about it goes to stderr, with counts of what it left out.
    return done.stdout.strip() or done.stderr.strip()


def check_tidy(changed: set[Path] | None) -> Iterator[str]:
    """Runs clang-tidy on the files that are built, or on those of them that a change touches."""
    if not COMMANDS.is_file():
        yield f"{COMMANDS.relative_to(ROOT)} is not there; run: make build"
        return
    versions = [version("clang-tidy"), version("torch")]
    due = []
    for unit in read_units(COMMANDS.parent):
        if unit.file.suffix == ".c" or not unit.file.is_file():
            continue
        sources = set().union(*map(with_includes, unit.sources))
        clean = stamp("lint", [shlex.join(unit.command), *versions], {ROOT / ".clang-tidy", *sources})
        if not clean.exists() and (changed is None or changed & sources):
            due.append((unit.file, clean))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from filter(None, pool.map(lambda job: tidy(*job), due))
    print(f"clang-tidy: {len(due)} units", flush=True)


def check_workflows(folder: Path = ROOT / ".github" / "workflows") -> Iterator[str]:
    """Yields what is wrong with the workflows: unknown keys, actions without a hash, rights that they do not need."""
    files = sorted(folder.glob("*.yml"))
    yield run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)
    yield run("zizmor", "--offline", "--no-progress", "--quiet", *files)


def fix(files: list[Path]) -> list[str]:
    """Formats everything."""
    c_like = ending(files, *C_LIKE)
    results = [run("ruff", "check", "--fix", "."), run("ruff", "format", "--quiet", ".")]
    return [*results, run("clang-format", "-i", *c_like), fix_readme(), fix_lines(files)]


def check(files: list[Path], everything: bool) -> Iterator[str]:
    """Runs one check after the other."""
    yield run("ruff", "check", "--quiet", ".")
    yield run("ruff", "format", "--check", "--quiet", ".") and "make format would change Python files"
    yield run("clang-format", "--dry-run", "-Werror", *ending(files, *C_LIKE))
    yield "\n".join(check_text(files))
    yield check_readme()
    yield check_lines(files)
    yield from check_workflows()
    yield from check_tidy(None if everything else changed_files())


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="clang-tidy on all files")
    parser.add_argument("--fix", action="store_true", help="format, and mend what can be mended")
    given = parser.parse_args()
    files = all_files()
    start, complaints = time.monotonic(), 0
    for complaint in fix(files) if given.fix else check(files, given.all):
        if complaint:
            print(complaint, flush=True)
            complaints += 1
    if complaints:
        sys.exit("lint: not clean" + ("" if given.fix else "; make format mends what is only form"))
    print(f"lint: {len(files)} files clean in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
