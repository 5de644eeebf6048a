"""Kernels of the device's library, launched from Python by name."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import torch

from torch_openreg import _C

from .device import _lazy_init

__all__ = ["launch"]


# LITERALINCLUDE START: LAUNCH FROM PYTHON
def launch(
    kernel: str,
    args: ctypes.Structure,
    reads: Mapping[int, torch.Tensor],
    writes: Mapping[int, torch.Tensor],
) -> None:
    """Queues a kernel on the current stream of its tensors' device, and does not wait for it.

    What the kernel makes of the tensors is between it and its arguments: nothing here knows what types it wants, or how
    many elements. That they lie in memory of the device is checked when it runs.

    Args:
        kernel: Its name with its type, such as ``"rms_norm.float"``.
        args: The struct that it takes, with every member but the addresses set.
        reads: The tensors that it only reads: the offset in ``args`` of each address, and the tensor.
        writes: Those that it writes, and may read.

    Raises:
        NotImplementedError: If the driver has no such kernel.
        RuntimeError: If the tensors are not on one device of this backend, or the arguments are not as large as the
            kernel's.
    """
    _lazy_init()
    tensors = [(offset, tensor, False) for offset, tensor in reads.items()]
    tensors += [(offset, tensor, True) for offset, tensor in writes.items()]
    _C._launch(kernel, bytes(args), tensors)


# LITERALINCLUDE END: LAUNCH FROM PYTHON
