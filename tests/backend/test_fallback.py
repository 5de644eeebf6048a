"""The CPU fallback: any operator's arguments and results, counts, refusals, and what the dispatcher says about it.

The operators of these tests are ones that the backend has no kernel for, and `same` asserts it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from contract.harness import Call
from torch.utils._pytree import tree_map

from backend import own_operators as own_operators_module
from backend.conftest import ProgramFunction

airy, bessel = torch.special.airy_ai, torch.special.bessel_j0
# Who serves: "cpu", or "device" where the driver can. test_device_fallback.py runs all of this with the latter.
POLICY = os.environ.get("OPENREG_TEST_FALLBACK", "cpu")
RESIZED = "An output with one or more elements was resized since it had shape"


@pytest.fixture(autouse=True)
def fresh_start() -> Iterator[None]:
    """Every test counts from zero, and sees warnings that PyTorch gives once in a process."""
    torch.openreg.set_fallback(POLICY)
    torch.openreg.reset_fallbacks()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)
    torch.openreg.set_fallback("cpu")


def on(device: str, value: Any) -> Any:
    """A copy of all tensors in a nest of containers, on a device."""
    return tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, value)


def same(function: Callable[..., Any], *arguments: Any, device: str = "openreg:0") -> Any:
    """Calls a function with CPU tensors and with copies on a device, and compares results and arguments afterwards.

    Asserts that something fell back: an operator that gets a kernel one day must be replaced in these tests.

    Returns:
        The result on the device.
    """
    copies = on(device, arguments)
    expected = function(*arguments)
    before = sum(torch.openreg.fallbacks().values())
    actual = function(*copies)
    assert sum(torch.openreg.fallbacks().values()) > before
    torch.testing.assert_close(on("cpu", actual), expected, equal_nan=True)
    torch.testing.assert_close(on("cpu", copies), arguments, equal_nan=True)
    tree_map(lambda leaf: check_device(leaf, device), actual)
    return actual


def check_device(leaf: Any, device: str) -> None:
    """Asserts that a result is on the device that it was made for."""
    if isinstance(leaf, torch.Tensor):
        assert str(leaf.device) == device


def matrix(*sizes: int) -> torch.Tensor:
    """Numbers without a pattern, the same each time."""
    count = torch.Size(sizes).numel()
    return torch.sin(torch.arange(float(count)) * 1.7).view(sizes)


def regular(size: int = 3) -> torch.Tensor:
    """A matrix that has an inverse."""
    return matrix(size, size) + 2 * torch.eye(size)


def bits(start: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """One hash for each row: an operator of every type but complex ones."""
    return torch.hash_tensor(start, dim)


@pytest.fixture
def own_operators() -> Any:
    """Operators with a CPU kernel only, for kinds of arguments that none of PyTorch's without a kernel here has."""
    return own_operators_module.operators


# ---------------------------------------------------------------------- results


@pytest.mark.usefixtures("puts_back")
def test_a_result_is_on_the_arguments_device_whatever_device_is_current(device: str, other_device: str) -> None:
    torch.openreg.set_device(other_device)
    same(airy, matrix(3, 4), device=device)
    same(torch.linalg.inv, regular(), device=device)
    same(torch.histogram, matrix(12), 4, device=device)
    assert torch.openreg.current_device() == int(other_device[-1])


@pytest.mark.usefixtures("puts_back")
def test_a_factory_makes_its_tensor_on_the_device_that_it_names(device: str, other_device: str) -> None:
    torch.openreg.set_device(other_device)
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes([1, 0, 0, 0, 2, 0, 0, 0]))
        file.flush()
        x = torch.from_file(file.name, size=2, dtype=torch.int32, device=device)
    assert str(x.device) == device
    assert x.tolist() == [1, 2]
    assert torch.openreg.fallbacks() == {"aten::from_file": 1}
    assert torch.openreg.current_device() == int(other_device[-1])


@pytest.mark.usefixtures("puts_back")
def test_the_current_device_is_restored_after_an_exception(device: str, other_device: str) -> None:
    torch.openreg.set_device(other_device)
    with pytest.raises(RuntimeError):
        torch.linalg.cholesky(on(device, -torch.eye(2)))
    assert torch.openreg.current_device() == int(other_device[-1])


