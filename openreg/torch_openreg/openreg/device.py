"""Devices: count, current, context, synchronise, properties, lazy initialisation."""

from __future__ import annotations

import threading
from types import TracebackType

import torch

from torch_openreg import _C
from torch_openreg._name import NAME

__all__ = [
    "current_device",
    "device",
    "device_count",
    "get_device_properties",
    "init",
    "is_available",
    "is_initialized",
    "reset_device",
    "set_device",
    "synchronize",
]

_initialized = False
_initialization_lock = threading.Lock()


# LITERALINCLUDE START: LAZY INIT
def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that had used a device. PyTorch asks before it seeds."""
    return _C._in_bad_fork()


def _lazy_init() -> None:
    """Called by PyTorch before it makes the first tensor of this device, and by every function here that needs one.

    Raises:
        RuntimeError: In a forked child of a process that had used the device, or if there is no device.
    """
    global _initialized
    if _is_in_bad_fork():
        raise RuntimeError(
            f"Cannot re-initialize {NAME} in forked subprocess. To use {NAME} with multiprocessing, you must use the "
            "'spawn' start method"
        )
    if _initialized:
        return
    with _initialization_lock:
        _C._device_count_ensure_non_zero()
        _C._register_fork_handler()
        _initialized = True


# LITERALINCLUDE END: LAZY INIT


def init() -> None:
    """Initialises PyTorch's side of the backend. Never needed: the first tensor does it. Safe to repeat.

    Each device itself is initialised by the driver when it is first used.

    Raises:
        RuntimeError: In a forked child of a process that had used the device, or if there is no device.
    """
    _lazy_init()


def is_initialized() -> bool:
    """Whether :func:`init` has run in this process and its devices can be used."""
    return _initialized and not _is_in_bad_fork()


def is_available() -> bool:
    """Whether there is a device. Starts nothing, and never raises; see :func:`device_count`."""
    return device_count() > 0


def device_count() -> int:
    """Number of devices; 0, and once a warning why, if the driver is missing or cannot tell. Starts nothing.

    Never raises, unless warnings are errors.
    """
    return _C._device_count()


# LITERALINCLUDE START: DEVICE INDEX
def _device_index(device: torch.device | str | int | None, function: str) -> int:
    """The index of a device given in any of PyTorch's ways; None and ``"openreg"`` are the current device."""
    _lazy_init()
    if device is None:
        return _C._current_device()
    if isinstance(device, bool) or not isinstance(device, (int, str, torch.device)):
        raise TypeError(
            f"{function}: argument 'device' is {device!r}; expected an index, a string, a torch.device or None"
        )
    if isinstance(device, int):
        index = device
    else:
        device = torch.device(device)
        if device.type != NAME:
            raise ValueError(f"{function}: argument 'device' is {str(device)!r}; expected a device of type {NAME}")
        index = _C._current_device() if device.index is None else device.index
    count = _C._device_count()
    if not 0 <= index < count:
        raise ValueError(f"{function}: argument 'device' has index {index}; there are {count} {NAME} devices")
    return index


# LITERALINCLUDE END: DEVICE INDEX


def current_device() -> int:
    """Index of the calling thread's current device."""
    _lazy_init()
    return _C._current_device()


def set_device(device: torch.device | str | int) -> None:
    """Makes a device current on the calling thread. Prefer the context :class:`device`.

    Args:
        device: Which one.

    Raises:
        ValueError: If there is no such device.
        TypeError: If it is not a device.
    """
    _C._set_device(_device_index(device, "set_device"))


# LITERALINCLUDE START: DEVICE CONTEXT
class _Before(threading.local):
    """What a context puts back: a stack for each thread, because one object may be entered again before it is left."""

    def __init__(self) -> None:
        self.stack: list = []


class device:  # noqa: N801 - the name that PyTorch looks for
    """Context in which a device is the calling thread's current one; the previous one comes back at its end.

    Args:
        device: Which one. None leaves the current device as it is.

    Raises:
        ValueError: If there is no such device.
        TypeError: If it is not a device.
    """

    def __init__(self, device: torch.device | str | int | None) -> None:
        self.idx = -1 if device is None else _device_index(device, "device")
        self._before = _Before()

    def __enter__(self) -> None:
        _lazy_init()
        self._before.stack.append(_C._exchange_device(self.idx))

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        _C._exchange_device(self._before.stack.pop())


# LITERALINCLUDE END: DEVICE CONTEXT


def synchronize(device: torch.device | str | int | None = None) -> None:
    """Blocks until the work of all streams of a device is done. Waits for no other device; releases the GIL.

    Args:
        device: Which one; the current device if None. Without any device there is nothing to wait for then:
            ``torch.profiler`` asks when a profile ends, of programs that use only the CPU, too.

    Raises:
        torch.AcceleratorError: If a kernel of that device has failed since it was last asked.
    """
    if device is None and not _is_in_bad_fork() and not is_available():
        return
    _C._synchronize(_device_index(device, "synchronize"))


def reset_device(device: torch.device | str | int) -> None:
    """Returns a device to its first state, as after an error that every call repeats. Releases the GIL.

    Waits until the device's running kernel has ended, drops what is queued, and frees all its memory. Afterwards a
    tensor, a stream or an event from before raises an error that says so when you use it; you may delete it as usual.
    The default stream is every thread's current one again. Random generators, pinned memory, the limit of memory and
    the other devices stay as they are.

    Other threads should not be using the device. If one is, its calls may raise.

    Args:
        device: Which one. There is no default: it is not for a device that happens to be the current one.

    Raises:
        ValueError: If there is no such device.
        TypeError: If it is not a device.
    """
    if device is None:
        raise TypeError("reset_device: argument 'device' is None; expected an index, a string or a torch.device")
    _C._reset_device(_device_index(device, "reset_device"))


def get_device_properties(device: torch.device | str | int | None = None) -> _C._DeviceProperties:
    """Name, memory in bytes, version and number of processors of a device. Does not initialise it.

    Args:
        device: Which one; the current device if None.
    """
    return _C._get_device_properties(_device_index(device, "get_device_properties"))
