"""Figures of copies between host and device, and of pinned memory. Beside a copy stands the same copy on the CPU.

What a share of hidden work says depends on the cores that are free: the device of the simulator is a thread.
"""

import torch
from measure import DEVICE, hidden, host_returns, in_turns, report


def copies() -> None:
    """Pinned beside pageable, in both directions."""
    for text, size, calls in (("4 KiB", 1 << 12, 1000), ("1 MiB", 1 << 20, 50), ("64 MiB", 1 << 26, 3)):
        pageable, other = torch.zeros(size, dtype=torch.uint8), torch.ones(size, dtype=torch.uint8)
        pinned, device = other.pin_memory(), other.to(DEVICE)
        ways = {
            "to the device, pageable": lambda h=pageable, d=device: d.copy_(h),
            "to the device, pinned": lambda h=pinned, d=device: d.copy_(h),
            "to the device, pinned, non-blocking": lambda h=pinned, d=device: d.copy_(h, non_blocking=True),
            "to the host, pageable": lambda h=pageable, d=device: h.copy_(d),
            "to the host, pinned": lambda h=pinned, d=device: h.copy_(d),
            "to the host, pinned, non-blocking": lambda h=pinned, d=device: h.copy_(d, non_blocking=True),
        }
        *taken, cpu = in_turns([*ways.values(), lambda h=pageable, o=other: o.copy_(h)], calls)
        for name, figure in zip(ways, taken, strict=True):
            report(f"copy {text} {name}", figure * 1e6, "µs", cpu=cpu * 1e6)


def columns() -> None:
    """A column of a large matrix: what it costs is its own bytes, not the matrix's."""
    device, column = torch.zeros(16384, 2048, device=DEVICE), torch.ones(16384)
    host = torch.zeros(16384, 2048)
    here, cpu = in_turns([lambda: device[:, 0].copy_(column), lambda: host[:, 0].copy_(column)], 50)
    report("copy a column of 16384 x 2048 to the device", here * 1e6, "µs", cpu=cpu * 1e6, most=1000)


def returns() -> None:
    """When the host goes on, though the copy is not done."""
    device = torch.zeros(1 << 26, dtype=torch.uint8, device=DEVICE)
    pinned, small = device.to("cpu").pin_memory(), torch.zeros(1 << 10, dtype=torch.uint8)
    part, other = device[:1024], device[1024:2048]
    for name, body in (
        ("a copy, 64 MiB to the device, pinned", lambda: device.copy_(pinned, non_blocking=True)),
        ("a copy, 64 MiB to the host, pinned", lambda: pinned.copy_(device, non_blocking=True)),
        ("a copy, 1 KiB to the device, staged", lambda: part.copy_(small, non_blocking=True)),
    ):
        host_returns(name, body, lambda: other.copy_(part))


def allocations() -> None:
    """What a cached block costs beside ordinary memory, and beside a call of the driver."""
    for text, size in (("4 KiB", 1 << 12), ("16 MiB", 1 << 24)):

        def cached(size: int = size) -> None:
            torch.empty(size, dtype=torch.uint8, pin_memory=True)

        def fresh(size: int = size) -> None:
            torch.accelerator.empty_host_cache()
            torch.empty(size, dtype=torch.uint8, pin_memory=True)

        def ordinary(size: int = size) -> None:
            torch.empty(size, dtype=torch.uint8)

        *taken, cpu = in_turns((cached, fresh, ordinary), 300)
        for name, figure in zip(("cached", "by the driver"), taken, strict=True):
            report(f"empty(pin_memory=True), {text}, {name}", figure * 1e6, "µs", cpu=cpu * 1e6)


def overlap() -> None:
    """What the host gets done while copies are on their way."""
    device = torch.zeros(1 << 26, dtype=torch.uint8, device=DEVICE)
    pinned = torch.zeros(1 << 26, dtype=torch.uint8, pin_memory=True)
    hidden("pinned copies", lambda: [device.copy_(pinned, non_blocking=True) for _ in range(4)])


if __name__ == "__main__":
    for part in (copies, columns, returns, allocations, overlap):
        part()
