"""Events: points in a stream's work, that may be recorded again."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..backend import Backend, timed
from ..registry import NotSeen, Section, Silent, Wrong
from .streams import check_waits

section = Section("events", step=6, chapter="06-stream", needs=("import", "streams"))
NEEDS = ("import", "tensors", "native kernels", "streams", "events")


@section.probe("events", write="DeviceGuardImplInterface::record, block, queryEvent, synchronizeEvent, destroyEvent")
def events(backend: Backend) -> None:
    """Records an event, waits for it, and lets a stream wait for it."""
    stream = torch.Stream(backend.device())
    event = stream.record_event()
    event.synchronize()
    if not event.query():
        raise Wrong("Event.query() says that an event hasn't happened after Event.synchronize()")
    stream.wait_event(event)
    stream.synchronize()


@section.probe("Event.synchronize", write="DeviceGuardImplInterface::synchronizeEvent", needs=NEEDS)
def synchronize(backend: Backend) -> None:
    """Waits for an event behind work, and looks whether the work goes on after that."""
    stream = torch.Stream(backend.device())

    def work() -> Callable[[], None]:
        with stream:
            backend.long_work(30)
        return stream.record_event().synchronize

    check_waits(work, stream, "Event.synchronize()")


@section.probe("event versions", write="DeviceGuardImplInterface::record: each record makes a new version", needs=NEEDS)
def versions(backend: Backend) -> None:
    """Records an event that has happened once more, behind work, and asks it and waits for it again."""
    stream, event = torch.Stream(backend.device()), torch.Event(backend.name)
    event.record(stream)
    for _ in range(3):  # on a busy machine the work may be done before it is asked
        event.synchronize()
        with stream:
            backend.long_work(30)
        event.record(stream)
        early, busy = event.query(), not stream.query()  # in this order: the stream may end in between
        if early and busy:
            raise Silent("after a second record, the event is still at its first point")
        if busy:
            break
    else:
        raise NotSeen

    def again() -> Callable[[], None]:
        with stream:
            backend.long_work(30)
        event.record(stream)
        return event.synchronize

    check_waits(again, stream, "Event.synchronize() of an event that was recorded again")


@section.probe("event times", write="DeviceGuardImplInterface::elapsedTime", needs=NEEDS)
def times(backend: Backend) -> None:
    """Measures work by two events, and compares with the host's clock."""
    start, end = (torch.Event(backend.name, enable_timing=True) for _ in range(2))

    def work() -> None:
        start.record()
        backend.long_work(30)
        end.record()
        end.synchronize()

    work()  # what is slow the first time
    torch.accelerator.synchronize()
    wall = timed(work) * 1000
    measured = start.elapsed_time(end)
    if measured == 0:
        raise Silent("Event.elapsed_time() is 0 between two ends of work")
    if not 0 < measured < 1.1 * wall + 1:
        raise Wrong(f"Event.elapsed_time() is {measured:.3f} ms where the host's clock says {wall:.3f} ms")
