"""Figures of the PyTorch side, each with the CPU's beside it, as JSON lines {name, value, cpu, unit}.

Device and CPU are measured in turns in one process, so that both meet the same machine. Medians throughout.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import torch_openreg  # noqa: F401 (registers the device)

ROOT = Path(__file__).resolve().parent.parent
DEVICE = "openreg"
ROUNDS = 15

# What a new process needs before it has its first tensor. Threads are counted by the kernel's own list of them.
START = """
import os, time, torch
threads = lambda: len(os.listdir("/proc/self/task"))
torch.ones(1).item()
before, start = threads(), time.perf_counter()
import torch_openreg
imported, started = time.perf_counter(), threads()
torch.openreg.device_count()
count = threads()
first = time.perf_counter()
torch.empty(1, device="openreg")
print((imported - start) * 1e3, (time.perf_counter() - first) * 1e3, started - before, count - before)
"""


def report(name: str, value: float, unit: str, cpu: float | None = None) -> None:
    """Prints one figure."""
    print(json.dumps({"name": name, "value": value, "cpu": cpu, "unit": unit}), flush=True)


def seconds(body: Callable[[], object], times: int) -> float:
    """Returns the seconds that one call takes, the device's work included."""
    start = time.perf_counter()
    for _ in range(times):
        body()
    torch.openreg.synchronize()
    return (time.perf_counter() - start) / times


def compare(name: str, device: Callable[[], object], cpu: Callable[[], object], times: int, unit: str = "µs") -> None:
    """Measures both in turns and prints the medians."""
    figures: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for body, results in zip((device, cpu), figures, strict=True):
            results.append(seconds(body, times))
    scale = {"µs": 1e6, "ms": 1e3}[unit]
    report(name, median(figures[0]) * scale, unit, median(figures[1]) * scale)


def tensors() -> None:
    """Creation, reading one number, and one operator on one element."""
    on_device, on_cpu = torch.ones(1, device=DEVICE), torch.ones(1)
    compare("empty(1)", lambda: torch.empty(1, device=DEVICE), lambda: torch.empty(1), 1000)
    compare("view", lambda: on_device.view(1, 1), lambda: on_cpu.view(1, 1), 1000)
    compare("item()", on_device.item, on_cpu.item, 1000)
    compare("x + y, one element", lambda: on_device + on_device, lambda: on_cpu + on_cpu, 500)
    compare("exp(x), one element", on_device.exp, on_cpu.exp, 500)


def copies() -> None:
    """Copies to the device and back, beside a copy on the CPU."""
    for text, size, times in (("4 KiB", 1 << 12, 500), ("1 MiB", 1 << 20, 50), ("64 MiB", 1 << 26, 2)):
        host, other = torch.zeros(size, dtype=torch.uint8), torch.ones(size, dtype=torch.uint8)
        device = other.to(DEVICE)
        compare(
            f"copy to the device, {text}",
            lambda d=device, h=host: d.copy_(h),
            lambda o=other, h=host: o.copy_(h),
            times,
        )
        compare(
            f"copy to the host, {text}", lambda d=device, h=host: h.copy_(d), lambda o=other, h=host: h.copy_(o), times
        )


def training() -> None:
    """A training step of the example."""
    sys.path.insert(0, str(ROOT / "examples"))
    from digits import Training

    device, cpu = Training(DEVICE), Training("cpu")
    rows, cpu_rows = device.batches()[0], cpu.batches()[0]
    compare("training step of examples/digits.py", lambda: device.step(rows), lambda: cpu.step(cpu_rows), 20, "ms")


def start() -> None:
    """What importing costs a new process."""
    runs = [subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True) for _ in range(5)]
    imported, first, threads, count = (
        median(column) for column in zip(*(map(float, r.stdout.split()) for r in runs), strict=True)
    )
    report("import after torch", imported, "ms")
    report("first tensor", first, "ms")
    report("threads started by importing", threads, "")
    report("threads started by counting devices", count, "")


if __name__ == "__main__":
    tensors()
    copies()
    training()
    start()
