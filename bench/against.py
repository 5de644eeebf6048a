"""Compares figures of the driver with those of another revision: both programs in turns, in one run.

    python bench/against.py REVISION FIGURE...

What is too small to be seen from one day to the next, such as a nanosecond of a launch, shows so.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from run import ROOT, build_driver

TURNS = 15


def build_other(revision: str) -> Path:
    """Builds the benchmark of a revision from sources of its own; the program."""
    tree = ROOT / "build" / "against" / revision
    if not tree.exists():
        tree.mkdir(parents=True)
        sources = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", tree], input=sources, check=True)
    build = tree / "build" / "bench-driver"
    cmake = Path(sys.executable).parent / "cmake"
    ninja = f"-DCMAKE_MAKE_PROGRAM={cmake.with_name('ninja')}"
    options = ["-G", "Ninja", ninja, "-DCMAKE_BUILD_TYPE=Release"]
    subprocess.run([cmake, "-S", tree / "bench" / "driver", "-B", build, *options], check=True, stdout=sys.stderr)
    subprocess.run([cmake, "--build", build], check=True, stdout=sys.stderr)
    return build / "openreg_bench_driver"


def figures(program: Path, last: str) -> dict[str, float]:
    """The figures of a short run, up to one by name."""
    found: dict[str, float] = {}
    environment = os.environ | {"OPENREG_BENCH_ROUNDS": "10"}
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        for line in running.stdout:
            figure = json.loads(line)
            found[figure["name"]] = figure["value"]
            if figure["name"] == last:
                running.kill()
                break
    return found


def main() -> None:
    """Prints a table: there, here, the difference of the medians, and the median of the differences."""
    revision, *names = sys.argv[1:]
    programs = build_other(revision), build_driver()
    runs: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    for turn in range(TURNS):
        for side in (0, 1) if turn % 2 else (1, 0):
            runs[side].append(figures(programs[side], names[-1]))
    print(f"{'figure':32}{revision[:10]:>12}{'here':>12}{'difference':>12}")
    for name in names:
        there, here = (median(run[name] for run in side) for side in runs)
        difference = median(b[name] - a[name] for a, b in zip(*runs, strict=True))
        print(f"{name:32}{there:12.1f}{here:12.1f}{difference:12.1f}")


if __name__ == "__main__":
    main()
