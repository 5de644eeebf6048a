"""Runs the parts of the tests one after the other, and says how each went and how long it took.

    python tools/test.py                  everything                                  (make test)
    python tools/test.py --quick          the part one runs while working             (make check)
    python tools/test.py --all            with every sample of every operator         (make test-all)
    python tools/test.py backend steps    these parts                                 (make test PART="backend steps")

A part that fails doesn't keep the others from running; what it said last is said again at the end. The last line counts
the tests of all parts. docs/times.toml has what each part takes from nothing: a part says at its beginning how long the
rest takes by that, and at the end both stand side by side.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections import deque
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from progress import Progress

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "test"
TIMES = ROOT / "docs" / "times.toml"
LAST_WORDS = 6  # lines
DOTS = re.compile(r"[.sxX]+ +\[ *(\d+)%\]\n")  # of pytest: nothing has failed


class Part(NamedTuple):
    """A part of the tests: a Python program, or pytest with these arguments."""

    name: str
    what: str
    command: list[str]
    quick: list[str] | None  # what `make check` runs of it, if anything
    pytest: bool = True
    more: str = ""  # what `make test-all` says in addition
    driver: str = ""  # with which it runs, if not with the default one


WORKERS = ["-n", "2", "--dist", "loadgroup"]  # tests that share one long run share a process, too
MORE_WORKERS = ["-n", "3", "--dist", "loadgroup"]  # for tests of which many wait more than they compute
MINIMAL = "tests/backend/test_minimal_set.py"
LONG = [
    *(
        f"--ignore=tests/{file}.py"
        for file in (
            "backend/test_autoload",
            "backend/test_compile_maths",
            "backend/test_compile_models",
            "backend/test_compile_networks",
            "backend/test_compile_reductions",
            "backend/test_compile_samples",
            "backend/test_composites",
            "backend/test_edge_values",
            "backend/test_fake_tensors",
            "backend/test_half_a_compiler",
            "backend/test_minimal_set",
            "backend/test_native_calls",
            "backend/test_operator_errors",
            "backend/test_operator_samples",
            "backend/test_opinfo",
            "backend/test_out_aliases",
            "backend/test_overloads",
            "backend/test_scalar_range",
            "contract/test_porting",
            "steps/test_compiler_cache",
            "steps/test_doctor",
            "steps/test_generator",
            "steps/test_installed_torch",
            "steps/test_missing_mechanisms",
            "steps/test_steps",
            "steps/test_toy_driver",
            "steps/test_wheel",
        )
    ),
    *("-m", "not sanitizer"),
]
# What holds for each operator is the same on each driver: it is about kernels, which both run. So is the code that
# the compiler makes of a model.
BREADTH = [
    f"--ignore=tests/backend/test_{name}.py"
    for name in (
        "compile_maths",
        "compile_models",
        "compile_networks",
        "compile_reductions",
        "compile_samples",
        "composites",
        "edge_values",
        "fake_tensors",
        "half_a_compiler",
        "kernels",
        "minimal_set",
        "native_calls",
        "operator_errors",
        "operator_samples",
        "operators",
        "operators_elementwise",
        "operators_indexing",
        "operators_network",
        "operators_recurrent",
        "operators_transformer",
        "opinfo",
        "out_aliases",
        "overloads",
        "same_device",
        "scalar_range",
    )
] + ["--deselect=tests/backend/test_missing_kernels.py::test_a_call_goes_as_on_the_cpu_whichever_kernel_is_missing"]
PARTS = [
    Part("lint", "form of all files", ["tools/lint.py", "--all"], ["tools/lint.py"], pytest=False),
    Part("ladder", "steps, regions and chapters fit together", ["steps/check.py"], ["steps/check.py"], pytest=False),
    Part(
        "contract",
        "every entry of openreg.h, on the simulator",
        ["tests/contract", "tests/mutants", "-m", "not sanitizer", *MORE_WORKERS],
        ["tests/contract", "tests/mutants", *LONG, *WORKERS],
    ),
    Part(
        "mutants",
        "seeded bugs, each found by the test it names",
        ["tools/mutants.py", "--due"],
        ["tools/mutants.py", "--check"],
        pytest=False,
    ),
    Part(
        "stress",
        "threads × streams × devices, under sanitizers",
        ["tests/contract", "tests/backend", "-m", "sanitizer", *WORKERS],
        None,
    ),
    Part(
        "backend",
        "the PyTorch side",
        ["tests/backend", f"--ignore={MINIMAL}", "-m", "not sanitizer", *WORKERS],
        ["tests/backend", *LONG, *WORKERS],
        more="--all-samples",
    ),
    Part(
        "process",
        "the contract and the PyTorch side's mechanisms, each device in a process of its own",
        [
            "tests/contract",
            "--ignore=tests/contract/process",
            # About other drivers, each with one of its own.
            "--ignore=tests/contract/test_porting.py",
            "--ignore=tests/contract/cuda",
            "--ignore=tests/backend/test_compiling_ahead.py",
            "--ignore=tests/backend/test_cuda_kernels.py",
            "--ignore=tests/backend/test_device_fallback.py",
            "--ignore=tests/backend/test_missing_entries.py",
            # They run on both drivers by themselves, or ask none.
            "--ignore=tests/backend/test_autoload.py",
            "--ignore=tests/backend/test_beside.py",
            "--ignore=tests/backend/test_code_generation.py",
            "--ignore=tests/backend/test_digits.py",
            "--ignore=tests/backend/test_registration.py",
            "--ignore=tests/backend/test_replacing_operators.py",
            "--ignore=tests/backend/test_reset.py",
            "--deselect=tests/backend/test_doctor.py::test_a_probe_sees_that_its_mechanism_is_broken",
            "tests/backend",
            *BREADTH,
            "-m",
            "not sanitizer",
            *WORKERS,
        ],
        None,
        driver="process",
    ),
    Part("minimal", "step 02 without one of its operators, each in turn", [MINIMAL, *WORKERS], None),
    Part(
        "steps",
        "each step: red before, green after",
        ["tests/steps", *WORKERS],
        ["tests/steps", *LONG],
        more="--all-projects",
    ),
    Part("guide", "the guide: built, its Python and its links", ["tests/guide", *WORKERS], None),
]


class Result(NamedTuple):
    """How a part went."""

    part: Part
    ok: bool
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    last_words: tuple[str, ...] = ()


def count(report: Path, ok: bool) -> tuple[int, int, int]:
    """Returns passed, failed and skipped tests from pytest's report; a part that broke without one failed once."""
    total = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    if report.is_file():
        for suite in ElementTree.parse(report).iter("testsuite"):
            for key in total:
                total[key] += int(suite.get(key, 0))
    failed = total["failures"] + total["errors"]
    return total["tests"] - failed - total["skipped"], max(failed, int(not ok)), total["skipped"]


