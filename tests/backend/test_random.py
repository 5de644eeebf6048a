"""Random numbers: generators, states, who gets which numbers, and how they are distributed."""

from __future__ import annotations

import copy
import math
import pickle
import re
import struct
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch_openreg  # noqa: F401
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from .conftest import GateFunction, ProgramFunction
from .simulator import sim

ROOT = Path(__file__).resolve().parents[2]
Tensor = torch.Tensor
Draw = Callable[[Tensor], Tensor]
REAL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
WHOLE = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32]

# Random123 1.14.0, tests/kat_vectors, the lines "philox4x32 10": counter, key, block. Lowest word first.
VECTORS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> list[int]:
    """Hexadecimal words as numbers."""
    return [int(word, 16) for word in text.split()]


def philox(seed: int, offset: int, blocks: int) -> np.ndarray:
    """The blocks of a sequence from a place on, as rows of four words: written from the paper, for comparison."""
    place = np.array([(offset + block) % 2**64 for block in range(blocks)], dtype=np.uint64)
    low = np.uint64(2**32 - 1)
    counter = [place & low, place >> np.uint64(32), np.zeros_like(place), np.zeros_like(place)]
    key = [seed % 2**32, seed >> 32]
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [
            second >> np.uint64(32) ^ counter[1] ^ np.uint64(key[0]),
            second & low,
            first >> np.uint64(32) ^ counter[3] ^ np.uint64(key[1]),
            first & low,
        ]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return np.stack(counter, axis=1)


def generator(device: str, seed: int = 11, offset: int = 0) -> torch.Generator:
    """A generator at a place of a sequence."""
    made = torch.Generator(device).manual_seed(seed)
    made.set_offset(offset)
    return made


