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


# ------------------------------------------------- special functions

POSITIVE = torch.cat([torch.linspace(0.01, 40, 300), torch.tensor([1e-15, 1e-5, 100.0, 1e4])])
SIGNED = torch.cat([POSITIVE, -torch.linspace(0.013, 12.6, 200)])
SMALL = torch.linspace(-85.3, 85.3, 301)
SHARES = torch.cat([torch.linspace(0.001, 0.999, 300), 10.0 ** -torch.arange(3.0, 38.0)])
# A function, its exact twin, numbers, and the units in the last place that may be lost: of floats, of doubles.
SPECIAL: dict[str, tuple[Callable[..., torch.Tensor], Callable[..., object], torch.Tensor, tuple[float, float]]] = {
    "lgamma": (
        torch.lgamma,
        lambda x: mpmath.log(abs(mpmath.gamma(x))),
        torch.cat([SIGNED, beside(1.0, 2.0)]),
        (2, 10),
    ),
    "trigamma": (
        lambda x: torch.polygamma(1, x),
        lambda x: mpmath.psi(1, x),
        SIGNED,
        (1, 5000),
    ),  # beside poles a rounded multiple of pi
    "ndtri": (torch.special.ndtri, lambda x: mpmath.sqrt(2) * mpmath.erfinv(2 * x - 1), SHARES[SHARES != 0.5], (1, 20)),
    "i0": (torch.i0, lambda x: mpmath.besseli(0, x), SMALL, (6, 20)),
    "i0e": (torch.special.i0e, lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), SMALL, (3, 20)),
    "i1": (torch.special.i1, lambda x: mpmath.besseli(1, x), SMALL, (10, 20)),
    "i1e": (torch.special.i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), SMALL, (10, 20)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_function_loses_few_digits_wherever_it_is_asked(device: str, name: str, dtype: torch.dtype) -> None:
    function, exact, numbers, limits = SPECIAL[name]
    with mpmath.workdps(80):
        want = torch.tensor([float(exact(mpmath.mpf(x))) for x in numbers.tolist()], dtype=torch.float64)
    got = function(numbers.to(device, dtype)).cpu()
    assert digits_lost(got, want) < limits[dtype is torch.float64]


def test_special_functions_at_their_poles_and_ends(device: str) -> None:
    x = torch.tensor([INF, -INF, NAN, 0.0, -0.0, -3.0, 1.0, 2.0], device=device)
    assert torch.lgamma(x).tolist()[:2] == [INF, INF]
    assert torch.lgamma(x).tolist()[3:] == [INF, INF, INF, 0.0, 0.0]
    assert torch.polygamma(1, x).tolist()[:1] == [0.0]
    assert torch.polygamma(1, x).tolist()[3:5] == [INF, INF]
    assert torch.polygamma(1, x)[5].item() > 1e30
    assert torch.special.ndtri(x).isnan().tolist() == [True, True, True, False, False, True, False, True]
    assert torch.special.ndtri(x).tolist()[3:7:3] == [-INF, INF]
    assert torch.i0(x).tolist()[:2] == [INF, INF]
    assert torch.special.i1(x).tolist()[:2] == [INF, -INF]
    assert torch.special.i1e(x).tolist()[:2] == torch.special.i0e(x).tolist()[:2] == [0.0, 0.0]
    for function in (torch.lgamma, torch.i0, torch.special.i1, torch.special.i0e, torch.special.i1e):
        assert math.isnan(function(x)[2].item())
    assert math.isfinite(torch.special.i1(torch.tensor(91.0, device=device)).item())  # although exp(91) is not


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_function_gives_the_same_bits_in_any_place_and_layout(device: str, name: str) -> None:
    function, _, numbers, _ = SPECIAL[name]
    here = numbers.to(device)
    whole = function(here)
    assert torch.equal(function(here[3:20]), whole[3:20])
    assert torch.equal(function(torch.stack((here, here), 1)[:, 0]), whole)
    beside_others = function(torch.stack((here, -here.flip(0)), 1))[:, 0]
    assert torch.equal(beside_others, whole)


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


# ------------------------------------------------- products with vectors


