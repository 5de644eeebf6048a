"""Memory: a cache that PyTorch can ask, and that waits for other streams."""

from __future__ import annotations

import torch

from ..backend import Backend
from ..registry import NotSeen, Section, Silent, Wrong

section = Section("memory", step=7, chapter="07-memory", needs=("import", "tensors"))
SIZE = 8 << 20  # bytes: enough to be seen beside what the probe itself uses


def block(backend: Backend) -> torch.Tensor:
    """A tensor of SIZE bytes."""
    return torch.empty(SIZE, dtype=torch.uint8, device=backend.device())


@section.probe("memory in use", write="DeviceAllocator::getDeviceStats, registered as the device's allocator")
def memory_in_use(backend: Backend) -> None:
    """Allocates and frees, and looks at memory_allocated."""
    before = torch.accelerator.memory_allocated()
    tensor = block(backend)
    during = torch.accelerator.memory_allocated()
    if during == before:
        raise Silent("memory_allocated() stays as it is while a tensor is made")
    del tensor
    after = torch.accelerator.memory_allocated()
    if not SIZE <= during - before < 2 * SIZE or after != before:
        raise Wrong(f"memory_allocated() was {before}, {during} with {SIZE} bytes more, {after} without them")


@section.probe("peak and reset", write="DeviceAllocator::getDeviceStats, resetPeakStats, resetAccumulatedStats")
def peak(backend: Backend) -> None:
    """Frees a tensor, and looks at the peak before and after resetting it."""
    block(backend)  # is gone at once
    peak = torch.accelerator.max_memory_allocated()
    torch.accelerator.reset_peak_memory_stats()
    after = torch.accelerator.max_memory_allocated()
    if peak < SIZE or after > peak - SIZE:
        raise Silent(f"the peak was {peak} with {SIZE} bytes in use, and is {after} after it was reset")
    torch.accelerator.reset_accumulated_memory_stats()


@section.probe("cache", write="DeviceAllocator::emptyCache, and a free that keeps the block")
def cache(backend: Backend) -> str:
    """Frees a tensor, looks whether its memory is kept, and gives it back."""
    block(backend)
    kept = torch.accelerator.memory_reserved()
    torch.accelerator.empty_cache()
    left = torch.accelerator.memory_reserved()
    if not kept:
        return "nothing is kept: each free goes to the driver"
    if left >= kept:
        raise Silent(f"empty_cache() leaves {left} of {kept} bytes")
    return "freed memory is kept, and empty_cache() gives it back"


@section.probe("free memory", write="DeviceAllocator::getMemoryInfo")
def free_memory(backend: Backend) -> None:
    """Asks for free and total memory, with a tensor and without it."""
    torch.accelerator.empty_cache()
    free, total = torch.accelerator.get_memory_info()
    tensor = block(backend)
    with_tensor = torch.accelerator.get_memory_info()[0]
    del tensor
    if not 0 < free <= total:
        raise Wrong(f"{free} of {total} bytes are free")
    if with_tensor > free - SIZE // 2:
        raise Silent(f"{free} bytes are free without a tensor of {SIZE} bytes, {with_tensor} with it")


@section.probe(
    "record_stream", write="aten::record_stream → DeviceAllocator::recordStream", needs=(*section.needs, "streams")
)
def record_stream(backend: Backend) -> None:
    """Frees a tensor that another stream still reads, takes memory of its size, and looks whether that is the same."""
    other = torch.Stream(backend.device())
    for _ in range(3):  # on a busy machine the work may be done before it is asked
        x = torch.ones(384, 384).to(backend.device())
        old = x.data_ptr()
        x.record_stream(other)
        torch.accelerator.synchronize()
        with other:
            backend.long_work(30)
            y = x + 1
            busy = not other.query()
        del x
        new = torch.empty(384, 384, device=backend.device())
        if busy and new.data_ptr() == old and not other.query():
            raise Silent("the memory is given out again while the other stream still reads it")
        new.zero_()
        torch.accelerator.synchronize()
        backend.check(y, torch.full((384, 384), 2.0), "what the other stream has read")
        if busy:
            return
    raise NotSeen
