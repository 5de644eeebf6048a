"""One sample of every operator that PyTorch itself tests, forward and backward, on openreg and on the CPU."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch

from .expected import release, rows_of
from .workers import WORKERS, Result, RunEntriesFunction, Worker, entries_remembered, run_all

EXPECTED = rows_of("opinfo")
ENTRIES = {(2, 13): 702, (2, 14): 703}  # by release; more are to come
OUTCOMES = {"equal", "different", "raises", "unusable", "crash"}

# One process of pytest-xdist: the tests share one run of all entries.
pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("opinfo")]


@pytest.fixture(scope="module")
def results(run_entries: RunEntriesFunction) -> dict[str, Result]:
    """Every entry's result."""
    return run_entries("opinfo_worker.py")


def test_every_entry_is_run(results: dict[str, Result]) -> None:
    assert len(results) == ENTRIES.get(release(torch.__version__), len(results)) >= 702
    assert {result.outcome for result in results.values()} <= OUTCOMES


def test_no_entry_kills_its_process(results: dict[str, Result]) -> None:
    assert {name: result.detail for name, result in results.items() if result.outcome == "crash"} == {}


def test_enough_entries_are_equal(results: dict[str, Result]) -> None:
    assert Counter(result.outcome for result in results.values())["equal"] >= 690


def test_every_entry_that_is_not_equal_is_listed_with_its_reason(results: dict[str, Result]) -> None:
    unlisted = {name: result for name, result in results.items() if result.outcome != "equal" and name not in EXPECTED}
    assert unlisted == {}, "list these in opinfo_expected.toml with a reason, or mend them"


def test_every_listed_entry_goes_as_listed(results: dict[str, Result]) -> None:
    wrong = {}
    for name, entry in EXPECTED.items():
        result = results.get(name)
        if result is None or result.outcome != entry["outcome"] or entry["text"] not in result.detail:
            wrong[name] = result or "there is no such entry"
    assert wrong == {}, "opinfo_expected.toml says otherwise; if they are equal now, take them out"


def test_every_listed_entry_has_an_outcome_a_text_and_a_reason() -> None:
    for name, entry in EXPECTED.items():
        assert set(entry) == {"outcome", "text", "reason"}, name
        assert entry["outcome"] in OUTCOMES - {"equal"}, name
        assert all(entry.values()), name


# A stand-in for opinfo_worker.py with entries that die, hang and answer.
STAND_IN = """
import json, os, sys, time
print(json.dumps(["good", "dies", "hangs", "last"]), flush=True)
for line in sys.stdin:
    if line.strip() == "dies":
        print("a last word", file=sys.stderr, flush=True)
        os.abort()
    if line.strip() == "hangs":
        time.sleep(1000)
    print(json.dumps({"outcome": "equal", "detail": ""}), flush=True)
"""


def test_an_entry_that_dies_or_hangs_is_named_and_the_others_are_run(tmp_path: Path) -> None:
    program = tmp_path / "stand_in.py"
    program.write_text(STAND_IN)
    results = run_all(lambda number: Worker([program], tmp_path / f"{number}.txt", limit=1.0))
    assert results["good"] == results["last"] == Result("equal", "")
    assert results["dies"].outcome == "crash"
    assert results["dies"].detail == "status -6: a last word"
    assert results["hangs"] == Result("crash", "status -9: ")


def test_how_entries_went_is_remembered_only_if_the_tests_were_content(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remembered.CACHE", tmp_path / "cache")
    runs, program = tmp_path / "runs", tmp_path / "stand_in.py"
    program.write_text(
        "import json, sys\n"
        f"open({str(runs)!r}, 'a').write('x')\n"
        "print(json.dumps(['one']), flush=True)\n"
        "for line in sys.stdin: print(json.dumps({'outcome': 'equal', 'detail': '', 'more': {'a': 1}}), flush=True)\n"
    )
    counts = []
    for content, arguments in [(False, []), (True, []), (True, []), (True, ["--all"])]:
        runs.write_text("")
        with entries_remembered(tmp_path_factory, lambda content=content: content) as run:
            assert run(str(program), *arguments) == {"one": Result("equal", "", {"a": 1})}
        counts.append(len(runs.read_text()))
    assert counts == [WORKERS, WORKERS, 0, WORKERS]
