"""Device memory."""

from __future__ import annotations

import torch

from torch_openreg import _C

from .device import _device_index

__all__ = ["mem_get_info"]


def mem_get_info(device: torch.device | str | int | None = None) -> tuple[int, int]:
    """Free and total memory of a device, in bytes, as its driver sees it.

    Args:
        device: Which one; the current device if None.

    Returns:
        ``(free, total)``.
    """
    return _C._mem_get_info(_device_index(device, "mem_get_info"))
