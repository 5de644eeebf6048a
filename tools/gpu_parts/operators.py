"""Operators and training steps on openreg and on PyTorch's own device cuda, in turns.

In one process where PyTorch is a CUDA build; else cuda is that of another Python's PyTorch, if one is named.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from gpu_figures import Reason

from .limited import ROOT
from .result import Asked, Result

PROGRAM = Path(__file__).with_name("operators_program.py")
ROUNDS = 7
TO_START, LONGEST_ROW = 120.0, 60.0  # seconds
# How many times cuda's time each kind of row may take: 0.9 and 0.8 of the speed, and 1.2 of the time.
BARS = {"memory": 1 / 0.9, "other": 1 / 0.8, "launch": 1.2, "step": 1.2}


class Dead(Exception):
    """A process that measures did not answer in its time, or ended."""


class Measuring:
    """A process that measures rows on the devices that it has. It ends with the context."""

    def __init__(self, python: str, env: dict[str, str]) -> None:
        """Starts it; raises Dead if it does not come up."""
        self._process = subprocess.Popen(
            [python, str(PROGRAM)],
            cwd=ROOT,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            hello = self._read(TO_START)
        except Dead:
            self.end()
            raise
        self.torch: str = hello["torch"]
        self.devices: list[str] = hello["devices"]
        self.rows: dict[str, str] = hello["rows"]  # each row's kind

    def _read(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(max(seconds, 0.1)):
                raise Dead(f"it did not answer within {seconds:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise Dead(f"it ended with status {self._process.wait()}")
        return json.loads(line)

    def ask(self, seconds: float, **what: str) -> dict[str, Any]:
        """Asks for one thing and returns the answer.

        Raises:
            Dead: If there is none in that time.
        """
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Dead("it has ended") from error
        return self._read(seconds)

    def end(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


class Side(NamedTuple):
    """A device, and the process that measures on it."""

    process: Measuring
    device: str


class Compared(NamedTuple):
    """Seconds of a call on each side, what the CPU had to serve there, or why there are none."""

    seconds: list[float]
    served: dict[str, int]
    why: str = ""


def compare(row: str, sides: list[Side], seconds: float, rounds: int = ROUNDS) -> Compared:
    """Measures a row on all sides in turns, so that they meet the same machine; the medians of the rounds.

    The first answer of each side, which makes the operands and compiles the kernel, does not count.
    """
    end = time.monotonic() + seconds
    taken: list[list[float]] = [[] for _ in sides]
    served: dict[str, int] = {}
    for turn in range(rounds + 1):
        for side, times in zip(sides, taken, strict=True):
            answer = side.process.ask(end - time.monotonic(), row=row, device=side.device)
            if "error" in answer:
                return Compared([], {}, f"on {side.device}: {answer['error']}")
            served |= answer["served"]
            if turn:
                times.append(answer["seconds"])
    return Compared([median(times) for times in taken], served)


def sides(env: dict[str, str], asked: Asked, started: list[Measuring]) -> tuple[list[Side], str]:
    """Starts what measures: openreg and cuda, and a sentence about the two; no sides where there are not both.

    Args:
        env: What chooses the driver.
        asked: Another Python, too.
        started: Gets the processes, for the caller to end.
    """
    ours = Measuring(sys.executable, env)
    started.append(ours)
    if "openreg" not in ours.devices:
        return [], "our own process has no device openreg"
    if "cuda" in ours.devices:
        return [Side(ours, "openreg"), Side(ours, "cuda")], f"both in one process, on PyTorch {ours.torch}"
    if not asked.beside:
        return [], (
            f"PyTorch {ours.torch} is no CUDA build, so there was nothing to compare with; "
            "ARGS='--beside PYTHON' names a Python whose PyTorch is one"
        )
    theirs = Measuring(asked.beside, {})
    started.append(theirs)
    if "cuda" not in theirs.devices:
        return [], f"PyTorch {theirs.torch} of {asked.beside} has no device cuda"
    said = f"openreg on PyTorch {ours.torch}, and cuda in another process on PyTorch {theirs.torch}"
    return [Side(ours, "openreg"), Side(theirs, "cuda")], said


def run(env: dict[str, str], asked: Asked, explained: list[Reason]) -> Result:
    """Measures all rows, as far as the time goes. A row that ends its process costs the others nothing but a start."""
    del explained
    result = Result()
    started: list[Measuring] = []
    try:
        both, said = sides(env, asked, started)
        result.said.append(said)
        rows = both[0].process.rows if both else {}
        for done, (row, kind) in enumerate(rows.items()):
            if asked.left <= 0:
                result.said.append(f"stopped when its time was over: {done} of {len(rows)} rows were measured")
                break
            try:
                add(result, row, kind, compare(row, both, min(asked.left, LONGEST_ROW)))
            except Dead as dead:
                result.said.append(f"{row} was not measured: {dead}")
                end(started)
                both, said = sides(env, asked, started)
                if not both:
                    result.said.append(f"then {said}")
                    break
    except Dead as dead:
        result.said.append(f"what measures does not start: {dead}")
    finally:
        end(started)
    return result


def end(started: list[Measuring]) -> None:
    """Ends all processes."""
    while started:
        started.pop().end()


def add(result: Result, row: str, kind: str, found: Compared) -> None:
    """Adds a row's figure, or why there is none."""
    if found.why:
        result.said.append(f"{row} was not measured {found.why}")
        return
    here, there = (seconds * 1e6 for seconds in found.seconds)
    names = ", ".join(name.removeprefix("aten::") for name in found.served)
    note = f"the CPU served {names}" if names else None
    result.figure(row, here, "µs", beside=there, times=BARS[kind], note=note)
