"""Copies beside computing, measured: the same batches with blocking copies and with queued ones.

    python examples/overlap.py              prints what it measured
    python examples/overlap.py FILE.json    and writes it, for a picture

The times are the device's: events with time stamps around each copy and each computation. On the simulator a copy and a
kernel are told to take a few milliseconds, as those of large batches do. So the picture shows who waits for whom, and
not how fast this machine's memory is.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch_openreg

DEVICE = "openreg"
BATCHES = 6
COPY_MS, KERNEL_MS = 4, 6
ROUNDS = 8
SPIN = "import time\nend, n = time.perf_counter() + 0.3, 0\nwhile time.perf_counter() < end: n += 1\nprint(n)"

Mark = tuple[str, int, Any, Any]  # lane, batch, and what was recorded before and after


class Clock:
    """Marks of the host and of the device on one time axis, in milliseconds from its making."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.zero = torch.Event(DEVICE, enable_timing=True)
        self.zero.record()
        self.zero.synchronize()
        self.host_zero = time.perf_counter()

    @contextmanager
    def host(self, batch: int) -> Iterator[None]:
        """Notes how long the host is busy with what stands in this context."""
        start = time.perf_counter()
        yield
        self.marks.append(("host", batch, start, time.perf_counter()))

    @contextmanager
    def device(self, lane: str, batch: int) -> Iterator[None]:
        """Has the current stream note when the work of this context begins and when it ends."""
        start, end = (torch.Event(DEVICE, enable_timing=True) for _ in range(2))
        start.record()
        yield
        end.record()
        self.marks.append((lane, batch, start, end))

    def at(self, mark: Any) -> float:
        """When it was."""
        return (mark - self.host_zero) * 1e3 if isinstance(mark, float) else self.zero.elapsed_time(mark)

    def spans(self) -> list[dict[str, Any]]:
        """All marks, in the order of time."""
        torch.accelerator.synchronize()
        spans = [
            {"lane": lane, "batch": batch, "start": round(self.at(start), 3), "end": round(self.at(end), 3)}
            for lane, batch, start, end in self.marks
        ]
        return sorted(spans, key=lambda span: span["start"])


def blocking(batches: list[torch.Tensor], clock: Clock) -> list[torch.Tensor]:
    """Each copy waits for the stream, and the host for the copy."""
    results = [torch.empty_like(batch, device=DEVICE) for batch in batches]
    for i, batch in enumerate(batches):
        with clock.host(i):
            with clock.device("copies", i):
                x = batch.to(DEVICE)
            with clock.device("kernels", i):
                torch.mul(x, 2, out=results[i])
    return results


def queued(batches: list[torch.Tensor], clock: Clock) -> list[torch.Tensor]:
    """Pinned batches travel on a stream of their own, and the kernels wait for their batch only."""
    results = [torch.empty_like(batch, device=DEVICE) for batch in batches]
    copies, kernels = torch.Stream(DEVICE), torch.accelerator.current_stream()
    for i, batch in enumerate(batches):
        with clock.host(i):
            with copies, clock.device("copies", i):
                x = batch.to(DEVICE, non_blocking=True)
            kernels.wait_stream(copies)
            x.record_stream(kernels)
            with clock.device("kernels", i):
                torch.mul(x, 2, out=results[i])
    return results


def measure(way: Callable[..., list[torch.Tensor]], batches: list[torch.Tensor]) -> dict[str, Any]:
    """Runs one way, checks its numbers, and returns the shortest time line of several: others want the cores, too."""
    runs = []
    for _ in range(ROUNDS):
        clock = Clock()
        results = way(batches, clock)
        spans = clock.spans()
        assert all(torch.equal(result.cpu(), batch * 2) for batch, result in zip(batches, results, strict=True))
        runs.append({"total": max(span["end"] for span in spans), "spans": spans})
    return min(runs, key=lambda run: run["total"])


def effective_cores() -> float:
    """How many busy processes the machine serves at full speed just now, at most one a core."""

    def spin(processes: int) -> int:
        running = [subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE) for _ in range(processes)]
        return sum(int(process.communicate()[0]) for process in running)

    cores = os.cpu_count() or 1
    # It could come out as more than there are where something else ran while one process was measured.
    return min(float(cores), round(spin(cores) / spin(1), 2))


def main() -> None:
    """Measures both ways, prints them and writes them."""
    driver = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))
    torch.empty(0, device=DEVICE)
    assert driver.orSimSetDelay(0, ctypes.c_int64(KERNEL_MS * 1000), ctypes.c_int64(COPY_MS * 1000)) == 0
    batches = [torch.full((1000,), float(i)) for i in range(BATCHES)]
    measured = {
        "command": "python examples/overlap.py",
        "cores": os.cpu_count(),
        "effective_cores": effective_cores(),
        "copy_ms": COPY_MS,
        "kernel_ms": KERNEL_MS,
        "blocking": measure(blocking, batches),
        "queued": measure(queued, [batch.pin_memory() for batch in batches]),
    }
    for way in ("blocking", "queued"):
        run = measured[way]
        host = max(span["end"] for span in run["spans"] if span["lane"] == "host")
        print(f"{way:9} all done after {run['total']:5.1f} ms, the host free after {host:5.1f} ms")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