# ----------------------------------------------------------------------------------------------- the numbers themselves


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A module for the device, made of the same header as the device's own."""
    library = tmp_path_factory.mktemp("kernels") / "libphilox.so"
    source = Path(__file__).parent / "kernels" / "philox.cpp"
    includes = [f"-I{ROOT / 'openreg' / folder}" for folder in ("", "driver/include")]
    command = ["c++", "-std=c++20", "-O2", "-shared", "-fPIC", *includes, str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return str(library)


@pytest.mark.parametrize(("counter", "key", "block"), VECTORS)
def test_a_block_on_the_device_equals_the_published_one(
    device: str, probe: str, counter: str, key: str, block: str
) -> None:
    index = torch.device(device).index
    x = torch.tensor(words(counter), dtype=torch.uint32).to(device)
    low, high = words(key)
    args = struct.pack("<QQ", x.data_ptr(), low | high << 32)
    kernel = sim.kernel("block", index, probe)
    sim.ok(sim.launch(kernel, args, [(0, 3, 0, 16)], sim.default_stream(index)))
    assert x.tolist() == words(block)


def test_integers_of_64_bits_are_the_published_block(device: str) -> None:
    first, second, third, fourth = words(VECTORS[0][2])
    x = torch.empty(2, dtype=torch.int64, device=device).random_(-(2**63), None, generator=generator(device, seed=0))
    assert [number % 2**64 for number in x.tolist()] == [first | second << 32, third | fourth << 32]


@pytest.mark.parametrize("offset", [0, 5, 2**32 - 3, 2**64 - 3])
@pytest.mark.parametrize("count", [1, 4, 1003])
def test_element_i_is_word_i_of_the_sequence(device: str, offset: int, count: int) -> None:
    seed = 0x123456789ABCDEF0
    expected = philox(seed, offset, (count + 3) // 4).flatten()[:count]
    x = torch.empty(count, device=device).uniform_(generator=generator(device, seed, offset))
    assert np.array_equal(x.cpu().numpy(), (expected >> np.uint64(8)).astype(np.float32) * np.float32(2**-24))


@pytest.mark.parametrize(("dtype", "each"), [(torch.float32, 4), (torch.float16, 4), (torch.float64, 2)])
def test_a_call_takes_as_many_blocks_as_it_needs_and_the_next_goes_on_there(
    device: str, dtype: torch.dtype, each: int
) -> None:
    source = generator(device)
    parts = [torch.rand(count * each, dtype=dtype, device=device, generator=source) for count in (1, 3, 1000)]
    assert source.get_offset() == 1004
    whole = torch.rand(1004 * each, dtype=dtype, device=device, generator=generator(device))
    assert torch.equal(torch.cat([part.cpu() for part in parts]), whole.cpu())
    torch.rand(1, dtype=dtype, device=device, generator=source)
    assert source.get_offset() == 1005  # a block begun is a block used


BLOCKS: list[tuple[str, Callable[[str, torch.Generator], Any], int]] = [
    ("normal_", lambda d, g: torch.randn(10, device=d, generator=g), 3),
    ("randint", lambda d, g: torch.randint(9, (10,), device=d, generator=g), 5),
    ("geometric_", lambda d, g: torch.empty(10, device=d).geometric_(0.5, generator=g), 5),
    ("bernoulli_", lambda d, g: torch.empty(10, device=d).bernoulli_(0.5, generator=g), 3),
    ("bernoulli", lambda d, g: torch.bernoulli(torch.full((10,), 0.5).to(d), generator=g), 3),
    ("randperm", lambda d, g: torch.randperm(10, device=d, generator=g), 5),
    ("multinomial", lambda d, g: torch.ones(5).to(d).multinomial(10, replacement=True, generator=g), 5),
    ("multinomial rows", lambda d, g: torch.ones(2, 5).to(d).multinomial(1, generator=g), 5),
    ("empty", lambda d, g: torch.rand(0, 3, device=d, generator=g), 0),
    ("randperm of none", lambda d, g: torch.randperm(0, device=d, generator=g), 0),
]


@pytest.mark.parametrize(("call", "blocks"), [case[1:] for case in BLOCKS], ids=[case[0] for case in BLOCKS])
def test_every_operator_reserves_the_blocks_it_reads(
    device: str, call: Callable[[str, torch.Generator], Any], blocks: int
) -> None:
    source = generator(device)
    call(device, source)
    assert source.get_offset() == blocks


def test_a_call_that_fails_takes_no_numbers(device: str) -> None:
    source = generator(device)
    with pytest.raises(NotImplementedError):
        torch.empty(4, dtype=torch.int64, device=device).normal_(generator=source)
    assert source.get_offset() == 0


# ---------------------------------------------------------------------------------------------- same seed, same numbers

DRAWS: dict[str, Draw] = {
    "uniform_": lambda x: x.uniform_(),
    "normal_": lambda x: x.normal_(),
    "log_normal_": lambda x: x.log_normal_(),
    "exponential_": lambda x: x.exponential_(),
    "cauchy_": lambda x: x.cauchy_(),
    "geometric_": lambda x: x.geometric_(0.25),
    "random_": lambda x: x.random_(0, 100),
    "bernoulli_": lambda x: x.bernoulli_(0.25),
    "bernoulli_ of a tensor": lambda x: x.bernoulli_(torch.linspace(0, 1, x.size(-1)).to(x.device)),
}


def draw(call: Draw, x: Tensor) -> Tensor:
    """Seeds all devices, draws, and brings the numbers to the CPU."""
    torch.manual_seed(7)
    return call(x).cpu()


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_strides_change_no_number(device: str, name: str, dtype: torch.dtype) -> None:
    expected = draw(DRAWS[name], torch.empty(6, 40, 5, dtype=dtype, device=device))
    others = {
        "transposed": torch.empty(5, 40, 6, dtype=dtype, device=device).permute(2, 1, 0),
        "every second": torch.empty(6, 80, 10, dtype=dtype, device=device)[:, ::2, 1::2],
        "channels last": torch.empty(6, 5, 40, dtype=dtype, device=device).transpose(1, 2),
        "offset": torch.empty(1201, dtype=dtype, device=device)[1:].view(6, 40, 5),
    }
    for strides, x in others.items():
        assert torch.equal(draw(DRAWS[name], x), expected), strides
    dense = torch.empty(2, 3, 4, 5, device=device).to(memory_format=torch.channels_last)
    assert torch.equal(draw(DRAWS[name], dense), draw(DRAWS[name], torch.empty(2, 3, 4, 5, device=device)))


@pytest.mark.parametrize("name", DRAWS)
def test_both_devices_draw_the_same(name: str) -> None:
    first, second = (draw(DRAWS[name], torch.empty(1001, device=f"openreg:{index}")) for index in range(2))
    assert torch.equal(first, second)


PROGRAM = """
import hashlib
torch.manual_seed(3)
g = torch.Generator("openreg").manual_seed(4)
x = torch.empty(300_007, device="openreg")
calls = [
    lambda: x.uniform_(), lambda: x.normal_(), lambda: x.bernoulli_(0.5), lambda: x.random_(0, 1000),
    lambda: torch.randperm(10_007, device="openreg"), lambda: torch.native_dropout(x, 0.5, True)[1],
    lambda: torch.ones(500, 50, device="openreg").multinomial(3), lambda: x.exponential_(generator=g),
]
print(*(hashlib.sha256(call().cpu().numpy().tobytes()).hexdigest() for call in calls), os.cpu_count())
"""


def test_the_number_of_threads_changes_no_number(program: ProgramFunction) -> None:
    alone = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    assert program(PROGRAM) == program(alone + PROGRAM)


def test_when_the_kernel_runs_changes_no_number(gate: GateFunction) -> None:
    expected = draw(DRAWS["normal_"], torch.empty(1000, device="openreg:0"))
    x, y = torch.empty(1000, device="openreg:0"), torch.empty(1000, device="openreg:0")
    closed = gate(0)
    torch.manual_seed(7)
    state = torch.openreg.get_rng_state("openreg:0")  # waits for nothing, or the gate's deadline would pass
    x.normal_()
    torch.manual_seed(99)
    torch.openreg.set_rng_state(state, "openreg:0")
    y.normal_()
    torch.openreg.default_generators[0].set_offset(12345)
    assert not sim.is_done(sim.default_stream(0))
    closed.open()
    assert torch.equal(x.cpu(), expected)
    assert torch.equal(y.cpu(), expected)


def test_threads_that_share_a_generator_share_no_number(device: str) -> None:
    source, calls, threads = generator(device), 500, 4

    def some(_: int) -> list[int]:
        made = [torch.empty(2, dtype=torch.int64, device=device) for _ in range(calls)]
        return [n for x in made for n in x.random_(-(2**63), None, generator=source).tolist()]

    with ThreadPoolExecutor(threads) as pool:
        found = [number for numbers in pool.map(some, range(threads)) for number in numbers]
    alone = torch.empty(2 * calls * threads, dtype=torch.int64, device=device)
    alone.random_(-(2**63), None, generator=generator(device))
    assert source.get_offset() == calls * threads
    assert sorted(found) == sorted(alone.tolist())


def test_two_calls_are_not_related(device: str) -> None:
    count = 100_000
    source = generator(device)
    draws = torch.stack([torch.randn(count, device=device, generator=source).cpu().double() for _ in range(4)])
    draws = torch.cat([draws, torch.randn(2, count, device=device, generator=generator(device, 12)).cpu().double()])
    correlation = torch.corrcoef(draws) - torch.eye(len(draws))
    assert correlation.abs().max() < 5 / math.sqrt(count)


def test_neighbours_are_not_related(device: str) -> None:
    count = 100_000
    x = torch.randn(count, device=device, generator=generator(device)).cpu().double()
    for distance in (1, 2, 3, 4, 8, 512):
        assert (x[distance:] * x[:-distance]).mean().abs() < 5 / math.sqrt(count), distance


# -------------------------------------------------------------------------------------------------------- distributions

# Both devices draw the same, as a test above has shown: one is enough here.
DEVICE = "openreg:1"


def normal_cdf(x: Tensor, mean: float, std: float) -> Tensor:
    """The normal distribution function."""
    return torch.special.ndtr((x - mean) / std)


CONTINUOUS: dict[str, tuple[Draw, Callable[[Tensor], Tensor]]] = {
    "uniform": (lambda x: x.uniform_(), lambda x: x),
    "uniform of a range": (lambda x: x.uniform_(-3, 5), lambda x: (x + 3) / 8),
    "normal": (lambda x: x.normal_(), lambda x: normal_cdf(x, 0, 1)),
    "normal, moved": (lambda x: x.normal_(-2, 3), lambda x: normal_cdf(x, -2, 3)),
    "log_normal": (lambda x: x.log_normal_(0.5, 0.25), lambda x: normal_cdf(x.log(), 0.5, 0.25)),
    "exponential": (lambda x: x.exponential_(2.5), lambda x: -torch.expm1(-2.5 * x)),
    "cauchy": (lambda x: x.cauchy_(1, 2), lambda x: torch.atan((x - 1) / 2) / math.pi + 0.5),
}


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("dtype", REAL)
def test_real_numbers_follow_their_distribution(dtype: torch.dtype, name: str) -> None:
    call, cdf = CONTINUOUS[name]
    count = 100_000
    torch.openreg.default_generators[torch.device(DEVICE).index].manual_seed(2024)
    x = call(torch.empty(count, dtype=dtype, device=DEVICE)).cpu().double().sort().values
    assert not x.isnan().any()
    # Kolmogorov and Smirnov. A narrow type rounds, which moves its stairs by no more than half of its resolution.
    expected = cdf(x)
    stairs = torch.arange(count + 1, dtype=torch.float64) / count
    ties = torch.searchsorted(x, x, right=False), torch.searchsorted(x, x, right=True)
    distance = torch.maximum(stairs[ties[1]] - expected, expected - stairs[ties[0]]).max().item()
    resolution = torch.finfo(dtype).eps * 2
    assert distance < 2.2 / math.sqrt(count) + resolution  # passes by chance all but once in 8,000 times


def test_normal_numbers_have_tails() -> None:
    x = torch.randn(2_000_000, device=DEVICE, generator=generator(DEVICE)).cpu()
    assert 4.5 < x.abs().max() < 6.5
    for bound, p in ((3, 0.0026998), (4, 6.3342e-5)):
        beyond = (x.abs() > bound).sum().item()
        assert abs(beyond - 2e6 * p) < 4.5 * math.sqrt(2e6 * p)
    assert abs((x.double() ** 4).mean() - 3) < 0.05


def chi_square(counts: Tensor, p: Tensor) -> float:
    """How far counts are from probabilities, in standard deviations of that distance."""
    p = p.double()
    assert counts[p == 0].sum() == 0
    expected = p[p > 0] * counts.sum()
    assert expected.min() > 5
    freedom = expected.numel() - 1
    return ((((counts[p > 0] - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom)).item()


@pytest.mark.parametrize("dtype", [*REAL, *WHOLE])
def test_integers_of_a_range_are_equally_likely(dtype: torch.dtype) -> None:
    x = torch.empty(50_000, dtype=dtype, device=DEVICE).random_(3, 103, generator=generator(DEVICE)).cpu().long()
    assert chi_square(torch.bincount(x, minlength=103), (torch.arange(103) >= 3) / 100) < 5


def test_integers_of_a_large_range_have_no_favourites() -> None:
    count = 3 * 2**61  # with "modulo", the lower third would come up twice as often as the others
    x = torch.empty(60_000, dtype=torch.int64, device=DEVICE).random_(0, count, generator=generator(DEVICE)).cpu()
    assert chi_square(torch.bincount(x // (count // 30), minlength=30), torch.full((30,), 1 / 30)) < 5


LIMITS = {torch.bool: 1, torch.float16: 2**11, torch.bfloat16: 2**8, torch.float32: 2**24, torch.float64: 2**53}


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint64, *WHOLE, *REAL])
def test_random_without_a_range_goes_from_0_to_the_largest(dtype: torch.dtype) -> None:
    x = torch.empty(100_000, dtype=dtype, device=DEVICE).random_(generator=generator(DEVICE)).cpu()
    limit = LIMITS[dtype] if dtype in LIMITS else torch.iinfo(dtype).max
    values = x.numpy().astype(np.float64) if dtype in WHOLE or dtype == torch.uint64 else x.double().numpy()
    assert values.min() >= 0
    assert values.max() <= limit
    assert abs(values.mean() / limit - 0.5) < 5 * 0.3 / math.sqrt(x.numel()) + 0.5 / (limit + 1) + 1 / 256
    if limit < 300:
        assert set(values.tolist()) == set(range(limit + 1))


def test_all_integers_of_64_bits_come_up() -> None:
    x = torch.empty(10_000, dtype=torch.int64, device=DEVICE).random_(-(2**63), None, generator=generator(DEVICE))
    assert chi_square(torch.bincount((x.cpu() >> 59) + 16, minlength=32), torch.full((32,), 1 / 32)) < 5


RANGES = [(0, 1), (-1, 0), (0, 1e-3), (1, 1 + 2**-7), (-3, 0.1), (100, 101), (-1, 1), (2, 2), (-5e4, 5e3)]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_uniform_numbers_never_reach_the_upper_end(dtype: torch.dtype, low: float, high: float) -> None:
    x = torch.empty(100_000, dtype=dtype, device=DEVICE).uniform_(low, high, generator=generator(DEVICE)).cpu()
    ends = torch.tensor([low, high], dtype=dtype)
    assert x.min() >= ends[0]
    assert (x < ends[1]).all() or ends[0] == ends[1] == x.max() == x.min()


def test_exponential_numbers_are_never_0() -> None:
    # multinomial divides by them, and so do programs.
    assert torch.empty(5_000_000, device=DEVICE).exponential_(generator=generator(DEVICE)).cpu().min() > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int8, torch.int64])
def test_geometric_numbers_follow_their_distribution(dtype: torch.dtype) -> None:
    x = torch.empty(50_000, dtype=dtype, device=DEVICE).geometric_(0.3, generator=generator(DEVICE)).cpu().long()
    assert x.min() == 1
    p = 0.3 * 0.7 ** torch.arange(14)
    p = torch.cat([torch.zeros(1), p, 1 - p.sum(0, keepdim=True)])
    assert chi_square(torch.bincount(x.clamp(max=15), minlength=16), p) < 5


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, *REAL])
@pytest.mark.parametrize("p", [0, 0.1, 0.5, 1])
def test_bernoulli_numbers_follow_their_probability(dtype: torch.dtype, p: float) -> None:
    count = 50_000
    for x in (
        torch.empty(count, dtype=dtype, device=DEVICE).bernoulli_(p, generator=generator(DEVICE)),
        torch.empty(count, dtype=dtype, device=DEVICE).bernoulli_(torch.tensor(float(p)), generator=generator(DEVICE)),
        torch.empty(count, dtype=dtype, device=DEVICE).bernoulli_(
            torch.full((count,), float(p)).to(DEVICE), generator=generator(DEVICE)
        ),
    ):
        x = x.cpu().double()
        assert ((x == 0) | (x == 1)).all()
        assert abs(x.mean() - p) <= 4.5 * math.sqrt(p * (1 - p) / count)


