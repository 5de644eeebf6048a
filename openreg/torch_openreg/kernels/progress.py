"""Says how far it is: a bar on a terminal, a line for each tenth elsewhere."""

from __future__ import annotations

import sys
import time

WIDTH = 30


class Progress:
    """What is done, and how long the rest will take if it goes on like that."""

    def __init__(self, total: int) -> None:
        self._total, self._start, self._tenth = total, time.monotonic(), 0

    def at(self, done: int) -> None:
        """Shows it."""
        seconds = time.monotonic() - self._start
        rest = f", {seconds / done * (self._total - done):.0f} s left" if 0 < done < self._total else ""
        line = f"{done} of {self._total} kernels, {seconds:.0f} s{rest}"
        if sys.stdout.isatty():
            bar = "█" * (WIDTH * done // self._total)
            print(f"\r\033[K{bar:░<{WIDTH}} {line}", end="", flush=True)
        elif (tenth := 10 * done // self._total) > self._tenth:
            self._tenth = tenth
            print(line, flush=True)

    def end(self) -> None:
        """Takes the bar away."""
        if sys.stdout.isatty():
            print("\r\033[K", end="", flush=True)
