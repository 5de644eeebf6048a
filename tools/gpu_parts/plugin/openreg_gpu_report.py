"""A plug-in of pytest: how each test went, a line of JSON each, as soon as it is known.

OPENREG_GPU_REPORT is the file. A test whose process has died has failed, and so has one before or behind which
something failed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

LONGEST = 300  # characters of what is said about a test


def why(report: pytest.TestReport) -> str:
    """What a test was skipped for, or the first line of what it failed with."""
    if report.skipped:
        return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr or "")
    # Of a program in a process of its own the first line says that it ended, and the last one with a word why.
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    ours = next((line for line in reversed(lines) if "Error: " in line or "NotOfThisDriver: " in line), "")
    return " · ".join(dict.fromkeys(line.strip() for line in (lines[0], ours) if line))[:LONGEST]


class Report:
    """What pytest calls."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _write(self, **line: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a test; one that fails in several places keeps its first reason."""
        if report.when == "call" or report.outcome != "passed":
            text = why(report) if report.outcome != "passed" else ""
            self._write(test=report.nodeid, outcome=report.outcome, why=text)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Notes how many tests there are."""
        if session.items:
            self._write(collected=len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """The same where other processes have collected them."""
        self._write(collected=len(ids))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs quick tests first, and gives none more than OPENREG_GPU_LONGEST seconds: the time for all is limited."""
    longest = float(os.environ["OPENREG_GPU_LONGEST"])
    seconds: dict[pytest.Item, float] = {}
    for item in items:
        marker = item.get_closest_marker("timeout")
        seconds[item] = float(marker.args[0]) if marker and marker.args else 0.0
        if seconds[item] > longest:
            item.add_marker(pytest.mark.timeout(longest), append=False)
    items.sort(key=seconds.__getitem__)


def pytest_configure(config: pytest.Config) -> None:
    """Starts it, in the process that hears of all tests."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report(Path(os.environ["OPENREG_GPU_REPORT"])), "openreg-gpu-report")