def test_bernoulli_takes_a_probability_for_each_element() -> None:
    p = torch.linspace(0, 1, 11)
    x = torch.bernoulli(p.expand(20_000, 11).to(DEVICE), generator=generator(DEVICE)).cpu()
    assert (x[:, 0] == 0).all()
    assert (x[:, 10] == 1).all()
    assert ((x.double().mean(0) - p).abs() <= 4.5 * (p * (1 - p) / 20_000).sqrt()).all()
    y = p.to(DEVICE)
    assert set(y.bernoulli_(y).tolist()) <= {0, 1}  # in place


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("replacement", [True, False])
def test_one_sample_of_multinomial_follows_the_weights(dtype: torch.dtype, replacement: bool) -> None:
    weights = torch.tensor([1.0, 0, 2, 0.5, 4, 0.25, 0])
    rows = weights.to(dtype).expand(50_000, 7).to(DEVICE)
    x = rows.multinomial(1, replacement, generator=generator(DEVICE)).cpu().flatten()
    assert chi_square(torch.bincount(x, minlength=7), weights / weights.sum()) < 5


def test_multinomial_draws_many_from_one_row() -> None:
    weights = torch.arange(1000.0) % 7
    x = weights.to(DEVICE).multinomial(200_000, replacement=True, generator=generator(DEVICE)).cpu()
    assert chi_square(torch.bincount(x, minlength=1000), weights / weights.sum()) < 5


