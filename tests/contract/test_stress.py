"""The stress program under the sanitizers: many threads, streams and devices, random work, checked results."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from . import header
from .conftest import HERE, cmake_build

# The program is told how long to work; what is over that is for starting and stopping under a sanitizer.
SECONDS = 8
SEED = "1"
LIMIT = 60
SUPPRESSIONS = HERE / "stress" / "executor.supp"


@pytest.mark.sanitizer
@pytest.mark.timeout(900)
@pytest.mark.parametrize("driver", ["sim", "process"])
@pytest.mark.parametrize("sanitizer", ["thread", "address;undefined"], ids=["thread", "address"])
def test_the_stress_program_finds_nothing_wrong_under_the_sanitizer(sanitizer: str, driver: str) -> None:
    name = sanitizer.replace(";", "-")
    build = header.ROOT / "build" / "stress" / name
    cmake_build(HERE / "stress", build, f"-DOPENREG_SANITIZE={sanitizer}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    options = {
        # Executors come and go: none is to sleep a second at its end, which is there for late reports.
        "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=0:suppressions={SUPPRESSIONS}",
        "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    program: Path = build / "stress"
    done = subprocess.run(
        [str(program), str(SECONDS), SEED],
        env={**os.environ, **options, "OPENREG_DRIVER": driver},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    assert "Sanitizer" not in done.stderr
    counts = dict(word.split("=") for word in done.stdout.split()[1:])
    assert done.stdout.startswith("ok "), done.stdout
    assert all(int(count) > 0 for count in counts.values()), counts
