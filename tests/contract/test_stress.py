"""The stress program under the sanitizers: many threads, streams and devices, random work, checked results."""

from __future__ import annotations

import pytest

from .conftest import HERE
from .sanitizer import SANITIZERS, play

# The program is told how long to work; what is over that is for starting and stopping under a sanitizer.
SECONDS = 8
SEED = "1"
# An executor that hangs is found all the same, and one on a core that stands still for half a minute, as a virtual
# machine's may, is not taken for it.
DEADLINE = 120
LIMIT = 240
SUPPRESSIONS = HERE / "stress" / "executor.supp"


@pytest.mark.sanitizer
@pytest.mark.timeout(900)
@pytest.mark.parametrize("driver", ["sim", "process"])
@SANITIZERS
def test_the_stress_program_finds_nothing_wrong_under_the_sanitizer(sanitizer: str, driver: str) -> None:
    environment = {
        # Executors come and go: none is to sleep a second at its end, which is there for late reports.
        # And they end at any moment by _exit: then a thread that loads a module, say, has no chance to be let go.
        "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=0:report_thread_leaks=0:"
        f"suppressions={SUPPRESSIONS}",
        "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
        "OPENREG_DRIVER": driver,
        "OPENREG_PROCESS": f"deadline={DEADLINE}s",
    }
    counts = play(HERE / "stress", "", sanitizer, ("stress", str(SECONDS), SEED), environment, LIMIT)
    assert all(count > 0 for count in counts.values()), counts
