"""Several processes that compile, each a kernel at a time."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")
Job = tuple[str, int]


class Crew:
    """Compiles kernels into a folder.

    Args:
        library: The driver's library.
        folder: Where the code goes.
        size: How many processes work at a time.
    """

    def __init__(self, library: Path, folder: Path, size: int) -> None:
        self._command = [sys.executable, str(WORKER), str(library), str(folder)]
        self._size = size
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[Job, int | str]] = queue.SimpleQueue()
        self._processes: set[subprocess.Popen[str]] = set()
        self._ended = False

    def compile(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, int | str]]:
        """Compiles; yields each job when it is done, with the worker's answer.

        Args:
            jobs: Kernels and architectures.
        """
        for job in jobs:
            self._jobs.put(job)
        for _ in range(min(self._size, len(jobs))):
            threading.Thread(target=self._serve, daemon=True).start()
        try:
            for _ in jobs:
                yield self._answers.get()
        finally:
            self._ended = True
            for process in list(self._processes):
                process.kill()

    def _serve(self) -> None:
        """Hands jobs to a process, and to another one where the compiler has died of one."""
        process = None
        while not self._ended:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            process = process or self._start()
            try:
                print(*job, file=process.stdin, flush=True)
                answer = json.loads(process.stdout.readline())
            except (OSError, ValueError):
                answer, process = self._how_it_ended(process), None
            self._answers.put((job, answer))
        if process:
            process.stdin.close()
            process.wait()

    def _start(self) -> subprocess.Popen[str]:
        """A new process."""
        process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._processes.add(process)
        return process

    @staticmethod
    def _how_it_ended(process: subprocess.Popen[str]) -> str:
        """A sentence about a process that gave no answer."""
        status = process.wait()
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return f"the process that compiled it {how}"
