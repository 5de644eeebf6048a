"""Figures of the caching allocator, each with the CPU's beside it, as JSON lines {name, value, cpu, unit, bar}.

Device and CPU are measured in turns, and the best round counts: what others do on the machine only adds. Both are given
the device as an object: reading its name takes as long as a tenth of the call, and leaving it out is another path.
"""

import json
import time
from collections.abc import Callable

import torch
import torch_openreg  # noqa: F401 (registers the device)

DEVICE, CPU = torch.device("openreg:0"), torch.device("cpu")
ROUNDS = 31


def seconds(body: Callable[[], object], times: int) -> float:
    """Returns the seconds that one call takes."""
    start = time.perf_counter()
    for _ in range(times):
        body()
    return (time.perf_counter() - start) / times


def compare(name: str, body: Callable[[torch.device], object], times: int) -> None:
    """Prints how long a call takes on the device and on the CPU, which is the bar."""
    for device in (DEVICE, CPU):
        body(device)
    pairs = [[seconds(lambda d=device: body(d), times) * 1e6 for device in (DEVICE, CPU)] for _ in range(ROUNDS)]
    value, cpu = (min(column) for column in zip(*pairs, strict=True))
    print(json.dumps({"name": name, "value": value, "cpu": cpu, "unit": "µs", "bar": round(cpu, 3)}), flush=True)


def report(name: str, body: Callable[[], object], times: int) -> None:
    """Prints how long a call takes that the CPU does not have."""
    value = min(seconds(body, times) for _ in range(ROUNDS)) * 1e6
    print(json.dumps({"name": name, "value": value, "unit": "µs"}), flush=True)


def recorded(side: torch.Stream) -> None:
    """A tensor that another stream uses: an event is made, recorded, asked and destroyed."""
    torch.empty(1, device=DEVICE).record_stream(side)


if __name__ == "__main__":
    compare("empty(1), cached", lambda device: torch.empty(1, device=device), 2000)
    compare("empty, 64 KiB, cached", lambda device: torch.empty(1 << 14, device=device), 2000)
    compare("empty, 4 MiB, cached", lambda device: torch.empty(1 << 20, device=device), 1000)
    likes = {device: torch.empty(1, device=device) for device in (DEVICE, CPU)}
    compare("empty_like, one element, cached", lambda device: torch.empty_like(likes[device]), 2000)
    other = torch.Stream("openreg")
    report("empty(1) with record_stream", lambda: recorded(other), 1000)
    report("memory_stats", torch.accelerator.memory_stats, 50)
    report("empty_cache, nothing cached", torch.openreg.empty_cache, 200)
