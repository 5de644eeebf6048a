"""Processes that run many small entries, one at a time, and may die of one without taking the tests along.

How the entries of a program went is remembered as long as the package under test and the program's files are the same,
and only if the tests were content with it: a run that failed is run again. `make test-all` remembers nothing.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
import torch
import torch_openreg

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tools"))
from remembered import processor, remember, shared_by_tests, stamp  # noqa: E402

WORKERS = 2
SECONDS_PER_ENTRY = 60
SECONDS_TO_START = 180


class Result(NamedTuple):
    """How an entry went; what else there is to say about it is of the program's own form."""

    outcome: str
    detail: str
    more: dict[str, Any] = {}


class Worker:
    """A process that runs entries, one at a time, and is replaced when an entry kills it.

    It writes one line of JSON with the names of all its entries, then for each name that it reads a Result's fields.

    Args:
        command: The Python program to run, and its arguments.
        log: File for what it prints to stderr.
        limit: Seconds that an entry may take.
    """

    def __init__(self, command: list[str | Path], log: Path, limit: float = SECONDS_PER_ENTRY) -> None:
        self._command = command
        self._log = log
        self._limit = limit
        self.names: list[str] = self._start()

    def _start(self) -> list[str]:
        with self._log.open("wb") as log:
            command = [sys.executable, *map(str, self._command)]
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


class RunEntriesFunction(Protocol):
    """Type of the fixture `run_entries`."""

    def __call__(
        self,
        program: str,
        *arguments: str,
        limit: float = SECONDS_PER_ENTRY,
        choose: Callable[[list[str]], list[str]] = lambda names: names,
    ) -> dict[str, Result]:
        """Runs the entries of a program of this folder, each for at most `limit` seconds."""


def what_entries_depend_on() -> set[Path]:
    """The package under test with its libraries, what tests share, and of the lists the one that chooses entries."""
    package = Path(torch_openreg.__file__).resolve().parent
    built = {it for it in package.rglob("*") if it.is_file() and "__pycache__" not in it.parts}
    shared = shared_by_tests("tests/backend", "tests/contract")
    return built | {it for it in shared if not it.match("*_expected.toml")} | {HERE / "opinfo_expected.toml"}


@contextmanager
def entries_remembered(folders: pytest.TempPathFactory, content: Callable[[], bool]) -> Iterator[RunEntriesFunction]:
    """Gives a function that runs entries; at the end, remembers what is new if the tests were content with it."""
    new: dict[Path, dict[str, Result]] = {}

    def run(
        program: str,
        *arguments: str,
        limit: float = SECONDS_PER_ENTRY,
        choose: Callable[[list[str]], list[str]] = lambda names: names,
    ) -> dict[str, Result]:
        ours = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("OPENREG_")]
        words = [program, *arguments, sys.version, torch.__version__, processor(), *ours]
        known = stamp("entries", words, what_entries_depend_on())
        if known.is_file() and "--all" not in arguments:
            return {name: Result(*it) for name, it in json.loads(known.read_text(encoding="utf-8")).items()}
        folder = folders.mktemp(Path(program).stem)
        results = run_all(lambda number: Worker([HERE / program, *arguments], folder / f"{number}.txt", limit), choose)
        new[known] = results
        return results

    yield run
    if content():
        for known, results in new.items():
            remember(known, json.dumps(results))
