"""Allocator, copies, generator and profiler under the sanitizers: threads that share them, without Python."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from contract.sanitizer import SANITIZERS, play

HERE = Path(__file__).resolve().parent
SECONDS = 6
LIMIT = 90


def counts_of(program: str, sanitizer: str, memory: str) -> dict[str, int]:
    """Runs a program of the folder `stress` on devices with so much memory."""
    environment = {
        "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
        "OPENREG_DRIVER": "sim",
        "OPENREG_SIM": f"memory={memory}",
    }
    options = (f"-DTORCH={Path(torch.__file__).parent}",)
    return play(HERE / "stress", "backend-", sanitizer, (program, str(SECONDS), "1"), environment, LIMIT, options)


@pytest.mark.sanitizer
@pytest.mark.timeout(900)
@SANITIZERS
@pytest.mark.parametrize("memory", ["64MiB", "2GiB"])  # with much and without any running out of it
def test_the_allocator_holds_under_the_sanitizer(sanitizer: str, memory: str) -> None:
    counts = counts_of("memory_stress", sanitizer, memory)
    assert (counts.pop("exhausted") > 0) == (memory == "64MiB")
    assert all(count > 0 for count in counts.values()), counts


@pytest.mark.sanitizer
@pytest.mark.timeout(900)
@SANITIZERS
def test_copies_generators_and_a_profiler_hold_under_the_sanitizer(sanitizer: str) -> None:
    counts = counts_of("tensor_stress", sanitizer, "2GiB")
    assert all(count > 0 for count in counts.values()), counts
