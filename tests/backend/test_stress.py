"""Allocator, copies and generator under the sanitizers: threads that share them, without Python."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import torch
from contract import header
from contract.conftest import cmake_build

HERE = Path(__file__).resolve().parent
SECONDS = 6
LIMIT = 90
SANITIZERS = pytest.mark.parametrize("sanitizer", ["thread", "address;undefined"], ids=["thread", "address"])


def play(program: str, sanitizer: str, memory: str) -> dict[str, int]:
    """Builds and runs a program of the folder `stress`; returns what it has counted."""
    build = header.ROOT / "build" / "stress" / f"backend-{sanitizer.replace(';', '-')}"
    cmake_build(
        HERE / "stress",
        build,
        f"-DOPENREG_SANITIZE={sanitizer}",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        f"-DTORCH={Path(torch.__file__).parent}",
    )
    options = {
        "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "OPENREG_DRIVER": "sim",
        "OPENREG_SIM": f"memory={memory}",
    }
    done = subprocess.run(
        [str(build / program), str(SECONDS), "1"],
        env={**os.environ, **options},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    assert "Sanitizer" not in done.stderr
    return {name: int(count) for name, _, count in (word.partition("=") for word in done.stdout.split()[1:])}


@pytest.mark.sanitizer
@pytest.mark.timeout(900)
@SANITIZERS
@pytest.mark.parametrize("memory", ["64MiB", "2GiB"])  # with much and without any running out of it
def test_the_allocator_holds_under_the_sanitizer(sanitizer: str, memory: str) -> None:
    counts = play("memory_stress", sanitizer, memory)
    assert (counts.pop("exhausted") > 0) == (memory == "64MiB")
    assert all(count > 0 for count in counts.values()), counts


@pytest.mark.sanitizer
@pytest.mark.timeout(900)
@SANITIZERS
def test_copies_and_generators_hold_under_the_sanitizer(sanitizer: str) -> None:
    counts = play("tensor_stress", sanitizer, "2GiB")
    assert all(count > 0 for count in counts.values()), counts
