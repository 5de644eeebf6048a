"""Several processes that train together."""

from __future__ import annotations

import torch
import torch.distributed

from ..backend import Backend
from ..registry import Missing, Section

section = Section("distributed", step=18, chapter="18-distributed", needs=("import", "tensors"))


@section.probe(
    "collectives",
    write="c10d::Backend; torch.distributed.Backend.register_backend(…, devices=[NAME])",
)
def collectives(backend: Backend) -> str:
    """Asks for a backend of the device's collectives, and reduces in a group of one."""
    distributed = torch.distributed
    if not distributed.is_available():
        raise Missing("this PyTorch was built without torch.distributed")
    name = distributed.Backend.default_device_backend_map.get(backend.name)
    if name is None:
        raise Missing("torch.distributed knows no backend for the device")
    device = backend.device()
    distributed.init_process_group(f"{backend.name}:{name}", store=distributed.HashStore(), rank=0, world_size=1)
    there = torch.arange(3.0).to(device)
    distributed.all_reduce(there)
    torch.accelerator.synchronize()
    backend.check(there, torch.arange(3.0), "all_reduce in a group of one")
    print("the last call was destroy_process_group()", flush=True)  # the symptom, if the process dies of it
    distributed.destroy_process_group()
    return f"{name}, in a group of one"
