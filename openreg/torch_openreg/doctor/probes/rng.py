"""Random numbers: whether a seed steers them."""

from __future__ import annotations

import torch

from ..backend import Backend
from ..registry import Section, Silent, Wrong

section = Section("random numbers", step=9, chapter="09-random", needs=("import", "tensors"))


@section.probe("seed", step=3, write="_is_in_bad_fork, manual_seed_all in the device's module")
def seed(backend: Backend) -> None:
    """Draws after torch.manual_seed, on each device, again with the same seed, and with another."""
    for index in range(max(backend.count, 1)):
        device, drawn = backend.device(index), []
        for number in (1, 1, 2):
            torch.manual_seed(number)
            drawn.append(torch.rand(100, device=device).cpu())
        more = torch.rand(100, device=device).cpu()
        if not torch.equal(drawn[0], drawn[1]):
            raise Silent(f"torch.manual_seed() was accepted, and the numbers on {device} don't repeat")
        if torch.equal(drawn[0], drawn[2]) or torch.equal(drawn[2], more):
            raise Silent(f"torch.rand() on {device} always draws the same")
        if not 0.3 < more.mean() < 0.7 or more.min() < 0 or more.max() >= 1:
            raise Wrong(f"torch.rand() on {device} is not uniform in [0, 1)")


@section.probe("generator", write="c10::GeneratorImpl; PrivateUse1HooksInterface::getNewGenerator, getDefaultGenerator")
def generator(backend: Backend) -> None:
    """Makes a generator of the device, and draws by it with the same seed and with another."""
    drawn = []
    for number in (1, 1, 2):
        generator = torch.Generator(device=backend.device())
        if generator.device.type != backend.name:
            raise Silent(f"torch.Generator({backend.name!r}) is one of {generator.device}")
        generator.manual_seed(number)
        torch.manual_seed(len(drawn))  # what a generator draws has nothing to do with it
        drawn.append(torch.randn(100, device=backend.device(), generator=generator).cpu())
    if not torch.equal(drawn[0], drawn[1]):
        raise Silent("a generator's seed was accepted, and the numbers don't repeat")
    if torch.equal(drawn[0], drawn[2]):
        raise Silent("a generator draws the same with each seed")


@section.probe(
    "random state", step=3, write="get_rng_state, set_rng_state in the device's module; GeneratorImpl's state"
)
def state(backend: Backend) -> None:
    """Draws, puts the state back, and draws again; then the same by torch.random.fork_rng."""
    device, before = backend.device(), backend.module.get_rng_state(0)
    first = torch.rand(10, device=device).cpu()
    backend.module.set_rng_state(before, 0)
    if not torch.equal(torch.rand(10, device=device).cpu(), first):
        raise Silent("set_rng_state() was accepted, and the numbers don't repeat")
    backend.module.set_rng_state(before, 0)
    with torch.random.fork_rng(devices=[0], device_type=backend.name):
        torch.rand(10, device=device)
    if not torch.equal(torch.rand(10, device=device).cpu(), first):
        raise Silent("torch.random.fork_rng() doesn't put the state back")
