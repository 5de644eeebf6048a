"""Tests by their outcomes. What fails is run once more, the tests of a file in a process of their own.

Beside others a test may fail for want of memory, or because a fault of another test has taken the GPU from its process.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .limited import json_lines, run
from .result import Asked

AGAIN = 300  # tests at most; where more fail, it is not for their neighbours
AGAIN_SECONDS = 20  # that must be left for it
PLUGIN = Path(__file__).with_name("plugin")  # alone in its folder: who finds it there finds nothing else


class Outcome(NamedTuple):
    """How a test went: passed, failed, skipped or n/a; and why."""

    how: str
    why: str


@dataclass
class Outcomes:
    """How the tests went."""

    tests: dict[str, Outcome] = field(default_factory=dict)
    collected: int = 0
    again: list[str] = field(default_factory=list)  # those that passed only then
    is_whole: bool = True  # whether all tests have run in their time
    last_words: str = ""

    def those(self, how: str) -> dict[str, str]:
        """The tests that went so, and why."""
        return {test: it.why for test, it in self.tests.items() if it.how == how}


def name_of(test: str) -> str:
    """A test's name, without the group of tests that pytest-xdist puts behind it."""
    return re.sub(r"@[\w-]+$", "", test)


def read(lines: Iterable[dict[str, Any]]) -> tuple[dict[str, Outcome], int]:
    """Reads a report: the tests, and how many were collected."""
    tests: dict[str, Outcome] = {}
    collected = 0
    for line in lines:
        if "collected" in line:
            collected = max(collected, line["collected"])
        elif tests.get(test := name_of(line["test"]), Outcome("passed", "")).how != "failed":
            tests[test] = Outcome(line["outcome"], line["why"])
    return tests, collected


def pytest_command() -> list[str]:
    """What starts pytest with the plug-in that reports."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "openreg_gpu_report"]


def reported_to(report: Path, seconds: float) -> dict[str, str]:
    """What the plug-in finds in the environment, and the environment that finds it.

    Args:
        report: Its file.
        seconds: That all tests have. One of them gets a part of it at most.
    """
    found = os.pathsep.join(filter(None, [str(PLUGIN), os.environ.get("PYTHONPATH")]))
    return {"OPENREG_GPU_REPORT": str(report), "OPENREG_GPU_LONGEST": str(seconds / 3), "PYTHONPATH": found}


def once(arguments: list[str], seconds: float, env: dict[str, str], asked: Asked) -> Outcomes:
    """Runs pytest.

    Args:
        arguments: Files or tests, and options.
        seconds: After these it is stopped, and what has run by then counts.
        env: What chooses the driver.
        asked: Further options.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        ended = run([*pytest_command(), *asked.pytest, *arguments], seconds, **env, **reported_to(report, seconds))
        text = report.read_text(encoding="utf-8") if report.exists() else ""
    tests, collected = read(json_lines(text))
    return Outcomes(tests, collected, is_whole=ended.status is not None, last_words=ended.last_words)


def with_workers(arguments: list[str], workers: int) -> list[str]:
    """The same arguments for several processes. One in which a test hangs in a library ends, and another takes over."""
    several = ["-n", str(workers), "--dist", "loadgroup", "--timeout-method=thread"]
    return [*arguments, *several] if workers > 1 else arguments


def twice(
    arguments: list[str], env: dict[str, str], asked: Asked, mend: Callable[[Outcomes], None] = lambda _: None
) -> Outcomes:
    """Runs pytest, and what has failed once more.

    Args:
        arguments: Files and options.
        env: What chooses the driver.
        asked: How long it may take, and with how many processes.
        mend: Called before it is asked what has failed.
    """
    found = once(with_workers(arguments, asked.workers), asked.left, env, asked)
    mend(found)
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in found.those("failed"):
        by_file[test.partition("::")[0]].append(test)
    failed = sum(map(len, by_file.values()))
    if 0 < failed <= AGAIN and asked.left > AGAIN_SECONDS:
        options = [it for it in arguments if it.startswith("--")]
        with ThreadPoolExecutor(asked.workers) as pool:
            runs = pool.map(lambda tests: once([*options, *tests], asked.left, env, asked), by_file.values())
            for run_again in runs:
                for test in run_again.those("passed"):
                    if found.tests.get(test, Outcome("passed", "")).how == "failed":
                        found.tests[test] = Outcome("passed", "")
                        found.again.append(test)
    return found
