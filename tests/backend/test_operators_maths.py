"""Special functions, divisions, products with vectors, distances and transforms: exact, whatever is beside a number."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import pytest
import torch

INF, NAN = math.inf, math.nan


@pytest.fixture(autouse=True)
def without_the_cpu():
    """What these tests call is native: nothing may fall back to the CPU."""
    with torch.openreg.no_fallback():
        yield


def randn(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def beside(*centers: float) -> torch.Tensor:
    """Floats that come nearer and nearer to some numbers, from both sides."""
    distances = 2.0 ** -torch.arange(1.0, 23.0)
    return torch.cat([center + sign * distances for center in centers for sign in (1, -1)])


def digits_lost(got: torch.Tensor, want: torch.Tensor) -> float:
    """The largest error, in units of a type's last place."""
    return ((got.double() - want) / want.abs().clamp_min(1e-300)).abs().max().item() / torch.finfo(got.dtype).eps


# ------------------------------------------------- divisions

LARGE = torch.tensor([1.0, 3e38, -3e38, 1e-45, -7e30, 5.0, -0.0, 0.0, INF, -INF, NAN, -1.0, 2.0**28 - 1, 2.0**28 + 32])


def division_pairs() -> tuple[torch.Tensor, torch.Tensor]:
    """Quotients of all sizes, then blocks of short ones only, of such as are nearly whole, and of long ones."""
    b = randn(4096, seed=2)
    whole = (b * torch.arange(1.0, 4097.0)).nextafter(torch.tensor(0.0))
    a = [LARGE.repeat_interleave(len(LARGE)), randn(4096) * 1000, whole, whole * 2.0**15, randn(4096) * 2.0**45]
    return torch.cat(a), torch.cat([LARGE.repeat(len(LARGE)), b, b, b, b])


def same_bits(got: torch.Tensor, want: torch.Tensor) -> None:
    assert torch.equal(got.cpu().isnan(), want.isnan())
    there = ~want.isnan()
    assert torch.equal(got.cpu()[there].view(torch.int32), want[there].view(torch.int32))


def test_what_remains_of_a_division_of_floats_is_exact(device: str) -> None:
    a, b = division_pairs()
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    exact = [NAN if y == 0 or math.isinf(x) else math.fmod(x, y) for x, y in pairs]
    left = torch.tensor(exact, dtype=torch.float64).float()
    same_bits(torch.fmod(a.to(device), b.to(device)), left)
    opposite = (left != 0) & ((left < 0) != (b < 0))
    same_bits(torch.remainder(a.to(device), b.to(device)), torch.where(opposite, left + b, left))


def test_a_division_gives_the_same_bits_whatever_is_beside_a_number(device: str) -> None:
    a, b = division_pairs()
    for divide in (torch.fmod, torch.remainder, torch.floor_divide):
        together = divide(a.to(device), b.to(device)).cpu()
        beside_large = divide(torch.stack((a, a * 0 + 3e38), 1).to(device), torch.stack((b, b * 0 + 3.0), 1).to(device))
        same_bits(beside_large[:, 0].contiguous(), together)


def test_a_whole_quotient_is_pythons(device: str) -> None:
    a, b = randn(5000) * 100, randn(5000, seed=2)
    want = torch.tensor([x // y for x, y in zip(a.tolist(), b.tolist(), strict=True)])
    assert torch.equal((a.to(device) // b.to(device)).cpu(), want)
