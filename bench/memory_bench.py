"""Figures of the caching allocator, each with the CPU's beside it.

Both are given the device as an object: reading its name takes as long as a tenth of the call, and leaving it out is
another path.
"""

from collections.abc import Callable

import torch
from measure import DEVICE, Body, compare, per_call, report

CPU = torch.device("cpu")


def beside_cpu(name: str, body: Callable[[torch.device], object], calls: int) -> None:
    """Reports how long a call takes on the device and on the CPU."""
    compare(name, lambda: body(DEVICE), lambda: body(CPU), calls, times=1.0)


def alone(name: str, body: Body, calls: int) -> None:
    """Reports how long a call takes that the CPU does not have."""
    report(name, per_call(body, calls) * 1e6, "µs")


if __name__ == "__main__":
    beside_cpu("empty(1), cached", lambda device: torch.empty(1, device=device), 5000)
    beside_cpu("empty, 64 KiB, cached", lambda device: torch.empty(1 << 14, device=device), 5000)
    beside_cpu("empty, 4 MiB, cached", lambda device: torch.empty(1 << 20, device=device), 5000)
    likes = {device: torch.empty(1, device=device) for device in (DEVICE, CPU)}
    beside_cpu("empty_like, one element, cached", lambda device: torch.empty_like(likes[device]), 5000)
    side = torch.Stream(DEVICE)
    # Another stream uses the tensor: an event is made, recorded, asked and destroyed.
    alone("empty(1) with record_stream", lambda: torch.empty(1, device=DEVICE).record_stream(side), 1000)
    alone("memory_stats", torch.accelerator.memory_stats, 100)
    alone("empty_cache, nothing cached", torch.openreg.empty_cache, 1000)
