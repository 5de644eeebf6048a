"""Figures of operators and of training, each with the CPU's beside it."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import models
import torch
from measure import DEVICE, compare, hidden, host_returns, in_turns, report

ROOT = Path(__file__).resolve().parent.parent

# What a new process needs before it has its first tensor. Threads are counted by the kernel's own list of them.
START = """
import os, time
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0" # else the next line does what is measured
import torch
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


def elements() -> None:
    """Operators on one element: what a call costs."""
    on_device, on_cpu = torch.ones(1, device=DEVICE), torch.ones(1)
    compare("view", lambda: on_device.view(1, 1), lambda: on_cpu.view(1, 1), 5000)
    compare("item()", on_device.item, on_cpu.item, 5000)
    for name in ("add", "mul", "relu", "eq", "sum"):
        operator, inputs = getattr(torch, name), 1 if name in ("relu", "sum") else 2
        here, there = [on_device] * inputs, [on_cpu] * inputs
        compare(
            f"{name}, one element", lambda f=operator, x=here: f(*x), lambda f=operator, x=there: f(*x), 5000, times=1.2
        )
    compare("exp(x), one element", on_device.exp, on_cpu.exp, 5000)
    here, there = in_turns(
        (lambda: torch.special.airy_ai(on_device), lambda: torch.special.airy_ai(on_cpu)), calls=2000
    )
    assert "aten::special_airy_ai.out" in torch.openreg.fallbacks(), "this is to be measured on the fallback"
    report("fallback of one element, more than the CPU", (here - there) * 1e6, "µs", most=5)


def large() -> None:
    """Large tensors: what the device's own work takes."""
    for text, size, calls in (("1M", 1 << 20, 200), ("16M", 1 << 24, 3)):
        x, y = torch.ones(size, device=DEVICE), torch.ones(size)
        compare(f"x + y, {text} floats", lambda x=x: x + x, lambda y=y: y + y, calls, times=1.0)
    x, y = torch.ones(1024, 1024, device=DEVICE), torch.ones(1024, 1024)
    compare("matmul 1024²", lambda: x @ x, lambda: y @ y, 3, "ms", times=1.1, rounds=9)


def asynchronous() -> None:
    """What the host gets done while the device works."""
    x, small = torch.ones(4096, 4096, device=DEVICE), torch.ones(64, 64, device=DEVICE)
    host_returns("matmul 4096²", lambda: x @ x, lambda: small @ small, most=20)
    slow, share = torch.zeros(1 << 14, device=DEVICE), torch.full((1 << 14,), 0.3, device=DEVICE)
    hidden("kernels", lambda: [torch.special.ndtri(share, out=slow) for _ in range(500)])


def training() -> None:
    """Training steps of three networks, and of the example."""
    for name, network, times in (
        ("MLP", models.mlp, 1.0),
        ("CNN", models.cnn, 2.0),
        ("transformer", models.transformer, 1.5),
    ):
        compare(f"training step, {name}", network(str(DEVICE)), network("cpu"), 20, "ms", times=times)
    sys.path.insert(0, str(ROOT / "examples"))
    from digits import Training

    device, cpu = Training(str(DEVICE)), Training("cpu")
    rows, cpu_rows = device.batches()[0], cpu.batches()[0]
    compare("training step of examples/digits.py", lambda: device.step(rows), lambda: cpu.step(cpu_rows), 20, "ms")


def start() -> None:
    """What importing costs a new process."""
    # pip compiles what it installs; here the first process does, unless the environment forbids it.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", START]
    runs = [subprocess.run(command, env=env, capture_output=True, text=True, check=True) for _ in range(6)]
    imported, first, threads, count = (
        median(column) for column in zip(*(map(float, r.stdout.split()) for r in runs[1:]), strict=True)
    )
    report("import after torch", imported, "ms", most=20)
    report("first tensor", first, "ms", most=1)
    report("threads started by importing", threads, "", most=0)
    report("threads started by counting devices", count, "", most=0)


if __name__ == "__main__":
    for part in (elements, large, asynchronous, training, start):
        part()
