"""Figures of the PyTorch side, each with the CPU's beside it, as JSON lines {name, value, unit, cpu, bar, times}.

`bar` is what the value is to reach, `times` how many times the CPU's value it may be. Figures that say `cores` tell
something only where that many are really free. Device and CPU are measured in turns in one process, so that both meet
the same machine. Medians throughout.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import models
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

Body = Callable[[], object]


def report(name: str, value: float, unit: str, **more: float | None) -> None:
    """Prints one figure."""
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)


def seconds(body: Body, times: int) -> float:
    """Returns the seconds that one call takes, the device's work included."""
    start = time.perf_counter()
    for _ in range(times):
        body()
    torch.openreg.synchronize()
    return (time.perf_counter() - start) / times


def in_turns(device: Body, cpu: Body, times: int, rounds: int = ROUNDS) -> tuple[float, float]:
    """Measures both in turns and returns the medians."""
    pairs = [(seconds(device, times), seconds(cpu, times)) for _ in range(rounds)]
    return median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)


def compare(
    name: str, device: Body, cpu: Body, calls: int, unit: str = "µs", times: float | None = None, rounds: int = ROUNDS
) -> None:
    """Prints both, and how many times the CPU's figure the device's may be."""
    scale = {"µs": 1e6, "ms": 1e3}[unit]
    seconds(device, 1), seconds(cpu, 1)
    here, there = in_turns(device, cpu, calls, rounds)
    report(name, here * scale, unit, cpu=there * scale, times=times)


def tensors() -> None:
    """Creation, reading one number, and one operator on one element."""
    on_device, on_cpu = torch.ones(1, device=DEVICE), torch.ones(1)
    compare("empty(1)", lambda: torch.empty(1, device=DEVICE), lambda: torch.empty(1), 1000, times=1.0)
    compare("view", lambda: on_device.view(1, 1), lambda: on_cpu.view(1, 1), 1000)
    compare("item()", on_device.item, on_cpu.item, 1000)
    compare("x + y, one element", lambda: on_device + on_device, lambda: on_cpu + on_cpu, 500, times=1.2)
    compare("exp(x), one element", on_device.exp, on_cpu.exp, 500)


def fallback() -> None:
    """What the fallback adds to the CPU's own time for an operator of one element."""
    on_device, on_cpu = torch.ones(1, device=DEVICE), torch.ones(1)
    here, there = in_turns(lambda: torch.special.airy_ai(on_device), lambda: torch.special.airy_ai(on_cpu), 500)
    assert "aten::special_airy_ai.out" in torch.openreg.fallbacks(), "this is to be measured on the fallback"
    report("fallback of one element, more than the CPU", (here - there) * 1e6, "µs", bar=5)


def addition() -> None:
    """Adding large tensors."""
    for text, size, calls in (("1M", 1 << 20, 50), ("16M", 1 << 24, 3)):
        x, y = torch.ones(size, device=DEVICE), torch.ones(size)
        compare(f"x + y, {text} floats", lambda x=x: x + x, lambda y=y: y + y, calls, times=1.0)


def products() -> None:
    """Matrix products."""
    x, y = torch.ones(1024, 1024, device=DEVICE), torch.ones(1024, 1024)
    compare("matmul 1024²", lambda: x @ x, lambda: y @ y, 2, "ms", times=1.1, rounds=7)


def host_return() -> None:
    """How soon the host has asked for a large matrix product."""
    x = torch.ones(4096, 4096, device=DEVICE)
    y = torch.ones(64, 64, device=DEVICE)
    for _ in range(20):
        y @ y
    torch.openreg.synchronize()
    figures = []
    for _ in range(3):
        start = time.perf_counter()
        x @ x
        figures.append(time.perf_counter() - start)
        torch.openreg.synchronize()
    report("host return of matmul 4096²", median(figures) * 1e6, "µs", bar=20)


def overlap() -> None:
    """The share of the host's work that costs nothing, because the device works meanwhile. Both work for 50 ms."""
    x = torch.ones(1 << 14, device=DEVICE)

    def device(count: int) -> float:
        """Returns the seconds after which the work has been asked for."""
        start = time.perf_counter()
        for _ in range(count):
            x.mul_(1.0)
        return time.perf_counter() - start

    def host(duration: float) -> None:
        end = time.perf_counter() + duration
        while time.perf_counter() < end:
            pass

    device(100)
    torch.openreg.synchronize()
    count = max(1, round(0.05 / seconds(lambda: x.mul_(1.0), 200)))
    figures = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        asking = device(count)
        torch.openreg.synchronize()
        alone = time.perf_counter() - start
        start = time.perf_counter()
        device(count)
        host(alone - asking)
        torch.openreg.synchronize()
        together = time.perf_counter() - start
        figures.append((2 * alone - asking - together) / (alone - asking))
    report("share of host work hidden behind the device's, at least", median(figures), "", bar=0.95, cores=2)


def synchronizing() -> None:
    """Waiting for the device, for an event that it has to pass and when there is nothing to wait for."""
    torch.ones(1, device=DEVICE)
    event, stream = torch.Event(DEVICE), torch.accelerator.current_stream()

    def record_and_wait() -> float:
        start = time.perf_counter()
        event.record(stream)
        event.synchronize()
        return time.perf_counter() - start

    def after_a_rest() -> float:
        time.sleep(0.001)
        return record_and_wait()

    for text, body, bar in (("warm", record_and_wait, 15), ("after 1 ms idle", after_a_rest, 30)):
        report(f"event: record and synchronize, {text}", median(body() for _ in range(500)) * 1e6, "µs", bar=bar)
    for text, wait in (("stream", stream.synchronize), ("device", torch.openreg.synchronize)):
        figures = [seconds(wait, 1000) for _ in range(ROUNDS)]
        report(f"{text}: synchronize, idle", median(figures) * 1e6, "µs", bar=1)


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
    """Training steps of three networks, and of the example."""
    for name, network, times in (
        ("MLP", models.mlp, 1.0),
        ("CNN", models.cnn, 2.0),
        ("transformer", models.transformer, 1.5),
    ):
        compare(f"training step, {name}", network(DEVICE), network("cpu"), 10, "ms", times=times)
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
    report("import after torch", imported, "ms", bar=20)
    report("first tensor", first, "ms", bar=1)
    report("threads started by importing", threads, "", bar=0)
    report("threads started by counting devices", count, "", bar=0)


if __name__ == "__main__":
    for part in (
        *(tensors, fallback, addition, products, host_return, overlap, synchronizing, copies, training, start),
    ):
        part()
