"""Storage: files, copies of modules, other libraries, other processes."""

from __future__ import annotations

import copy
import io
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
import torch.multiprocessing  # registers how tensors travel

from ..backend import Backend
from ..processes import Child
from ..registry import Section, Wrong

section = Section("storage", step=2, chapter="13-storage", needs=("import", "tensors"))


def loaded(saved: Any, **options: Any) -> Any:
    """What comes of saving and loading."""
    file = io.BytesIO()
    torch.save(saved, file)
    file.seek(0)
    return torch.load(file, **options)


@section.probe("save and load", write="set_.source_Storage; `device` in the device's module")
def save(backend: Backend) -> None:
    """Saves a tensor and a view of it, and loads them to the device."""
    here, there = backend.numbers(4, 5)
    whole, part = loaded([there, there[1]])
    if whole.device != there.device:
        raise Wrong(f"a tensor of {there.device} is loaded to {whole.device}")
    backend.check(whole, here, "torch.load")
    whole[1].copy_(torch.full((5,), 7.0))
    backend.check(part, torch.full((5,), 7.0), "a view that was saved with its tensor")


@section.probe("map_location", write="set_.source_Storage; `device` in the device's module")
def map_location(backend: Backend) -> None:
    """Loads from the device to the CPU, and from the CPU to each device."""
    here, there = backend.numbers(4, 5)
    targets = ["cpu", *(str(backend.device(index)) for index in range(backend.count))]
    for source, target in [(there, targets[0]), *((here, target) for target in targets[1:])]:
        got = loaded(source, map_location=target)
        if str(got.device) != target:
            raise Wrong(f"map_location={target!r} loads to {got.device}")
        backend.check(got, here, f"map_location={target!r}")


@section.probe("deepcopy and pickle", write="set_.source_Storage, clone")
def deepcopy(backend: Backend) -> None:
    """Copies and pickles a module, and changes the copy."""
    net = torch.nn.Linear(3, 2).to(backend.device())
    before = net.weight.detach().cpu()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        if other.weight.device != net.weight.device:
            raise Wrong(f"the copy of a module is on {other.weight.device}")
        backend.check(other.weight, before, "the copy of a module")
        other.weight.detach().copy_(torch.zeros(2, 3))
    backend.check(net.weight, before, "a module whose copy was changed")


@section.probe("dlpack", write="DLPack for kDLExtDev comes with PyTorch; device's type and index must be right")
def dlpack(backend: Backend) -> None:
    """Sends a tensor through a capsule, and changes it by the other name."""
    here, there = backend.numbers(4)
    other = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(there))
    backend.check(other, here, "a tensor that went through DLPack")
    other.copy_(torch.zeros(4))
    backend.check(there, torch.zeros(4), "a tensor whose other name was written to")


@section.probe("sharing", step=13, write="a reducer for ForkingPickler, and memory handles of the driver")
def sharing(backend: Backend) -> None:
    """Sends a tensor to a process as torch.multiprocessing does, and lets that write to it."""
    receiver, sender = torch.multiprocessing.Pipe(duplex=False)

    def consume() -> float:
        there = pickle.loads(receiver.recv_bytes())
        before = float(there.cpu().sum())
        there.copy_(torch.full((4,), 5.0))
        torch.accelerator.synchronize()
        return before

    consumer = Child(consume, backend.patience, group=False)  # forked before this process has used the device
    there = torch.arange(4.0).to(backend.device())
    torch.accelerator.synchronize()
    sender.send_bytes(ForkingPickler.dumps(there))
    ended = consumer.wait()
    if ended.status != 0:
        raise Wrong(f"a process that is sent a tensor {ended.how}: {ended.printed}")
    if ended.said != 6.0:
        raise Wrong(f"a process that was sent a tensor of sum 6 reads {ended.said}")
    backend.check(there, torch.full((4,), 5.0), "a tensor that another process wrote to")
