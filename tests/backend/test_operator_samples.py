"""What openreg computes itself equals the CPU's results: PyTorch's own samples, forward and backward, in many types.

A few samples and one data type of each class; with ``--all-samples`` (make test-all) all samples and types.
"""

from __future__ import annotations

from collections import Counter

import pytest

from .expected import rows_of
from .workers import Result, RunEntriesFunction

EXPECTED = rows_of("operator_samples")
# Entries that test_opinfo.py expects to fail, in any data type.
OTHERS = rows_of("opinfo")
SECONDS_PER_ENTRY = 300

# One process of pytest-xdist: the tests share one run of all entries.
pytestmark = [pytest.mark.timeout(10_000), pytest.mark.xdist_group("operator_samples")]


@pytest.fixture(scope="module")
def everything(pytestconfig: pytest.Config) -> bool:
    """Whether all samples and data types are run."""
    return pytestconfig.getoption("--all-samples")


@pytest.fixture(scope="module")
def results(everything: bool, run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How each entry went, by name and data type."""
    return run_entries("operator_samples_worker.py", *(["--all"] if everything else []), limit=SECONDS_PER_ENTRY)


def test_every_entry_is_run_in_several_data_types(results, everything):
    assert len({name.split()[0] for name in results}) > 690
    assert len(results) > (5000 if everything else 2000)
    assert {result.outcome for result in results.values()} <= {
        *("equal", "fallback", "unusable", "different", "raises", "crash"),
    }


def test_enough_samples_are_equal(results):
    equal = sum(result.more.get("equal", 0) for result in results.values())
    types = Counter(name.split()[1] for name, result in results.items() if result.outcome == "equal")
    print(f"{equal} samples are equal; entries by type: {dict(types)}")
    assert equal > 2000  # views alone; raise it with the kernels


def test_what_openreg_computes_equals_the_cpu_or_is_listed_with_a_reason(results):
    wrong = {name: result for name, result in results.items() if failed(name, result) and name not in EXPECTED}
    assert wrong == {}, "mend these, or list them in operator_samples_expected.toml with a reason"


def test_every_listed_entry_goes_as_listed(results, everything):
    wrong = {}
    for name, entry in EXPECTED.items():
        result = results.get(name)
        if not everything and (result is None or "sample" in entry):
            continue  # a data type, or a sample, that only the whole run has
        if result is None or result.outcome != entry["outcome"] or entry["text"] not in result.detail:
            wrong[name] = result or "there is no such entry"
    assert wrong == {}, "operator_samples_expected.toml says otherwise; if they are equal now, take them out"


def test_every_listed_entry_has_an_outcome_a_text_and_a_reason():
    for name, entry in EXPECTED.items():
        assert set(entry) - {"sample"} == {"outcome", "text", "reason"}, name
        assert all(entry.values()), name


def failed(name: str, result: Result) -> bool:
    """Whether a native operator did not do what the CPU does."""
    return result.outcome in ("different", "raises", "crash") and name.split()[0] not in OTHERS
