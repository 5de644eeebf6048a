"""One sample of every operator that PyTorch itself tests, compiled: results and gradients of the device's eager mode.

Each entry compiles graphs of its own, so a tenth of them is run; with ``--all-samples`` (make test-all) all are.
"""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from .expected import release, rows_of
from .test_opinfo import ENTRIES
from .workers import Result, RunEntriesFunction

EXPECTED = rows_of("compile_samples")
OUTCOMES = {"equal", "nothing", "different", "raises", "unusable", "crash"}
SECONDS_PER_ENTRY = 300

# One process of pytest-xdist: the tests share one run of all entries.
pytestmark = [pytest.mark.kernels, pytest.mark.timeout(10_000), pytest.mark.xdist_group("compile_samples")]


@pytest.fixture(scope="module")
def everything(pytestconfig: pytest.Config) -> bool:
    """Whether all entries are run."""
    return pytestconfig.getoption("--all-samples")


@pytest.fixture(scope="module")
def results(everything: bool, run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How each entry went, by name."""
    arguments = ["--all"] if everything else []
    return run_entries("compile_samples_worker.py", *arguments, limit=SECONDS_PER_ENTRY)


def test_every_entry_is_run_or_every_tenth(results: dict[str, Result], everything: bool) -> None:
    entries = ENTRIES.get(release(torch.__version__), 702)
    assert len(results) >= (entries if everything else entries // 10)
    assert {result.outcome for result in results.values()} <= OUTCOMES


def test_of_a_hundred_operators_ninety_five_give_what_they_give_in_eager_mode(
    results: dict[str, Result], everything: bool
) -> None:
    outcomes = Counter(result.outcome for result in results.values())
    print(dict(outcomes))
    if everything:
        assert outcomes["equal"] >= 0.95 * len(results)
    assert len(EXPECTED) <= 0.05 * ENTRIES.get(release(torch.__version__), 702)  # all others are equal


def test_every_entry_that_is_not_equal_is_listed_with_its_reason(results: dict[str, Result]) -> None:
    unlisted = {name: result for name, result in results.items() if result.outcome != "equal" and name not in EXPECTED}
    assert unlisted == {}, "mend these, or list them in compile_samples_expected.toml with a reason"


def test_every_listed_entry_goes_as_listed(results: dict[str, Result], everything: bool) -> None:
    wrong = {}
    for name, entry in EXPECTED.items():
        result = results.get(name)
        if result is None and not everything:
            continue
        if result is None or result.outcome != entry["outcome"] or entry["text"] not in result.detail:
            wrong[name] = result or "there is no such entry"
    assert wrong == {}, "compile_samples_expected.toml says otherwise; if they are equal now, take them out"


def test_every_listed_entry_has_an_outcome_a_text_and_a_reason() -> None:
    for name, entry in EXPECTED.items():
        assert set(entry) == {"outcome", "text", "reason"}, name
        assert entry["outcome"] in OUTCOMES - {"equal"}, name
        assert all(entry.values()), name


def test_what_is_compiled_leaves_no_more_to_the_cpu_than_eager_mode(results: dict[str, Result]) -> None:
    more = {name: result.more["fallbacks"] for name, result in results.items() if result.more.get("fallbacks")}
    assert more == {}
