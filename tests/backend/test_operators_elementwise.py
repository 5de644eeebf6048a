"""Elementwise operators, reductions and scans: what PyTorch's operator database does not ask."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
import torch

from .conftest import GateFunction, ProgramFunction

LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "every other": lambda x: x[:, ::2],
    "broadcast": lambda x: x[:1].expand(5, -1, -1),
    "part of long rows": lambda x: x.repeat(1, 1, 100)[..., :611],
    "one row": lambda x: x[0, :, 0],
    "empty": lambda x: x[:0],
    "one element": lambda x: x[1, 2, 3],
}
FUNCTIONS = {
    "unary": lambda x: torch.tanh(x),
    "with a CPU scalar": lambda x: x.clamp(-0.5, 0.5),
    "to bool": lambda x: x > 0,
    "three operands": lambda x: torch.where(x > 0, x, -1),
    "in place": lambda x: x.clone().exp_(),
    "to bool in place": lambda x: x.clone().gt_(0.25),
    "a column and a row for all": lambda x: torch.lerp(x, x[..., :1], x[-1:]) if x.dim() > 1 else x,
    "halves of rows": lambda x: torch.nn.functional.glu(x[..., :-1], -1) if x.dim() > 1 else x,
    "half": lambda x: torch.sigmoid(x.half()),
    "integers": lambda x: (x * 100).int() % 7,
    "sum of a dimension": lambda x: x.sum(-1) if x.dim() else x.sum(),
    "largest and where": lambda x: torch.stack([t.double() for t in x.max(-1)]) if x.numel() > 1 else x,
    "variance": lambda x: x.var(),
    "cumulative sum": lambda x: x.cumsum(0),
    "cumulative maximum": lambda x: x.cummax(-1).indices,
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_any_strides_give_what_the_cpu_gives(
    device: str, layout: Callable[[torch.Tensor], torch.Tensor], function: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    x = torch.randn(5, 6, 7, generator=torch.Generator().manual_seed(1))
    expected = function(layout(x))
    actual = function(layout(x.to(device)))
    assert actual.device == torch.device(device)
    torch.testing.assert_close(actual.cpu(), expected, equal_nan=True)


@pytest.mark.parametrize("size", [100_003, 1_000_000])
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "argmin", "var", "any", "all", "norm", "count_nonzero"])
def test_long_reductions_are_done_in_parts_and_put_together(device: str, name: str, size: int) -> None:
    x = 1 + 1e-5 * torch.randn(size, generator=torch.Generator().manual_seed(2))
    for both in (x, x.view(-1, 1).expand(-1, 3), x[: size // 10 * 10].view(10, -1)):
        expected = getattr(both.double(), name)()  # the CPU's own product of 1,000,000 floats has 2 right digits
        torch.testing.assert_close(getattr(both.to(device), name)().cpu(), expected, check_dtype=False)


def test_the_first_of_equal_extremes_is_found(device: str) -> None:
    x = torch.zeros(70_000, dtype=torch.int64, device=device)
    x[[30_000, 60_000]] = 1
    assert (x.max(0).indices.item(), x.argmax().item(), (-x).argmin().item()) == (30_000,) * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
def test_the_first_extreme_of_a_long_row_is_found(device: str, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(4)
    x = torch.randint(0, 50, (40, 3001), generator=generator).to(dtype)
    if dtype.is_floating_point:
        x[torch.arange(0, 40, 3), torch.randint(0, 3001, (14,), generator=generator)] = math.nan
        x[5], x[7] = math.inf, -math.inf
    for name in ("max", "min"):
        actual, expected = getattr(x.to(device), name)(1), getattr(x, name)(1)
        torch.testing.assert_close(actual.values.cpu(), expected.values, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(actual.indices.cpu(), expected.indices)
    if dtype is not torch.bool:
        torch.testing.assert_close(torch.aminmax(x.to(device), dim=1).max.cpu(), x.amax(1), equal_nan=True)
        torch.testing.assert_close(torch.aminmax(x.to(device), dim=1).min.cpu(), x.amin(1), equal_nan=True)


def test_a_nan_is_larger_and_smaller_than_all(device: str) -> None:
    x = torch.tensor([1.0, math.nan, 3.0], device=device)
    for value in (x.amax(), x.amin(), x.max(), x.min(), x.max(0).values, x.min(0).values, *torch.aminmax(x)):
        assert math.isnan(value.item())
    assert (x.max(0).indices.item(), x.argmin().item()) == (1, 1)
    assert torch.fmax(x, torch.tensor(2.0, device=device)).tolist() == [2.0, 2.0, 3.0]
    assert [math.isnan(v) for v in torch.maximum(x, torch.tensor(2.0, device=device)).tolist()] == [False, True, False]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_scalar_is_rounded_to_the_tensors_type_before_it_is_compared(device: str, dtype: torch.dtype) -> None:
    x = torch.tensor([3.3], dtype=dtype, device=device)
    assert (x == 3.3).item()
    assert not (x > 3.3).item()
    assert (x * 1e-8).item() == (x.cpu() * 1e-8).item() > 0  # ...but not before it is multiplied


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_integers_divide_as_in_python(device: str, dtype: torch.dtype, mode: str) -> None:
    low = torch.iinfo(dtype).min
    a = torch.tensor([7, 8, 100, low + 1, low, low + 3], dtype=dtype)
    b = torch.tensor([2, 3, 100, 2, 5, 7], dtype=dtype)
    if dtype.is_signed:
        a, b = torch.cat([a, -a]), torch.cat([b, b])
        a, b = torch.cat([a, a]), torch.cat([b, -b])
    for function in (lambda a, b: a.div(b, rounding_mode=mode), torch.remainder, torch.fmod):
        assert torch.equal(function(a.to(device), b.to(device)).cpu(), function(a, b))


def test_the_smallest_integer_can_be_divided_by_minus_one(device: str) -> None:
    low = torch.iinfo(torch.int64).min
    x = torch.tensor([low], device=device)
    minus_one = torch.tensor([-1], device=device)
    assert x.div(minus_one, rounding_mode="trunc").item() == low  # 2^63 wraps around
    assert torch.fmod(x, minus_one).item() == 0


@pytest.mark.parametrize("operation", ["x // 0", "x % 0", "torch.fmod(x, 0)", "x.div(0, rounding_mode='trunc')"])
def test_dividing_integers_by_zero_fails_on_the_device(program: ProgramFunction, operation: str) -> None:
    printed = program(f"""
        x = torch.arange(5, device="openreg:1")
        {operation}
        try:
            torch.openreg.synchronize(1)
        except RuntimeError as error:
            print(error)
        os._exit(0)
    """)
    assert re.fullmatch(
        r"openreg: orDeviceSynchronize: kernel '[\w.]+' on device 1: ZeroDivisionError: an integer was divided by 0 "
        r"\[orErrorAssert\]",
        printed.strip(),
    )


def test_operators_return_before_the_device_has_computed(device: str, gate: GateFunction) -> None:
    x = torch.ones(1000, device=device)
    y = torch.empty(1000, device=device)
    index = torch.device(device).index
    closed = gate(index)
    torch.cumsum(torch.softmax(x, 0).exp_().clamp_(max=0.5), 0, out=y)
    total = y.sum() + y.max()
    closed.open()
    assert total.item() == pytest.approx(0.5 * 1000 * 1001 / 2 + 500)


def ulps(actual: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error, in units of the last place of a float."""
    rounded = exact.float()
    unit = torch.nextafter(rounded.abs(), torch.tensor(math.inf)).double() - rounded.abs().double()
    error = (actual.double() - exact).abs() / unit
    return error[rounded.isfinite()].max().item()


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("exp", -87, 88), ("log", 1e-38, 1e38), ("tanh", -12, 12), ("erf", -6, 6), ("erfinv", -1, 1)],
)
def test_functions_of_floats_err_by_four_units_in_the_last_place_at_most(
    device: str, name: str, low: float, high: float
) -> None:
    x = torch.linspace(low, high, 400_001)
    if name == "log":
        x = torch.logspace(-37, 38, 400_001)
    function = getattr(torch, name)
    assert ulps(function(x.to(device)).cpu(), function(x.double())) <= 4  # what libmvec promises


def test_functions_of_floats_keep_what_is_special(device: str) -> None:
    x = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1.0, 89.0, -104.0, 3.4e38])
    for function in (torch.exp, torch.log, torch.tanh, torch.erf, torch.sigmoid, torch.erfinv):
        torch.testing.assert_close(function(x.to(device)).cpu(), function(x), equal_nan=True)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf", "sigmoid", "log1p", "erfinv"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_result_does_not_depend_on_where_in_the_tensor_it_is(device: str, name: str, dtype: torch.dtype) -> None:
    x = torch.rand(1003, dtype=dtype, generator=torch.Generator().manual_seed(3)).to(device)
    function = getattr(torch, name)
    whole = function(x)
    for start in (1, 2, 3, 7, 995, 1002):
        assert torch.equal(whole[start:], function(x[start:]))
        assert torch.equal(whole[:start], function(x[:start]))
