"""Statistics of pinned host memory."""

from __future__ import annotations

from torch_openreg import _C

from .device import _lazy_init

__all__ = [
    "host_memory_stats",
    "reset_accumulated_host_memory_stats",
    "reset_peak_host_memory_stats",
]


def host_memory_stats() -> dict[str, float]:
    """Statistics of the allocator of pinned memory, under the names that ``torch.cuda.host_memory_stats`` has.

    Sizes are those of blocks: a request is rounded up to a power of two. The cache is one for all devices.

    Returns:
        ``allocations`` and ``allocated_bytes``: blocks that the allocator has from the driver, in use or cached.
        ``active_requests`` and ``active_bytes``: blocks in use, by tensors or by copies that are not done. Each with
        ``.current``, ``.peak``, ``.allocated`` and ``.freed``. ``num_host_alloc`` and ``num_host_free``: calls of the
        driver. ``host_alloc_time`` and ``host_free_time``: their microseconds, with ``.total``, ``.max``, ``.min``,
        ``.count`` and ``.avg``.
    """
    _lazy_init()
    nested = _C._host_memory_stats()
    flat: dict[str, float] = {}
    for name, value in nested.items():
        flat.update(
            {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        )
    return flat


def reset_peak_host_memory_stats() -> None:
    """Sets each ``peak`` of :func:`host_memory_stats` to the current value."""
    _lazy_init()
    _C._reset_peak_host_memory_stats()


def reset_accumulated_host_memory_stats() -> None:
    """Sets each ``allocated`` and ``freed`` of :func:`host_memory_stats`, and the times, to 0."""
    _lazy_init()
    _C._reset_accumulated_host_memory_stats()
