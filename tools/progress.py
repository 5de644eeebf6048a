"""Says how far long work is: a bar on a terminal, a line for each tenth elsewhere."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

NINJA = re.compile(r"^\s*\[(\d+)/(\d+)\]")
WIDTH = 30


class Progress:
    """What is done of something, and how long the rest will take if it goes on like that."""

    def __init__(
        self,
        what: str,
        out: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
        unit: str = "files",
    ) -> None:
        """`what` begins each line; `unit` is what is counted."""
        self.what, self.out, self.now, self.unit = what, out or sys.stdout, now, unit
        self.start, self.tenth = now(), 0

    def line(self, done: int, total: int) -> str:
        """Returns what there is to say."""
        seconds = self.now() - self.start
        left = f", {seconds / done * (total - done):.0f} s left" if 0 < done < total else ""
        return f"{self.what}: {done} of {total} {self.unit}, {seconds:.0f} s{left}"

    def at(self, done: int, total: int) -> None:
        """Shows it: on a terminal each time, elsewhere once each tenth."""
        tenth = 10 * done // max(total, 1)
        if self.out.isatty():
            bar = "█" * (WIDTH * done // max(total, 1))
            self.out.write(f"\r\033[K{bar:░<{WIDTH}} {self.line(done, total)}")
            self.out.flush()
        elif tenth > self.tenth:
            print(self.line(done, total), file=self.out, flush=True)
        self.tenth = tenth

    def end(self) -> None:
        """Takes the bar away: what is printed next says how it ended."""
        if self.out.isatty():
            self.out.write("\r\033[K")
            self.out.flush()


def watch(command: Sequence[str | Path], what: str, cwd: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """Runs a build of Ninja's and shows how far it is; returns its exit code and what it printed."""
    progress, said = Progress(what), []
    # Through a pipe, Ninja prints a line for each file.
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    with subprocess.Popen(command, cwd=cwd, env=env, **options) as process:
        for line in process.stdout:
            said.append(line)
            if found := NINJA.match(line):
                progress.at(int(found[1]), int(found[2]))
    progress.end()
    return process.returncode, "".join(said)
