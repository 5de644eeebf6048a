"""Runs the contract tests on a driver and says, group by group, what it has, what it lacks and what it does wrong.

    python tools/contract.py                      the drivers that the library brings along        (make contract)
    python tools/contract.py process              this one                           (make contract DRIVER=process)
    python tools/contract.py process-python       the same with the executor in Python
    python tools/contract.py path/to/driver.so    somebody's own             (make contract DRIVER=path/to/driver.so)
    python tools/contract.py toy                  the one that the guide writes, built first
    python tools/contract.py --record toy fake    these, and the guide's table is brought up to date with them

Below the table stands how far through the guide each driver carries. The exit status is 1 if a test has failed; what is
missing is no failure, and what needs a second device or the simulator's controls is not applicable without: n/a.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import toy_driver
from levels import FOR_TWO_DEVICES, GROUPS, LEVELS, OPTIONAL, Level

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "contract"
# What the last recorded run of each driver said, a file for each; and the table of them, which the guide shows.
RECORDED = ROOT / "tests" / "recorded" / "contract"
TABLE = ROOT / "tests" / "recorded" / "contract_table.md"
TABLE_OF_LEVELS = ROOT / "tests" / "recorded" / "contract_levels.md"
ORDER = ["sim", "process", "process-python", "toy", "fake"]

NO_SECOND = "there is no device 1"  # what tests say that need one


class Result(NamedTuple):
    """What the tests said about one driver."""

    name: str
    groups: dict[str, Counter[str]]
    entries: defaultdict[str, Counter[str]]  # of the tests that show an entry at work
    failures: dict[str, str]  # by test, the reason
    lacks: set[str]  # the entries that tests have missed
    has_two_devices: bool
    is_whole: bool  # whether all tests have run in the time that they were given

    def recorded(self) -> dict[str, Any]:
        """What is recorded of it."""
        level = level_of(self)
        groups = {
            group: {what: counts[what] for what in OUTCOMES.values() if counts[what]}
            for group, counts in self.groups.items()
        }
        return {"level": level.name if level else "", "steps": level.steps if level else "", "groups": groups}


OUTCOMES = {"passed": "pass", "n/a": "n/a", "skipped": "missing", "failed": "fail"}


def run(driver: str, extra: list[str], seconds: float | None = None) -> Result:
    """Runs the tests on a driver: a name or a path, or "toy".

    Args:
        driver: Which.
        extra: Options for pytest.
        seconds: After these the tests are stopped, with all processes that they have started; None for never.
    """
    name = Path(driver).name if "/" in driver else driver
    driver = str(toy_driver.build()) if driver == "toy" else driver
    if "/" in driver:
        check_is_driver(Path(driver))
    groups = {group: Counter[str]() for group in GROUPS}
    entries = defaultdict[str, Counter[str]](Counter)
    failures = {}
    reasons = set()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        files = [str(TESTS / f"test_{group}.py") for group in GROUPS]
        options = ["-q", "--no-header", "-p", "no:cacheprovider", f"--contract-report={report}", f"--driver={driver}"]
        tests = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *extra, *files],
            cwd=ROOT,
            env={**os.environ, "OPENREG_DRIVER": driver},  # a variant such as process-python is made of it there
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            printed, is_whole = tests.communicate(timeout=seconds)[0], True
        except BaseException as stop:  # an interrupt, too: else the tests would go on without us
            os.killpg(tests.pid, signal.SIGKILL)
            printed, is_whole = tests.communicate()[0], False
            if not isinstance(stop, subprocess.TimeoutExpired):
                raise
        if not report.exists():
            why = "the tests did not start" if is_whole else f"no test has ended within {seconds:g} s"
            sys.exit(f"contract: {why}\n{printed}")
        for line in report.read_text(encoding="utf-8").splitlines():
            test = json.loads(line)
            outcome = OUTCOMES[test["outcome"]]
            groups[test["group"]][outcome] += 1
            reasons.add(test["why"].removeprefix("Skipped: "))
            for entry in test["entries"]:
                entries[entry][outcome] += 1
            if outcome == "fail":
                failures[test["test"]] = test["why"]
    lacks = {entry for reason in reasons for entry in re.findall(r"not implemented: (or\w+)", reason)}
    return Result(name, groups, entries, failures, lacks, NO_SECOND not in reasons, is_whole)


def check_is_driver(path: Path) -> None:
    """Ends the program if a file is no driver: else each test would say so."""
    if not path.is_file():
        sys.exit(
            f"contract: there is no file {path}; expected a driver, a shared library with the function orGetDriver"
        )
    exported = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=False)
    if not re.search(r" T orGetDriver$", exported.stdout, re.MULTILINE):
        sys.exit(
            f"contract: {path} does not export orGetDriver; expected a driver, such as make driver begins. A project "
            "of make backend has its driver inside of its library: move the files into a driver alone"
        )


def cell(counts: Counter[str]) -> str:
    """What a group's tests said: "pass 97", or "pass 9  missing 12  fail 1"."""
    return "  ".join(f"{what} {counts[what]}" for what in OUTCOMES.values() if counts[what]) or "-"


