"""One sample of every operator that PyTorch itself tests, forward and backward, on openreg and on the CPU."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
EXPECTED = tomllib.loads((HERE / "opinfo_expected.toml").read_text())
OUTCOMES = {"equal", "different", "raises", "unusable", "crash"}
WORKERS = 2
SECONDS_PER_ENTRY = 60
SECONDS_TO_START = 180

pytestmark = pytest.mark.timeout(600)


class Result(NamedTuple):
    """How an entry went."""

    outcome: str
    detail: str


class Worker:
    """A process that runs entries, one at a time, and is replaced when an entry kills it.

    Args:
        program: The program to run, with the protocol of opinfo_worker.py.
        log: File for what it prints to stderr.
        limit: Seconds that an entry may take.
    """

    def __init__(self, program: Path, log: Path, limit: float = SECONDS_PER_ENTRY) -> None:
        self._program = program
        self._log = log
        self._limit = limit
        self.names: list[str] = self._start()

    def _start(self) -> list[str]:
        with self._log.open("wb") as log:
            command = [sys.executable, str(self._program)]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        line = self._read(SECONDS_TO_START)
        assert line, f"the worker did not start:\n{self._log.read_text()}"
        return json.loads(line)

    def _read(self, seconds: float) -> bytes:
        """A line of answer; nothing if the process died. One that takes too long is killed, and so dies."""
        assert self._process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                self._process.kill()
        return self._process.stdout.readline()

    def run(self, name: str) -> Result:
        """Runs one entry."""
        assert self._process.stdin
        self._process.stdin.write(f"{name}\n".encode())
        self._process.stdin.flush()
        line = self._read(self._limit)
        if line:
            return Result(**json.loads(line))
        status = self._process.wait()
        said = " ".join(self._log.read_text(errors="replace").split())[-300:]
        self.stop()
        self._start()
        return Result("crash", f"status {status}: {said}")

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


def run_all(
    start: Callable[[int], Worker], choose: Callable[[list[str]], list[str]] = lambda names: names
) -> dict[str, Result]:
    """Runs entries in several processes, each taking the next entry when it is done with one."""
    results: dict[str, Result] = {}
    rest: list[str] | None = None
    lock = threading.Lock()

    def serve(number: int) -> None:
        nonlocal rest
        worker = start(number)
        with lock:
            if rest is None:
                rest = choose(worker.names)[::-1]
        try:
            while True:
                with lock:
                    if not rest:
                        return
                    name = rest.pop()
                results[name] = worker.run(name)
        finally:
            worker.stop()

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(serve, range(WORKERS)))
    return results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """Every entry's result."""
    folder = tmp_path_factory.mktemp("opinfo")
    return run_all(lambda number: Worker(HERE / "opinfo_worker.py", folder / f"{number}.txt"))


def test_every_entry_is_run(results: dict[str, Result]) -> None:
    assert len(results) == 702  # of torch 2.13.0
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
    results = run_all(lambda number: Worker(program, tmp_path / f"{number}.txt", limit=1.0))
    assert results["good"] == results["last"] == Result("equal", "")
    assert results["dies"].outcome == "crash"
    assert results["dies"].detail == "status -6: a last word"
    assert results["hangs"] == Result("crash", "status -9: ")