def test_strided_and_offset_arguments_are_read_right(device: str) -> None:
    base = matrix(4, 6)
    for view in (base.t(), base[1:, ::2], base[:, 3], base.expand(2, 4, 6), base.flip(0).t()):
        same(airy, view, device=device)
        same(bits, view, device=device)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.complex64]
)
def test_other_data_types_are_served(device: str, dtype: torch.dtype) -> None:
    x = (matrix(3, 4) * 3).to(dtype)
    if dtype.is_complex:
        same(torch.linalg.qr, x, device=device)
    else:
        same(bits, x, device=device)


def test_lazy_conjugation_and_negation_reach_the_cpu(device: str) -> None:
    x = torch.complex(regular(), regular().t().contiguous())
    assert x.conj().is_conj()
    assert x.conj().imag.is_neg()
    same(lambda t: torch.linalg.inv(t.conj()), x, device=device)
    same(lambda t: torch.linalg.inv(t.conj().imag), x, device=device)


def test_empty_tensors_are_served(device: str) -> None:
    same(lambda x: torch.histogram(x, 2, range=(0.0, 1.0)), torch.empty(0), device=device)
    same(airy, torch.empty(3, 0), device=device)
    same(torch.linalg.inv, torch.empty(2, 0, 0), device=device)


def test_tensors_without_dimensions_are_served(device: str) -> None:
    same(airy, torch.tensor(2.0), device=device)


# -------------------------------------------------------------------- arguments


def test_scalars_strings_flags_and_nothing_are_passed_on(device: str) -> None:
    x = matrix(3, 4)
    lengths = torch.tensor([1, 2])
    same(lambda t, n: torch.segment_reduce(t, "mean", lengths=n, unsafe=True, initial=2.5), x, lengths, device=device)
    same(lambda t: torch.linalg.qr(t, mode="complete"), x, device=device)
    same(lambda t: torch.linalg.qr(t, mode="reduced")[1], x, device=device)
    same(lambda t: torch.histogram(t, 3, range=(-0.5, 0.75), density=True), x, device=device)
    same(lambda t: torch.histogram(t, 3, range=None), x, device=device)
    same(lambda t: torch.hash_tensor(t, 1, keepdim=True), x, device=device)
    same(lambda t: torch.narrow_copy(t, 1, 2, 1) + torch.special.hermite_polynomial_h(t, 3)[:, :1], x, device=device)
    same(lambda t: torch.linalg.lstsq(t, t[:, :1], driver="gelsd", rcond=0.5).rank, x, device=device)


def test_types_devices_and_complex_numbers_are_passed_on(device: str, own_operators: Any) -> None:
    x = matrix(3, 4)
    for factor in (3, 0.3, True, 2j):
        same(lambda t, f=factor: own_operators.cast(t, f, dtype=None, device=None), x, device=device)
    same(lambda t: own_operators.cast(t, 2, dtype=torch.float64, device=t.device), x, device=device)


def test_optional_tensors_are_passed_on(device: str) -> None:
    x, weight = matrix(12), matrix(12).abs()
    same(lambda t: torch.histogram(t, 3, weight=None), x, device=device)
    same(lambda t, w: torch.histogram(t, 3, weight=w), x, weight, device=device)
    lengths, offsets = torch.tensor([5, 7]), torch.tensor([0, 5, 12])
    same(lambda t, n: torch.segment_reduce(t, "mean", lengths=n), x, lengths, device=device)
    same(lambda t, n: torch.segment_reduce(t, "max", offsets=n), x, offsets, device=device)


def test_lists_of_tensors_are_passed_on_and_returned(device: str) -> None:
    x, edges = matrix(6, 2), [torch.linspace(-1, 1, 4), torch.linspace(-1, 1, 3)]
    same(lambda t, *bins: torch.histogramdd(t, bins), x, *edges, device=device)
    same(lambda t: torch.ops.aten._histogramdd_bin_edges(t, [2, 3]), x, device=device)


def test_an_operator_that_writes_several_lists_writes_them_all(device: str) -> None:
    def step(params: list[torch.Tensor], grads: list[torch.Tensor], *state: list[torch.Tensor]) -> list[torch.Tensor]:
        rates = {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.5, "eps": 1e-8}
        torch._fused_adagrad_(params, grads, *state, **rates, maximize=False)
        return [*params, *state[0]]

    sizes = (2, 3), (4,)
    lists = [[matrix(*size) for size in sizes] for _ in range(2)]
    same(step, *lists, [torch.ones(size) for size in sizes], [torch.ones(()) for _ in sizes], device=device)
    assert torch.openreg.fallbacks()["aten::_fused_adagrad_"] == 1


