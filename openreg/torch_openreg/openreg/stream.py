"""Streams and events."""

from __future__ import annotations

from types import TracebackType

import torch

from torch_openreg import _C
from torch_openreg._name import NAME

from .device import _Before, _device_index

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "default_stream",
    "set_stream",
    "stream",
]


class Stream(torch.Stream):
    """A queue of the device: its work runs in the order in which it was queued. Two streams are not ordered.

    Streams come from a pool of 32 for each device and priority, and are never destroyed: the 33rd is the first again.

    Args:
        device: Which device; the current one if None.
        priority: Smaller is served first; put into the device's range, see :meth:`priority_range`.
        kwargs: ``stream_id``, ``device_index`` and ``device_type``, all three, stand for a stream that exists already.

    Raises:
        ValueError: If there is no such device.
        TypeError: If it is not a device.
    """

    def __new__(cls, device: torch.device | str | int | None = None, priority: int = 0, **kwargs: int) -> Stream:
        """Takes a stream from the pool, or the one that the numbers name."""
        if kwargs:
            return super().__new__(cls, priority=priority, **kwargs)
        return super().__new__(cls, torch.device(NAME, _device_index(device, "Stream")), priority=priority)

    def __enter__(self) -> Stream:
        context = stream(self)
        context.__enter__()
        vars(self).setdefault("_entered", _Before()).stack.append(context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.stack.pop().__exit__(kind, value, trace)

    def record_event(self, event: torch.Event | None = None) -> torch.Event:
        """Records an event behind the work queued so far, and returns it.

        Args:
            event: Which one; a new one if None.
        """
        event = Event() if event is None else event  # torch.Stream's own method takes objects of torch.Event only
        event.record(self)
        return event

    @property
    def priority(self) -> int:
        """Priority of this stream."""
        return _C._stream_priority(self)

    @staticmethod
    def priority_range(device: torch.device | str | int | None = None) -> tuple[int, int]:
        """The priorities of a device: the number of the lowest, which is the default, and that of the highest.

        Args:
            device: Which one; the current device if None.
        """
        return _C._stream_priority_range(_device_index(device, "priority_range"))


class Event(torch.Event):
    """A point in a stream's work, for other streams and the host to wait for.

    It belongs to the device of the stream that it is first recorded on. Recorded again, it becomes a new version; who
    waits already waits for the version that there was.

    Args:
        device: Ignored but for its type, which must be openreg.
        enable_timing: Whether it has a time stamp, which :meth:`elapsed_time` needs.
        blocking: Ignored, as by :class:`torch.Event`.
        interprocess: Whether another process can open it; then it has no time stamp. Ignored by a backend that shares
            nothing between processes.

    Raises:
        ValueError: If there is no such device, or both ``enable_timing`` and ``interprocess`` are asked for.
    """

    def __new__(
        cls,
        device: torch.device | str | int | None = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Event:
        """Makes an event; the driver's comes with the first record."""
        place = torch.device(NAME, _device_index(device, "Event"))
        event = super().__new__(cls, place, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)
        # LITERALINCLUDE START: EVENT OF TWO PROCESSES
        if interprocess:
            if enable_timing:
                raise ValueError("Event: both 'enable_timing' and 'interprocess' are True; expected one of them")
            _C._make_shared_event(event, place.index)
        # LITERALINCLUDE END: EVENT OF TWO PROCESSES
        return event

    # LITERALINCLUDE START: EVENT HANDLE
    def ipc_handle(self) -> bytes:
        """Names this event to other processes of the same user. Valid as long as this process has the event.

        Raises:
            ValueError: If it was made without ``interprocess``.
            NotImplementedError: If the driver cannot share events.
        """
        return _C._shared_event_handle(self)

    @classmethod
    def from_ipc_handle(cls, device: torch.device | str | int | None, handle: bytes) -> Event:
        """The event that another process has named. Either process records it, and waits for the other's record.

        Args:
            device: The device on which this process records it; the current one if None.
            handle: What :meth:`ipc_handle` has returned there.

        Raises:
            ValueError: If there is no such device, or the handle has another number of bytes.
            RuntimeError: If the event is gone, or the handle was made up.
        """
        place = torch.device(NAME, _device_index(device, "from_ipc_handle"))
        event = super().__new__(cls, place)
        _C._open_shared_event(event, place.index, handle)
        return event

    # LITERALINCLUDE END: EVENT HANDLE
    def elapsed_time(self, end_event: torch.Event) -> float:
        """Milliseconds from this event to another. Both must be complete; the host doesn't wait.

        Args:
            end_event: The later one.

        Raises:
            ValueError: If one of them was made without ``enable_timing`` or was never recorded.
            RuntimeError: If one of them is not complete, or is of another device.
        """
        return _C._elapsed_time(self, end_event)


def _as_ours(stream: torch.Stream) -> Stream:
    """The same stream as an object of this module's class."""
    return Stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type)


def current_stream(device: torch.device | str | int | None = None) -> Stream:
    """The calling thread's current stream of a device: the one that its operators and copies are queued on.

    Args:
        device: Which one; the current device if None.
    """
    return _as_ours(torch.accelerator.current_stream(_device_index(device, "current_stream")))


def default_stream(device: torch.device | str | int | None = None) -> Stream:
    """The default stream of a device: the current one of every thread that has not set another.

    Args:
        device: Which one; the current device if None.
    """
    here = torch.accelerator.current_stream(_device_index(device, "default_stream"))
    return Stream(stream_id=0, device_index=here.device_index, device_type=here.device_type)


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream the calling thread's current one of its device, and that device the current one.

    Prefer the context :class:`stream`.

    Args:
        stream: Which one. None changes nothing.

    Raises:
        RuntimeError: If its device has no such stream. Then the current device stays what it was.
    """
    if stream is None:
        return
    device = _C._current_device()
    try:
        torch.accelerator.set_stream(stream)
    except Exception:
        _C._set_device(device)  # PyTorch has changed it before it found that there is no such stream
        raise


class stream:  # noqa: N801 - the name that PyTorch looks for
    """Context in which a stream is the calling thread's current one, and its device the current device.

    At its end the device's previous stream and the previous device come back. One object may be entered again before it
    is left, and by several threads. A :class:`Stream` is such a context itself. So is a :class:`torch.Stream`, but it
    keeps what was before in the object, where two threads get into each other's way.

    Args:
        stream: Which one. None changes nothing.
    """

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._before = _Before()

    def __enter__(self) -> torch.Stream | None:
        if self.stream is not None:
            before = torch.accelerator.current_stream(self.stream.device), _C._current_device()
            set_stream(self.stream)
            self._before.stack.append(before)
        return self.stream

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.stream is not None:
            before, device = self._before.stack.pop()
            set_stream(before)
            _C._set_device(device)