def test_the_second_of_two_without_replacement_has_its_conditional_probability() -> None:
    weights = torch.tensor([1.0, 2, 3, 4]) / 10
    x = weights.expand(60_000, 4).to(DEVICE).multinomial(2, generator=generator(DEVICE)).cpu()
    pairs = (weights.view(4, 1) * weights / (1 - weights).view(4, 1)).fill_diagonal_(0)
    assert chi_square(torch.bincount(x[:, 0] * 4 + x[:, 1], minlength=16), pairs.flatten()) < 5


def test_multinomial_without_replacement_repeats_nothing_and_takes_zeros_last() -> None:
    weights = torch.tensor([0.0, 3, 0, 1, 2]).to(DEVICE)
    for _ in range(20):
        x = weights.multinomial(5).tolist()
        assert sorted(x) == list(range(5))
        assert set(x[:3]) == {1, 3, 4}


def test_multinomial_reads_and_writes_any_strides() -> None:
    weights = torch.linspace(1, 2, 40).view(5, 8).to(DEVICE)
    expected = weights.t().contiguous().multinomial(3, generator=generator(DEVICE)).cpu()
    assert torch.equal(weights.t().multinomial(3, generator=generator(DEVICE)).cpu(), expected)
    out = torch.empty(3, 8, dtype=torch.int64, device=DEVICE).t()
    torch.multinomial(weights.t(), 3, generator=generator(DEVICE), out=out)
    assert torch.equal(out.cpu(), expected)