@pytest.mark.parametrize("dtype", [torch.int32, torch.bfloat16, torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize("size", [0, 1, 33, 100_003])
def test_a_dot_product_equals_the_exact_one(device: str, dtype: torch.dtype, size: int) -> None:
    scale = 10 if dtype is torch.int32 else 1
    x, y = ((randn(size, seed=seed, dtype=torch.complex128) * scale) for seed in (1, 2))
    x, y = (it.to(dtype) if dtype.is_complex else it.real.to(dtype) for it in (x, y))
    wide = torch.complex128 if dtype.is_complex else torch.float64
    for function, left in ((torch.dot, x), (torch.vdot, x.conj())):
        want = (left.to(wide) * y.to(wide)).sum()
        got = function(x.to(device), y.to(device))
        assert got.dtype == dtype
        torch.testing.assert_close(got.cpu().to(wide), want.to(dtype).to(wide), rtol=1e-5, atol=1e-3)
    strided = torch.stack((x, x), 1).to(device)[:, 1]
    assert torch.equal(strided.dot(y.to(device)), x.to(device).dot(y.to(device)))


def test_lazy_conjugates_count_in_a_dot_product(device: str) -> None:
    x, y = randn(40, dtype=torch.complex64), randn(40, seed=2, dtype=torch.complex64)
    for function in (torch.dot, torch.vdot):
        for left in (x, x.conj()):
            for right in (y, y.conj()):
                here = (x.to(device).conj() if left.is_conj() else x.to(device), y.to(device))
                got = function(here[0], here[1].conj() if right.is_conj() else here[1])
                torch.testing.assert_close(got.cpu(), function(left, right))


def test_a_dot_product_is_finite_although_its_terms_are_not(device: str) -> None:
    x, y = torch.full((64,), 1e25), torch.full((64,), 1e20)
    y[::2] = -1e20
    assert x.to(device).dot(y.to(device)).item() == 0.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (5, 9), (300, 517), (517, 300)], ids=str)
def test_a_matrix_times_a_vector_in_each_layout(device: str, shape: tuple[int, int], dtype: torch.dtype) -> None:
    rows, columns = shape
    matrices = {
        "rows": randn(rows, columns, dtype=dtype),
        "columns": randn(columns, rows, dtype=dtype).t(),
        "rows apart": randn(rows, columns + 3, dtype=dtype)[:, 2:-1],
        "gaps": randn(rows, 2 * columns, dtype=dtype)[:, ::2],
    }
    for matrix in matrices.values():
        for vector in (randn(columns, seed=2, dtype=dtype), randn(columns, 3, seed=2, dtype=dtype)[:, 1]):
            added = torch.full((rows,), NAN, dtype=dtype)
            here = [it.to(device) for it in (added, matrix, vector)]
            got = torch.addmv(*here, beta=0, alpha=0.5)
            near = {"rtol": 1e-5, "atol": 1e-4} if dtype in (torch.float32, torch.complex64) else {}
            torch.testing.assert_close(got.cpu(), torch.addmv(added, matrix, vector, beta=0, alpha=0.5), **near)
            # And as a row, which is written into memory that has gaps.
            out = torch.full((rows, 2), NAN, dtype=dtype, device=device)
            torch.mm(here[2][None], here[1].t(), out=out[:, 0][None])
            torch.testing.assert_close(out[:, 0].cpu(), matrix @ vector, **near)
            assert out[:, 1].isnan().all()


# ------------------------------------------------- vectors with a length, and across two others


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_vectors_along_any_dimension_get_a_length(device: str, dim: int, dtype: torch.dtype) -> None:
    v, grad = randn(7, 45, 33).to(dtype), randn(7, 45, 33, seed=2).to(dtype)
    g = randn(*(n if i == dim else 1 for i, n in enumerate(v.shape)), seed=3).to(dtype)
    others = [i for i in range(3) if i != dim]
    leaves = [v.double().requires_grad_(), g.double().requires_grad_()]
    norms = leaves[0].square().sum(others, keepdim=True).sqrt()
    want = leaves[0] * (leaves[1] / norms)
    want.backward(grad.double())
    near = {"rtol": 1e-2, "atol": 2e-2} if dtype is torch.float16 else {"rtol": 1e-5, "atol": 1e-5}
    got, got_norms = torch.ops.aten._weight_norm_interface(v.to(device), g.to(device), dim)
    torch.testing.assert_close(got.cpu(), want.to(dtype), **near)
    torch.testing.assert_close(got_norms.cpu(), norms.to(dtype), **near)
    grads = torch.ops.aten._weight_norm_interface_backward(*(it.to(device) for it in (grad, v, g)), got_norms, dim)
    for found, leaf in zip(grads, leaves, strict=True):
        torch.testing.assert_close(found.cpu(), leaf.grad.to(dtype), **near)


