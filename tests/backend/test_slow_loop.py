"""examples/slow_loop.py: three faults that the profiler shows, and the same training without them.

OPENREG_RECORD=1 writes what it prints to tests/recorded, from which the guide has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from loading import load_module

from .conftest import child_environment

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "slow_loop.py"


@pytest.fixture(scope="module")
def example() -> Any:
    return load_module(EXAMPLE)


def trained(example: Any, device: str, *, mended: bool) -> Any:
    training = example.Training(device, mended=mended)
    training.profiled = training.run()
    return training


@pytest.fixture(scope="module")
def slow(example: Any) -> Any:
    return trained(example, "openreg", mended=False)


@pytest.fixture(scope="module")
def mended(example: Any) -> Any:
    return trained(example, "openreg", mended=True)


def test_both_loops_learn_the_same_and_what_the_cpu_learns(example: Any, slow: Any, mended: Any) -> None:
    cpu = example.Training("cpu", mended=False)
    for _ in range(example.EPOCHS):
        for batch in cpu.batches:
            cpu.step(batch)
    assert slow.history == pytest.approx(mended.history, rel=1e-5)
    assert slow.guesses.tolist() == mended.guesses.tolist() == cpu.guesses.tolist()
    for ours, theirs, expected in zip(*(it.model.parameters() for it in (slow, mended, cpu)), strict=True):
        torch.testing.assert_close(ours.cpu(), expected, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(theirs.cpu(), expected, rtol=1e-3, atol=1e-4)


def test_the_slow_loop_has_its_three_faults(example: Any, slow: Any) -> None:
    found = example.report(slow.profiled.events())
    assert found.fallbacks == {"aten::histogram": example.RECORDED}
    assert found.copies["Memcpy HtoD (Pageable -> Device)"] > 0
    assert found.waits["aten::item"] == example.RECORDED
    assert set(found.waits) == {"aten::histogram", "aten::item", "aten::to"}


def test_the_mended_loop_has_none_of_them(example: Any, mended: Any) -> None:
    found = example.report(mended.profiled.events())
    assert (found.fallbacks, found.waits, found.waiting) == (Counter(), Counter(), 0)
    assert found.copies == {"Memcpy HtoD (Pinned -> Device)": 2 * example.RECORDED}
    assert found.kernels > 0


@pytest.mark.parametrize("way", ["slow", "mended"])
def test_the_example_prints_what_the_guide_shows(way: str) -> None:
    options = ["--mended"] if way == "mended" else []
    command = [sys.executable, str(EXAMPLE), *options]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    printed = f"$ python {' '.join(['slow_loop.py', *options])}\n{done.stdout}"
    record = ROOT / "tests" / "recorded" / f"{way}_loop.txt"
    if os.environ.get("OPENREG_RECORD"):
        record.write_text(printed)
    assert record.read_text() == printed