def test_every_permutation_is_equally_likely() -> None:
    source = generator(DEVICE)
    count = 12_000
    x = torch.stack([torch.randperm(4, device=DEVICE, generator=source) for _ in range(count)]).cpu()
    assert torch.equal(x.sort(1).values, torch.arange(4).expand(count, 4))
    numbers = (x * torch.tensor([64, 16, 4, 1])).sum(1)
    counts = torch.bincount(numbers, minlength=256)
    assert chi_square(counts[counts > 0], torch.full((24,), 1 / 24)) < 5


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float16, torch.float64])
def test_a_permutation_has_every_integer_once(dtype: torch.dtype) -> None:
    x = torch.randperm(200, dtype=dtype, device=DEVICE)
    assert sorted(x.tolist()) == list(range(200))
    assert x.tolist() != sorted(x.tolist())
    out = torch.empty(400, dtype=dtype, device=DEVICE)[::2]
    torch.randperm(200, out=out)
    assert sorted(out.tolist()) == list(range(200))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_normal_takes_tensors_of_means_and_deviations(shape: tuple[int, ...]) -> None:
    mean, std = torch.full((40_000, *shape), 2.0), torch.full((40_000, *shape), 3.0)
    forms = [
        torch.normal(mean.to(DEVICE), std.to(DEVICE)),
        torch.normal(mean.to(DEVICE), 3.0),
        torch.normal(2.0, std.to(DEVICE)),
        torch.normal(2.0, 3.0, mean.shape, device=DEVICE),
        torch.normal(mean.to(DEVICE), std.to(DEVICE), out=torch.empty(0, device=DEVICE)),
    ]
    for x in forms:
        assert x.shape == mean.shape
        assert abs(x.cpu().double().mean() - 2) < 5 * 3 / 200
        assert abs(x.cpu().double().std() - 3) < 5 * 3 / 280


def test_complex_numbers_are_two_real_ones() -> None:
    x = torch.randn(100_000, dtype=torch.complex64, device=DEVICE, generator=generator(DEVICE)).cpu()
    assert abs(x.real.var() - 0.5) < 0.02
    assert abs(x.imag.var() - 0.5) < 0.02
    assert torch.rand(4, dtype=torch.complex64, device=DEVICE).cpu().imag.max() > 0


# -------------------------------------------------------------------------------------------------------------- dropout


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_drops_a_part_and_scales_the_rest(device: str, dtype: torch.dtype, p: float) -> None:
    x = torch.linspace(1, 2, 50_000, dtype=dtype).to(device)
    torch.manual_seed(1)
    y, mask = torch.native_dropout(x, p, True)
    y, mask, x = y.cpu(), mask.cpu(), x.cpu()
    assert mask.dtype == torch.bool
    assert abs(mask.double().mean() - (1 - p)) < 4.5 * math.sqrt(p * (1 - p) / 50_000)
    torch.testing.assert_close(y, x * mask / (1 - p))
    torch.manual_seed(1)
    assert torch.equal(functional.dropout(x.to(device), p).cpu(), y)


def test_dropout_does_not_depend_on_type_or_strides(device: str) -> None:
    masks = []
    for x in (
        torch.ones(50, 60, device=device),
        torch.ones(50, 60, dtype=torch.float64, device=device),
        torch.ones(60, 50, dtype=torch.bfloat16, device=device).t(),
    ):
        torch.manual_seed(1)
        y, mask = torch.native_dropout(x, 0.3, True)
        assert y.stride() == mask.stride() == x.stride()
        masks.append(mask.cpu())
    assert torch.equal(masks[0], masks[1])
    assert torch.equal(masks[0], masks[2])


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_of_nothing_and_of_everything(device: str, p: float) -> None:
    y, mask = torch.native_dropout(torch.ones(9, device=device), p, True)
    assert y.tolist() == mask.tolist() == [1 - p] * 9
    assert functional.dropout(torch.ones(9, device=device), p).tolist() == [1 - p] * 9


def test_dropout_when_not_training_changes_nothing(device: str) -> None:
    x = torch.linspace(1, 2, 7).to(device)
    y, mask = torch.native_dropout(x, 0.5, False)
    assert torch.equal(y.cpu(), x.cpu())
    assert mask.tolist() == [True] * 7
    assert torch.equal(torch.nn.Dropout(0.5).eval()(x).cpu(), x.cpu())


def test_the_gradient_of_dropout_goes_where_the_values_went(device: str) -> None:
    x = torch.ones(30, 40, device=device, requires_grad=True)
    y = functional.dropout(x, 0.25)
    y.sum().backward()
    assert torch.equal(x.grad.cpu(), y.detach().cpu())


@pytest.mark.parametrize("layer", [torch.nn.Dropout2d, torch.nn.AlphaDropout, torch.nn.FeatureAlphaDropout])
def test_the_other_kinds_of_dropout_repeat_with_the_seed(device: str, layer: Callable[[float], Any]) -> None:
    x = torch.randn(4, 5, 6, 7).to(device)
    first, second = (draw(layer(0.4), x) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, x.cpu())


# ------------------------------------------------------------------------------------------------ generators and states


def test_a_generator_belongs_to_a_device(other_device: str) -> None:
    made = torch.Generator(other_device)
    assert str(made.device) == other_device
    with torch.openreg.device(1):
        assert str(torch.Generator("openreg").device) == "openreg:1"
    assert made.initial_seed() == torch.Generator().initial_seed()
    with pytest.raises(RuntimeError, match="openreg: The device index is out of range: expected 0 to 1, but got 7"):
        torch.Generator("openreg:7")


def test_the_default_generators_are_one_a_device() -> None:
    generators = torch.openreg.default_generators
    assert [str(one.device) for one in generators] == ["openreg:0", "openreg:1"]
    assert len(generators) == 2
    assert generators[-1] is generators[1] is torch.openreg.default_generators[1]
    assert generators[0:1] == [generators[0]]
    with pytest.raises(IndexError):
        generators[2]


