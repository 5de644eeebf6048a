"""Device memory: the cache, its limit, and what is counted. Most of it is in ``torch.accelerator``, too."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch

from torch_openreg import _C

from .device import _device_index
from .memory_history import _attach_out_of_memory_observer as _attach_out_of_memory_observer
from .memory_history import _dump_snapshot as _dump_snapshot
from .memory_history import _record_memory_history as _record_memory_history
from .memory_history import _snapshot as _snapshot

__all__ = [
    "empty_cache",
    "get_per_process_memory_fraction",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]

_Device = torch.device | str | int | None


def mem_get_info(device: _Device = None) -> tuple[int, int]:
    """Free and total memory of a device, in bytes, as its driver sees it. Cached memory is not free to the driver.

    Args:
        device: Which one; the current device if None.

    Returns:
        ``(free, total)``.
    """
    return _C._mem_get_info(_device_index(device, "mem_get_info"))


def empty_cache() -> None:
    """Gives the cached memory of all devices back to their drivers. Waits for the devices; releases the GIL.

    Tensors find the memory they need in the cache and, when it runs out, the cache is emptied without being asked. So
    this is for what shares a device with PyTorch, not for PyTorch.
    """
    _C._empty_cache()


def set_per_process_memory_fraction(fraction: float, device: _Device = None) -> None:
    """Limits what this process may reserve of a device's memory. Beyond it, allocations fail as on a full device.

    Args:
        fraction: Share of the device's memory, from 0 to 1. What is reserved already stays.
        device: Which one; the current device if None.

    Raises:
        ValueError: If the fraction is out of range.
    """
    _C._set_memory_fraction(float(fraction), _device_index(device, "set_per_process_memory_fraction"))


def get_per_process_memory_fraction(device: _Device = None) -> float:
    """The share of a device's memory that this process may reserve; 1 unless it was set.

    Args:
        device: Which one; the current device if None.
    """
    return _C._memory_fraction(_device_index(device, "get_per_process_memory_fraction"))


def memory_stats(device: _Device = None) -> OrderedDict[str, Any]:
    """What has been counted, by name; see :func:`torch.accelerator.memory_stats`. Empty before the first allocation.

    Args:
        device: Which one; the current device if None.
    """
    return torch.accelerator.memory_stats(_device_index(device, "memory_stats"))


def memory_allocated(device: _Device = None) -> int:
    """Bytes that tensors have now.

    Args:
        device: Which one; the current device if None.
    """
    return torch.accelerator.memory_allocated(_device_index(device, "memory_allocated"))


def max_memory_allocated(device: _Device = None) -> int:
    """Most bytes that tensors have had at a time, since the start or :func:`reset_peak_memory_stats`.

    Args:
        device: Which one; the current device if None.
    """
    return torch.accelerator.max_memory_allocated(_device_index(device, "max_memory_allocated"))


def memory_reserved(device: _Device = None) -> int:
    """Bytes that the driver has given: to tensors and to the cache.

    Args:
        device: Which one; the current device if None.
    """
    return torch.accelerator.memory_reserved(_device_index(device, "memory_reserved"))


def max_memory_reserved(device: _Device = None) -> int:
    """Most bytes that were reserved at a time, since the start or :func:`reset_peak_memory_stats`.

    Args:
        device: Which one; the current device if None.
    """
    return torch.accelerator.max_memory_reserved(_device_index(device, "max_memory_reserved"))


def reset_accumulated_memory_stats(device: _Device = None) -> None:
    """Sets the sums and counters of :func:`memory_stats` to zero.

    Args:
        device: Which one; the current device if None.
    """
    torch.accelerator.reset_accumulated_memory_stats(_device_index(device, "reset_accumulated_memory_stats"))


def reset_peak_memory_stats(device: _Device = None) -> None:
    """Sets the peaks of :func:`memory_stats` to the present values.

    Args:
        device: Which one; the current device if None.
    """
    torch.accelerator.reset_peak_memory_stats(_device_index(device, "reset_peak_memory_stats"))