def level_of(result: Result) -> Level | None:
    """The highest level that a driver serves with all below it: no test has missed one of its entries, and none fails.

    An entry that no test could see at work for want of something else, such as a kernel, counts as there.
    """
    reached = None
    for level in LEVELS:
        needed = [it for it in level.entries.split() if result.has_two_devices or it not in FOR_TWO_DEVICES]
        if any(f"or{it}" in result.lacks or result.entries[f"or{it}"]["fail"] for it in needed):
            break
        reached = level
    return reached


def table(results: list[Result]) -> str:
    """Driver × group, as text."""
    rows = [["group", *(result.name for result in results)]]
    rows += [[group, *(cell(result.groups[group]) for result in results)] for group in GROUPS]
    rows += [["all", *(cell(sum(result.groups.values(), Counter())) for result in results)]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def summary(results: list[Result]) -> str:
    """The table, how far each driver carries, and what has failed."""
    lines = [table(results), ""]
    for result in results:
        level = level_of(result)
        serves = f"serves the guide up to '{level.name}' (steps {level.steps})" if level else "serves no step yet"
        lines.append(f"{result.name}: {serves if result.is_whole else 'stopped before all tests had run'}")
    failures = [f"{it.name}: {test}\n      {why}" for it in results for test, why in it.failures.items()]
    return "\n".join([*lines, *(["", "failed:", *(f"  {failure}" for failure in failures)] if failures else [])])


def render(recorded: dict[str, dict[str, Any]]) -> str:
    """The guide's table, of what has been recorded."""
    names = sorted(recorded, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    lines = ["| | " + " | ".join(f"`{name}`" for name in names) + " |", "|---|" + "---|" * len(names)]
    for group in GROUPS:
        cells = [cell(Counter(recorded[name]["groups"].get(group, {}))).replace("  ", ", ") for name in names]
        lines.append(f"| {group} | {' | '.join(cells)} |")
    steps = [
        f"{recorded[name]['level']} ({recorded[name]['steps']})" if recorded[name]["level"] else "-" for name in names
    ]
    lines.append(f"| **serves up to (steps)** | {' | '.join(steps)} |")
    return "\n".join(lines) + "\n"


def render_levels() -> str:
    """The guide's table of the levels."""
    lines = ["| level | steps | entries it needs, besides those above |", "|---|---|---|"]
    two = dict.fromkeys(FOR_TWO_DEVICES, " (with two devices)")
    for level in LEVELS:
        entries = ", ".join(f"`or{entry}`{two.get(entry, '')}" for entry in level.entries.split())
        lines.append(f"| {level.name} | {level.steps} | {entries} |")
    for level in OPTIONAL:
        entries = ", ".join(f"`or{entry}`" for entry in level.entries.split())
        lines.append(f"| *optional:* {level.name} | {level.steps} | {entries} |")
    return "\n".join(lines) + "\n"


def read_recorded() -> dict[str, dict[str, Any]]:
    """What has been recorded, by driver."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in RECORDED.glob("*.json")}


def record(results: list[Result]) -> None:
    """Records what the tests said about these drivers, and makes the table anew."""
    RECORDED.mkdir(exist_ok=True)
    for result in results:
        text = json.dumps(result.recorded(), indent=2)
        (RECORDED / f"{result.name}.json").write_text(f"{text}\n", encoding="utf-8")
        transcript = f"$ make contract DRIVER={result.name}\n{summary([result])}\n"
        (RECORDED / f"{result.name}.txt").write_text(transcript, encoding="utf-8")
    TABLE.write_text(render(read_recorded()), encoding="utf-8")
    TABLE_OF_LEVELS.write_text(render_levels(), encoding="utf-8")


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drivers", nargs="*", default=[], help="names or paths; by default all that the library has")
    parser.add_argument("--pytest", default="", help="further options for pytest, such as '-n 2' or '-k malloc'")
    parser.add_argument(
        "--seconds", type=float, help="stop the tests of a driver after so long, and show what there is"
    )
    parser.add_argument("--record", action="store_true", help="bring the guide's table up to date")
    options = parser.parse_args()
    drivers = options.drivers or ["sim", "process", "process-python", "fake"]
    drivers = [str(Path(driver).resolve()) if "/" in driver else driver for driver in drivers]
    results = [run(driver, options.pytest.split(), options.seconds) for driver in drivers]
    print(summary(results))
    whole = all(result.is_whole for result in results)
    if options.record and not whole:
        sys.exit("contract: nothing is recorded of tests that were stopped")
    if options.record:
        record(results)
    sys.exit(0 if whole and not any(result.failures for result in results) else 1)


if __name__ == "__main__":
    main()
