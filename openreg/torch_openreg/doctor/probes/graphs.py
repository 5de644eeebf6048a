"""Graphs: captured, or compiled."""

from __future__ import annotations

import torch

from ..backend import Backend
from ..registry import Missing, Section, Silent

section = Section("graphs", step=16, chapter="16-graph", needs=("import", "tensors"))


@section.probe("graph", write="REGISTER_GRAPH_IMPL: at::GraphImplInterface")
def graph(backend: Backend) -> None:
    """Captures a sum, changes what it reads, and replays it."""
    if not hasattr(torch.accelerator, "Graph"):
        raise Missing("this PyTorch has no torch.accelerator.Graph")
    captured, stream = torch.accelerator.Graph(), torch.Stream(backend.device())
    x, y = torch.ones(4).to(backend.device()), torch.zeros(4).to(backend.device())
    torch.accelerator.synchronize()
    with stream, captured:
        torch.add(x, 1, out=y)
    x.copy_(torch.full((4,), 5.0))
    torch.accelerator.synchronize()
    captured.replay()
    torch.accelerator.synchronize()
    if torch.equal(y.cpu(), torch.zeros(4)):
        raise Silent("replay() was accepted, and runs nothing")
    backend.check(y, torch.full((4,), 6.0), "what a replay writes")


@section.probe(
    "compile",
    step=17,
    chapter="17-compile",
    write="register_interface_for_device, register_backend_for_device",
    seconds=60.0,
    heavy=True,
)
def compile_(backend: Backend) -> None:
    """Asks Inductor for the device's backend; compiles a function with it, and compares with the CPU."""
    from torch._inductor.codegen.common import get_scheduling_for_device, init_backend_registration

    init_backend_registration()
    if get_scheduling_for_device(backend.name) is None:
        raise Missing("Inductor has no backend for the device")
    here, there = backend.numbers(8, 8)
    compiled = torch.compile(lambda x: (x * 2 + 1).relu().sum(1))
    backend.check(compiled(there), (here * 2 + 1).relu().sum(1), "a compiled function")
