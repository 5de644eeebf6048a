"""Streams: other queues than the default one, and waiting for them."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..backend import Backend, timed
from ..registry import NotSeen, Section, Silent, Wrong

section = Section("streams", step=6, chapter="06-stream")
NEEDS = ("import", "tensors", "native kernels", "streams")
NOTHING = 0.010  # seconds in which a device that has nothing to do has been waited for, on a busy machine, too


def check_waits(work: Callable[[], Callable[[], None]], stream: torch.Stream, what: str) -> None:
    """Waits for work in the way under test, and then for the whole device, which must have nothing to do any more.

    Args:
        work: Starts work on the stream, and returns what waits for it.
        stream: Where the work is.
        what: The name of what waits.

    Raises:
        Silent: If the work goes on afterwards, three times in a row: one of them may be the machine's fault.
        NotSeen: If there was no work left to wait for.
    """
    early = 0
    for _ in range(3):
        torch.accelerator.synchronize()
        wait = work()
        busy = not stream.query()
        waited, rest = timed(wait), timed(torch.accelerator.synchronize)
        if rest >= NOTHING and rest >= waited:
            early += 1
        elif busy or waited >= NOTHING:
            return
    if early == 3:
        raise Silent(f"{what} returns before the work is done")
    raise NotSeen


@section.probe("streams", write="DeviceGuardImplInterface::getNewStream, exchangeStream, getStream")
def streams(backend: Backend) -> None:
    """Makes two streams, makes each the current one, and comes back."""
    default = torch.accelerator.current_stream()
    first, second = torch.Stream(backend.device()), torch.Stream(backend.device())
    for stream in (first, second):
        with stream:
            if torch.accelerator.current_stream() != stream:
                raise Silent("`with stream` leaves another stream current")
        if torch.accelerator.current_stream() != default:
            raise Wrong("after `with stream`, another stream is current than before")
    if default in (first, second) or first == second:
        raise Silent("torch.Stream() gives the default stream, or twice the same")


@section.probe("stream functions", write="Stream, Event, stream, current_stream, set_stream in the device's module")
def stream_functions(backend: Backend) -> None:
    """Looks for the functions of torch.<name> that have to do with streams, and makes a stream current by them."""
    lacking = [it for it in ("Stream", "Event", "stream", "current_stream") if not hasattr(backend.module, it)]
    if lacking:
        raise AttributeError(f"module 'torch.{backend.name}' has no attribute {lacking[0]!r}")
    stream = backend.module.Stream()
    with backend.module.stream(stream):
        if backend.module.current_stream() != stream or torch.accelerator.current_stream() != stream:
            raise Silent(f"torch.{backend.name}.stream() leaves another stream current")


@section.probe("work on a stream", write="launch on the current stream, in each kernel and copy", needs=NEEDS)
def work_on_a_stream(backend: Backend) -> None:
    """Computes on a stream of its own, waits for that alone, and compares with the CPU."""
    stream = torch.Stream(backend.device())
    _, there = backend.numbers(64, 64)
    torch.accelerator.synchronize()
    with stream:
        product = backend.long_work()
        sum_ = there + there
    stream.synchronize()
    backend.check(product, backend.long_work_here(), "products on a stream")
    backend.check(sum_, backend.numbers(64, 64)[0] * 2, "a sum on a stream")


@section.probe("Stream.synchronize", write="DeviceGuardImplInterface::synchronizeStream, queryStream", needs=NEEDS)
def synchronize(backend: Backend) -> None:
    """Waits for a stream, and looks whether work goes on after that."""
    stream = torch.Stream(backend.device())

    def work() -> Callable[[], None]:
        with stream:
            backend.long_work(30)
        return stream.synchronize

    check_waits(work, stream, "Stream.synchronize()")
    if not stream.query():
        raise Wrong("Stream.query() says that work is left after Stream.synchronize()")


@section.probe("device synchronize", write="DeviceGuardImplInterface::synchronizeDevice", needs=NEEDS)
def device_synchronize(backend: Backend) -> None:
    """Waits for the device while a stream works, and looks whether that goes on."""
    stream, busy = torch.Stream(backend.device()), False
    for wait in (torch.accelerator.synchronize, backend.module.synchronize):
        with stream:
            backend.long_work(30)
        busy |= not stream.query()
        wait()
        if not stream.query():
            raise Silent(f"{wait.__module__}.{wait.__name__}() returns before the work of all streams is done")
    if not busy:
        raise NotSeen


@section.probe("order of streams", write="DeviceGuardImplInterface::block", needs=(*NEEDS, "events"))
def order(backend: Backend) -> None:
    """Lets one stream wait for another four times, and compares what it read with the CPU."""
    first, second = torch.Stream(backend.device()), torch.Stream(backend.device())
    expected, busy = backend.long_work_here(), False
    for _ in range(4):
        torch.accelerator.synchronize()
        with first:
            there = backend.long_work()
        busy |= not first.query()
        second.wait_stream(first)
        with second:
            got = there + 1
        second.synchronize()
        if not first.query():
            raise Silent("Stream.wait_stream() doesn't wait: the second stream was done before the first")
        later = there + 1
        backend.check(later, expected + 1, "what the first stream wrote")
        if not torch.equal(got.cpu(), later.cpu()):
            raise Silent("Stream.wait_stream() doesn't wait: the second stream read before the first had written")
    if not busy:
        raise NotSeen
