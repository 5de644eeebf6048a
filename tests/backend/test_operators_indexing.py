"""Indexing, scattering, sorting, counting and Fourier transforms: what PyTorch's operator database does not ask."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch

from .conftest import GateFunction, ProgramFunction

Function = Callable[[torch.Tensor], object]

DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
]
LAYOUTS: dict[str, Function] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "every other": lambda x: x[:, ::2],
    "broadcast": lambda x: x[:1].expand(5, -1, -1),
    "empty": lambda x: x[:, :0],
}


def values(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Numbers of which some are equal."""
    return torch.randint(-8, 9, shape, generator=torch.Generator().manual_seed(1)).to(dtype)


def places(limit: int, *shape: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """Indices below a limit."""
    return torch.randint(0, limit, shape, generator=torch.Generator().manual_seed(2)).to(device)


def same(device: str, function: Function, *inputs: torch.Tensor) -> None:
    """Checks that a function gives on the device what it gives on the CPU, without the CPU's help."""
    torch.openreg.reset_fallbacks()
    actual = function(*(x.to(device) for x in inputs))
    assert torch.openreg.fallbacks() == {}
    for got, want in zip(tensors(actual), tensors(function(*inputs)), strict=True):
        assert got.device == torch.device(device)
        torch.testing.assert_close(got.cpu(), want, equal_nan=True)


def tensors(result: object) -> list[torch.Tensor]:
    """A result's tensors."""
    return [result] if isinstance(result, torch.Tensor) else list(result)  # type: ignore[call-overload]


MOVES: dict[str, Function] = {
    "a slice": lambda x: x[1:, :, -1],
    "a vector of indices": lambda x: x[places(x.size(0), 7, device=x.device)],
    "negative indices": lambda x: x[torch.tensor([-1, 0, -2], device=x.device)],
    "int32 indices": lambda x: x[torch.tensor([-1, 0], device=x.device, dtype=torch.int32)],
    "two vectors": lambda x: x[places(5, 3, 4, device=x.device), :, places(5, 4, device=x.device)],
    "indices of the CPU": lambda x: x[torch.tensor([2, 0])],
    "a mask": lambda x: x[x != x[:1]],
    "no index": lambda x: x[torch.tensor([], dtype=torch.int64, device=x.device)],
    "index_select": lambda x: x.index_select(-1, torch.tensor([0, 3, 0], device=x.device)),
    "gather": lambda x: x.gather(2, places(5, *x.shape, device=x.device)),
    "gather with transposed indices": lambda x: x.gather(
        2, places(5, 5, x.size(1), x.size(0), device=x.device).transpose(0, 2)
    ),
    "take with many indices": lambda x: x.take(places(x.numel(), 1200, device=x.device) - 1) if x.numel() else x,
    "take": lambda x: x.take(torch.tensor([-1, 0], device=x.device)) if x.numel() else x,
    "cat": lambda x: torch.cat([x, x[:2], x], 0),
    "stack": lambda x: torch.stack([x, x], 1),
    "flip": lambda x: x.flip(0, 2),
    "roll": lambda x: x.roll((2, -1), (0, 2)),
    "tril": lambda x: x.tril(1),
    "triu": lambda x: x.triu(-1),
    "masked_fill": lambda x: x.masked_fill(x == x[:1], 1),
    "masked_select": lambda x: x.masked_select(x[:1] == x),
    "nonzero": lambda x: x.nonzero(),
}


@pytest.mark.parametrize("function", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_elements_are_found_whatever_the_strides(device: str, layout: Function, function: Function) -> None:
    same(device, lambda x: function(layout(x)), torch.randn(5, 6, 5, generator=torch.Generator().manual_seed(3)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_of_all_types_are_moved(dtype: torch.dtype) -> None:
    x = values(dtype, 5, 6, 5)
    for function in MOVES.values():
        same("openreg:1", function, x)


WRITES: dict[str, Function] = {
    "x[i] = 1": lambda x, i: x.clone().index_put_((i,), torch.tensor(1, dtype=x.dtype, device=x.device)),
    "x[:, i] += y": lambda x, i: torch.ops.aten.index_put(x, [None, i], x[:, : i.numel()], True),
    "x[i, j] += y": lambda x, i: x.clone().index_put_(
        (i, i), x[:, :1].expand(5, 4, 5)[: i.numel(), 0], accumulate=True
    ),
    "index_add": lambda x, i: x.index_add(1, i, x[:, : i.numel()], alpha=1),
    "index_copy": lambda x, i: x.index_copy(0, i.unique(), x[: i.unique().numel()] + x[:1]),
    "index_fill": lambda x, i: x.index_fill(2, i, 1),
    "index_fill with a tensor": lambda x, i: x.index_fill(2, i, x[0, 0, 0]),
    "scatter_add": lambda x, i: x.scatter_add(1, places(4, 5, 3, 5, device=x.device), x),
    "scatter of a number": lambda x, i: x.scatter(1, places(4, 5, 3, 5, device=x.device), 1),
    "put": lambda x, i: x.put(i, x.flatten()[: i.numel()], accumulate=True),
    "put into strides": lambda x, i: x.clone().transpose(0, 1).put_(i, x.flatten()[: i.numel()], accumulate=True),
    "masked_scatter": lambda x, i: x.masked_scatter(x == x[:1], x + x),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_of_all_types_are_written_and_added(dtype: torch.dtype, name: str) -> None:
    same("openreg:0", WRITES[name], values(dtype, 5, 4, 5), torch.tensor([2, 0, 2, 3]))


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("includes", [True, False])
@pytest.mark.parametrize("dtype", [torch.int32, torch.float16, torch.float32])
def test_scatter_reduce_gives_what_the_cpu_gives(device: str, dtype: torch.dtype, includes: bool, reduce: str) -> None:
    index = places(4, 6, 7)
    same(
        device,
        lambda x, i: (
            x.scatter_reduce(0, i, x, reduce, include_self=includes),
            x.index_reduce(1, i[0].clamp(max=3), x, "prod" if reduce == "sum" else reduce, include_self=includes),
        ),
        values(dtype, 6, 7),
        index,
    )


def test_a_nan_stays_the_largest_and_the_smallest(device: str) -> None:
    x = torch.tensor([1.0, math.nan, 3.0, 2.0])
    index = torch.tensor([0, 0, 0, 1])
    for reduce in ("amax", "amin"):
        same(device, lambda x, i, reduce=reduce: torch.zeros_like(x).scatter_reduce(0, i, x, reduce), x, index)


def test_a_tensor_without_dimensions_can_be_indexed(device: str) -> None:
    zero = torch.tensor(0)
    for function in (
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.gather(0, i),
        lambda x, i: x.scatter(0, i, 5.0),
        lambda x, i: x.index_add(0, i, x),
        lambda x, i: x.index_fill(0, i, 2),
        lambda x, i: x.index_copy(0, i, x * 2),
        lambda x, i: x.masked_fill(i == 0, 3),
        lambda x, i: x.masked_select(i == 0),
        lambda x, i: (*x.sort(), *x.topk(1), x.nonzero(), x.unique(), x.median()),
    ):
        same(device, function, torch.tensor(7.5), zero)


def test_many_dimensions_and_indices(device: str) -> None:
    x = torch.arange(2**9).view(*[2] * 9)
    indices = [places(2, 5) for _ in range(9)]
    same(device, lambda x, *i: x[i], x, *indices)
    same(device, lambda x, *i: x[(i[0], ..., i[1])], x, *indices)


LARGE: dict[str, Function] = {
    "rows": lambda x, i: torch.zeros_like(x).index_add(0, i % 300, x),
    "rows to all places": lambda x, i: torch.zeros(300, x.size(1), device=x.device).index_add(0, i % 300, x),
    "columns": lambda x, i: torch.zeros_like(x).index_add(1, i[:400], x),
    "elements": lambda x, i: torch.zeros(500, device=x.device).index_put_((i,), x[:, 0], accumulate=True),
    "written twice": lambda x, i: torch.zeros_like(x).index_put_((i % 300,), x),
    "scatter": lambda x, i: torch.zeros_like(x).scatter(0, (i % 300).unsqueeze(1).expand(-1, 400), x),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_arrives_at_one_place_does_so_in_order_for_any_number_of_threads(
    program: ProgramFunction, name: str
) -> None:
    code = f"""
        from backend.test_operators_indexing import LARGE, arrivals
        torch.set_num_threads(1)  # several write in any order on the CPU
        same = [torch.equal(LARGE[{name!r}](x.to("openreg:0"), i.to("openreg:0")).cpu(), want)
                for x, i in [arrivals()] for want in [LARGE[{name!r}](x, i)]]
        print(*same)
    """
    alone = "        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    for threads in ("", alone):
        assert program(threads + code).split() == ["True"]


def arrivals() -> tuple[torch.Tensor, torch.Tensor]:
    """Rows, and where they go: many of them to one place."""
    generator = torch.Generator().manual_seed(4)
    return torch.randn(5000, 400, generator=generator), torch.randint(0, 400, (5000,), generator=generator)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("x[torch.tensor([1, 7], device=d)]", "index 7 is out of bounds for dimension 0 with size 5"),
        ("x[:, torch.tensor([-4], device=d)]", "index -4 is out of bounds for dimension 0 with size 3"),
        (
            "x.index_put_((torch.tensor([5], device=d),), x[0].clone(), accumulate=True)",
            "index 5 is out of bounds for dimension 0",
        ),
        ("x.gather(1, torch.tensor([[3]], device=d))", "index 3 is out of bounds for dimension 1 with size 3"),
        ("x.gather(1, torch.tensor([[-1]], device=d))", "index -1 is out of bounds for dimension 1 with size 3"),
        (
            "x.scatter_add_(0, torch.tensor([[9]], device=d), x.clone())",
            "index 9 is out of bounds for dimension 0 with size 5",
        ),
        ("torch.nn.functional.embedding(torch.tensor([5], device=d), x)", "index 5 is out of bounds for dimension 0"),
        ("x.take(torch.tensor([15], device=d))", "index 15 is out of bounds for dimension 0 with size 15"),
        ("x.take(torch.arange(16, device=d))", "index 15 is out of bounds for dimension 0 with size 15"),
        ("x.masked_scatter_(x > -1, x[:2])", "index 7 is out of bounds for dimension 0 with size 7"),
        ("torch._assert_async(x.sum() < 0, 'the sum is negative')", "the sum is negative"),
        ("torch.repeat_interleave(torch.tensor([2], device=d), output_size=3)", "repeats are fewer than output_size"),
    ],
)
def test_a_wrong_index_fails_at_the_next_synchronisation_and_is_named(
    program: ProgramFunction, call: str, said: str
) -> None:
    printed = program(f"""
        d = "openreg:1"
        x = torch.arange(15.0, device=d).view(5, 3)
        {call}
        print("queued")
        try:
            torch.openreg.synchronize(1)
        except torch.AcceleratorError as error:
            print(error)
        os._exit(0)
    """)
    assert "queued" in printed
    assert said in printed


def test_an_index_into_nothing_fails_at_the_call(device: str) -> None:
    index = torch.zeros(1, dtype=torch.int64, device=device)
    for call in (lambda x: x[index], lambda x: x.take(index)):
        with pytest.raises(IndexError):
            call(torch.empty(0, device=device))


def test_indexing_returns_before_the_device_has_computed(device: str, gate: GateFunction) -> None:
    x = torch.arange(12.0, device=device).view(4, 3)
    index = torch.tensor([3, 0], device=device)
    closed = gate(torch.device(device).index)
    rows = x[index]
    x.index_put_((index,), rows * 2, accumulate=True)
    x.scatter_add_(0, torch.zeros_like(x, dtype=torch.int64), x.clone())
    x.masked_fill_(x > 1000, x[0, 0].clone())
    x.index_fill_(0, index, x[1, 1].clone())
    values, _ = torch.cat([x.sort(0).values.flip(0), rows]).topk(2, 0)
    found = x.nonzero_static(size=3)
    transformed = torch.fft.rfft(x).abs().median()
    repeated = torch.repeat_interleave(index, output_size=3)
    torch._assert_async(x.eq(x).all())
    closed.open()
    assert [tuple(t.shape) for t in (values, found, transformed, repeated)] == [(2, 3), (3, 2), (), (3,)]
    assert values[0].tolist() == [9.0, 10.0, 11.0]


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.is_complex], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_keeps_the_order_of_equal_elements(device: str, dtype: torch.dtype, descending: bool) -> None:
    for shape, dim in (((700,), 0), ((40, 3, 6), 0), ((4, 300), -1)):
        same(device, lambda x, dim=dim: x.sort(dim=dim, descending=descending, stable=True), values(dtype, *shape))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.int64, torch.float64], ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_long_rows_are_sorted_by_all_digits(device: str, dtype: torch.dtype, descending: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    if dtype.is_floating_point:
        x = (torch.randn(2, 40_000, generator=generator) * 1e3).to(dtype)
        x[:, ::1000] = math.nan
    else:
        limits = torch.iinfo(dtype)
        x = torch.randint(limits.min, limits.max, (2, 40_000), generator=generator, dtype=dtype)
    same(device, lambda x: x.sort(stable=True, descending=descending), x)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("distance", [0, 5, 2**32 - 1, 2**32])
@pytest.mark.parametrize("least", [-(2**63), -3, 2**63 - 1 - 2**32])
def test_integers_that_lie_close_together_are_sorted(device: str, least: int, distance: int, descending: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, distance + 1, (2, 1000), generator=generator)
    x[:, 400:402] = torch.tensor([0, distance])
    same(device, lambda x: x.sort(stable=True, descending=descending), x + least)


def test_a_mask_chooses_from_many_parts_of_a_tensor(device: str) -> None:
    x = torch.arange(3 * 20_000.0).view(3, 20_000)
    some = torch.arange(20_000).remainder(7) > 2  # partly set, for all rows
    runs = torch.arange(20_000).div(3000, rounding_mode="floor").remainder(2) == 0
    for mask in (some, runs, runs.flip(0) & some, torch.ones(3, 1).bool(), torch.zeros(20_000).bool()):
        for of in (x, x.t().contiguous().t(), x[0], x.to(torch.complex128), x.bool()):
            same(device, lambda x, mask: x.masked_select(mask), of, mask)


def test_the_order_of_special_numbers(device: str) -> None:
    x = torch.tensor([math.nan, -0.0, math.inf, 0.0, -math.inf, 1e-45, math.nan, -1.0])
    for both in (x, x.double(), x.half(), x.repeat(100)):
        same(device, lambda x: x.sort(stable=True), both)
        same(device, lambda x: x.sort(stable=True, descending=True), both)
        same(device, lambda x: (x.topk(3).values, x.topk(3, largest=False).values, x.median(), x.nanmedian()), both)
    assert torch.signbit(x.to(device).sort(stable=True).values).tolist()[:4] == [True, True, True, False]
    wide = torch.tensor([2**63, 1, 2**64 - 1], dtype=torch.uint64)
    same(device, lambda x: x.to(torch.uint64).sort(stable=True), wide)
    smallest = torch.tensor([2**62, -(2**63), -1, 2**63 - 1])
    same(device, lambda x: x.sort(), smallest)


def test_tensors_are_put_together_along_any_dimension_of_any_output(device: str) -> None:
    x, y = values(torch.float32, 4, 5, 6), values(torch.float32, 4, 5, 6).transpose(0, 1)
    for dim in (0, 1, 2):
        same(device, lambda x, y, dim=dim: torch.cat([x, y.transpose(0, 1), x.flip(dim)], dim), x, y)
        same(device, lambda x, dim=dim: torch.cat([x, x.double(), x.narrow(dim, 0, 0), -x], dim), x)
        want = torch.cat([x, x], dim)
        out = torch.empty(want.mT.shape, device=device).mT
        torch.cat([x.to(device), x.to(device)], dim, out=out)
        assert torch.equal(out.cpu(), want)


def test_the_same_elements_of_all_that_are_equal_are_chosen(device: str) -> None:
    x = values(torch.int32, 6, 1000)
    same(device, lambda x: (*x.topk(5), *x.topk(500, largest=False), *x.topk(1000), *x.mode(), *x.median(1)), x)


def test_sorting_writes_to_outputs_of_any_strides(device: str) -> None:
    x = torch.randn(4, 6)
    out = [torch.empty(6, 4, device=device).t(), torch.empty(6, 4, dtype=torch.int64, device=device).t()]
    torch.sort(x.to(device), dim=0, stable=True, out=tuple(out))
    for got, want in zip(out, x.sort(0), strict=True):
        assert torch.equal(got.cpu(), want)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.is_complex], ids=str)
def test_unique_elements_and_slices(device: str, dtype: torch.dtype) -> None:
    x = values(dtype, 30, 4)
    same(device, lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    same(device, lambda x: torch.unique(x[:, :1], dim=0, return_inverse=True, return_counts=True), x)
    same(device, lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), x)
    same(device, lambda x: torch.unique_consecutive(x, return_counts=True, dim=1), x)


def test_values_are_found_among_boundaries(device: str) -> None:
    boundaries = torch.tensor([[1.0, 3.0, 3.0, 5.0], [0.0, 2.0, 4.0, 6.0]])
    wanted = torch.tensor([[3.0, math.nan, 0.0], [6.0, 7.0, -1.0]])
    order = torch.tensor([3, 0, 2, 1])
    for right in (False, True):
        same(device, lambda b, v, _, right=right: torch.searchsorted(b, v, right=right), boundaries, wanted, order)
        same(
            device,
            lambda b, v, _, r=right: torch.bucketize(v.half(), b[0], right=r, out_int32=True),
            boundaries,
            wanted,
            order,
        )
        same(
            device,
            lambda b, v, o, r=right: torch.searchsorted(b[0][o.argsort()], v, sorter=o, right=r),
            boundaries,
            wanted,
            order,
        )


def test_counting(device: str) -> None:
    x = places(9, 1000)
    same(device, lambda x: torch.bincount(x, minlength=12), x)
    same(device, lambda x: torch.bincount(x, x.double() / 3), x)
    same(device, torch.bincount, places(300, 200_001))
    same(device, lambda x: x.float().histc(7), x)
    same(device, lambda x: x.float().histc(4, 2, 6), x)
    same(device, lambda x: torch.repeat_interleave(x[:50]), x)
    same(device, lambda x: torch.repeat_interleave(x[:50].int()), x)
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(torch.tensor([-1], device=device))
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        torch.repeat_interleave(torch.tensor([2, -1], device=device))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float16, torch.float32, torch.float64], ids=str)
def test_evenly_spaced_numbers(device: str, dtype: torch.dtype) -> None:
    for function in (
        lambda d: torch.arange(3, 100, 7, dtype=dtype, device=d),
        lambda d: torch.arange(7, dtype=dtype, device=d),
        lambda d: torch.linspace(1, 9, 5, dtype=dtype, device=d),
        lambda d: torch.linspace(5, 9, 1, dtype=dtype, device=d),
        lambda d: torch.logspace(0, 2, 3, dtype=dtype, device=d),
        lambda d: torch.empty(3, 2, dtype=dtype, device=d).t().copy_(torch.eye(2, 3, device=d)),
        lambda d: torch.arange(4, out=torch.empty(8, dtype=dtype, device=d)[::2]),
    ):
        torch.testing.assert_close(function(device).cpu(), function("cpu"))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 12, 30, 31, 37, 64, 74, 97, 101, 210, 1024, 1009, 3027])
