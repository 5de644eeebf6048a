"""The memory of a device: what is allocated in it, and which allocation an address lies in."""

from __future__ import annotations

import bisect
import ctypes
import threading

from wire import Shared

ALIGNMENT = 512
POISON = 0xCB


# LITERALINCLUDE START: PYTHON MEMORY
class Memory:
    """Addresses that the host has reserved, and the bytes behind them, which only executors have.

    The executor's own memory is allocated here; of a peer's, the host tells what its executor has allocated.
    """

    def __init__(self, base: int, bytes_: Shared, poison: bool = False) -> None:
        """`poison` fills fresh and freed memory, so that nobody relies on what it holds."""
        self.base, self.bytes, self.poison = base, bytes_, poison
        self.free = bytes_.size
        self._starts: list[int] = []  # of the live allocations, in order
        self._sizes: dict[int, int] = {}
        self._lock = threading.Lock()  # frames come and go while kernels look up their pointers

    def covers(self, address: int) -> bool:
        """Whether it is an address of this memory, allocated or not."""
        return self.base <= address < self.base + self.bytes.size

    def find(self, address: int, size: int) -> int | None:
        """Where this process sees an address; None unless all `size` bytes lie in one live allocation."""
        with self._lock:
            at = bisect.bisect_right(self._starts, address) - 1
            start = self._starts[at] if at >= 0 else 0
            inside = at >= 0 and address < start + self._sizes[start] and address + size <= start + self._sizes[start]
            return self.bytes.address + address - self.base if inside else None

    def allocate(self, size: int) -> int | None:
        """The address of new memory in the first gap that is wide enough; None if there is none."""
        start = self.base
        for other in [*self._starts, self.base + self.bytes.size]:
            if other - start >= rounded(size):
                self.note(start, size)
                return start
            start = other + rounded(self._sizes.get(other, 0))
        return None

    def note(self, start: int, size: int) -> None:
        """An allocation has begun."""
        with self._lock:
            if start not in self._sizes:
                bisect.insort(self._starts, start)
                self._sizes[start] = size
                self.free -= rounded(size)
        self._fill(start, size)

    def release(self, start: int) -> None:
        """An allocation has ended."""
        with self._lock:
            if start in self._sizes:
                self._starts.remove(start)
                size = self._sizes.pop(start)
                self.free += rounded(size)
                self._fill(start, size)

    def _fill(self, start: int, size: int) -> None:
        if self.poison:
            ctypes.memset(self.bytes.address + start - self.base, POISON, rounded(size))


def rounded(size: int) -> int:
    """What an allocation takes."""
    return -(-size // ALIGNMENT) * ALIGNMENT


# LITERALINCLUDE END: PYTHON MEMORY
