"""The tests of the PyTorch side, on two devices, measured by what runs on the simulator."""

from __future__ import annotations

import json
from pathlib import Path

from gpu_figures import UNEXPLAINED, Reason, by_reason, grouped, reason_of

from .contract import sentences
from .limited import ROOT
from .outcomes import Outcomes, twice
from .result import Asked, Result

# What `make gpu PART=sim` has found on the simulator: the tests that did not pass there.
ON_SIM = ROOT / "build" / "gpu" / "not_on_sim.json"
# They start drivers of their own, whichever one is chosen, or ask none.
OF_OTHERS = (
    "autoload",
    "cuda_kernels",
    "device_fallback",
    "digits",
    "doctor_foreign",
    "minimal_set",
    "missing_entries",
)
OF_OTHERS += ("reset", "stress")


def arguments() -> list[str]:
    """Files and options."""
    ignored = [f"--ignore=tests/backend/test_{name}.py" for name in OF_OTHERS]
    return [*ignored, "--timeout=120", "-m", "not sanitizer", "tests/backend"]


def run(env: dict[str, str], asked: Asked, explained: list[Reason]) -> Result:
    """Runs them; the bar is 99 % of what runs on the simulator, and a reason for each other test."""
    return summary(twice(arguments(), env, asked), explained, not_on_sim(ON_SIM))


def run_on_sim(asked: Asked) -> str:
    """Runs the same tests on the simulator, which needs no GPU, and notes what does not pass there."""
    found = twice(arguments(), {"OPENREG_DRIVER": "sim"}, asked)
    others = {**found.those("skipped"), **found.those("failed")}
    if not found.is_whole or not found.tests:
        return f"nothing is noted: {len(found.tests)} of {found.collected} tests had run\n{found.last_words}"
    ON_SIM.parent.mkdir(parents=True, exist_ok=True)
    ON_SIM.write_text(json.dumps(others, indent=1) + "\n", encoding="utf-8")
    return f"{len(found.those('passed'))} tests pass on the simulator, {len(others)} do not: {ON_SIM.relative_to(ROOT)}"


def not_on_sim(path: Path) -> set[str] | None:
    """The tests that do not pass on the simulator; None if nobody has looked."""
    return set(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def summary(found: Outcomes, explained: list[Reason], not_there: set[str] | None) -> Result:
    """The rate: of the tests that pass on the simulator, and are not about it, how many pass here.

    Args:
        found: How the tests went.
        explained: Reasons. A test whose reason says that it is not asked of a GPU counts neither way.
        not_there: What does not pass on the simulator; None if that is not known. Then all tests count as passing
            there, which `make test` wants of them.
    """
    result = Result()
    if not found.tests:
        result.said.append(f"no test has run: {found.last_words}")
        return result
    others = [*found.those("failed").items(), *found.those("skipped").items()]
    misses, about_others = [], 0
    for miss in grouped(it for it in others if it[0] not in (not_there or ())):
        reason = reason_of(miss, explained)
        if reason is not None and reason.not_asked:
            about_others += miss.count
        else:
            misses.append(miss)
    passed, missed = len(found.those("passed")), sum(miss.count for miss in misses)
    share = 100 * passed / max(passed + missed, 1)
    result.figure("tests that pass, of those that run on the simulator and are not about it", share, "%", least=99)
    result.figure("pass", passed)
    result.figure("do not pass", missed)
    result.figure("of these, without a reason", by_reason(misses, explained)[UNEXPLAINED], most=0)
    result.figure("about the simulator, or another driver", about_others)
    result.misses = misses
    result.said = sentences(found)
    if not_there is None:
        result.said.append("taken for granted that each test runs on the simulator: make gpu PART=sim finds out")
    return result
