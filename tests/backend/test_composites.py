"""What the operators without a kernel of their own are made of, recorded for the guide's coverage page."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

from .expected import rows_of
from .workers import Result, RunEntriesFunction

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parent / "recorded" / "composites.json"
RECORD = os.environ.get("OPENREG_RECORD") == "1"

# One process of pytest-xdist: the tests share one run of all entries.
pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("composites")]


@pytest.fixture(scope="module")
def results(run_entries: RunEntriesFunction) -> dict[str, Result]:
    """What each entry recorded."""
    return run_entries("composites_worker.py")


@pytest.fixture(scope="module")
def seen(results: dict[str, Result]) -> dict[str, list[str]]:
    """All composite operators that ran, each with the operators that it ends in, in alphabetical order."""
    union: dict[str, set[str]] = {}
    for result in results.values():
        for operator, kernels in result.more.items():
            union.setdefault(operator, set()).update(kernels)
    return {operator: sorted(union[operator]) for operator in sorted(union)}


def test_every_entry_runs(results):
    assert {name: result.detail for name, result in results.items() if result.outcome != "recorded"} == {}


def test_the_recorded_composites_are_what_runs_show(seen):
    if RECORD:
        RECORDED.write_text(json.dumps(seen, indent=1) + "\n")
    recorded = json.loads(RECORDED.read_text())
    changed = {name: seen.get(name) for name in seen.keys() | recorded.keys() if seen.get(name) != recorded.get(name)}
    expected = {name for row in rows_of("composites").values() for name in row["operators"]}
    unexpected = {name: kernels for name, kernels in changed.items() if name not in expected}
    assert unexpected == {}, "record anew: OPENREG_RECORD=1 pytest tests/backend/test_composites.py"
    assert expected <= changed.keys(), "take what has not changed out of composites_expected.toml"
    assert list(recorded) == sorted(recorded)


def test_composites_end_in_kernels_and_are_none_themselves(seen):
    coverage = torch.openreg.operator_coverage()
    assert {coverage[name] for name in seen} == {"composite"}
    assert {coverage[kernel] for kernels in seen.values() for kernel in kernels} <= {"native", "fallback"}


def test_an_overload_that_calls_another_of_the_same_name_is_seen(seen):
    # In the profiler's own list of events it is not.
    assert any("var.correction" in kernel or "var_mean" in kernel for kernel in seen["aten::var.dim"])
