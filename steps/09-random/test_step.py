"""What must hold from step 09 on: the device's own random numbers, the same whoever computes them, and their states."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]
FILLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "uniform": lambda x: x.uniform_(-1, 1),
    "normal": lambda x: x.normal_(),
    "log_normal": lambda x: x.log_normal_(),
    "exponential": lambda x: x.exponential_(),
    "cauchy": lambda x: x.cauchy_(),
    "geometric": lambda x: x.geometric_(0.5),
    "random": lambda x: x.random_(0, 9),
    "bernoulli": lambda x: x.bernoulli_(0.5),
}


@pytest.mark.kernels
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_the_same_seed_gives_the_same_numbers_on_every_device_and_in_all_strides(
    fill: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    draws = []
    for device in DEVICES:
        for x in (torch.empty(30, 40, device=device), torch.empty(40, 60, device=device).t()[::2]):
            torch.manual_seed(3)
            with torch.openreg.no_fallback():
                fill(x)
            draws.append(x.cpu())
    assert all(torch.equal(draw, draws[0]) for draw in draws)


@pytest.mark.kernels
def test_the_first_numbers_of_seed_0_are_the_published_ones() -> None:
    generator = torch.Generator("openreg:1").manual_seed(0)
    x = torch.empty(2, dtype=torch.int64, device="openreg:1").random_(-(2**63), None, generator=generator)
    assert [number % 2**64 for number in x.tolist()] == [0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C]


def test_the_devices_generator_decides_what_the_cpu_draws() -> None:
    rates = torch.full((50,), 5.0).to("openreg:1")
    draws = []
    for seed in (1, 1, 2):
        generator = torch.Generator("openreg:1").manual_seed(seed)
        draws.append(torch.poisson(rates, generator=generator).tolist())
        torch.rand(1)  # of the CPU, whose generator plays no part
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_have_their_distribution(device: str) -> None:
    generator = torch.Generator(device).manual_seed(4)
    x = torch.randn(50_000, device=device, generator=generator).cpu()
    assert x.mean().abs() < 0.025
    assert (x.std() - 1).abs() < 0.02
    y = torch.rand(50_000, device=device, generator=generator).cpu()
    assert (y.mean() - 0.5).abs() < 0.01
    assert y.min() >= 0
    assert y.max() < 1
    z = torch.tensor([1.0, 0, 3]).to(device).multinomial(20_000, replacement=True, generator=generator).cpu()
    assert (torch.bincount(z, minlength=3) / 20_000 - torch.tensor([0.25, 0, 0.75])).abs().max() < 0.02
    assert sorted(torch.randperm(99, device=device, generator=generator).tolist()) == list(range(99))


@pytest.mark.kernels
def test_a_call_takes_its_part_of_the_sequence() -> None:
    generator = torch.Generator("openreg").manual_seed(5)
    parts = [torch.rand(4 * blocks, device="openreg", generator=generator).cpu() for blocks in (1, 2, 3)]
    assert generator.get_offset() == 6
    whole = torch.rand(24, device="openreg", generator=torch.Generator("openreg").manual_seed(5)).cpu()
    assert torch.equal(torch.cat(parts), whole)


@pytest.mark.kernels
def test_states_come_back() -> None:
    torch.manual_seed(6)
    states = torch.openreg.get_rng_state_all()
    first = [torch.randn(5, device=device).cpu() for device in DEVICES]
    torch.openreg.set_rng_state_all(states)
    assert all(torch.equal(torch.randn(5, device=d).cpu(), x) for d, x in zip(DEVICES, first, strict=True))
    with torch.random.fork_rng([0, 1]):
        torch.manual_seed(0)
        torch.rand(9, device="openreg:1")
    assert [one.get_offset() for one in torch.openreg.default_generators] == [2, 2]
    assert torch.openreg.initial_seed() == 6


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_drops_the_same_again(device: str, reentrant: bool) -> None:
    x = torch.ones(64, device=device, requires_grad=True)
    y = checkpoint(lambda x: functional.dropout(x, 0.5), x, use_reentrant=reentrant)
    torch.rand(100, device=device)
    y.sum().backward()
    assert torch.equal(x.grad.cpu(), y.detach().cpu())


def test_a_generator_of_another_device_is_refused() -> None:
    for generator in (torch.Generator(), torch.Generator("openreg:1")):
        with pytest.raises(RuntimeError, match=r"Expected a .*generator"):
            torch.rand(2, device="openreg:0", generator=generator)


def test_seeding_initialises_no_device() -> None:
    code = """
import torch, torch_openreg
torch.manual_seed(1)
assert not torch.openreg.is_initialized()
"""
    subprocess.run([sys.executable, "-c", code], timeout=120, check=True)


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("equal\n")
