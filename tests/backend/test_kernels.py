"""Native operators: device code of any type and layout, its launches, and PyTorch's rules around them."""

from __future__ import annotations

import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch

from .conftest import GateFunction, ProgramFunction

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
HALVES = [torch.float16, torch.bfloat16]
FLOATS = [*HALVES, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
TYPES = [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]
# Where the CPU rounds every intermediate result to the type.
HALF_TOLERANCE = {"rtol": 2e-2, "atol": 2e-2}


@pytest.fixture(autouse=True)
def without_the_cpu() -> Iterator[None]:
    """What these tests call is native: nothing may fall back to the CPU."""
    with torch.openreg.no_fallback():
        yield


def numbers(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    """Numbers of a type: small ones, so that integers neither overflow nor lose anything in half precision."""
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_complex:
        return torch.randn(shape, dtype=torch.complex128, generator=generator).to(dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)
    low, high = {torch.bool: (0, 2), torch.uint8: (0, 12)}.get(dtype, (-11, 12))
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def on(device: str, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor like `tensor`, strides, gaps and sharing included, on a device."""
    memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    return memory.to(device).as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """The same numbers, as far as the type goes, of the same type and in the same layout."""
    assert actual.dtype == expected.dtype
    assert actual.stride() == expected.stride()
    torch.testing.assert_close(actual.cpu(), expected, equal_nan=True)


def same(call: Callable[..., torch.Tensor], device: str, *tensors: torch.Tensor) -> None:
    """A call gives the same on a device and on the CPU: a result, or an error of one type."""
    try:
        expected = call(*tensors)
    except Exception as error:
        with pytest.raises(type(error)):
            call(*(on(device, tensor) for tensor in tensors))
        return
    close(call(*(on(device, tensor) for tensor in tensors)), expected)


def name(value: object) -> str | None:
    """Test ids that can be read."""
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else None


# ------------------------------------------------------------------------------------------ elementwise: types, layouts

LAYOUTS: dict[str, Callable[[torch.dtype], tuple[torch.Tensor, torch.Tensor]]] = {
    "one element": lambda dtype: (numbers(dtype, 1), numbers(dtype, 1, seed=1)),
    "0-d": lambda dtype: (numbers(dtype), numbers(dtype, seed=1)),
    "empty": lambda dtype: (numbers(dtype, 0, 3), numbers(dtype, 3)),
    "one block and a bit": lambda dtype: (numbers(dtype, 515), numbers(dtype, 515, seed=1)),
    "several threads": lambda dtype: (numbers(dtype, 70_001), numbers(dtype, 70_001, seed=1)),
    "transposed": lambda dtype: (numbers(dtype, 5, 7), numbers(dtype, 7, 5, seed=1).t()),
    "gaps": lambda dtype: (numbers(dtype, 9, 14)[1::2, ::3], numbers(dtype, 4, 5, seed=1)),
    "a row to a matrix": lambda dtype: (numbers(dtype, 300, 7), numbers(dtype, 7, seed=1)),
    "a column to a matrix": lambda dtype: (numbers(dtype, 7, 300), numbers(dtype, 7, 1, seed=1)),
    "both broadcast": lambda dtype: (numbers(dtype, 4, 1, 3), numbers(dtype, 5, 1, seed=1)),
    "one to all": lambda dtype: (numbers(dtype, 600), numbers(dtype, seed=1)),
    "expanded": lambda dtype: (numbers(dtype, 3, 1).expand(3, 4), numbers(dtype, 3, 4, seed=1)),
    "overlapping": lambda dtype: (numbers(dtype, 9).as_strided((4, 3), (2, 1)), numbers(dtype, 3, seed=1)),
    "many dimensions": lambda dtype: (
        numbers(dtype, *[2] * 13).permute(*range(12, -1, -2), *range(1, 13, 2)),
        numbers(dtype, *[2, 1] * 6, 2, seed=1),
    ),
    "channels last": lambda dtype: (
        numbers(dtype, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        numbers(dtype, 1, 3, 1, 1, seed=1),
    ),
}


@pytest.mark.parametrize("dtype", TYPES, ids=name)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_product_of_any_type_and_layout_equals_the_cpus(device: str, layout: str, dtype: torch.dtype) -> None:
    same(torch.mul, device, *LAYOUTS[layout](dtype))


@pytest.mark.parametrize("operation", [torch.add, torch.sub, torch.mul, torch.div], ids=lambda value: value.__name__)
@pytest.mark.parametrize("left", TYPES, ids=name)
def test_operands_of_different_types_are_promoted_as_on_the_cpu(
    device: str, left: torch.dtype, operation: Callable[..., torch.Tensor]
) -> None:
    for right in TYPES:
        a, b = numbers(left, 40), numbers(right, 40, seed=1)
        if operation is torch.div and (left.is_complex or right.is_complex):
            b[b == 0] = 1  # by 0 the CPU's own ways to divide complex numbers differ
        same(operation, device, a, b)


@pytest.mark.parametrize("dtype", TYPES, ids=name)
def test_numbers_of_python_and_of_the_cpu_join_tensors_of_the_device(device: str, dtype: torch.dtype) -> None:
    x = numbers(dtype, 700)
    for number in (3, -2, 2.5, True, 1 + 2j):
        same(lambda t, number=number: t * number, device, x)
        same(lambda t, number=number: number + t, device, x)
        scalar = torch.tensor(number)
        same(lambda t, scalar=scalar: t * scalar, device, x)
        # Since 2.14 the last is a product of a type of its own, bcomplex32, which neither computes; of nothing, the CPU
        # refuses it, too.
        if not (dtype == torch.bfloat16 and scalar.is_complex()):
            close(scalar * on(device, x[:0]), scalar * x[:0])


def test_a_number_too_large_for_a_narrow_type_wraps_before_it_is_compared(device: str) -> None:
    x = torch.tensor([44, 3], dtype=torch.int8)
    same(lambda t: t == 300, device, x)
    same(torch.eq, device, x, torch.tensor(300))
    same(torch.mul, device, torch.tensor([7], dtype=torch.uint8), torch.tensor(-1))


def test_narrow_integers_wrap_around(device: str) -> None:
    for dtype in INTEGERS:
        x = torch.tensor([torch.iinfo(dtype).max, torch.iinfo(dtype).min, 1], dtype=dtype)
        for operation in (torch.add, torch.sub, torch.mul):
            same(operation, device, x, x)
            same(operation, device, x, x.flip(0))


@pytest.mark.parametrize("dtype", HALVES, ids=name)
def test_half_precision_is_rounded_like_the_cpus(device: str, dtype: torch.dtype) -> None:
    every = torch.arange(65536).to(torch.uint16).view(dtype)
    number = every[~every.isnan()]
    for x in (number.float(), number.float() * (1 + 2.0**-11), number.float() * (1 + 2.0**-8), number.double()):
        assert torch.equal(on(device, x).to(dtype).cpu().view(torch.int16), x.to(dtype).view(torch.int16))
        assert torch.equal(on(device, number).to(x.dtype).cpu(), number.to(x.dtype))
    assert on(device, every[every.isnan()]).float().cpu().isnan().all()
    beyond = torch.tensor([1e30, -1e30, math.inf, -math.inf, math.nan, 65519.9, 65520, 1e-8, 6e-8, -0.0])
    close(on(device, beyond).to(dtype), beyond.to(dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_infinities_and_nan_behave_as_on_the_cpu(device: str, dtype: torch.dtype) -> None:
    special = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0], dtype=dtype)
    for operation in (torch.add, torch.sub, torch.mul, torch.div):
        same(operation, device, special[:, None], special[None])
    same(torch.relu, device, special)
    assert torch.equal(on(device, special).relu().cpu().signbit(), special.relu().signbit())


def test_complex_numbers_are_multiplied_and_divided_without_overflow_on_the_way(device: str) -> None:
    x = torch.tensor([3 + 4j, 1e25 + 1e25j, 1e-25 - 1e-25j], dtype=torch.complex64)
    same(torch.div, device, x, x.flip(0))
    same(torch.mul, device, x, x.roll(1))


@pytest.mark.parametrize("shape", [(70, 100), (3, 40_000), (1000, 64), (2, 130, 700)])
def test_results_that_are_reduced_one_after_the_other_keep_their_places(device: str, shape: tuple[int, ...]) -> None:
    x = numbers(torch.float32, *shape)
    for function in (torch.sum, torch.mean, torch.amax, torch.argmin, torch.var, torch.any):
        same(lambda x, f=function: f(x, dim=-1), device, x)
        same(lambda x, f=function: f(x[..., ::3], dim=-1), device, x)


def test_lazily_conjugated_and_negated_operands_are_resolved(device: str) -> None:
    x, y = numbers(torch.complex64, 4, 5), numbers(torch.complex64, 4, 5, seed=1)
    close((on(device, x).conj() * on(device, y)).resolve_conj(), (x.conj() * y).resolve_conj())
    close(on(device, x).conj().imag + on(device, y).imag, x.conj().imag + y.imag)
    close(on(device, x).conj() @ on(device, y).mT.conj(), x.conj() @ y.mT.conj())


@pytest.mark.parametrize("dtype", TYPES, ids=name)
def test_alpha_scales_the_second_operand(device: str, dtype: torch.dtype) -> None:
    x, y = numbers(dtype, 9), numbers(dtype, 9, seed=1)
    for alpha in (2, -3, 0.5, True, 1j):
        same(lambda a, b, alpha=alpha: torch.add(a, b, alpha=alpha), device, x, y)
        same(lambda a, b, alpha=alpha: torch.sub(a, b, alpha=alpha), device, x, y)


# -------------------------------------------------------------------------------------------- the forms of an operator


@pytest.mark.parametrize("dtype", TYPES, ids=name)
def test_the_in_place_form_changes_its_first_operand(device: str, dtype: torch.dtype) -> None:
    x, y = numbers(dtype, 6, 8), numbers(dtype, 8, seed=1)
    mine = on(device, x)
    assert mine[:, ::2].mul_(on(device, y)[::2]).data_ptr() == mine.data_ptr()
    x[:, ::2].mul_(y[::2])
    close(mine, x)


def test_in_place_refuses_what_the_cpu_refuses(device: str) -> None:
    i, f = torch.ones(3, dtype=torch.int64), torch.ones(3)
    for call in (
        lambda d: i.to(d).add_(f.to(d)),  # a result that does not fit the type
        lambda d: f.to(d).add_(torch.ones(2, 3).to(d)),  # nor the shape
        lambda d: torch.ones(1, device=d).expand(3).add_(f.to(d)),  # memory shared by elements
        lambda d: torch.ones(3, device=d)[1:].add_(1, alpha=1j),
        lambda d: (lambda t: t[1:].add_(t[:-1]))(torch.ones(3, device=d)),  # partial overlap
    ):
        with pytest.raises(RuntimeError) as expected:
            call("cpu")
        with pytest.raises(RuntimeError) as actual:
            call(device)
        assert str(actual.value).splitlines()[0] == str(expected.value).splitlines()[0]


OUT = {
    "fitting": lambda: torch.full((4, 5), -1.0),
    "empty": lambda: torch.empty(0),
    "transposed": lambda: torch.full((5, 4), -1.0).t(),
    "gaps": lambda: torch.full((4, 10), -1.0)[:, ::2],
    "of another type": lambda: torch.full((4, 5), -1.0, dtype=torch.float64),
    "too narrow": lambda: torch.full((4, 5), -1, dtype=torch.int32),
    "of a wrong shape": lambda: torch.full((3, 3), -1.0),
    "an operand": None,
}
CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda x, y, out: torch.add(x, y, out=out),
    "div": lambda x, y, out: torch.div(x, y, out=out),
    "mm": lambda x, y, out: torch.mm(x[:4, :4], y[:4], out=out),
    "addmm": lambda x, y, out: torch.addmm(y[0], x[:4, :4], y[:4], beta=0.5, alpha=2, out=out),
    "sum": lambda x, y, out: torch.sum(x.expand(3, 4, 5), 0, out=out),
    "log_softmax": lambda x, y, out: torch.log_softmax(x, 1, out=out),
    "eq": lambda x, y, out: torch.eq(x, y, out=out),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("layout", OUT)
def test_the_out_form_writes_what_the_cpu_writes(device: str, layout: str, call: str) -> None:
    def run(place: str) -> tuple[torch.Tensor | None, torch.Tensor, list[str]]:
        x, y = on(place, numbers(torch.float32, 4, 5)), on(place, numbers(torch.float32, 4, 5, seed=1))
        out = x if OUT[layout] is None else on(place, OUT[layout]())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = CALLS[call](x, y, out)
        assert result is out
        memory = torch.empty(0, dtype=out.dtype, device=place).set_(out.untyped_storage())
        return result, memory, [str(w.message) for w in caught]

    if OUT[layout] is None and call in ("mm", "addmm", "sum"):
        pytest.skip("the CPU itself reads what it has written")
    refusal = None
    try:
        expected, memory, said = run("cpu")
    except RuntimeError as error:
        refusal = error
    if refusal is not None:
        with pytest.raises(type(refusal)) as caught:
            run(device)
        assert str(caught.value).splitlines()[0].split("(")[0] == str(refusal).splitlines()[0].split("(")[0]
        return
    actual, my_memory, my_said = run(device)
    close(actual, expected)
    torch.testing.assert_close(my_memory.cpu(), memory)
    assert my_said == said


def test_a_result_of_another_shape_than_out_says_so_like_the_cpu(device: str) -> None:
    x, out = on(device, numbers(torch.float32, 4)), torch.zeros(2, 5, device=device)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(x, x, out=out)
    assert out.shape == (4,)


# ----------------------------------------------------------------------------------------------------------- refusals


def test_a_product_in_place_keeps_its_shape(device: str) -> None:
    x, y = torch.zeros(3, device=device), on(device, numbers(torch.float32, 3, 3))
    with pytest.raises(
        RuntimeError, match=r"^Bad in-place call: input tensor size \[3\] and output tensor size \[3, 3\]"
    ):
        x.addmm_(y, y)
    assert x.tolist() == [0] * 3


def test_an_out_of_another_type_is_refused(device: str) -> None:
    x, out = on(device, numbers(torch.float32, 3, 3)), torch.zeros(3, 3, dtype=torch.float64, device=device)
    with pytest.raises(RuntimeError, match=r"^Expected out tensor to have dtype float, but got double instead"):
        torch.mm(x, x, out=out)
    assert out.tolist() == [[0] * 3] * 3


def test_a_type_that_an_operator_lacks_is_the_cpus_error(device: str) -> None:
    for call in (
        lambda d: torch.log_softmax(torch.arange(4).to(d), 0),
        lambda d: torch.mm(torch.ones(2, 2, device=d, dtype=torch.bool), torch.ones(2, 2, device=d, dtype=torch.bool)),
        lambda d: torch.relu(torch.ones(2, device=d, dtype=torch.complex64)),
        lambda d: torch.nn.functional.mse_loss(torch.arange(3).to(d), torch.arange(3).to(d)),
    ):
        with pytest.raises(NotImplementedError):
            call("cpu")
        with pytest.raises(NotImplementedError):
            call(device)
    text = r"^\"log_softmax\" not implemented for 'Long'$"  # with a fallback, the CPU names its own kernel
    with torch.openreg.no_fallback(), pytest.raises(NotImplementedError, match=text):
        torch.log_softmax(torch.arange(4).to(device), 0)


def test_a_type_that_device_code_does_not_know_is_named(device: str) -> None:
    x = torch.ones(2, device=device).cpu().to(torch.float8_e4m3fn).to(device)
    with torch.openreg.no_fallback(), pytest.raises(NotImplementedError, match=r"^\"mul\" not .* 'Float8_e4m3fn'$"):
        x * x


def test_an_operand_on_another_device_is_refused_with_operator_and_argument(device: str, other_device: str) -> None:
    x, y = numbers(torch.float32, 3, 3).to(device), numbers(torch.float32, 3, 3).to(other_device)
    for wrong in (y, y.cpu()):
        with pytest.raises(RuntimeError) as caught:
            torch.mm(x, wrong)
        assert str(caught.value) == (
            f"Expected all tensors to be on the same device, but got mat2 is on {wrong.device}, different from other "
            f"tensors on {device} (when checking argument in method aten::mm)"
        )
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two"):
            x + wrong
        with pytest.raises(RuntimeError, match=f"got out is on {wrong.device}, different .* in method aten::mm"):
            torch.mm(x, x, out=wrong)
        with pytest.raises(RuntimeError, match="device"):
            torch.add(x, x, out=wrong)
        with pytest.raises(RuntimeError, match=f"target is on {wrong.device}.*aten::nll_loss_forward"):
            torch.nn.functional.nll_loss(x, torch.zeros(3, dtype=torch.int64, device=wrong.device))


# -------------------------------------------------------------------------------------------- on the device's own time

# Nothing that frees memory, which waits for the device as long as nothing caches it.
WORK: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda x, y: x + y,
    "a number": lambda x, y: x * 3,
    "in place": lambda x, y: x.mul_(y),
    "cast": lambda x, y: x.to(torch.float64),
    "sum": lambda x, y: x.sum(0),
    "mean": lambda x, y: x.mean(),
    "argmax": lambda x, y: x.argmax(1),
    "mm": lambda x, y: x @ y,
    "linear": lambda x, y: torch.nn.functional.linear(x, y, y[0]),
    "relu": lambda x, y: x.relu(),
    "log_softmax": lambda x, y: x.log_softmax(1),
    "fill": lambda x, y: x.fill_(2.5),
    "zero": lambda x, y: x.zero_(),
    "mse_loss": lambda x, y: torch.nn.functional.mse_loss(x, y, reduction="none"),
    "eq": torch.eq,
}


@pytest.mark.parametrize("work", WORK)
def test_the_host_does_not_wait_and_does_not_compute(device: str, work: str, gate: GateFunction) -> None:
    x, y = numbers(torch.float32, 6, 6), numbers(torch.float32, 6, 6, seed=1)
    mine, yours = on(device, x), on(device, y)
    on(device, x).sum().item()  # what is looked up once has been
    closed = gate(torch.device(device).index)
    result = WORK[work](mine, yours)  # returns, although the device stands still
    closed.open()
    torch.testing.assert_close(result.cpu(), WORK[work](x, y))


def test_operators_of_a_device_are_done_in_order(device: str, gate: GateFunction) -> None:
    closed = gate(torch.device(device).index)
    x = torch.ones(1000, device=device)
    for i in range(20):
        x.mul_(2).add_(i)
    closed.open()
    expected = torch.ones(1000)
    for i in range(20):
        expected.mul_(2).add_(i)
    assert torch.equal(x.cpu(), expected)


def test_a_gate_on_one_device_does_not_hold_up_the_other(device: str, other_device: str, gate: GateFunction) -> None:
    gate(torch.device(other_device).index)
    x = numbers(torch.float32, 100)
    close(on(device, x) + on(device, x), x + x)
    with torch.openreg.device(other_device):
        close(on(device, x).sum(), x.sum())
        assert (on(device, x) * 2).device == torch.device(device)


def test_threads_may_share_operators_and_tensors(device: str) -> None:
    x, y = on(device, numbers(torch.float32, 64, 64)), on(device, numbers(torch.float32, 64, 64, seed=1))
    expected = (x @ y + x).relu().sum(0).cpu()
    wrong: list[object] = []

    def work() -> None:
        with torch.openreg.no_fallback():
            for _ in range(50):
                got = (x @ y + x).relu().sum(0).cpu()
                if not torch.equal(got, expected):
                    wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_index_that_is_no_class_is_an_error_of_the_device_that_names_the_kernel(program: ProgramFunction) -> None:
    said = program(
        """
        x = torch.zeros(3, 4, device="openreg")
        torch.nn.functional.nll_loss(x, torch.tensor([0, 9, 1]).to("openreg"))
        try:
            torch.openreg.synchronize()
        except torch.AcceleratorError as error:
            print(error)
        """
    )
    assert "kernel 'nll_loss.float' on device 0: Target 9 is out of bounds." in said


# ---------------------------------------------------------------------------------------------------------- reductions


@pytest.mark.parametrize("dtype", TYPES, ids=name)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (3, 0), (600, 5), (5, 600), (3, 40, 50), (70_001,)], ids=str)
def test_sums_and_means_equal_the_cpus(device: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = numbers(dtype, *shape)
    if dtype.is_floating_point:
        x = x.abs()  # of numbers that cancel out little is left but the errors of rounding
    dims = [None, *range(len(shape)), *itertools.combinations(range(len(shape)), 2)]
    for dim, keepdim in itertools.product(dims, (False, True)):
        for operation in (torch.sum, torch.mean):
            call = lambda t, o=operation, d=dim, k=keepdim: o(t) if d is None else o(t, d, keepdim=k)  # noqa: E731
            same(call, device, x)
            if x.dim() > 1:
                same(call, device, x.transpose(0, -1))
    same(lambda t: t.sum(dtype=torch.float64), device, x)


def test_a_sum_is_as_exact_as_its_type(device: str) -> None:
    x = torch.full((1 << 22,), 0.1)
    assert on(device, x).sum().item() == pytest.approx(x.double().sum().item(), rel=1e-6)
    assert on(device, x.view(1 << 11, -1)).sum(0).cpu().double().sum().item() == pytest.approx(419430.4, rel=1e-6)


def test_a_sum_does_not_depend_on_the_threads_that_help(device: str) -> None:
    x = numbers(torch.float32, 300_000).to(device)
    sums = {x.sum().item() for _ in range(20)} | {x.view(-1, 30).sum(0).sum().item() for _ in range(20)}
    assert len({x.sum().item() for _ in range(20)}) == 1
    assert len(sums) <= 2  # one for each way to add


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=name)
def test_argmax_finds_the_first_of_the_largest(device: str, dtype: torch.dtype) -> None:
    x = numbers(dtype, 7, 300)
    for call in (torch.argmax, lambda t: t.argmax(0), lambda t: t.argmax(1, keepdim=True), lambda t: t.t().argmax(0)):
        same(call, device, x)
    if dtype.is_floating_point:
        x[2, 200] = x[2, 100] = x[4, 5] = math.nan
        for call in (torch.argmax, lambda t: t.argmax(0), lambda t: t.argmax(1)):
            same(call, device, x)


# ------------------------------------------------------------------------------------------------------------ products

MATRIX = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.mT.contiguous().mT,
    "gaps": lambda t: torch.stack([t, t], -1)[..., 0],
    "rows apart": lambda t: torch.cat([t, t], -1)[..., : t.size(-1)],
    "one row for all": lambda t: t[..., :1, :].expand_as(t),
}


@pytest.mark.parametrize("dtype", TYPES, ids=name)
@pytest.mark.parametrize(
    "sizes", [(3, 4, 5), (1, 7, 1), (65, 33, 17), (5, 1, 6), (2, 0, 3), (0, 3, 2), (300, 3, 200)], ids=str
)
def test_products_equal_the_cpus(device: str, sizes: tuple[int, int, int], dtype: torch.dtype) -> None:
    m, k, n = sizes
    for left, right in itertools.product(MATRIX.values(), repeat=2):
        a, b = numbers(dtype, m, k), numbers(dtype, k, n, seed=1)
        same(torch.mm, device, left(a), right(b)) if k and m else same(torch.mm, device, a, b)
    a, b = numbers(dtype, 3, m, k), numbers(dtype, 3, k, n, seed=1)
    same(torch.bmm, device, a, b)
    same(torch.bmm, device, a, b[:1].expand(3, k, n))
    for self in (numbers(dtype, m, n, seed=2), numbers(dtype, n, seed=2), numbers(dtype, seed=2)):
        same(lambda s, x, y: torch.addmm(s, x, y, beta=2, alpha=3), device, self, a[0], b[0])
        same(lambda s, x, y: torch.addmm(s, x, y, beta=0), device, self, a[0], b[0])
        same(lambda s, x, y: torch.baddbmm(s, x, y, beta=2, alpha=3), device, self, a, b)


def test_beta_of_zero_ignores_nan(device: str) -> None:
    a = numbers(torch.float32, 3, 3)
    same(lambda s, x: torch.addmm(s, x, x, beta=0), device, torch.full((3, 3), math.nan), a)


def test_products_refuse_what_the_cpu_refuses(device: str) -> None:
    r = torch.ones
    for call in (
        lambda d: torch.mm(r(2, 3, device=d), r(3, 2, device=d).double()),
        lambda d: torch.mm(r(2, 3, device=d), r(2, 2, device=d)),
        lambda d: torch.mm(r(2, device=d), r(2, 2, device=d)),
        lambda d: torch.addmm(r(2, 2, device=d).double(), r(2, 3, device=d), r(3, 2, device=d)),
        lambda d: torch.addmm(r(2, 5, device=d), r(2, 3, device=d), r(3, 2, device=d)),
        lambda d: torch.mm(r(2, 2, device=d), r(2, 2, device=d), out=r(2, 2, device=d).double()),
        lambda d: torch.bmm(r(2, 2, 3, device=d), r(3, 3, 2, device=d)),
        lambda d: r(2, 3, device=d).addmm_(r(2, 3, device=d), r(3, 2, device=d)),
    ):
        with pytest.raises(RuntimeError) as expected:
            call("cpu")
        with pytest.raises(type(expected.value)) as actual:
            call(device)
        assert str(actual.value).splitlines()[0] == str(expected.value).splitlines()[0]


def test_a_product_starts_no_thread_of_the_vendors_library(program: ProgramFunction) -> None:
    said = program(
        """
        x = torch.ones(600, 600, device="openreg")
        (x + x).sum().item()
        names = lambda: sorted(open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task"))
        before = names()
        (x @ x).sum().item()
        print(before == names(), os.environ.get("OPENBLAS_NUM_THREADS"))
        """
    )
    assert said == "True None\n"


# ----------------------------------------------------------------------- losses, softmax, filling, derivatives


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("shape", [(), (5,), (3, 700), (700, 3), (2, 5, 4), (0, 3), (3, 0)], ids=str)
def test_log_softmax_and_its_derivative_equal_the_cpus(device: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    for dim in range(max(len(shape), 1)):
        for view in (lambda t: t, lambda t: t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() else t):
            x = view(numbers(dtype, *shape))
            results = []
            for place in ("cpu", device):
                leaf = on(place, x).requires_grad_()
                y = leaf.log_softmax(dim)
                y.backward(on(place, view(numbers(dtype, *shape, seed=1))))
                results.append((y.detach().cpu(), leaf.grad.cpu()))
            torch.testing.assert_close(results[1], results[0], **HALF_TOLERANCE if dtype in HALVES else {})


def test_log_softmax_of_large_numbers_does_not_overflow(device: str) -> None:
    same(lambda t: t.log_softmax(0), device, torch.tensor([1000.0, 1001.0, -1000.0]))
    same(lambda t: t.log_softmax(0), device, torch.tensor([-math.inf, 0.0, math.inf]))


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss_and_its_derivative_equal_the_cpus(
    device: str, weighted: bool, reduction: str, dtype: torch.dtype
) -> None:
    cases = [(numbers(dtype, 9, 5), torch.tensor([0, 4, 1, -100, 2, 2, 3, 0, 1])), (numbers(dtype, 5), torch.tensor(3))]
    cases += [
        (numbers(dtype, 0, 5), torch.zeros(0, dtype=torch.int64)),
        (numbers(dtype, 5, 9).t(), cases[0][1].clone()),
    ]
    cases += [(numbers(dtype, 3, 5), torch.tensor([4, 0, 1], dtype=torch.uint8))]
    for x, target in cases:
        results = []
        for place in ("cpu", device):
            leaf = on(place, x).requires_grad_()
            weight = torch.linspace(0.5, 2, 5).to(dtype).to(place) if weighted else None
            loss = torch.nn.functional.nll_loss(leaf, on(place, target), weight, reduction=reduction)
            loss.backward(torch.ones_like(loss).mul_(2))
            results.append((loss.detach().cpu(), leaf.grad.cpu()))
        # The CPU sums halves as halves.
        torch.testing.assert_close(results[1], results[0], equal_nan=True, **HALF_TOLERANCE if dtype in HALVES else {})


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, torch.uint16, torch.float8_e5m2, *FLOATS, *COMPLEX], ids=name)
def test_fill_writes_what_the_cpu_writes(device: str, dtype: torch.dtype) -> None:
    value = 2.5 if dtype.is_floating_point or dtype.is_complex else 1
    for shape, view in (
        ((6, 8), lambda t: t[1::2, ::3]),
        ((3,), lambda t: t),
        ((0, 2), lambda t: t),
        ((), lambda t: t),
    ):
        expected, mine = torch.zeros(shape, dtype=dtype), torch.empty(shape, dtype=dtype, device=device).zero_()
        view(expected).fill_(value)
        view(mine).fill_(value)
        assert mine.cpu().tolist() == expected.tolist()
    assert torch.full((3,), value, dtype=dtype, device=device).cpu().tolist() == [value] * 3


def test_fill_takes_a_tensor_and_any_number_of_dimensions(device: str, other_device: str) -> None:
    x = torch.empty([2] * 18, device=device)[..., 1]
    assert x.fill_(3.0).eq(3).cpu().all()
    for value in (torch.tensor(2), torch.tensor(2, device=device), torch.tensor(2.0, device=other_device)):
        assert torch.empty(3, device=device).fill_(value).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="fill_ only supports 0-dimension value tensor but got tensor with 1 dim"):
        torch.empty(3, device=device).fill_(torch.ones(3))
    with pytest.raises(RuntimeError, match="value cannot be converted to type int8_t without overflow"):
        torch.empty(3, dtype=torch.int8, device=device).fill_(300)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=name)
def test_relu_and_threshold_equal_the_cpus(device: str, dtype: torch.dtype) -> None:
    x = numbers(dtype, 40)
    same(torch.relu, device, x)
    same(torch.relu_, device, x)
    same(lambda t: torch.nn.functional.threshold(t, 1, 3), device, x)
    same(lambda t: torch.clamp_min(t, 2), device, x)
    if dtype.is_floating_point:
        same(lambda t: (lambda leaf: torch.autograd.grad(leaf.relu().sum(), leaf)[0])(t.requires_grad_()), device, x)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_mse_loss_and_its_derivative_equal_the_cpus(device: str, dtype: torch.dtype, reduction: str) -> None:
    results = []
    for place in ("cpu", device):
        x, y = numbers(dtype, 4, 5).to(place).requires_grad_(), numbers(dtype, 4, 5, seed=1).to(place).requires_grad_()
        loss = torch.nn.functional.mse_loss(x, y, reduction=reduction)
        loss.backward(torch.ones_like(loss))
        results.append([t.cpu() for t in (loss.detach(), x.grad, y.grad)])
    torch.testing.assert_close(results[1], results[0], **HALF_TOLERANCE if dtype in HALVES else {})


# ------------------------------------------------------------------------------------------------------------ together


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=name)
def test_an_mlp_trains_natively_and_its_losses_are_the_cpus(device: str, dtype: torch.dtype) -> None:
    def train(place: str) -> list[float]:
        torch.manual_seed(0)
        layers = [torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)]
        model = torch.nn.Sequential(*layers).to(place, dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
        inputs, targets = numbers(dtype, 64, 16).to(place), numbers(torch.int64, 64).remainder(10).to(place)
        losses = []
        for _ in range(10):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        right = (model(inputs).argmax(1) == targets).to(dtype).mean()
        return [value.item() for value in (*losses, right)]

    torch.testing.assert_close(train(device), train("cpu"), rtol=1e-4, atol=1e-5)


def test_casts_between_devices_and_within_one_do_not_visit_the_cpu(device: str, gate: GateFunction) -> None:
    x = numbers(torch.float32, 30, 7)
    mine = on(device, x)
    closed = gate(torch.device(device).index)
    results = [mine.to(dtype) for dtype in (torch.int32, torch.float16, torch.complex64, torch.bool)]
    closed.open()
    for result in results:
        assert torch.equal(result.cpu(), x.to(result.dtype))
