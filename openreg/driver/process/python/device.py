"""A device: its memory, its peers', its streams, and how it fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

from errors import Error
from memory import Memory

Work = Callable[[], object]
Record = Callable[[int, int, int], None]


# LITERALINCLUDE START: PYTHON DEVICE
class Device:
    """What the frames and the kernels of one executor share."""

    def __init__(self, index: int, memory: Memory) -> None:
        """A device that has not failed."""
        self.index, self.memory = index, memory
        self.peers: dict[int, Memory] = {}  # whose memory copies may use
        self.opened: dict[int, tuple[int, Memory]] = {}  # other processes', by address; with the device that has it
        self.accessible: set[int] = set()  # whose memory kernels may use, too
        self.kernel_delay = self.copy_delay = 0.0
        self.failure: tuple[int, str] | None = None
        self.dropping = threading.Event()  # from a failure on, or the end: what is queued is not executed
        self._failing = threading.Lock()

    def fail(self, error: int, text: str) -> None:
        """Work has failed. The first report counts."""
        with self._failing:
            if self.failure is None and not self.dropping.is_set():
                self.failure = error, text
            self.dropping.set()

    def owner(self, address: int) -> tuple[int | None, Memory | None]:
        """Whose memory an address is of: the number of its device, and the memory; None twice if it is of neither."""
        return next((pair for pair in self.memories() if pair[1].covers(address)), (None, None))

    def memories(self) -> list[tuple[int, Memory]]:
        """All there are, each with the number of its device."""
        return [(self.index, self.memory), *self.peers.items(), *self.opened.values()]

    def delay(self, seconds: float) -> None:
        """Takes longer, as a test has asked for; until the device fails."""
        if seconds > 0:
            self.dropping.wait(seconds)


# LITERALINCLUDE END: PYTHON DEVICE


# LITERALINCLUDE START: PYTHON STREAM
class Stream:
    """A queue of work, and the thread that does it: in the order in which it came, beside all other streams."""

    def __init__(self, device: Device, record: Record) -> None:
        """Starts the thread. `record` is told of work with a correlation: that, when it began, and when it was done."""
        self.device, self.record = device, record
        self.queue: SimpleQueue[tuple[tuple[Work, ...], bool, int, object] | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def submit(self, *works: Work, always: bool = False, correlation: int = 0, held: object = None) -> None:
        """Queues work, several pieces of it as one. `always`: it is done even after a failure: nobody waits for ever.

        Work returns False if it finds the device failed: then it was not done, and is not recorded. `held` is what must
        not go away meanwhile.
        """
        self.queue.put((works, always, correlation, held))

    def close(self) -> None:
        """Nothing more comes; what is queued is still done."""
        self.queue.put(None)

    def _run(self) -> None:
        while (item := self.queue.get()) is not None:
            self._do(*item)
            del item  # The memory of peers that it holds is given back now, not with the next piece of work.

    def _do(self, works: tuple[Work, ...], always: bool, correlation: int, _held: object) -> None:
        for work in works:
            if always or not self.device.dropping.is_set():
                try:
                    start = time.monotonic_ns()
                    if work() is not False and correlation:
                        self.record(correlation, start, time.monotonic_ns())
                except Exception as error:  # A mistake of ours must not leave the host waiting for ever.
                    self.device.fail(Error.LAUNCH_FAILURE, f"device {self.device.index}: {error!r}")


# LITERALINCLUDE END: PYTHON STREAM
