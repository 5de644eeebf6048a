"""torch.compile: the functions of mathematics, of whole vectors and one by one, at every edge of their domains."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch_openreg  # noqa: F401

from .compile_checks import Source, check, close, compiled, numbers

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes

TINY, SMALL, HUGE = 1e-45, 1.1754944e-38, 3.4028235e38  # the least denormal, the least normal and the largest float
EDGES = [0.0, -0.0, math.inf, -math.inf, math.nan, TINY, -TINY, 5e-39, SMALL, -SMALL, HUGE, -HUGE]
ORDINARY = [
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    3.0,
    -3.0,
    math.pi,
    -math.pi / 2,
    1e-8,
    1e-4,
    0.999999,
    10.5,
    20.0,
    87.0,
    1000.25,
]

# What compiled_math.h forwards to the C library.
OF_ONE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    name: getattr(torch, name)
    for name in (
        *("acos", "acosh", "asin", "asinh", "atan", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "lgamma"),
        *("log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh"),
    )
}
OF_TWO: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    name: getattr(torch, name) for name in ("atan2", "copysign", "fmod", "hypot", "nextafter", "pow")
}
# What Inductor or at::vec computes as a difference, and lgamma where it has a zero: near there the error is that of 1.
ABSOLUTE = ("erf", "expm1", "lgamma")
# What Inductor composes of the others.
COMPOSED = ("asinh", "expm1")


def steps(mine: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """How many representable numbers lie between a result and the exact one, rounded; 0 where both are NaN."""
    kind = {torch.float32: torch.int32, torch.float64: torch.int64}[mine.dtype]
    least = torch.iinfo(kind).min

    def place(x: torch.Tensor) -> torch.Tensor:
        bits = x.contiguous().view(kind)
        return torch.where(bits < 0, least - bits, bits).long()

    apart = (place(mine.cpu()) - place(exact.to(mine.dtype))).abs()
    return torch.where(mine.cpu().isnan() & exact.isnan(), 0, apart)


def inputs() -> torch.Tensor:
    """Edges, ordinary numbers and drawn ones of many sizes: several vectors, and a rest."""
    drawn = numbers(1000)
    return torch.cat([torch.tensor(EDGES + ORDINARY), drawn, drawn * 10, drawn / 1000, drawn.abs() * 60])


def exactly(name: str, *arguments: torch.Tensor) -> torch.Tensor:
    """The result in double precision."""
    return {**OF_ONE, **OF_TWO}[name](*(it.double() for it in arguments))


def worst(found: torch.Tensor, exact: torch.Tensor, *arguments: torch.Tensor) -> tuple[int, list[float]]:
    """The largest distance, and for which arguments."""
    apart = steps(found, exact)
    index = int(apart.argmax())
    return int(apart[index]), [it[index].item() for it in arguments]


def test_functions_of_one_number_are_within_four_units_of_the_last_place() -> None:
    x = inputs()
    run = compiled(lambda x: [function(x) for function in OF_ONE.values()], fullgraph=True)
    with torch.openreg.no_fallback():
        found = dict(zip(OF_ONE, run(x.to("openreg")), strict=True))
    apart = {name: worst(mine, exactly(name, x), x) for name, mine in found.items()}
    assert {name: it for name, it in apart.items() if it[0] > 4 and name not in ABSOLUTE} == {}
    for name in ABSOLUTE:
        finite = exactly(name, x).float().isfinite()
        wrong = (found[name].cpu() - exactly(name, x))[finite].abs() / exactly(name, x)[finite].abs().clamp(min=1)
        assert wrong.max().item() < 4 * torch.finfo(torch.float32).eps
        close(found[name].cpu()[~finite], exactly(name, x)[~finite].float())


def test_functions_of_two_numbers_are_within_four_units_of_the_last_place() -> None:
    few = torch.tensor(EDGES + ORDINARY)
    x = torch.cat([few.repeat_interleave(len(few)), numbers(1001), numbers(1001) * 8])
    y = torch.cat([few.repeat(len(few)), numbers(1001, seed=1), numbers(1001, seed=2)])
    run = compiled(lambda x, y: [function(x, y) for function in OF_TWO.values()], fullgraph=True)
    with torch.openreg.no_fallback():
        found = dict(zip(OF_TWO, run(x.to("openreg"), y.to("openreg")), strict=True))
    exact = {name: exactly(name, x, y) for name in OF_TWO} | {"nextafter": torch.nextafter(x, y)}
    apart = {name: worst(mine, exact[name], x, y) for name, mine in found.items()}
    assert {name: it for name, it in apart.items() if it[0] > 4} == {}
    for name in ("copysign", "fmod", "nextafter"):
        assert apart[name][0] == 0


def test_functions_of_double_precision_are_within_four_units_of_the_last_place() -> None:
    x, y = numbers(501, dtype=torch.float64), numbers(501, seed=1, dtype=torch.float64)

    def all_of_them(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        return [it(x) for it in OF_ONE.values()] + [it(x, y) for it in OF_TWO.values()]

    with torch.openreg.no_fallback():
        found = compiled(all_of_them, fullgraph=True)(x.to("openreg"), y.to("openreg"))
    apart = {
        name: worst(mine, expected, x, y)
        for name, mine, expected in zip([*OF_ONE, *OF_TWO], found, all_of_them(x, y), strict=True)
        if name not in ABSOLUTE
    }
    assert {name: it for name, it in apart.items() if it[0] > 4} == {}


@pytest.mark.parametrize("bits", [None, 256])
def test_each_function_is_computed_a_vector_at_a_time(bits: int | None) -> None:
    x = torch.ones(64, device="openreg")
    with torch._inductor.config.patch({"cpp.simdlen": bits}):
        source = Source(
            lambda x: [it(x) for it in OF_ONE.values()] + [it(x, x) for it in OF_TWO.values()],
            x,
        )
    for name in {*OF_ONE, *OF_TWO} - {*COMPOSED}:
        assert f".{name}(" in source.text, name


def test_functions_that_inductor_computes_itself() -> None:
    def compute(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        bessel = torch.special.i0(x), torch.special.i1e(x), torch.special.bessel_j0(x)
        rounded = x.round(), x.floor(), x.ceil(), x.trunc(), torch.remainder(x, 0.3), torch.frac(x)
        return (
            *bessel,
            *rounded,
            torch.erfinv(x / 10),
            torch.digamma(x),
            torch.sinc(x),
            x.sigmoid(),
            x.rsqrt(),
            x.sqrt(),
        )

    check(compute, numbers(1001).abs() + 0.1, rtol=1e-5)


def test_activations_and_their_gradients() -> None:
    from torch.nn import functional as F  # noqa: N812

    kinds = [F.gelu, F.silu, F.mish, F.elu, F.selu, F.softplus, F.hardswish, F.logsigmoid, F.leaky_relu, F.tanhshrink]

    def compute(x: torch.Tensor) -> list[torch.Tensor]:
        return [kind(x) for kind in kinds] + [F.gelu(x, approximate="tanh")]

    there = numbers(1001).to("openreg").requires_grad_()
    here = there.detach().cpu().double().requires_grad_()
    with torch.openreg.no_fallback():
        results = compiled(compute, fullgraph=True)(there)
        sum(it.sum() for it in results).backward()
    expected = compute(here)
    sum(it.sum() for it in expected).backward()
    close([*results, there.grad], [it.float() for it in (*expected, here.grad)], 1e-5)
