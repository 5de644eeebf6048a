"""Figures of streams and events, as JSON lines {name, value, unit, bar}. Medians, where nothing else is said.

What a share of hidden work says depends on the cores that are free: the device of the simulator is a thread.
"""

import ctypes
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import torch_openreg

SIMULATOR = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))
ROUNDS = 15


def report(name: str, value: float, unit: str, bar: float | None = None) -> None:
    """Prints one figure."""
    print(json.dumps({"name": name, "value": value, "unit": unit, "bar": bar}), flush=True)


def per_call(body: Callable[[], object], times: int) -> float:
    """Returns the microseconds that one of many calls in a row takes."""
    results = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(times):
            body()
        results.append((time.perf_counter() - start) / times)
    return median(results) * 1e6


def after_rest(body: Callable[[], object], times: int) -> float:
    """Returns the microseconds of one call when the device has had nothing to do for a millisecond."""
    results = []
    for _ in range(times):
        time.sleep(0.001)
        start = time.perf_counter()
        body()
        results.append(time.perf_counter() - start)
    return median(results) * 1e6


def waiting() -> None:
    """What it costs to wait for a device that has nothing left to do, or a little."""
    stream = torch.Stream("openreg")
    torch.openreg.set_stream(stream)
    x, y, event = torch.zeros(16).to("openreg"), torch.ones(16).to("openreg"), torch.Event("openreg")

    def record() -> None:
        event.record()
        event.synchronize()

    def copy_and_record() -> None:
        y.copy_(x)
        record()

    copy = per_call(lambda: y.copy_(x), 1000)
    torch.openreg.synchronize()
    report("stream: synchronise, idle", per_call(stream.synchronize, 1000), "µs", 1)
    report("device: synchronise, idle", per_call(torch.accelerator.synchronize, 1000), "µs", 1)
    report("event: record + synchronise, idle", per_call(record, 1000), "µs", 15)
    report("event: record + synchronise behind a copy, warm", per_call(copy_and_record, 300) - copy, "µs", 15)
    report("event: record + synchronise behind a copy, rested", after_rest(copy_and_record, 200) - copy, "µs", 30)
    report("stream: switch and back", per_call(lambda: torch.openreg.stream(stream).__enter__(), 1000), "µs")
    torch.openreg.set_stream(torch.openreg.default_stream())


def milliseconds(body: Callable[[], object]) -> float:
    """Returns how long a call and what it has queued take."""
    start = time.perf_counter()
    body()
    torch.openreg.synchronize()
    return (time.perf_counter() - start) * 1e3


def hidden(name: str, queue: Callable[[], object]) -> None:
    """Reports which share of the shorter of host and device work vanishes behind the longer one.

    Of each the shortest time of several rounds, as others want the cores too.
    """
    device = min(milliseconds(queue) for _ in range(ROUNDS))
    start, loops = time.thread_time(), 0
    while (time.thread_time() - start) * 1e3 < device:  # the host's work: as long as the device's
        work(1000)
        loops += 1000
    host = min(milliseconds(lambda: work(loops)) for _ in range(ROUNDS))
    both = min(milliseconds(lambda: (queue(), work(loops))) for _ in range(ROUNDS))
    report(name, (host + device - both) / min(host, device), "", 0.95)


def work(loops: int) -> None:
    """Something for the host to do."""
    for _ in range(loops):
        time.perf_counter()


def overlap() -> None:
    """What the host gets done while the device works."""
    x, y = (torch.zeros(1 << 26, dtype=torch.uint8, device="openreg") for _ in range(2))

    def copies() -> None:
        for _ in range(4):
            y.copy_(x)

    copies()
    torch.openreg.synchronize()
    returns = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        y.copy_(x)
        returns.append(time.perf_counter() - start)
        torch.openreg.synchronize()
    report("copy on the device, 64 MiB: host returns after", median(returns) * 1e6, "µs", 20)
    hidden("share of host work hidden behind copies", copies)
    small, other = x[:16], y[:16]
    SIMULATOR.orSimSetDelay(0, ctypes.c_int64(0), ctypes.c_int64(20_000))
    hidden("share of host work hidden behind a slow device", lambda: small.copy_(other))
    SIMULATOR.orSimSetDelay(0, ctypes.c_int64(0), ctypes.c_int64(0))


if __name__ == "__main__":
    waiting()
    overlap()
