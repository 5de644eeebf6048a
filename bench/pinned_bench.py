"""Figures of pinned memory, as JSON lines {name, value, cpu, unit, bar}. Medians, where nothing else is said.

Beside a copy stands the same copy on the CPU. What a share of hidden work says depends on the cores that are free: the
device of the simulator is a thread.
"""

import json
import time
from collections.abc import Callable
from statistics import median

import torch
import torch_openreg  # noqa: F401 (registers the device)
from stream_bench import hidden

ROUNDS = 15


def report(name: str, value: float, unit: str, cpu: float | None = None) -> None:
    """Prints one figure."""
    print(json.dumps({"name": name, "value": value, "cpu": cpu, "unit": unit}), flush=True)


def microseconds(body: Callable[[], object], times: int, wait: bool = True) -> float:
    """Returns how long one call takes; with `wait`, its work on the device, too."""
    start = time.perf_counter()
    for _ in range(times):
        body()
    if wait:
        torch.accelerator.synchronize()
    taken = (time.perf_counter() - start) / times * 1e6
    torch.accelerator.synchronize()
    return taken


def copies() -> None:
    """Pinned beside pageable, in both directions, each in turns with the CPU's copy."""
    for text, size, times in (("4 KiB", 1 << 12, 300), ("1 MiB", 1 << 20, 30), ("64 MiB", 1 << 26, 2)):
        pageable, other = torch.zeros(size, dtype=torch.uint8), torch.ones(size, dtype=torch.uint8)
        pinned, device = other.pin_memory(), other.to("openreg")
        ways = {
            "to the device, pageable": lambda h=pageable, d=device: d.copy_(h),
            "to the device, pinned": lambda h=pinned, d=device: d.copy_(h),
            "to the device, pinned, non-blocking": lambda h=pinned, d=device: d.copy_(h, non_blocking=True),
            "to the host, pageable": lambda h=pageable, d=device: h.copy_(d),
            "to the host, pinned": lambda h=pinned, d=device: h.copy_(d),
            "to the host, pinned, non-blocking": lambda h=pinned, d=device: h.copy_(d, non_blocking=True),
        }
        taken: dict[str, list[float]] = {name: [] for name in (*ways, "cpu")}
        for _ in range(ROUNDS):
            for name, body in {**ways, "cpu": lambda h=pageable, o=other: o.copy_(h)}.items():
                taken[name].append(microseconds(body, times))
        for name in ways:
            report(f"copy {text} {name}", median(taken[name]), "µs", median(taken["cpu"]))


def returns() -> None:
    """When the host goes on, though the copy is not done."""
    device = torch.zeros(1 << 26, dtype=torch.uint8, device="openreg")
    pinned, small = device.to("cpu").pin_memory(), torch.zeros(1 << 10, dtype=torch.uint8)
    for name, body in (
        ("64 MiB to the device, pinned", lambda: device.copy_(pinned, non_blocking=True)),
        ("64 MiB to the host, pinned", lambda: pinned.copy_(device, non_blocking=True)),
        ("1 KiB to the device, staged", lambda: device[:1024].copy_(small, non_blocking=True)),
    ):
        body()
        torch.accelerator.synchronize()
        report(f"host returns from a copy, {name}", median(microseconds(body, 1, False) for _ in range(60)), "µs")


def allocations() -> None:
    """What a cached block costs beside ordinary memory, and beside a call of the driver."""
    for text, size in (("4 KiB", 1 << 12), ("16 MiB", 1 << 24)):
        taken: tuple[list[float], list[float], list[float]] = ([], [], [])

        def fresh(size: int = size) -> None:
            torch.accelerator.empty_host_cache()
            torch.empty(size, dtype=torch.uint8, pin_memory=True)

        for _ in range(ROUNDS):
            taken[0].append(microseconds(lambda s=size: torch.empty(s, dtype=torch.uint8, pin_memory=True), 300))
            taken[1].append(microseconds(lambda s=size: torch.empty(s, dtype=torch.uint8), 300))
            taken[2].append(microseconds(fresh, 30))
        report(f"empty(pin_memory=True), {text}, cached", median(taken[0]), "µs", median(taken[1]))
        report(f"empty(pin_memory=True), {text}, by the driver", median(taken[2]), "µs", median(taken[1]))


def overlap() -> None:
    """What the host gets done while copies are on their way."""
    device = torch.zeros(1 << 26, dtype=torch.uint8, device="openreg")
    pinned = torch.zeros(1 << 26, dtype=torch.uint8, pin_memory=True)

    def copies() -> None:
        for _ in range(4):
            device.copy_(pinned, non_blocking=True)

    hidden("share of host work hidden behind pinned copies", copies)


if __name__ == "__main__":
    torch.empty(0, device="openreg")
    copies()
    returns()
    allocations()
    overlap()
