"""examples/slow_loop.py: three faults that the profiler shows, and the same training without them.

OPENREG_RECORD=1 writes what it prints to tests/recorded, from which the guide has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
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
    training.explained = training.run()
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
        cpu.steps(cpu.batches)
    assert slow.history == pytest.approx(mended.history, rel=1e-5)
    assert slow.guesses.tolist() == mended.guesses.tolist() == cpu.guesses.tolist()
    for ours, theirs, expected in zip(*(it.model.parameters() for it in (slow, mended, cpu)), strict=True):
        torch.testing.assert_close(ours.cpu(), expected, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(theirs.cpu(), expected, rtol=1e-3, atol=1e-4)


def test_the_slow_loop_has_its_three_faults(example: Any, slow: Any) -> None:
    explained = slow.explained
    assert [(it.operator, it.count) for it in explained.fallbacks] == [("aten::histogram", example.RECORDED)]
    assert explained.copies["Memcpy HtoD (Pageable -> Device)"] > 0
    assert [it.operator for it in explained.waits] == ["aten::to", "aten::histogram", "aten::item"]
    written = EXAMPLE.read_text().splitlines()
    lines = [written[int(it.line.rpartition(":")[2]) - 1] for it in explained.waits]
    for line, call in zip(lines, (".to(", "torch.histogram(", ".item()"), strict=True):
        assert call in line


def test_the_mended_loop_has_none_of_them(example: Any, mended: Any) -> None:
    explained = mended.explained
    assert (explained.fallbacks, explained.waits, explained.waiting_us) == ([], [], 0)
    assert explained.copies == {"Memcpy HtoD (Pinned -> Device)": 2 * example.RECORDED}
    assert explained.launches.total() > 0


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
