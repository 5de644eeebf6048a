"""Wrong calls of operators raise what the CPU raises: at the call, or late where only the device's data is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from .expected import rows_of
from .workers import Result, RunEntriesFunction

EXPECTED = rows_of("operator_errors")

# One process of pytest-xdist: the tests share one run of all entries.
pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("operator_errors")]


@pytest.fixture(scope="module")
def cases(run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How each wrong call went, by entry and number; an entry that could not be run is a case."""
    entries = run_entries("operator_errors_worker.py")
    found = {name: entry for name, entry in entries.items() if entry.outcome != "run"}
    for name, entry in entries.items():
        found |= {f"{name} {number}": Result(*case) for number, case in entry.more.items()}
    return found


def test_all_wrong_calls_are_made(cases):
    assert len(cases) >= 670
    assert {case.outcome for case in cases.values()} <= {"same", "late", "different", "crash"}


def test_each_wrong_call_raises_what_the_cpu_raises_or_is_listed_with_a_reason(cases):
    wrong = {name: case for name, case in cases.items() if refused(case) and name not in EXPECTED}
    assert wrong == {}, "mend these, or list them in operator_errors_expected.toml with a reason"


def test_every_listed_call_goes_as_listed(cases):
    wrong = {}
    for name, entry in EXPECTED.items():
        case = cases.get(name)
        if case is None or case.outcome != entry["outcome"] or entry["text"] not in case.detail:
            wrong[name] = case or "there is no such call"
    assert wrong == {}, "operator_errors_expected.toml says otherwise; if they go as on the CPU now, take them out"


def test_every_listed_call_has_an_outcome_a_text_and_a_reason():
    for name, entry in EXPECTED.items():
        assert set(entry) == {"outcome", "text", "reason"}, name
        assert all(entry.values()), name


def test_most_problems_show_at_the_call(cases):
    outcomes = Counter(case.outcome for case in cases.values())
    assert outcomes["same"] > 20 * outcomes["late"]


def refused(case: Result) -> bool:
    """Whether a call went in a way that is not granted: late is, unless metadata had shown the problem."""
    return case.outcome in ("different", "crash") or (case.outcome == "late" and bool(case.detail))
