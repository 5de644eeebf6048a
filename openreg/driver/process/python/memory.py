"""The memory of a device: what is allocated in it, and which allocation an address lies in."""

from __future__ import annotations

import bisect
import ctypes
import mmap
import threading

from wire import Shared

ALIGNMENT = 4096
POISON = 0xCB


# LITERALINCLUDE START: PYTHON MEMORY
class Memory:
    """Addresses that the host has reserved, and the bytes behind them, which only executors have.

    The executor's own memory is allocated here; of a peer's, the host tells what its executor has allocated.
    """

    def __init__(self, base: int, bytes_: Shared, poison: bool = False, owned: bool = False) -> None:
        """`poison` fills fresh and freed memory, so that nobody relies on what it holds. A peer's is not `owned`."""
        self.owned = owned
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

    def fits(self, start: int, size: int) -> bool:
        """Whether it can be an allocation here: in these addresses, aligned, and where no other one is."""
        with self._lock:
            end = start + rounded(size)
            others = (it for it in self._starts if it < end and start < it + rounded(self._sizes[it]))
            free = all(it == start and self._sizes[it] == size for it in others)
        return free and self.covers(start) and start % ALIGNMENT == 0 and end <= self.base + self.bytes.size

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
                self._give_back(start, size)

    def _give_back(self, start: int, size: int) -> None:
        """The pages that lie wholly in what has been freed go back to the system."""
        first = -(-(start - self.base) // mmap.PAGESIZE) * mmap.PAGESIZE
        last = (start - self.base + rounded(size)) // mmap.PAGESIZE * mmap.PAGESIZE
        if first < last and self.owned and not self.poison:
            self.bytes.bytes.madvise(mmap.MADV_REMOVE, first, last - first)

    def _fill(self, start: int, size: int) -> None:
        if self.poison and size:
            ctypes.memset(self.bytes.address + start - self.base, POISON, rounded(size))


def rounded(size: int) -> int:
    """What an allocation takes."""
    return -(-size // ALIGNMENT) * ALIGNMENT


# LITERALINCLUDE END: PYTHON MEMORY