def test_operators_draw_from_the_default_generator_of_their_device(device: str, other_device: str) -> None:
    torch.manual_seed(5)
    index = torch.device(device).index
    expected = torch.rand(8, device=device, generator=torch.Generator(device).manual_seed(5))
    with torch.openreg.device(other_device):
        assert torch.equal(torch.rand(8, device=device).cpu(), expected.cpu())
    offsets = [one.get_offset() for one in torch.openreg.default_generators]
    assert offsets[index] == 2
    assert offsets[1 - index] == 0


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1, -1, -(2**63)])
def test_seeds_of_all_sizes(device: str, seed: int) -> None:
    expected = torch.Generator().manual_seed(seed).initial_seed()
    torch.manual_seed(seed)
    index = torch.device(device).index
    assert torch.openreg.default_generators[index].initial_seed() == expected
    with torch.openreg.device(device):
        torch.rand(9, device=device)
        torch.openreg.manual_seed(seed)
        assert torch.openreg.initial_seed() == expected
        assert torch.openreg.default_generators[index].get_offset() == 0


def test_seeding_one_device_leaves_the_other() -> None:
    torch.manual_seed(1)
    with torch.openreg.device(1):
        torch.openreg.manual_seed(2)
    assert [one.initial_seed() for one in torch.openreg.default_generators] == [1, 2]
    torch.openreg.manual_seed_all(3)
    assert [one.initial_seed() for one in torch.openreg.default_generators] == [3, 3]


def test_seeds_that_nobody_chose_differ() -> None:
    seeds = set()
    for _ in range(3):
        torch.openreg.seed()
        seeds.add(torch.openreg.initial_seed())
    torch.openreg.seed_all()
    both = [one.initial_seed() for one in torch.openreg.default_generators]
    assert both[0] == both[1]
    assert len(seeds | set(both)) == 4
    assert torch.seed() == torch.openreg.initial_seed()


def test_a_program_without_a_seed_has_its_own(program: ProgramFunction) -> None:
    code = "print(*(one.initial_seed() for one in torch.openreg.default_generators))"
    seeds = [program(code).split() for _ in range(2)]
    assert len({seed for both in seeds for seed in both}) == 4


def test_a_state_brings_its_numbers_back(device: str) -> None:
    source = generator(device, 3)
    torch.rand(100, device=device, generator=source)
    state = source.get_state()
    first = torch.randn(50, device=device, generator=source)
    other = torch.Generator(device)
    other.set_state(state)
    assert torch.equal(torch.randn(50, device=device, generator=other).cpu(), first.cpu())
    assert (other.initial_seed(), other.get_offset()) == (source.initial_seed(), source.get_offset())


def test_a_state_is_seed_and_offset(device: str) -> None:
    state = generator(device, 5, 2**40).get_state()
    assert state.device.type == "cpu"
    assert struct.unpack("<QQ", bytes(state.tolist())) == (5, 2**40)
    short = generator(device, 1, 9)
    short.set_state(state[:8].clone())
    assert (short.initial_seed(), short.get_offset()) == (5, 0)


def test_a_wrong_state_is_refused_and_changes_nothing(device: str) -> None:
    source = generator(device, 5, 6)
    text = "RNG state is wrong size: argument 'new_state' has 5 bytes; expected 16 (seed and offset) or 8 (seed)"
    with pytest.raises(RuntimeError, match=re.escape(text)):
        source.set_state(torch.zeros(5, dtype=torch.uint8))
    for state in (torch.zeros(16), torch.zeros(16, dtype=torch.uint8, device=device)):
        with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
            source.set_state(state)
    with pytest.raises(RuntimeError, match="RNG state must be contiguous"):
        source.set_state(torch.zeros(32, dtype=torch.uint8)[::2])
    assert (source.initial_seed(), source.get_offset()) == (5, 6)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), "clone_state"])
def test_a_copy_of_a_generator_goes_its_own_way(device: str, how: Any) -> None:
    source = generator(device, 5, 6)
    made = source.clone_state() if how == "clone_state" else how(source)
    assert (str(made.device), made.initial_seed(), made.get_offset()) == (device, 5, 6)
    torch.rand(1, device=device, generator=source)
    assert (made.get_offset(), source.get_offset()) == (6, 7)


def test_states_of_all_devices(device: str) -> None:
    torch.manual_seed(1)
    torch.rand(40, device=device)
    states = torch.openreg.get_rng_state_all()
    one = torch.openreg.get_rng_state(device)
    assert torch.equal(states[torch.device(device).index], one)
    expected = torch.rand(9, device=device).cpu()
    torch.openreg.set_rng_state_all(states)
    assert torch.equal(torch.rand(9, device=device).cpu(), expected)
    torch.openreg.set_rng_state(one, device)
    assert torch.equal(torch.rand(9, device=device).cpu(), expected)
    with pytest.raises(ValueError, match="argument 'new_states' has 1 states; expected 2, one for each device"):
        torch.openreg.set_rng_state_all(states[:1])
    with pytest.raises(ValueError, match="get_rng_state: argument 'device' has index 9"):
        torch.openreg.get_rng_state(9)


@pytest.mark.filterwarnings("ignore:OPENREG reports that you have 2 available devices")
@pytest.mark.parametrize("devices", [None, [0], [1], range(2), []])
def test_fork_rng_puts_the_states_back(devices: list[int] | None) -> None:
    torch.manual_seed(1)
    before = [torch.openreg.get_rng_state(index) for index in range(2)]
    with torch.random.fork_rng(devices):
        torch.manual_seed(2)
        for index in range(2):
            torch.rand(5, device=f"openreg:{index}")
    for index in range(2):
        restored = torch.equal(torch.openreg.get_rng_state(index), before[index])
        assert restored == (devices is None or index in devices)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_draws_the_same_numbers_again(device: str, reentrant: bool) -> None:
    def block(x: Tensor) -> Tensor:
        return functional.dropout(x * 2, 0.5) + torch.rand_like(x)

    def gradient(function: Callable[[Tensor], Tensor]) -> Tensor:
        torch.manual_seed(1)
        x = torch.ones(64, device=device, requires_grad=True)
        y = function(x)
        torch.rand(100, device=device)  # the numbers go on between forward and backward
        (y * y).sum().backward()
        return torch.cat([y.detach().cpu(), x.grad.cpu(), torch.rand(3, device=device).cpu()])

    assert torch.equal(gradient(lambda x: checkpoint(block, x, use_reentrant=reentrant)), gradient(block))