def test_vectors_too_large_to_be_squared_get_a_length(device: str) -> None:
    v, g = torch.full((4, 40), 1e25, device=device), torch.ones(4, 1, device=device)
    for direction, length, dim in ((v, g, 0), (v.t(), g.t(), 1)):
        got, norms = torch.ops.aten._weight_norm_interface(direction, length, dim)
        torch.testing.assert_close(norms.cpu(), torch.full(length.shape, 40**0.5 * 1e25))
        torch.testing.assert_close(got.cpu(), torch.full(direction.shape, 40**-0.5))


def test_a_length_for_each_vector_is_wanted(device: str) -> None:
    v = torch.ones(4, 5, device=device)
    text = "_weight_norm_interface: expected g to have one element for each of the 4 places along dimension 0 of v"
    with pytest.raises(RuntimeError, match=text):
        torch.ops.aten._weight_norm_interface(v, torch.ones(5, device=device), 0)
    with pytest.raises(
        RuntimeError, match=r"expected dim to be one of v's dimensions, which has size \[4, 5\], but got 2"
    ):
        torch.ops.aten._weight_norm_interface(v, torch.ones(4, device=device), 2)


@pytest.mark.parametrize("dtype", [torch.int16, torch.float32, torch.complex64])
def test_a_cross_product_along_any_dimension_of_any_layout(device: str, dtype: torch.dtype) -> None:
    x, y = ((randn(5, 3, 4, 3, seed=seed, dtype=torch.complex64) * 9) for seed in (1, 2))
    x, y = (it.to(dtype) if dtype.is_complex else it.real.to(dtype) for it in (x, y))
    for left, right, dim in ((x, y, 1), (x, y[:1], -1), (x.transpose(0, 2), y.transpose(0, 2), 3)):
        want = torch.linalg.cross(left, right, dim=dim)
        torch.testing.assert_close(torch.linalg.cross(left.to(device), right.to(device), dim=dim).cpu(), want)


def test_a_cross_product_may_be_written_over_its_arguments(device: str) -> None:
    memory = randn(60).to(device)
    # PyTorch refuses the same elements, but cannot say whether two such tensors have some in common.
    x, out = (memory.as_strided((6, 3), (7, 2), offset) for offset in (0, 2))
    y = randn(6, 3, seed=2)
    want = torch.linalg.cross(x.cpu(), y)
    torch.linalg.cross(x, y.to(device), out=out)
    torch.testing.assert_close(out.cpu(), want)


# ------------------------------------------------- distances


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, INF])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 16, 2), (17, 33, 5), (40, 15, 700)], ids=str)
def test_distances_of_any_number_of_rows(device: str, shape: tuple[int, int, int], p: float) -> None:
    rows, others, columns = shape
    x, y = (
        randn(2, count, columns, seed=count).mul(8).round() / 8 for count in (rows, others)
    )  # no rounding, some ties
    y[:, 0] = x[:, -1]
    for function, inputs in ((lambda x, y: torch.cdist(x, y, p), (x, y)), (lambda y: torch.pdist(y, p), (y[0],))):
        runs = []
        for where, dtype in (("cpu", torch.float64), (device, torch.float32)):
            leaves = [it.to(where, dtype).requires_grad_() for it in inputs]
            result = function(*leaves)
            grads = torch.autograd.grad(result, leaves, randn(*result.shape, seed=3).to(result))
            runs.append([it.detach().cpu().double() for it in (result, *grads)])
        for got, want in zip(runs[1], runs[0], strict=True):
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_rows_whose_differences_cannot_be_squared_are_at_a_distance(device: str, size: float) -> None:
    x = randn(20, 5) * size
    want = torch.pdist(x.double()).float()
    torch.testing.assert_close(torch.pdist(x.to(device)).cpu(), want, rtol=1e-5, atol=0)
    got = torch.cdist(x.to(device), x.to(device), compute_mode="donot_use_mm_for_euclid_dist")
    torch.testing.assert_close(got.cpu()[*torch.triu_indices(20, 20, 1)], want, rtol=1e-5, atol=0)


# ------------------------------------------------- transforms


@pytest.mark.parametrize("size", [12, 37, 64, 101])
def test_a_row_of_a_transform_does_not_depend_on_those_beside_it(device: str, size: int) -> None:
    x = randn(7, size, dtype=torch.complex64)
    alone = torch.stack([torch.fft.fft(row.to(device)).cpu() for row in x])
    x[3] = NAN
    x[5] *= 1e30
    alone[3], alone[5] = NAN, torch.fft.fft(x[5].to(device)).cpu()
    assert torch.equal(torch.fft.fft(x.to(device)).cpu().nan_to_num(), alone.nan_to_num())
    along = torch.fft.fft(x.t().contiguous().to(device), dim=0).cpu().t()
    assert torch.equal(along.nan_to_num(), alone.nan_to_num())
