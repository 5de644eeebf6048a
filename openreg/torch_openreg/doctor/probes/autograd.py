"""Autograd: the backward pass, and the end of a program that ran one."""

from __future__ import annotations

import torch

from ..backend import Backend
from ..processes import Child
from ..registry import Section, Silent, Wrong

section = Section("autograd", step=4, chapter="04-autograd", needs=("import", "tensors", "fallback"))
NEEDS = (*section.needs, "backward")


def gradient(device: torch.device | str) -> torch.Tensor:
    """The gradient of a small network's first weights."""
    generator = torch.Generator().manual_seed(2)
    x, first, second = (torch.randn(6, 6, generator=generator).to(device) for _ in range(3))
    first.requires_grad_()
    ((x @ first).tanh() @ second).pow(2).mean().backward()
    if first.grad is None:
        raise Silent("backward() leaves no gradient")
    return first.grad


@section.probe("backward", write="PrivateUse1HooksInterface; RegisterPrivateUse1HooksInterface")
def backward(backend: Backend) -> None:
    """Compares the gradient of a small network with the CPU's."""
    backend.check(gradient(backend.device()), gradient("cpu"), "gradient")


@section.probe("exit", write="nothing static whose destructor needs the driver, or a thread of autograd's", needs=NEEDS)
def exits(backend: Backend) -> None:
    """Runs a backward pass in a process that then ends as programs do."""
    ended = Child(
        lambda: gradient(backend.device()).sum().item(), backend.patience, group=False, like_a_program=True
    ).wait()
    if ended.status != 0:
        raise Wrong(f"a program that has run a backward pass {ended.how} at its end: {ended.printed}")


@section.probe("training", write="the operators of a training loop", heavy=True, needs=NEEDS)
def training(backend: Backend) -> None:
    """Trains a small network for five steps, and compares the loss with the CPU's."""
    losses = []
    for device in ("cpu", backend.device()):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).to(device)
        x, target = torch.randn(12, 8).to(device), torch.arange(12).remainder(4).to(device)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for _ in range(5):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), target)
            loss.backward()
            optimizer.step()
        losses.append(loss.detach())
    backend.check(losses[1], losses[0], "the loss after five steps")