def test_fourier_transforms_of_any_length(device: str, size: int) -> None:
    x = torch.randn(3, size, dtype=torch.complex128, generator=torch.Generator().manual_seed(5))
    same(device, lambda x: (torch.fft.fft(x), torch.fft.ifft(x, norm="ortho")), x)
    real = x.real.contiguous()
    same(device, lambda x: (torch.fft.rfft(x), torch.fft.irfft(torch.fft.rfft(x), x.shape[1])), real)


@pytest.mark.parametrize("size", [2, 4, 6, 16, 64])
def test_the_ends_of_a_transform_of_real_numbers_are_real(device: str, size: int) -> None:
    x = torch.ones(3, size)
    x[1, 0] = math.inf
    ends = torch.fft.rfft(x.to(device)).cpu()[:, [0, -1]]
    assert ends.imag.eq(0).all()
    if size != 6:  # a factor of three multiplies with each root, an infinite number with 0, too
        assert ends.real.tolist() == [[size, 0], [math.inf, math.inf], [size, 0]]
    back = torch.randn(3, size // 2 + 1, dtype=torch.complex64, generator=torch.Generator().manual_seed(7))
    same(device, torch.fft.irfft, back)
    only_real = back.clone()
    only_real.imag[:, [0, -1]] = 0
    turned = [torch.fft.irfft(y.to(device)).cpu() for y in (back, only_real)]
    torch.testing.assert_close(*turned, rtol=0, atol=0)


def test_fourier_transforms_of_several_dimensions(device: str) -> None:
    x = torch.randn(6, 5, 7, generator=torch.Generator().manual_seed(6))
    for dims, norm in itertools.product([(0, 1), (2, 0), (-1, 1, 0)], ["forward", "backward", "ortho"]):
        same(device, lambda x, d=dims, n=norm: (torch.fft.fftn(x, dim=d, norm=n), torch.fft.rfftn(x, dim=d, norm=n)), x)
    same(device, lambda x: torch.fft.irfftn(torch.fft.rfftn(x.transpose(0, 2))), x)
    out = torch.empty(5, 6, 4, dtype=torch.complex64, device=device)
    torch.fft.rfft(x.to(device).transpose(0, 1), out=out)
    torch.testing.assert_close(out.cpu(), torch.fft.rfft(x.transpose(0, 1)))


def test_distances(device: str) -> None:
    x = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(7))
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, math.inf):
        same(device, lambda x, p=p: (torch.cdist(x, x[:, :4], p), torch.nn.functional.pdist(x[0], p)), x)


