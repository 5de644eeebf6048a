"""torch.compile: sums, means, extremes and the like, along dimensions and whole, where two kernels share the work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch_openreg  # noqa: F401
from torch import nn

from .compile_checks import Source, check, compiled, error, kernels_of, numbers

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes

Reduce = Callable[..., torch.Tensor]
LARGE = (1 << 20) + 37  # split between threads, with a rest

FLOATS: dict[str, Reduce] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "var": torch.var,
    "std": torch.std,
    "amax": torch.amax,
    "amin": torch.amin,
    "norm": lambda x, dim=None: torch.linalg.vector_norm(x, dim=dim),
    "logsumexp": lambda x, dim=None: torch.logsumexp(x, tuple(range(x.dim())) if dim is None else dim),
    "softmax": lambda x, dim=-1: torch.softmax(x, dim),
}
EXACT: dict[str, Reduce] = {
    "any": lambda x, dim=None: torch.any(x > 3, dim) if dim is not None else torch.any(x > 3),
    "all": lambda x, dim=None: torch.all(x > -3, dim) if dim is not None else torch.all(x > -3),
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "count": lambda x, dim=None: (x > 0).sum(dim) if dim is not None else (x > 0).sum(),
}


def large(seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Many numbers, whose mean is not 0."""
    return (numbers(LARGE, seed=seed) + 1).to(dtype)


def split_sums(*shape: int) -> list[str]:
    """The kernels of a sum of all numbers."""
    x = torch.ones(shape, device="openreg")
    run = compiled(torch.sum)
    run(x)
    return kernels_of(lambda: run(x))


@pytest.mark.parametrize("kind", FLOATS)
def test_along_the_inner_the_outer_and_all_dimensions(kind: str) -> None:
    reduce = FLOATS[kind]
    check(
        lambda x: (reduce(x, dim=1), reduce(x, dim=0), reduce(x) if kind != "softmax" else reduce(x.flatten())),
        numbers(70, 130),
        double=True,
        rtol=1e-5,
    )


def test_what_is_counted_or_found_along_dimensions_is_exact() -> None:
    check(lambda x: [reduce(x, dim=dim) for reduce in EXACT.values() for dim in (0, 1)], numbers(70, 130), rtol=0)
    check(lambda x: [reduce(x) for reduce in EXACT.values()], numbers(70, 130), rtol=0)
    check(lambda x: (x.min(0), x.max(1), x.prod(1), x.aminmax()), (numbers(30, 40).sign() * 2).round(), rtol=0)


def test_a_reduction_to_one_number_is_split_so_that_many_threads_do_it() -> None:
    assert len(split_sums(LARGE)) == 2
    assert len(split_sums(100)) == 1


@pytest.mark.parametrize("kind", [it for it in FLOATS if it != "softmax"])
def test_a_million_numbers_give_the_number_of_double_precision(kind: str) -> None:
    check(lambda x: FLOATS[kind](x), large(), double=True, rtol=1e-5)


def test_a_million_numbers_give_exact_counts_and_places() -> None:
    check(lambda x: [reduce(x) for reduce in EXACT.values()], large(), rtol=0)


def test_a_million_factors_give_their_product() -> None:
    x = large().sign()
    x[::70_001], x[5::140_002] = 2, 0.5
    check(torch.prod, x, rtol=0)  # a power of 2, with a sign
    assert x.prod().abs() == 2**7


def test_a_million_numbers_of_two_bytes_are_summed_in_float() -> None:
    for dtype in (torch.bfloat16, torch.float16):
        check(lambda x: (x.sum(), x.mean(), x.var(), x.amax()), large(dtype=dtype), double=True, rtol=2**-7)


def test_a_million_integers_are_summed_exactly() -> None:
    x = torch.arange(LARGE, dtype=torch.int32)
    check(lambda x: (x.sum(), x.amax(), x.argmax(), (x % 7 == 3).sum()), x, rtol=0)