# ---------------------------------------------------------------------------------- what is not used is not initialised


def test_seeding_initialises_no_device(program: ProgramFunction) -> None:
    code = """
    torch.manual_seed(3)
    torch.openreg.manual_seed_all(4)
    torch.openreg.get_rng_state_all()
    assert not torch.openreg.is_initialized()
    active = [sim.get("orDeviceGetState", index) for index in range(2)]
    assert active == [0, 0], active
    pid = os.fork()  # and so a child may use the device
    if pid == 0:
        first = torch.rand(4, device="openreg").tolist()
        same = torch.rand(4, device="openreg", generator=torch.Generator("openreg").manual_seed(4)).tolist()
        os._exit(0 if first == same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    """
    program(code)


def test_seeding_in_a_forked_child_that_cannot_use_the_device_is_no_error(program: ProgramFunction) -> None:
    code = """
    torch.rand(4, device="openreg")
    pid = os.fork()
    if pid == 0:
        torch.manual_seed(5)  # as every worker of a DataLoader does
        torch.openreg.manual_seed_all(5)
        torch.seed()
        os._exit(0 if torch.rand(2).shape == (2,) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    """
    program(code)


# --------------------------------------------------------------------------------------------------------------- errors


def test_a_generator_of_another_device_is_refused(device: str, other_device: str) -> None:
    x = torch.ones(4, device=device)
    calls: list[Callable[[torch.Generator], Any]] = [
        lambda g: x.uniform_(generator=g),
        lambda g: torch.rand(4, device=device, generator=g),
        lambda g: torch.bernoulli(x, generator=g),
        lambda g: torch.randperm(4, device=device, generator=g),
        lambda g: torch.multinomial(x, 2, generator=g),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="Expected a 'openreg' device type for generator but found 'cpu'"):
            call(torch.Generator())
        with pytest.raises(
            RuntimeError, match=f"Expected a generator of device {device} but found one of {other_device}"
        ):
            call(torch.Generator(other_device))
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'openreg'"):
        torch.rand(4, generator=torch.Generator(device))


def test_a_generator_of_the_other_device_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected a generator of device openreg:0 but found one of openreg:1"):
        torch.rand(4, device="openreg:0", generator=torch.Generator("openreg:1"))


def test_without_manual_seed_all_seeding_warns(program: ProgramFunction) -> None:
    code = """
    import warnings
    del torch.openreg.manual_seed_all
    with warnings.catch_warnings(record=True) as caught:
        torch.manual_seed(1)
    print(caught[0].message)
    """
    assert program(code) == (
        "Set seed for `openreg` device does not take effect, please add API's `_is_in_bad_fork` and `manual_seed_all` "
        "to `openreg` device module.\n"
    )


# What the CPU refuses is refused with the CPU's type and words; the names of its kernels are its own.
WRONG: list[Callable[[str], Any]] = [
    lambda d: torch.empty(3, device=d).uniform_(2, 1),
    lambda d: torch.empty(3, device=d, dtype=torch.float16).uniform_(0, 1e6),
    lambda d: torch.empty(3, device=d).normal_(0, -1),
    lambda d: torch.normal(torch.ones(3, device=d), -1.0),
    lambda d: torch.empty(3, device=d).log_normal_(0, 0),
    lambda d: torch.empty(3, device=d).exponential_(-1),
    lambda d: torch.empty(3, device=d, dtype=torch.int64).exponential_(),
    lambda d: torch.empty(3, device=d).cauchy_(0, 0),
    lambda d: torch.empty(3, device=d, dtype=torch.int64).cauchy_(),
    lambda d: torch.empty(3, device=d).geometric_(0),
    lambda d: torch.empty(3, device=d).geometric_(1),
    lambda d: torch.empty(3, device=d).bernoulli_(1.5),
    lambda d: torch.empty(3, device=d).bernoulli_(-0.1),
    lambda d: torch.empty(3, device=d).bernoulli_(torch.ones(4, device=d)),
    lambda d: torch.empty(1, device=d).expand(3).bernoulli_(0.5),
    lambda d: torch.empty(1, device=d).expand(3).uniform_(),
    lambda d: torch.empty(3, device=d).random_(5, 2),
    lambda d: torch.empty(3, device=d, dtype=torch.int8).random_(0, 1000),
    lambda d: torch.randint(3, 3, (2,), device=d),
    lambda d: torch.randperm(-1, device=d),
    lambda d: torch.randperm(300, dtype=torch.int8, device=d),
    lambda d: torch.randperm(3000, dtype=torch.float16, device=d),
    lambda d: torch.multinomial(torch.ones(3, device=d), 0),
    lambda d: torch.multinomial(torch.ones(3, device=d), 4),
    lambda d: torch.multinomial(torch.ones(3, device=d, dtype=torch.int64), 1),
    lambda d: torch.multinomial(torch.ones(2, 2, 2, device=d), 1),
    lambda d: torch.multinomial(torch.ones(3, device=d), 1, out=torch.empty(1, device=d)),
    lambda d: torch.empty(3, device=d, dtype=torch.int64).normal_(),
    lambda d: torch.empty(3, device=d, dtype=torch.int64).log_normal_(),
    lambda d: functional.dropout(torch.ones(3, device=d), 1.5),
    lambda d: functional.dropout(torch.ones(3, device=d, dtype=torch.int64), 0.5),
]


