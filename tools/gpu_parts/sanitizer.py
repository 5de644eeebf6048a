"""The contract's tests of kernels and copies under compute-sanitizer, if the tool is there."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from gpu_figures import Reason

from .contract import with_library
from .limited import json_lines
from .limited import run as run_program
from .outcomes import pytest_command, read, reported_to
from .result import Asked, Result

FILES = ["tests/contract/test_kernel.py", "tests/contract/test_copy.py"]
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error")
REPORT = re.compile(r"^=+ +((?:Invalid|Misaligned|Race|Uninitialized|Barrier|Leaked|Address) .*)", re.MULTILINE)


def tool() -> str | None:
    """The tool: of the PATH, or of a toolkit that lies where NVIDIA puts it."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "compute-sanitizer"
    return shutil.which("compute-sanitizer") or (str(toolkit) if toolkit.exists() else None)


def run(env: dict[str, str], asked: Asked, explained: list[Reason]) -> Result:
    """Runs them in one process, whose kernels and copies are watched. The bar is no report."""
    del explained
    result = Result()
    found = tool()
    if found is None:
        result.said.append("compute-sanitizer is not there: it comes with NVIDIA's toolkit")
        return result
    with tempfile.TemporaryDirectory() as folder:
        log, report = Path(folder) / "log", Path(folder) / "report"
        # Errors that the driver's functions return are the tests' own matter: some of them ask for such.
        watched = [found, "--tool", "memcheck", "--report-api-errors", "no", "--log-file", log]
        tests = [*pytest_command(), "--driver=cuda", "--timeout=600", *asked.pytest, *FILES]
        ended = run_program([*watched, *tests], asked.left, **with_library(env), **reported_to(report, asked.seconds))
        said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        outcomes, collected = read(json_lines(report.read_text(encoding="utf-8") if report.exists() else ""))
    passed = sum(it.how == "passed" for it in outcomes.values())
    result.figure("tests that have passed under it", passed, beside=collected or None)
    if ended.status is None:
        result.said.append(f"stopped when its time was over: {len(outcomes)} of {collected} tests had run")
    add_reports(result, said, ended.last_words)
    return result


def add_reports(result: Result, log: str, last_words: str) -> None:
    """Adds how much the tool has reported: by its summary, or by its reports where it was stopped before that."""
    reports = REPORT.findall(log)
    summary = SUMMARY.search(log)
    if summary is None and not reports and "=====" not in log:
        result.said.append(f"the tool has written nothing: {last_words[-300:]}")
        return
    result.figure("reports", int(summary[1]) if summary else len(reports), most=0, note=", ".join(sorted(set(reports))))