def test_lists_of_optional_tensors_are_passed_on(device: str, own_operators: Any) -> None:
    x, rows = matrix(4, 5, 3), torch.tensor([0, 2, 2])
    same(lambda t, r: own_operators.pick(t, [r]), x, rows, device=device)
    same(lambda t, r: own_operators.pick(t, [None, r]), x, rows, device=device)
    same(lambda t, r: own_operators.pick(t, [r, None, r - 1]), x, rows, device=device)
    same(lambda t, mask: own_operators.pick(t, [mask]), x, matrix(4, 5) > 0, device=device)


def test_an_index_may_be_on_the_cpu(device: str, own_operators: Any) -> None:
    x = matrix(4, 3)
    assert own_operators.pick(on(device, x), [torch.tensor([2, 0])]).tolist() == x[[2, 0]].tolist()


def test_a_number_on_the_cpu_joins_tensors_of_the_device(device: str) -> None:
    number = torch.tensor(2.5)
    for function in (
        lambda x: torch.nextafter(x, number),
        lambda x: torch.nextafter(number, x),
        lambda x: x.nextafter_(number),
    ):
        same(function, matrix(2, 3), device=device)


# ---------------------------------------------------------- devices that differ

MIXED = {
    "elementwise": torch.nextafter,
    "in place": lambda x, y: x.nextafter_(y),
    "system of equations": lambda x, y: torch.linalg.solve_triangular(x, y, upper=True),
    "list": lambda x, y: torch.histogramdd(x, [y[0], y[0], y[0]]),
    "optional": lambda x, y: torch.histogram(x, 3, weight=y),
    "no structured kernel": lambda x, y: torch.complex(x, y),
    "recurrent": lambda x, y: torch.ops.aten._thnn_fused_lstm_cell(x.repeat(1, 4), x.repeat(1, 4), y),
}


@pytest.mark.parametrize("case", MIXED)
def test_tensors_of_two_devices_are_refused_with_both_devices_named(case: str, device: str, other_device: str) -> None:
    x = matrix(3, 3)
    with pytest.raises(RuntimeError) as caught:
        MIXED[case](on(device, x), on(other_device, x))
    assert re.match(
        r"Expected all tensors to be on the same device, but (found at least two devices, openreg:\d and openreg:\d!"
        r"|got \w+ is on openreg:\d, different from other tensors on openreg:\d)",
        str(caught.value),
    )
    assert device in str(caught.value)
    assert other_device in str(caught.value)


