"""Tensors that two processes share: what ``torch.multiprocessing`` does with memory of this device.

A tensor that is put on a queue, sent through a pipe or given to a process that is spawned travels as a handle of its
memory: the receiver sees the same bytes, not a copy. Nothing of this has a name in a file system, and what a killed
process leaves is nothing.
"""

from __future__ import annotations

import os
import select
import threading
import weakref
from collections.abc import Callable
from multiprocessing import context, reduction
from typing import Any, NamedTuple

import torch
from torch.multiprocessing import reductions

from torch_openreg import _C
from torch_openreg._name import NAME

from .device import _lazy_init
from .stream import Event

__all__ = ["ipc_collect"]


# LITERALINCLUDE START: SENT
class _Sent(NamedTuple):
    """A storage that other processes may be using, and how we learn that they aren't any more.

    Its pipe has no other use: its writing end travels with the handle, the receiver closes it when its storage dies,
    and the system closes it when the receiver does. Then our end reads as finished.
    """

    storage: torch.UntypedStorage
    reading: int
    writing: int = -1  # -1 once it has left
    spawned: weakref.ref | None = None  # the process that is being spawned, which inherits the writing end

    def has_left(self) -> bool:
        """Whether our copy of the writing end may be closed: the new process has its own, or will never be."""
        process = self.spawned and self.spawned()
        return process is None or getattr(process, "pid", None) is not None


_sent: list[_Sent] = []
_lock = threading.Lock()


def ipc_collect() -> None:
    """Lets go of memory that was sent to other processes, and which none of them uses any more. Does not block.

    Sending a tensor does the same first, so this is for a process that has stopped sending and wants its memory back.
    Memory that was sent and never received is kept until this process ends.
    """
    with _lock:
        for at, sent in enumerate(_sent):
            if sent.writing >= 0 and sent.has_left():
                os.close(sent.writing)
                _sent[at] = _Sent(sent.storage, sent.reading)
        ends = select.poll()
        for sent in _sent:
            ends.register(sent.reading, select.POLLIN)
        finished = {descriptor for descriptor, _ in ends.poll(0)}
        _sent[:] = [sent for sent in _sent if sent.reading not in finished]
    for descriptor in finished:
        os.close(descriptor)


# LITERALINCLUDE END: SENT


# LITERALINCLUDE START: REDUCE STORAGE
def _reduce_storage(storage: torch.UntypedStorage) -> tuple[Callable[..., object], tuple]:
    """What is pickled of a storage when it goes to another process."""
    if storage.device.type != NAME:
        return reductions.reduce_storage(storage)
    device, size = storage.device.index, storage.nbytes()
    if size == 0:
        return _empty_storage, (device,)
    ipc_collect()
    handle, offset = _C._share_storage(storage)
    reading, writing = os.pipe()
    done = reduction.DupFd(writing)
    spawning = context.get_spawning_popen()
    if spawning is None:
        os.close(writing)
        sent = _Sent(storage, reading)
    else:  # DupFd has noted the number: the process inherits it as it is, when it is started.
        sent = _Sent(storage, reading, writing, weakref.ref(spawning))
    with _lock:
        _sent.append(sent)
    # Should it come back to us, it is the storage that we have.
    reductions.shared_cache[handle, offset] = reductions.StorageWeakRef(storage)
    return _rebuild_storage, (handle, offset, size, device, done)


def _rebuild_storage(handle: bytes, offset: int, size: int, device: int, done: Any) -> torch.UntypedStorage:
    """The storage at the other end. Two tensors that shared one share one here, too."""
    try:
        descriptor = done.detach()
    except OSError as error:
        text = "the process that sent this tensor has ended; expected it to live until the tensor is received"
        raise RuntimeError(text) from error
    known = reductions.storage_from_cache(torch.UntypedStorage, (handle, offset))
    if known is not None:
        os.close(descriptor)  # Whoever made the one we have told its sender, and will tell when it ends.
        return known
    _lazy_init()
    storage = _C._open_storage(handle, offset, size, device, descriptor)
    reductions.shared_cache[handle, offset] = reductions.StorageWeakRef(storage)
    return storage


def _empty_storage(device: int) -> torch.UntypedStorage:
    return torch.UntypedStorage(0, device=torch.device(NAME, device))


def _reduce_event(event: Event) -> tuple[Callable[..., object], tuple]:
    """What is pickled of an event. Its sender keeps it until the receiver has it."""
    return Event.from_ipc_handle, (event.device, event.ipc_handle())


reduction.ForkingPickler.register(torch.UntypedStorage, _reduce_storage)
reduction.ForkingPickler.register(Event, _reduce_event)
# LITERALINCLUDE END: REDUCE STORAGE