@pytest.mark.parametrize("call", WRONG)
def test_wrong_arguments_are_refused_in_the_cpus_words(call: Callable[[str], Any]) -> None:
    with pytest.raises((RuntimeError, ValueError)) as expected:
        call("cpu")
    with pytest.raises(type(expected.value)) as caught:
        call("openreg:1")
    assert str(caught.value).splitlines()[0].replace("openreg:1", "cpu") == str(expected.value).splitlines()[0]


NOT_IMPLEMENTED: list[tuple[Callable[[str], Any], str]] = [
    (lambda d: torch.empty(3, device=d, dtype=torch.bool).geometric_(0.5), "\"geometric\" not implemented for 'Bool'"),
    (
        lambda d: torch.empty(3, device=d, dtype=torch.complex64).bernoulli_(),
        "\"bernoulli\" not implemented for 'ComplexFloat'",
    ),
    (
        lambda d: torch.empty(3, device=d).bernoulli_(torch.ones(3, device=d, dtype=torch.int64)),
        "\"bernoulli\" not implemented for probabilities of type 'Long'",
    ),
    (
        lambda d: torch.empty(3, device=d, dtype=torch.complex64).random_(),
        "\"random\" not implemented for 'ComplexFloat'",
    ),
    (lambda d: torch.randperm(3, device=d, dtype=torch.bool), "\"randperm\" not implemented for 'Bool'"),
]


@pytest.mark.parametrize(("call", "text"), NOT_IMPLEMENTED)
def test_types_that_an_operator_does_not_have_are_named(call: Callable[[str], Any], text: str) -> None:
    with pytest.raises(NotImplementedError):
        call("cpu")
    with pytest.raises(NotImplementedError) as caught:
        call("openreg:1")
    assert text in str(caught.value)


def test_tensors_of_two_devices_are_refused(device: str, other_device: str) -> None:
    x, y = torch.ones(4, device=device), torch.ones(4, device=other_device)
    for p in (y, y.cpu()):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            x.bernoulli_(p)
    with pytest.raises(RuntimeError, match="on the same device, but got out is on"):
        torch.multinomial(x, 1, out=torch.empty(1, dtype=torch.int64, device=other_device))


LATE = """
x = {call}
try:
    torch.openreg.synchronize(1)
except torch.AcceleratorError as error:
    print(error)
assert torch.ones(2).to("openreg:0").tolist() == [1, 1]
"""


@pytest.mark.parametrize("p", ["1.5", "-0.5", "float('nan')"])
def test_a_probability_that_is_none_is_an_error_of_the_next_synchronise(program: ProgramFunction, p: str) -> None:
    said = program(LATE.format(call=f"torch.tensor([0.5, {p}]).to('openreg:1').bernoulli()"))
    assert (
        "openreg: orDeviceSynchronize: kernel 'bernoulli_tensor.float' on device 1: argument 'p' has an element that "
        "is not in [0, 1] [orErrorAssert]"
    ) in said


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([1.0, -1.0], "probability tensor contains either `inf`, `nan` or element < 0"),
        ([1.0, math.inf], "probability tensor contains either `inf`, `nan` or element < 0"),
        ([0.0, 0.0], "invalid multinomial distribution (sum of probabilities <= 0)"),
    ],
)
def test_weights_that_are_none_are_an_error_of_the_next_synchronise(
    program: ProgramFunction, weights: list[float], text: str, replacement: bool
) -> None:
    call = f"torch.tensor({weights}, dtype=torch.float64).to('openreg:1').multinomial(1, {replacement})"
    said = program(LATE.format(call=call.replace("inf", "float('inf')")))
    assert "multinomial" in said
    assert text in said
    with pytest.raises(RuntimeError) as caught:  # the CPU's words
        torch.tensor(weights).multinomial(1, replacement)
    assert str(caught.value) == text


# ----------------------------------------------------------------------------------------------------- all of it native

NATIVE: dict[str, Callable[[Tensor], Any]] = {
    **DRAWS,
    "rand": lambda x: torch.rand(9, device=x.device),
    "randn": lambda x: torch.randn(9, device=x.device),
    "randint": lambda x: torch.randint(9, (4,), device=x.device),
    "rand_like": lambda x: torch.rand_like(x),
    "randn_like": lambda x: torch.randn_like(x),
    "randint_like": lambda x: torch.randint_like(x, 9),
    "randperm": lambda x: torch.randperm(9, device=x.device),
    "bernoulli": lambda x: torch.bernoulli(torch.empty_like(x).uniform_()),
    "multinomial": lambda x: torch.empty_like(x).uniform_().multinomial(2),
    "multinomial with replacement": lambda x: torch.empty_like(x).uniform_().multinomial(20, True),
    "normal": lambda x: torch.normal(0.0, 1.0, (3,), device=x.device),
    "native_dropout": lambda x: torch.native_dropout(x.uniform_(), 0.5, True),
    "dropout": lambda x: functional.dropout(x.uniform_(), 0.5),
    "dropout, backward": lambda x: functional.dropout(x.uniform_().requires_grad_(), 0.5).sum().backward(),
    "exponential": lambda x: torch.ops.aten.exponential(x.uniform_()),
}


@pytest.mark.parametrize("name", NATIVE)
def test_random_operators_do_not_fall_back(device: str, name: str) -> None:
    x = torch.empty(8, 8, device=device)
    with torch.openreg.no_fallback():
        NATIVE[name](x)
