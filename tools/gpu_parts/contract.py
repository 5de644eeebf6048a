"""The contract's tests, on two devices."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from gpu_figures import Reason, grouped
from levels import GROUPS

from .limited import json_lines
from .machine import library
from .outcomes import Outcome, Outcomes, name_of, twice
from .result import Asked, Result


def run(env: dict[str, str], asked: Asked, explained: list[Reason]) -> Result:
    """Runs them; the bar is all that is not the simulator's own."""
    del explained  # the tests themselves say what is not asked of a driver
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "contract"
        files = [f"tests/contract/test_{group}.py" for group in GROUPS]

        def mend(found: Outcomes) -> None:
            add_not_applicable(found, report.read_text(encoding="utf-8") if report.exists() else "")

        options = ["--driver=cuda", f"--contract-report={report}"]
        return summary(twice([*options, *files], with_library(env), asked, mend))


def with_library(env: dict[str, str]) -> dict[str, str]:
    """The environment with the library that is there already: else pytest would build one in the time that is ours."""
    return {**env, "OPENREG_LIBRARY": str(library())}


def add_not_applicable(found: Outcomes, report: str) -> None:
    """Adds what only the contract's own report knows: which tests say nothing of this driver."""
    for line in json_lines(report):
        if line["outcome"] in ("n/a", "skipped") and (test := name_of(line["test"])) in found.tests:
            found.tests[test] = Outcome(line["outcome"], line["why"])


def summary(found: Outcomes) -> Result:
    """The figures."""
    result = Result()
    passed, missing, failed = (found.those(how) for how in ("passed", "skipped", "failed"))
    asked = len(passed) + len(missing) + len(failed)
    if not asked:
        result.said.append(f"no test has run: {found.last_words}")
        return result
    share = 100 * len(passed) / asked
    result.figure("tests that pass, of those that are not the simulator's own", share, "%", least=100)
    result.figure("fail", len(failed), note=by_group(failed), most=0)
    result.figure("missing", len(missing), note=by_group(missing), most=0)
    result.figure("pass", len(passed))
    result.figure("the simulator's own, or for other drivers", len(found.those("n/a")))
    result.misses = grouped([*failed.items(), *missing.items()])
    result.said = sentences(found)
    return result


def by_group(tests: dict[str, str]) -> str | None:
    """How many tests of each group."""
    groups = Counter(test.partition("::")[0].rpartition("test_")[2].removesuffix(".py") for test in tests)
    return ", ".join(f"{group} {count}" for group, count in groups.most_common()) or None


def sentences(found: Outcomes) -> list[str]:
    """What there is to say about the run itself."""
    said = []
    if not found.is_whole:
        said.append(f"stopped when its time was over: {len(found.tests)} of {found.collected} tests had run")
    elif len(found.tests) < found.collected:
        said.append(f"{len(found.tests)} of {found.collected} tests have run; pytest ended before the others")
    if found.again:
        said.append(f"passed only when run once more, away from others: {', '.join(found.again)}")
    return said