def test_tensors_of_another_device_are_refused(device: str, other_device: str) -> None:
    x = torch.ones(3, 3, device=device)
    index = torch.zeros(3, 3, dtype=torch.int64, device=other_device)
    for call in (
        lambda: x[index[0]],
        lambda: x.gather(0, index),
        lambda: x.scatter_add(0, index, x),
        lambda: x.index_select(0, index[0]),
        lambda: x.index_add(0, index[0], x),
        lambda: x.masked_fill(index == 0, 1),
        lambda: torch.searchsorted(x[0], index),
        lambda: torch.bincount(index[0], torch.ones(3, device=device)),
        lambda: torch.cat([x, x.to(other_device)]),
        lambda: torch.equal(x, x.to(other_device)),
    ):
        with pytest.raises(RuntimeError, match=r"same device|found at least two devices|device"):
            call()


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_indices_of_a_triangle_are_integers_or_refused_by_their_own_name(device: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf'"{name}" not implemented for \'Float\''):
        getattr(torch, name)(3, 3, dtype=torch.float32, device=device)


# Of three rows with no columns, or of no rows with three columns.
BEYOND: dict[str, Function] = {
    "index_select": lambda x: x.index_select(0, torch.zeros(1, dtype=torch.long, device=x.device)),
    "index_select, of none": lambda x: x.index_select(0, torch.zeros(0, dtype=torch.long, device=x.device)),
    "index_select, the other": lambda x: x.index_select(1, torch.zeros(2, dtype=torch.long, device=x.device)),
    "gather": lambda x: x.gather(0, torch.zeros(1, x.size(1), dtype=torch.long, device=x.device)),
    "scatter": lambda x: x.scatter(0, torch.zeros(1, x.size(1), dtype=torch.long, device=x.device), 1.0),
    "take": lambda x: x.take(torch.zeros(1, dtype=torch.long, device=x.device)),
    "indexing": lambda x: x[torch.zeros(1, dtype=torch.long, device=x.device)],
    "embedding": lambda x: torch.nn.functional.embedding(torch.zeros(1, dtype=torch.long, device=x.device), x),
    "index_add": lambda x: x.index_add(
        0, torch.zeros(1, dtype=torch.long, device=x.device), torch.ones(1, x.size(1), device=x.device)
    ),
    "index_copy": lambda x: x.index_copy(
        0, torch.zeros(1, dtype=torch.long, device=x.device), torch.ones(1, x.size(1), device=x.device)
    ),
}


def refusal(function: Function, x: torch.Tensor) -> Exception | None:
    """What a call raises."""
    try:
        function(x)
    except (RuntimeError, IndexError) as error:
        return error
    return None


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("case", BEYOND)
def test_indices_into_an_empty_dimension_are_refused_as_on_the_cpu(
    case: str, shape: tuple[int, int], device: str
) -> None:
    x = torch.ones(shape)
    error = refusal(BEYOND[case], x)
    assert type(refusal(BEYOND[case], x.to(device))) is type(error)
    if error is None:
        torch.testing.assert_close(BEYOND[case](x.to(device)).cpu(), BEYOND[case](x))
    torch.openreg.synchronize(device)