def test_reductions_of_a_size_that_is_dynamic() -> None:
    run = compiled(lambda x: (x.sum(), x.mean(), x.var(), x.amax(), x.argmax()), fullgraph=True, dynamic=True)
    for size in (LARGE, 3, 1000, 1 << 21):
        x = numbers(size) + 1
        with torch.openreg.no_fallback():
            mine = run(x.to("openreg"))
        exact = x.double()
        expected = (exact.sum(), exact.mean(), exact.var(), exact.amax(), exact.argmax())
        torch.testing.assert_close(
            [it.item() for it in mine], [it.item() for it in expected], rtol=1e-5, atol=1e-5, msg=lambda it: f"{it}"
        )


def test_a_few_long_rows_and_a_few_long_columns() -> None:
    for shape, dim in (((3, 400_001), 1), ((400_001, 3), 0)):
        check(
            lambda x, dim=dim: (x.sum(dim), x.var(dim), x.amax(dim), x.argmin(dim), x.logsumexp(dim)),
            numbers(*shape),
            double=True,
            rtol=2e-5,
        )


@pytest.mark.parametrize("bits", [None, 256])
@pytest.mark.parametrize("rest", [2, 5])
def test_a_tile_with_a_loop_between_its_two_writes_no_more_than_there_is(rest: int, bits: int | None) -> None:
    def reduce(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return (x * y * z.t()[:, None]).permute(1, 0, 2).sum(-1)

    size = 64 + rest
    x, y, z = numbers(size, 5, 70), numbers(size, 5, 70, seed=1), numbers(70, size)
    with torch._inductor.config.patch({"cpp.simdlen": bits}):
        check(reduce, x, y, z, rtol=1e-4)
        source = Source(reduce, x.to("openreg"), y.to("openreg"), z.to("openreg"))
    assert "_inner" in source.text and "_acc0" in source.text


@pytest.mark.parametrize("special", [float("inf"), float("nan")])
def test_variances_of_what_is_not_finite_are_eagers(special: float) -> None:
    def moments(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.var(), x.mean(), x.amax(), x.sum(), y.var(1), torch.layer_norm(y, [300]), torch.softmax(y, 1)

    x, y = large(), numbers(4, 300)
    x[700_001], y[2, 17] = special, special
    check(moments, x, y, rtol=1e-5)


def test_variances_do_not_cancel() -> None:
    # A mean of 10^4 standard deviations multiplies the rounding of float, 6e-8, by 10^4, and not by its square.
    check(lambda x: (x.var(), x.mean()), 1e4 + large(), double=True, rtol=1e-3)


def test_one_and_no_number() -> None:
    check(lambda x: (x.sum(), x.var(correction=0), x.var(), x.argmax(), x.softmax(0)), torch.tensor([3.0]))
    check(lambda x: (x.sum(), x.mean(), x.prod(), x.any(), x.sum(0)), torch.ones(0, 3))


def test_statistics_of_batch_normalisation_over_many_numbers() -> None:
    exact, mine = nn.BatchNorm1d(3).double(), nn.BatchNorm1d(3).to("openreg")
    x = numbers(200_003, 3) * 2 + 5
    there, here = x.to("openreg").requires_grad_(), x.double().requires_grad_()
    with torch.openreg.no_fallback():
        result = compiled(mine, fullgraph=True)(there)
        (result * result.detach().roll(1, 0)).sum().backward()
    expected = exact(here)
    (expected * expected.detach().roll(1, 0)).sum().backward()
    assert error(result.detach(), expected.detach()) < 1e-5
    for name, buffer in exact.named_buffers():
        assert error(mine.get_buffer(name), buffer) < 1e-5, name
    assert there.grad is not None and here.grad is not None
    assert error(there.grad, here.grad) < 1e-4
    for name, parameter in exact.named_parameters():
        got = mine.get_parameter(name).grad
        assert got is not None and parameter.grad is not None
        # The bias's is the sum of what was normalised: 0, but for the rounding of the mean in each of its terms.
        assert (got.cpu() - parameter.grad).abs().max().item() < 200_003 * 1e-6, name