@pytest.mark.parametrize("case", MIXED)
def test_cpu_tensors_are_refused_with_both_devices_named(case: str, device: str) -> None:
    x = matrix(3, 3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device") as caught:
        MIXED[case](on(device, x), x)
    assert device in str(caught.value)
    assert "cpu" in str(caught.value)


def test_a_refusal_for_the_device_names_argument_and_operator() -> None:
    x = matrix(3, 3)
    with pytest.raises(RuntimeError) as caught:
        torch.linalg.solve_triangular(on("openreg:0", x), on("openreg:1", x), upper=True)
    assert str(caught.value) == (
        "Expected all tensors to be on the same device, but got B is on openreg:1, different from other tensors on "
        "openreg:0 (when checking argument in method aten::linalg_solve_triangular)"
    )


def test_an_out_argument_on_another_device_is_refused(device: str, other_device: str) -> None:
    x = on(device, matrix(3, 3))
    for wrong in (other_device, "cpu"):
        for shape in ((3, 3), ()):
            with pytest.raises(
                RuntimeError, match=f"but got inverse is on {wrong}, different from other tensors on {device} "
            ):
                torch.linalg.inv(x, out=torch.empty(shape, device=wrong))


def test_what_is_refused_for_its_devices_is_not_counted() -> None:
    x, y = on("openreg:0", matrix(3, 3)), on("openreg:1", matrix(3, 3))
    torch.openreg.reset_fallbacks()
    with pytest.raises(RuntimeError):
        torch.linalg.solve_triangular(x, y, upper=True)
    assert torch.openreg.fallbacks() == {}


# ------------------------------------------------------------------------- out=


def test_out_of_the_right_shape_is_written(device: str) -> None:
    x = matrix(3, 4)
    out = torch.full((3, 4), -1.0, device=device)
    before = out.data_ptr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert airy(on(device, x), out=out) is out
    assert out.data_ptr() == before
    torch.testing.assert_close(out.cpu(), airy(x))


def test_out_that_is_empty_is_resized_without_a_warning(device: str) -> None:
    out = torch.empty(0, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        airy(on(device, matrix(3, 4)), out=out)
    torch.testing.assert_close(out.cpu(), airy(matrix(3, 4)))


def test_out_of_a_wrong_shape_is_resized_with_the_cpus_warning(device: str) -> None:
    def run(place: str) -> tuple[torch.Tensor, list[str]]:
        out = torch.zeros(2, 5, device=place)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            airy(on(place, matrix(3, 4)), out=out)
        return out.cpu(), [str(warning.message) for warning in caught]

    expected, said_by_cpu = run("cpu")
    actual, said = run(device)
    torch.testing.assert_close(actual, expected)
    assert len(said_by_cpu) == 1
    assert RESIZED in said_by_cpu[0]
    assert said == said_by_cpu


def test_out_with_strides_is_written_through_and_its_gaps_are_kept(device: str) -> None:
    same(lambda x, base: airy(x, out=base[:, ::2]), matrix(3, 3), torch.full((3, 6), -1.0), device=device)
    same(lambda x, base: torch.linalg.inv(x, out=base[1:, 1:4]), regular(), torch.full((4, 6), -1.0), device=device)


def test_out_of_a_wrong_type_is_refused_as_on_the_cpu(device: str) -> None:
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Int"):
        airy(on(device, matrix(3)), out=torch.empty(3, dtype=torch.int32, device=device))


def test_out_of_another_type_that_can_hold_the_result_is_cast(device: str) -> None:
    same(lambda x, out: airy(x, out=out), matrix(3), torch.empty(3, dtype=torch.float64), device=device)


def test_several_outs_are_written(device: str) -> None:
    x = matrix(3, 4)
    for shape in ((0,), (3, 4)):
        outs = torch.empty(shape), torch.empty(shape, dtype=torch.int32)
        same(lambda t, *out: torch.frexp(t, out=out), x, *outs, device=device)
    same(lambda t, *out: torch.linalg.qr(t, out=out), x, torch.empty(0), torch.empty(0), device=device)
    same(lambda t, *out: torch.histogram(t, 3, out=out), x, torch.empty(0), torch.empty(0), device=device)


# --------------------------------------------------------------------- in place


def test_in_place_operators_write_their_argument(device: str) -> None:
    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        before = x.data_ptr()
        assert x.nextafter_(y).igamma_(y.abs()) is x
        assert x.data_ptr() == before
        return x

    same(step, matrix(3, 4).abs(), matrix(3, 4).cos(), device=device)
    assert torch.openreg.fallbacks() == {"aten::nextafter.out": 1, "aten::igamma.out": 1}


def test_in_place_operators_write_through_a_view_and_nothing_else(device: str) -> None:
    def write(base: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        base[1:, ::2].nextafter_(other[1:, ::2])
        base.t()[0].nextafter_(other.t()[5])
        base[:, 1].igamma_(other[:, 2])
        return base

    same(write, matrix(4, 6).abs(), matrix(4, 6).cos(), device=device)


def test_in_place_operators_that_would_change_the_shape_are_refused_as_on_the_cpu(device: str) -> None:
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        on(device, matrix(3)).nextafter_(on(device, matrix(2, 3)))


def test_overlapping_memory_is_not_written(device: str) -> None:
    x = on(device, matrix(3))
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"
    ):
        x.expand(2, 3).nextafter_(x)


# ----------------------------------------------------------------------- shapes


def test_shapes_that_depend_on_the_data_are_right_and_the_operator_runs_once(device: str) -> None:
    for rank in (2, 1):  # residuals are computed for a matrix of full rank only
        x = matrix(4, 2)[:, [0, rank - 1]]
        result = same(lambda t: torch.linalg.lstsq(t, t[:, :1] + 1, driver="gelsd"), x, device=device)
        assert result.residuals.shape == ((1,) if rank == 2 else (0,))
        assert torch.openreg.fallbacks() == {"aten::linalg_lstsq.out": 1}
        torch.openreg.reset_fallbacks()


# ------------------------------------------------------------------------ views


def test_views_share_memory_with_their_base(device: str) -> None:
    x = on(device, matrix(4, 6))
    views = [
        x.t(), x[1:], x.view(2, 12), x.reshape(24), x.unsqueeze(0), x.expand(2, 4, 6), x.diagonal(), x.unfold(0, 2, 1),
        x.view(torch.int32), x.split(2)[1], x.unbind(1)[3], x.movedim(0, 1), x.narrow(1, 2, 2),
        x.as_strided((2, 2), (6, 1)),
    ]  # fmt: skip
    for view in views:
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert torch.openreg.fallbacks() == {}
    z = torch.zeros(3, dtype=torch.complex64, device=device)
    torch.view_as_real(z).fill_(2)
    torch.view_as_complex(torch.view_as_real(z))[0] = 1
    assert z.tolist() == [1 + 0j, 2 + 2j, 2 + 2j]


# An operator that returns a view and has a CPU kernel only: PyTorch's own views all have a way that a backend can take.
VIEW_OPERATOR = """
library = torch.library.Library("test", "DEF")
library.define("half(Tensor(a) self) -> Tensor(a)")
library.impl("half", lambda self: self[: self.shape[0] // 2], "CPU")
assert torch.ops.test.half(torch.arange(4)).tolist() == [0, 1]
try:
    torch.ops.test.half(torch.arange(4, device="openreg:1"))
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""


def test_a_view_is_refused_since_a_copy_cannot_alias(program: ProgramFunction) -> None:
    assert program(VIEW_OPERATOR).strip() == (
        "The operator test::half appears to be a view operator, but it has no implementation for the backend "
        '"openreg:1". '
        "View operators don't support since the tensor's storage cannot be shared across devices."
    )


# ----------------------------------------------------------------------- errors


def test_errors_of_the_cpus_kernel_keep_their_type_and_text(device: str) -> None:
    def error_of(function: Callable[[str], Any], place: str) -> Exception:
        with pytest.raises(Exception) as caught:  # noqa: PT011 (the CPU says which)
            function(place)
        return caught.value

    cases: list[Callable[[str], Any]] = [
        lambda place: torch.linalg.cholesky(on(place, -torch.eye(2))),
        lambda place: torch.linalg.inv(on(place, torch.zeros(2, 2))),
        lambda place: torch.linalg.solve(on(place, matrix(2, 2)), on(place, matrix(3, 3))),
        lambda place: torch.histogram(on(place, matrix(3)), 0),
        lambda place: airy(on(place, matrix(3).to(torch.complex64))),
        lambda place: torch.segment_reduce(on(place, matrix(3)), "sum", lengths=torch.tensor([1, 7], device=place)),
    ]
    for function in cases:
        expected, actual = error_of(function, "cpu"), error_of(function, device)
        assert type(actual) is type(expected)
        if POLICY == "cpu" or "failed on" not in str(actual):  # what the operator says, or its check on the host
            assert str(actual) == str(expected)
        else:
            assert f"failed on {device}: {expected}" in str(actual)
            assert "openreg: 'aten::" in str(actual)
    assert (torch.ones(2, device=device) + 1).tolist() == [2, 2]


# ----------------------------------------------------------------------- counts


def test_counts_are_exact_and_sorted(device: str) -> None:
    x = on(device, matrix(3))
    for _ in range(3):
        airy(x)
    x.nextafter_(x)
    assert torch.openreg.fallbacks() == {"aten::special_airy_ai.out": 3, "aten::nextafter.out": 1}
    assert list(torch.openreg.fallbacks()) == ["aten::special_airy_ai.out", "aten::nextafter.out"]
    torch.openreg.reset_fallbacks()
    assert torch.openreg.fallbacks() == {}


def test_what_has_a_kernel_is_not_counted(device: str) -> None:
    x = torch.empty(3, 4, device=device)
    x.copy_(matrix(3, 4))
    x.t().contiguous().cpu()
    x[0, 0].item()
    x.to(torch.float64).resize_(2)
    assert torch.openreg.fallbacks() == {}


def test_counts_of_two_threads_add_up() -> None:
    tensors = [on("openreg:0", matrix(3)), on("openreg:1", matrix(3))]
    torch.openreg.reset_fallbacks()

    def work(x: torch.Tensor) -> None:
        for _ in range(1000):
            airy(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in tensors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.openreg.fallbacks() == {"aten::special_airy_ai.out": 2000}


def segments(device: str) -> torch.Tensor:
    """A sum of parts whose gradient comes from the CPU, too."""
    x = on(device, matrix(6)).requires_grad_()
    return torch.segment_reduce(x, "max", lengths=torch.tensor([2, 4], device=device)).sum()


def test_the_backward_pass_is_counted_in_its_own_thread(device: str) -> None:
    y = segments(device)
    torch.openreg.reset_fallbacks()
    y.backward()
    assert torch.openreg.fallbacks() == {"aten::_segment_reduce_backward": 1}


# --------------------------------------------------------------------- refusals


def test_no_fallback_raises_naming_the_operator_and_counts_nothing(device: str) -> None:
    x = on(device, matrix(3))
    with torch.openreg.no_fallback(), pytest.raises(NotImplementedError) as caught:
        airy(x)
    assert str(caught.value).splitlines()[0] == (
        "openreg: 'aten::special_airy_ai.out' has no kernel for openreg, and falling back to the CPU is refused"
    )
    assert torch.openreg.fallbacks() == {}
    airy(x)
    assert torch.openreg.fallbacks() == {"aten::special_airy_ai.out": 1}


def test_no_fallback_leaves_what_has_a_kernel_alone(device: str) -> None:
    with torch.openreg.no_fallback():
        x = torch.empty(2, device=device)
        x.copy_(torch.tensor([1.0, 2.0]))
        assert x.cpu().tolist() == [1, 2]


def refuses(device: str) -> bool:
    """Whether an operator without a kernel is refused."""
    try:
        airy(on(device, matrix(3)))
    except NotImplementedError:
        return True
    return False


def test_no_fallback_ends_with_an_exception_and_nests(device: str) -> None:
    with pytest.raises(ZeroDivisionError), torch.openreg.no_fallback(), torch.openreg.no_fallback():
        raise ZeroDivisionError
    assert not refuses(device)
    with torch.openreg.no_fallback():
        with torch.openreg.no_fallback():
            pass
        assert refuses(device)
    assert not refuses(device)


def test_contexts_without_fallback_of_two_threads_may_overlap(device: str) -> None:
    first, second = torch.openreg.no_fallback(), torch.openreg.no_fallback()
    for enter_or_exit in (first.__enter__, second.__enter__, lambda: first.__exit__(None, None, None)):
        Call(enter_or_exit).result()  # each in a thread of its own
    assert refuses(device), "the second has not ended"
    second.__exit__(None, None, None)
    assert not refuses(device)


def test_the_mode_and_the_contexts_are_two_settings(device: str) -> None:
    with torch.openreg.no_fallback():
        assert torch.openreg.set_fallback("raise") == POLICY
        assert torch.openreg.set_fallback(POLICY) == "raise"
        assert refuses(device)
    assert not refuses(device)
    torch.openreg.set_fallback("raise")
    with torch.openreg.no_fallback():
        pass
    assert refuses(device)


def test_threads_that_set_modes_leave_one_of_them(device: str) -> None:
    modes = ("cpu", "device", "raise")

    def set_all(first: int) -> list[str]:
        return [torch.openreg.set_fallback(modes[(first + i) % 3]) for i in range(300)]

    # Each call returns what another has set: of all that were set, only the last is not returned, and POLICY is.
    calls = [Call(lambda first=first: set_all(first)) for first in range(3)]
    before = [mode for call in calls for mode in call.result()]
    last = torch.openreg.set_fallback(POLICY)
    assert sorted([*before, last]) == sorted([*modes * 300, POLICY])


def test_no_fallback_holds_in_the_backward_threads_too(device: str) -> None:
    y = segments(device)
    with torch.openreg.no_fallback(), pytest.raises(NotImplementedError, match=r"'aten::_segment_reduce_backward'"):
        y.backward()


def test_set_fallback_returns_the_mode_before() -> None:
    assert torch.openreg.set_fallback("raise") == POLICY
    assert torch.openreg.set_fallback("raise") == "raise"
    assert torch.openreg.set_fallback("device") == "raise"
    assert torch.openreg.set_fallback("cpu") == "device"
    assert torch.openreg.set_fallback("cpu") == "cpu"


def test_set_fallback_refuses_other_modes() -> None:
    torch.openreg.set_fallback("device")  # loads it
    text = r"argument 'mode' is 'gpu'; expected one of 'cpu', 'device', 'raise', or a mode with a library .*_gpu\.so$"
    with pytest.raises(ValueError, match=text):
        torch.openreg.set_fallback("gpu")
    assert torch.openreg.set_fallback(POLICY) == "device"


def test_block_fallback_refuses_one_operator_until_it_is_unblocked(device: str) -> None:
    x = on(device, matrix(3))
    torch.openreg.block_fallback("aten::special_airy_ai.out")
    try:
        with pytest.raises(NotImplementedError) as caught:
            airy(x)
        bessel(x)
    finally:
        torch.openreg.block_fallback("aten::special_airy_ai.out", False)
    assert str(caught.value).splitlines()[0] == (
        "openreg: 'aten::special_airy_ai.out' has no kernel for openreg, and its fallback to the CPU is blocked"
    )
    assert torch.openreg.fallbacks() == {"aten::special_bessel_j0.out": 1}
    torch.testing.assert_close(airy(x).cpu(), airy(matrix(3)))


def test_blocking_twice_is_undone_by_unblocking_once(device: str) -> None:
    torch.openreg.block_fallback("aten::special_airy_ai.out")
    torch.openreg.block_fallback("aten::special_airy_ai.out")
    torch.openreg.block_fallback("aten::special_airy_ai.out", block=False)
    torch.openreg.block_fallback("aten::special_airy_ai.out", block=False)
    airy(on(device, matrix(3)))
    assert torch.openreg.fallbacks() == {"aten::special_airy_ai.out": 1}


def test_block_fallback_refuses_a_name_without_namespace() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"^block_fallback: argument 'op' is 'sin'; expected a name such as 'aten::sin' or 'aten::sin.out'",
    ):
        torch.openreg.block_fallback("sin")


# --------------------------------------------------- the dispatcher's own tools


def table_line(op: str, key: str = "PrivateUse1") -> str:
    """What the dispatcher calls for an operator and a key."""
    lines = torch._C._dispatch_dump_table(op).splitlines()
    return next(line for line in lines if line.startswith(f"{key}:"))


def test_the_dispatch_table_tells_the_four_ways_in_which_an_operator_is_served() -> None:
    assert table_line("aten::empty.memory_format").endswith("[kernel]")
    assert "ops/tensor/empty.cpp" in table_line("aten::empty.memory_format")
    assert table_line("aten::special_airy_ai.out").endswith("[backend fallback]")
    assert "fallback/fallback.cpp" in table_line("aten::special_airy_ai.out")
    assert table_line("aten::special_airy_ai").endswith("[default backend kernel]")
    assert "CompositeExplicitAutogradNonFunctional" in table_line("aten::special_airy_ai")
    assert table_line("aten::linear").endswith("[math kernel]")
    assert "CompositeImplicitAutograd" in table_line("aten::linear")


def test_the_dispatcher_says_which_operators_have_a_kernel_of_their_own() -> None:
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel("aten::empty.memory_format", "PrivateUse1")
    assert has_kernel("aten::convolution_overrideable", "PrivateUse1")
    assert not has_kernel("aten::special_airy_ai.out", "PrivateUse1")
    assert has_kernel("aten::special_airy_ai.out", "CPU")
    assert torch._C._dispatch_has_backend_fallback(torch._C.DispatchKey.PrivateUse1)


def test_a_tensors_key_set_holds_the_backend_and_its_autograd(device: str) -> None:
    keys = torch._C._dispatch_keys(torch.empty(2, device=device))
    assert keys.has(torch._C.DispatchKey.PrivateUse1)
    assert keys.has(torch._C.DispatchKey.AutogradPrivateUse1)
    assert not keys.has(torch._C.DispatchKey.CPU)
    assert str(keys) == "DispatchKeySet(PrivateUse1, ADInplaceOrView, AutogradPrivateUse1, AutocastPrivateUse1)"
    assert torch._C._dispatch_key_for_device("openreg") == "PrivateUse1"


def test_a_lazily_conjugated_tensor_has_a_key_for_it(device: str) -> None:
    x = torch.zeros(2, dtype=torch.complex64, device=device)
    assert torch._C._dispatch_keys(x.conj()).has(torch._C.DispatchKey.Conjugate)
    assert not torch._C._dispatch_keys(x).has(torch._C.DispatchKey.Conjugate)


def test_the_dispatch_trace_prints_nothing_in_a_release_build_of_pytorch() -> None:
    code = "import torch, torch_openreg; print((torch.ones(2, device='openreg') + 1).tolist())"
    environment = {**os.environ, "TORCH_SHOW_DISPATCH_TRACE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[2.0, 2.0]\n", "")
