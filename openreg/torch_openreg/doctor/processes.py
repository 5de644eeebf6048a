"""Processes with deadlines, so that a crash and a hang are answers too."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

# Of what PyTorch prints, warnings, and what stands below the text of an error.
NOISE = re.compile(r"\s*frame #\d+: |Exception raised from |(\[rank\d+\]:)?\[W\d+ ")
PAUSE = 0.005  # seconds between two looks at what has ended


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        status: As `subprocess` gives it: negative for a signal. None if the deadline passed.
        said: What its function returned, or None.
        printed: The last line that it printed.
    """

    status: int | None
    said: Any
    printed: str

    @property
    def how(self) -> str:
        """The end in words."""
        if self.status is None:
            return "hangs"
        if self.status < 0:
            return f"dies by {signal.Signals(-self.status).name}"
        return f"ends with status {self.status}"


class Child:
    """A fork of this process that runs a function.

    Args:
        function: What it runs. What this returns is the answer, and goes through JSON.
        seconds: After which it is killed.
        group: Whether it has a group of processes of its own, all of which are killed with it.
        like_a_program: Whether it ends as a program does: exit handlers run, libraries are told. Otherwise the process
            is gone when the function has returned.
    """

    def __init__(
        self, function: Callable[[], Any], seconds: float, *, group: bool = True, like_a_program: bool = False
    ) -> None:
        self.seconds, self.start, self._group = seconds, time.monotonic(), group
        self._answer = tempfile.TemporaryFile()  # noqa: SIM115 - not a pipe: nobody reads before the end
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        self.pid = os.fork()
        if self.pid == 0:
            self._become(function, like_a_program)

    def _become(self, function: Callable[[], Any], like_a_program: bool) -> NoReturn:
        """What the fork does, to its end."""
        if self._group:
            os.setpgid(0, 0)
        for number, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, self._output), (2, self._output)):
            os.dup2(file if isinstance(file, int) else file.fileno(), number)
        status = 1
        try:
            self._answer.write(json.dumps(function()).encode())
            self._answer.flush()
            status = 0
        except SystemExit:
            raise  # a fork of this one is to end like a program, and this frame is on its way
        except BaseException:
            traceback.print_exc()
        if not like_a_program:
            os._exit(status)
        raise SystemExit(status)

    def poll(self) -> Ended | None:
        """How it ended, or None while it runs. Kills it when its time is over."""
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if not ended and time.monotonic() - self.start < self.seconds:
            return None
        with contextlib.suppress(ProcessLookupError):  # it may not have its group yet
            (os.killpg if self._group else os.kill)(self.pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        said, printed = self._read(self._answer), self._read(self._output).splitlines()
        last = next((line.strip() for line in reversed(printed) if line.strip() and not NOISE.match(line)), "")
        return Ended(status if ended else None, json.loads(said) if said else None, last)

    @staticmethod
    def _read(file: Any) -> str:
        """All that a file holds; closes it."""
        with file:
            file.seek(0)
            return file.read().decode(errors="replace")

    def wait(self) -> Ended:
        """Waits for its end, or for the deadline."""
        while (ended := self.poll()) is None:
            time.sleep(PAUSE)
        return ended


def run_all(jobs: Iterable[tuple[str, Callable[[], Any], float]], at_once: int) -> Iterator[tuple[str, Ended, float]]:
    """Runs functions in processes of their own, some at a time.

    Args:
        jobs: Of each a name, the function and its deadline in seconds.
        at_once: How many of them run at a time.

    Yields:
        The name, how the process ended, and how long it took, in the order in which they end.
    """
    waiting, running = list(jobs), {}
    while waiting or running:
        while waiting and len(running) < at_once:
            name, function, seconds = waiting.pop(0)
            running[name] = Child(function, seconds)
        for name, child in list(running.items()):
            if ended := child.poll():
                del running[name]
                yield name, ended, time.monotonic() - child.start
        time.sleep(PAUSE)