def recorded() -> dict[str, float]:
    """Returns what each part takes from nothing, in seconds."""
    return tomllib.loads(TIMES.read_text(encoding="utf-8"))["parts"]


def how_far(parts: list[Part], part: Part) -> str:
    """Returns which of the parts this is and, if all are known, how long it and the rest take."""
    index, known = parts.index(part), recorded()
    left = [known.get(each.name) for each in parts[index:]]
    minutes = "" if None in left else f", at most {sum(left) / 60:.0f} min left"
    return f"{index + 1} of {len(parts)}{minutes}"


def run(part: Part, quick: bool, everything: bool, far: str) -> Result:
    """Runs one part, its output shown as it comes; says first how far everything is."""
    arguments = part.quick if quick and part.quick else part.command
    arguments = [*arguments, part.more] if everything and part.more else arguments
    report = RESULTS / f"{part.name}.xml"
    report.unlink(missing_ok=True)
    if part.pytest:
        arguments = ["-m", "pytest", "-q", f"--junitxml={report}", *arguments]
    chosen = {"OPENREG_DRIVER": part.driver} if part.driver else {}
    said = " ".join([*(f"{name}={value}" for name, value in chosen.items()), "python", *arguments])
    print(f"\n== {part.name}: {part.what} ({far})\n   {said}", flush=True)
    start = time.monotonic()
    # Tests call cmake and other tools that lie beside the interpreter.
    env = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}") | chosen
    last_words: deque[str] = deque(maxlen=LAST_WORDS)
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        progress = Progress(part.name, unit="%")
        for line in process.stdout:
            if sys.stdout.isatty() and (dots := DOTS.fullmatch(line)):
                progress.at(int(dots[1]), 100)
                continue
            progress.end()
            print(line, end="", flush=True)
            if line.strip():
                last_words.append(line.rstrip())
        progress.end()  # of a part that ended in the middle
    ok = process.returncode == 0
    seconds = time.monotonic() - start
    passed, failed, skipped = count(report, ok) if part.pytest else (0, int(not ok), 0)
    return Result(part, ok, seconds, passed, failed, skipped, tuple(last_words))


def summarize(results: list[Result]) -> str:
    """Returns the table at the end, what to run again, and the line that counts."""
    known = recorded()
    lines = [f"{'part':10} {'':6} {'seconds':>7} {'recorded':>8} {'passed':>7} {'failed':>7} {'skipped':>7}"]
    for part, ok, seconds, passed, failed, skipped, _ in results:
        numbers = f" {passed:7} {failed:7} {skipped:7}" if part.pytest else ""
        expected = f"{known[part.name]:8.0f}" if part.name in known else f"{'':8}"
        lines.append(f"{part.name:10} {'ok' if ok else 'FAILED':6} {seconds:7.0f} {expected}{numbers}".rstrip())
    lines.append(f"{'all':10} {'':6} {sum(result.seconds for result in results):7.0f}")
    for result in results:
        if not result.ok:
            lines += ["", f"{result.part.name} failed (again: make test PART={result.part.name}), saying last:", ""]
            lines += [f"    {line}" for line in result.last_words]
    passed, bad, skipped = (sum(result[i] for result in results) for i in (3, 4, 5))
    return "\n".join([*lines, "", f"{passed} passed, {bad} failed, {skipped} skipped"])


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="a part; all by default")
    parser.add_argument("--quick", action="store_true", help="leave out what takes long")
    parser.add_argument("--all", action="store_true", help="run operators with all their samples and data types")
    given = parser.parse_args()
    names = [part.name for part in PARTS]
    if unknown := set(given.parts).difference(names):
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(names)}")
    wanted = given.parts or [part.name for part in PARTS if part.quick or not given.quick]
    chosen = [part for part in PARTS if part.name in wanted]
    RESULTS.mkdir(parents=True, exist_ok=True)
    results = [run(part, given.quick, given.all, how_far(chosen, part)) for part in chosen]
    took = {result.part.name: round(result.seconds) for result in results}
    (RESULTS / "seconds.json").write_text(json.dumps(took), encoding="utf-8")
    print(f"\n{summarize(results)}")
    sys.exit(not all(result.ok for result in results))


if __name__ == "__main__":
    main()
