"""Figures of streams and events.

What a share of hidden work says depends on the cores that are free: the device of the simulator is a thread.
"""

import ctypes
import time
from pathlib import Path
from statistics import median

import torch
import torch_openreg
from measure import DEVICE, Body, hidden, host_returns, per_call, report

SIMULATOR = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))


def after_rest(body: Body, times: int) -> float:
    """Returns the seconds of one call when the device has had nothing to do for a millisecond."""
    results = []
    for _ in range(times):
        time.sleep(0.001)
        start = time.perf_counter()
        body()
        results.append(time.perf_counter() - start)
    return median(results)


def waiting() -> None:
    """What it costs to wait for a device that has nothing left to do, or a little."""
    stream = torch.Stream(DEVICE)
    torch.openreg.set_stream(stream)
    x, y, event = torch.zeros(16).to(DEVICE), torch.ones(16).to(DEVICE), torch.Event(DEVICE)

    def record() -> None:
        event.record()
        event.synchronize()

    def copy_and_record() -> None:
        y.copy_(x)
        record()

    copy = per_call(lambda: y.copy_(x), 1000)
    torch.openreg.synchronize()
    for name, taken, most in (
        ("stream: synchronize, idle", per_call(stream.synchronize, 1000), 1),
        ("device: synchronize, idle", per_call(torch.accelerator.synchronize, 1000), 1),
        ("event: record and synchronize, idle", per_call(record, 1000), 15),
        ("event: record and synchronize behind a copy, warm", per_call(copy_and_record, 300) - copy, 15),
        ("event: record and synchronize behind a copy, rested", after_rest(copy_and_record, 200) - copy, 30),
        ("stream: switch and back", per_call(lambda: torch.openreg.stream(stream).__enter__(), 1000), None),
    ):
        report(name, taken * 1e6, "µs", most=most)
    torch.openreg.set_stream(torch.openreg.default_stream())


def overlap() -> None:
    """What the host gets done while the device copies."""
    x, y = (torch.zeros(1 << 26, dtype=torch.uint8, device=DEVICE) for _ in range(2))
    small, other = x[:16], y[:16]
    host_returns("a copy on the device, 64 MiB", lambda: y.copy_(x), lambda: small.copy_(other), most=20)
    hidden("copies", lambda: [y.copy_(x) for _ in range(4)])
    SIMULATOR.orSimSetDelay(0, ctypes.c_int64(0), ctypes.c_int64(20_000))
    hidden("a slow device", lambda: small.copy_(other))
    SIMULATOR.orSimSetDelay(0, ctypes.c_int64(0), ctypes.c_int64(0))


if __name__ == "__main__":
    waiting()
    overlap()
