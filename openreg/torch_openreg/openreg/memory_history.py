"""The history of device memory, in the form that PyTorch's memory visualiser reads."""

from __future__ import annotations

import atexit
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any, Literal

from torch_openreg import _C

from .device import _lazy_init

__all__ = ["memory_snapshot"]

_CONTEXTS = (None, "state", "alloc", "all")  # in the order of c10::CachingDeviceAllocator::RecordContext


def _check(argument: str, value: object, expected: tuple[object, ...]) -> None:
    if value not in expected:
        names = ", ".join(map(repr, expected))
        raise ValueError(f"_record_memory_history: argument {argument!r} is {value!r}; expected one of {names}")


# LITERALINCLUDE START: RECORD MEMORY HISTORY
def _record_memory_history(
    enabled: Literal["state", "all"] | None = "all",
    context: Literal["state", "alloc", "all"] | None = "all",
    stacks: Literal["python", "all"] = "python",
    max_entries: int = sys.maxsize,
    clear_history: bool = False,
) -> None:
    """Begins to record what the allocator does on all devices, or ends it. CUDA has the same function.

    A stack costs about two microseconds. Each entry is some KiB, so give ``max_entries`` in a program that runs long.

    Args:
        enabled: ``"all"`` records each action; ``"state"`` only where the memory that is in use was allocated; None
            ends the recording, and forgets it.
        context: Of which actions the stack is kept: ``"state"`` of the memory in use, ``"alloc"`` of allocations in the
            history, too, ``"all"`` of frees, too; None keeps none.
        stacks: ``"python"``, or ``"all"`` for C++ as well, which a snapshot takes long to look up.
        max_entries: How many actions are kept of each device. The oldest go first.
        clear_history: Whether to forget what was recorded before.

    Raises:
        ValueError: If an argument is none of these.
    """
    _check("enabled", enabled, (None, "state", "all"))
    _check("context", context, _CONTEXTS)
    _check("stacks", stacks, ("python", "all"))
    if max_entries < 1:
        raise ValueError(f"_record_memory_history: argument 'max_entries' is {max_entries}; expected 1 or more")
    _lazy_init()
    most = min(max_entries, sys.maxsize) if enabled == "all" else 0
    _C._record_memory_history(enabled is not None, _CONTEXTS.index(context), stacks == "all", most, clear_history)


# Walking a stack takes the GIL, and at the end there is no Python that could give it.
atexit.register(_C._record_memory_history, False, 0, False, 0, False)
# LITERALINCLUDE END: RECORD MEMORY HISTORY


def memory_snapshot() -> list[dict[str, Any]]:
    """The segments of all devices, each with its blocks, as :func:`torch.cuda.memory_snapshot` has them."""
    return _snapshot()["segments"]


def _snapshot() -> dict[str, Any]:
    """The segments, and as ``device_traces`` the history of each device since its last reset.

    The keys are CUDA's: see ``torch.cuda.memory._snapshot``. ``stream`` is 0 for the default stream, and else the
    driver's handle.
    """
    _lazy_init()
    return _C._memory_snapshot()


def _dump_snapshot(filename: str | os.PathLike[str] = "dump_snapshot.pickle") -> None:
    """Saves a snapshot for https://pytorch.org/memory_viz, or for ``python -m torch.cuda._memory_viz``.

    Args:
        filename: The file to write.
    """
    taken = _snapshot()
    with open(filename, "wb") as file:
        pickle.dump(taken, file)


def _attach_out_of_memory_observer(observer: Callable[[int, int, int, int], object]) -> None:
    """Adds a function to call whenever an allocation is about to fail: before the error, on the thread that gets it.

    What it raises is reported as unraisable and goes no further. It is kept until the process ends.

    Args:
        observer: Gets the device's number, the bytes asked for, the bytes that this process may reserve, and those that
            the driver has free.
    """
    if not callable(observer):
        raise TypeError(
            f"_attach_out_of_memory_observer: argument 'observer' is of type {type(observer).__name__}; expected a "
            "function"
        )
    _lazy_init()
    _C._attach_out_of_memory_observer(observer)
