"""Openreg's own operators on a device that is not the current one, and with one argument of another data type."""

from __future__ import annotations

from collections import Counter

import pytest

from .expected import rows_of
from .workers import Result, RunEntriesFunction

EXPECTED = rows_of("native_calls")
SECONDS_PER_ENTRY = 300
# How a call may go: as the CPU's, in numbers or in that it raises. One that the CPU refuses may compute what comes of a
# conversion, as operators do whose kernels load each operand in its own type.
GRANTED = ("equal", "refused", "converts", "unknown")

# One process of pytest-xdist: the tests share one run of all entries.
pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("native_calls")]


@pytest.fixture(scope="module")
def cases(run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How each call went, by operator and arguments, and by what was changed."""
    entries = run_entries("native_calls_worker.py", limit=SECONDS_PER_ENTRY)
    assert {name: entry for name, entry in entries.items() if entry.outcome != "run"} == {}
    return {name: Result(*case) for entry in entries.values() for name, case in entry.more.items()}


def reasons(name: str, case: Result) -> list[str]:
    """The entries of the list that a case falls under."""
    return [
        key
        for key, entry in EXPECTED.items()
        if name.split()[0] in entry["operators"] and entry["outcome"] == case.outcome and entry["text"] in case.detail
    ]


def test_most_native_operators_are_called(cases):
    operators = {name.split()[0] for name in cases}
    outcomes = Counter(case.outcome for case in cases.values())
    print(f"{len(operators)} operators: {dict(outcomes)}")
    assert len(operators) > 700
    assert outcomes["equal"] > 3000
    assert outcomes["refused"] > 2000


def test_a_call_goes_as_on_the_cpu_or_is_listed_with_a_reason(cases):
    wrong = {name: case for name, case in cases.items() if case.outcome not in GRANTED and not reasons(name, case)}
    assert wrong == {}, "mend these, or list them in native_calls_expected.toml with a reason"


def test_what_is_listed_still_goes_as_listed(cases):
    seen = {(key, name.split()[0]) for name, case in cases.items() for key in reasons(name, case)}
    always = {key: entry for key, entry in EXPECTED.items() if not entry.get("sometimes")}
    every = {(key, operator) for key, entry in always.items() for operator in entry["operators"]}
    assert every - seen == set(), "these go as on the CPU now: take them out of the list"


def test_every_entry_of_the_list_has_operators_an_outcome_a_text_and_a_reason():
    for name, entry in EXPECTED.items():
        assert entry.keys() - {"sometimes"} == {"operators", "outcome", "text", "reason"}, name
        assert all(entry.values()), name
