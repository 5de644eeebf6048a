"""torch.compile: random numbers are Inductor's, from a seed that the device's generator draws."""

from __future__ import annotations

import numpy
import pytest
import torch
import torch_openreg  # noqa: F401
from torch._inductor import inductor_prims
from torch.nn import functional as F  # noqa: N812

from .compile_checks import compiled, numbers

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes

SIZES = [1, 15, 16, 17, 1000, 100_003]  # tails, whole vectors, pieces of several threads
SEEDS = [0, 7, 2**31 + 5, 2**32 + 7, -3]


def philox(seed: int, size: int) -> torch.Tensor:
    """The first number of Philox 4x32-10 for a key and the counters 0, 1, …, as a float in [0, 1).

    Written after the paper: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
    """
    mask, wide = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)
    counter = [numpy.arange(size, dtype=numpy.uint64), *(numpy.zeros(size, dtype=numpy.uint64) for _ in range(3))]
    key = [seed & 0xFFFFFFFF, 0]
    for _ in range(10):
        first, second = counter[0] * numpy.uint64(0xD2511F53), counter[2] * numpy.uint64(0xCD9E8D57)
        counter = [
            (second >> wide) ^ counter[1] ^ numpy.uint64(key[0]),
            second & mask,
            (first >> wide) ^ counter[3] ^ numpy.uint64(key[1]),
            first & mask,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    drawn = (counter[0] & numpy.uint64(0x7FFFFFFF)).astype(numpy.float32) * numpy.float32(4.6566127342e-10)
    return torch.from_numpy(drawn)


def drawn(seed: torch.Tensor) -> list[torch.Tensor]:
    """What Inductor draws from a seed in memory, for each size."""
    return [inductor_prims.random([size], seed, "rand") for size in SIZES]


def test_numbers_are_those_of_philox_whatever_the_size_and_the_device() -> None:
    run = compiled(drawn, fullgraph=True)
    for seed in SEEDS:
        for device in ("openreg:0", "openreg:1"):
            for size, mine in zip(SIZES, run(torch.tensor(seed, device=device)), strict=True):
                assert torch.equal(mine.cpu(), philox(seed, size)), (seed, device, size)


def test_numbers_are_those_that_inductor_draws_for_a_cpu() -> None:
    def kinds(seed: torch.Tensor) -> tuple[torch.Tensor, ...]:
        uniform = inductor_prims.random([37, 41], seed, "rand")
        integers = inductor_prims.randint(-5, 1000, [777], seed)
        return uniform, uniform.t() * 2, uniform.double(), uniform.bfloat16(), integers

    run = compiled(kinds, fullgraph=True)
    for seed in SEEDS[1:4]:
        expected = run(torch.tensor(seed))
        for mine, theirs in zip(run(torch.tensor(seed, device="openreg")), expected, strict=True):
            assert torch.equal(mine.cpu(), theirs)


def test_normal_numbers_are_those_of_a_cpu_but_for_rounding() -> None:
    run = compiled(lambda seed: inductor_prims.random([5003], seed, "randn"), fullgraph=True)
    mine, theirs = run(torch.tensor(11, device="openreg")).cpu(), run(torch.tensor(11))
    torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6)
    assert abs(mine.mean().item()) < 0.06 and abs(mine.std().item() - 1) < 0.06


def test_the_same_seed_gives_the_same_numbers_on_each_device_and_another_call_others() -> None:
    run = compiled(lambda x: (F.dropout(x, 0.3), torch.rand_like(x), torch.randn_like(x)))
    found = {}
    for device in ("openreg:0", "openreg:1"):
        x = torch.ones(1000, device=device)
        torch.manual_seed(3)
        first, second = run(x), run(x)
        torch.manual_seed(3)
        again = run(x)
        for one, two, three in zip(first, second, again, strict=True):
            assert torch.equal(one, three) and not torch.equal(one, two)
        found[device] = [it.cpu() for it in first]
    assert all(map(torch.equal, *found.values()))


def test_distributions_have_their_means_and_variances() -> None:
    def kinds(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        integers = torch.randint(0, 10, x.shape, device=x.device)
        return torch.rand_like(x), torch.randn_like(x), integers, torch.bernoulli(x), F.dropout(torch.ones_like(x), 0.3)

    torch.manual_seed(0)
    size = 100_000
    with torch.openreg.no_fallback():
        found = compiled(kinds, fullgraph=True)(torch.full((size,), 0.3, device="openreg"))
    moments = [(0.5, 1 / 12), (0, 1), (4.5, 99 / 12), (0.3, 0.21), (1, 0.3 / 0.7)]
    for mine, (mean, variance) in zip(found, moments, strict=True):
        mine = mine.cpu().double()
        assert abs(mine.mean().item() - mean) < 5 * (variance / size) ** 0.5
        assert abs(mine.var().item() - variance) < 0.03 * variance


def test_dropout_is_the_same_forward_and_backward() -> None:
    x = numbers(300, 40).to("openreg").requires_grad_()
    with torch.openreg.no_fallback():
        y = compiled(lambda x: F.dropout(x * 2, 0.5), fullgraph=True)(x)
        y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.where(y == 0, 0.0, 4.0))
    assert 0.45 < y.eq(0).float().mean().item() < 0.55


def test_with_fallback_random_numbers_are_those_of_eager_bit_for_bit() -> None:
    def draw(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        integers = torch.randint(0, 9, (50,), device=x.device)
        return F.dropout(x, 0.5) + torch.rand_like(x), torch.randn(33, device=x.device) * 2, integers

    x = torch.ones(1000, device="openreg")
    with torch._inductor.config.patch(fallback_random=True), torch.openreg.no_fallback():
        run = compiled(draw, fullgraph=True)
        torch.manual_seed(3)
        mine = run(x)
    torch.manual_seed(3)
    assert all(map(torch.equal, mine, draw(x)))


def test_without_it_they_are_not_those_of_eager() -> None:
    x = torch.ones(1000, device="openreg")
    torch.manual_seed(3)
    mine = compiled(torch.rand_like)(x)
    torch.manual_seed(3)
    assert not torch.equal(mine, torch.rand_like(x))
