"""Pinned memory, and copies that the host doesn't wait for."""

from __future__ import annotations

import torch

from ..backend import Backend
from ..registry import Section, Silent

section = Section("pinned memory", step=8, chapter="08-pinned", needs=("import", "tensors"))


@section.probe("pin_memory", write="PrivateUse1HooksInterface::getPinnedMemoryAllocator, isPinnedPtr")
def pin_memory(backend: Backend) -> None:
    """Pins a tensor, and asks it."""
    here = torch.arange(1000.0)
    pinned = here.pin_memory()
    if not pinned.is_pinned():
        raise Silent("pin_memory() gives a tensor whose is_pinned() is False")
    if here.is_pinned():
        raise Silent("is_pinned() is True of memory that was never pinned")
    backend.check(pinned, here, "pin_memory")


@section.probe("non_blocking copies", step=2, write="_copy_from: asynchronous only where the host's memory is pinned")
def non_blocking(backend: Backend) -> None:
    """Copies there and back with non_blocking=True, from and to memory that isn't pinned, and compares."""
    here = torch.arange(1 << 18, dtype=torch.float32)
    source, back = here.clone(), torch.zeros_like(here)
    there = source.to(backend.device(), non_blocking=True)
    source.zero_()  # memory that isn't pinned has been read when the call returns
    back.copy_(there, non_blocking=True)
    torch.accelerator.synchronize()
    backend.check(back, here, "copies with non_blocking=True")


@section.probe(
    "non_blocking with pinned",
    write="copies on the current stream; the host allocator keeps a block until its copies are done",
    needs=(*section.needs, "pin_memory"),
)
def non_blocking_pinned(backend: Backend) -> None:
    """The same from and to pinned memory, which is freed before the copy need have been done."""
    here = torch.arange(1 << 18, dtype=torch.float32)
    for _ in range(4):
        there = here.pin_memory().to(backend.device(), non_blocking=True)
        torch.zeros(1 << 18).pin_memory()  # would be the same block, if it weren't kept for the copy
        back = there.to("cpu", non_blocking=True)
        torch.accelerator.synchronize()
        backend.check(back, here, "copies of pinned memory with non_blocking=True")
        if not back.is_pinned():
            raise Silent("to('cpu', non_blocking=True) gives memory that isn't pinned, so the host waits")
