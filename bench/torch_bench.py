"""Figures of the PyTorch side, each with the CPU's beside it, as JSON lines {name, value, cpu, unit, bar, ratio_bar}.

A bar is what a figure is to reach: `bar` in its own unit, `ratio_bar` as a multiple of the CPU's.

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


def report(
    name: str,
    value: float,
    unit: str,
    cpu: float | None = None,
    bar: float | None = None,
    ratio_bar: float | None = None,
) -> None:
    """Prints one figure."""
    figure = {"name": name, "value": value, "cpu": cpu, "unit": unit, "bar": bar, "ratio_bar": ratio_bar}
    print(json.dumps(figure), flush=True)


def seconds(body: Callable[[], object], times: int) -> float:
    """Returns the seconds that one call takes, the device's work included."""
    start = time.perf_counter()
    for _ in range(times):
        body()
    torch.openreg.synchronize()
    return (time.perf_counter() - start) / times


def compare(
    name: str,
    device: Callable[[], object],
    cpu: Callable[[], object],
    times: int,
    unit: str = "µs",
    ratio_bar: float | None = None,
) -> None:
    """Measures both in turns and prints the medians."""
    figures: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for body, results in zip((device, cpu), figures, strict=True):
            results.append(seconds(body, times))
    scale = {"µs": 1e6, "ms": 1e3}[unit]
    report(name, median(figures[0]) * scale, unit, median(figures[1]) * scale, ratio_bar=ratio_bar)


def tensors() -> None:
    """Creation, reading one number, and one operator on one element."""
    on_device, on_cpu = torch.ones(1, device=DEVICE), torch.ones(1)
    compare("view", lambda: on_device.view(1, 1), lambda: on_cpu.view(1, 1), 1000)
    compare("item()", on_device.item, on_cpu.item, 1000)
    compare("x + y, one element", lambda: on_device + on_device, lambda: on_cpu + on_cpu, 500, ratio_bar=1.2)
    compare("x.add_(1), one element", lambda: on_device.add_(1), lambda: on_cpu.add_(1), 500, ratio_bar=1.2)
    compare("lgamma(x), one element, by the fallback", on_device.lgamma, on_cpu.lgamma, 500)


def operators() -> None:
    """Native operators on much data."""
    for text, size, times in (("1M", 1 << 20, 20), ("16M", 1 << 24, 1)):
        x, out = torch.randn(size), torch.empty(size)
        y, device_out = x.to(DEVICE), out.to(DEVICE)
        compare(f"x + y, {text} floats", lambda y=y: y + y, lambda x=x: x + x, times, ratio_bar=1.0)
        compare(
            f"add(x, y, out=z), {text} floats",
            lambda y=y, z=device_out: torch.add(y, y, out=z),
            lambda x=x, z=out: torch.add(x, x, out=z),
            times,
            ratio_bar=1.0,
        )
        compare(f"sum, {text} floats", y.sum, x.sum, times)
    for size, times in ((256, 50), (1024, 2)):
        x, out = torch.randn(size, size), torch.empty(size, size)
        y, device_out = x.to(DEVICE), out.to(DEVICE)
        compare(
            f"matrix product, {size}",
            lambda y=y, z=device_out: torch.mm(y, y, out=z),
            lambda x=x, z=out: torch.mm(x, x, out=z),
            times,
            "ms",
            ratio_bar=1.1,
        )


def host_return() -> None:
    """How long the host is held up by a product that takes the device a second."""
    x = torch.randn(4096, 4096, device=DEVICE)
    out = torch.empty_like(x)
    for _ in range(20):
        torch.mm(x[:64, :64], x[:64, :64], out=out[:64, :64])
    torch.openreg.synchronize()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        torch.mm(x, x, out=out)
        times.append(time.perf_counter() - start)
        torch.openreg.synchronize()
    report("host return of a matrix product, 4096", median(times) * 1e6, "µs", bar=20)


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


class Mlp:
    """A small network and a batch, on one device."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        layers = [torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU()]
        self.model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.inputs, self.targets = torch.randn(128, 64).to(device), torch.randint(0, 10, (128,)).to(device)

    def step(self) -> None:
        """Trains on the batch."""
        self.optimizer.zero_grad()
        torch.nn.functional.cross_entropy(self.model(self.inputs), self.targets).backward()
        self.optimizer.step()


def training() -> None:
    """A training step of a network, and of the example."""
    compare("training step of an MLP, 64-256-256-10", Mlp(DEVICE).step, Mlp("cpu").step, 20, "ms", ratio_bar=1.0)
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
    operators()
    host_return()
    copies()
    training()
    start()
