"""The CPU fallback: any operator's arguments and results, counts, refusals, and what the dispatcher says about it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from torch.utils._pytree import tree_map

from backend.conftest import ProgramFunction

RESIZED = "An output with one or more elements was resized since it had shape"


@pytest.fixture(autouse=True)
def fresh_start() -> Iterator[None]:
    """Every test counts from zero, and sees warnings that PyTorch gives once in a process."""
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

    Returns:
        The result on the device.
    """
    copies = on(device, arguments)
    expected = function(*arguments)
    actual = function(*copies)
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


# ---------------------------------------------------------------------- results


def test_a_result_is_on_the_arguments_device_whatever_device_is_current(device: str, other_device: str) -> None:
    torch.openreg.set_device(other_device)
    same(lambda x: x.exp(), matrix(3, 4), device=device)
    same(lambda x: x @ x.t(), matrix(3, 4), device=device)
    same(torch.nonzero, matrix(3, 4) > 0, device=device)
    assert torch.openreg.current_device() == int(other_device[-1])


def test_a_factory_makes_its_tensor_on_the_device_that_it_names(device: str, other_device: str) -> None:
    torch.openreg.set_device(other_device)
    assert str(torch.arange(5, device=device).device) == device
    assert torch.arange(5, device=device).tolist() == [0, 1, 2, 3, 4]
    assert torch.full((2, 2), 7, device=device).tolist() == [[7, 7], [7, 7]]
    assert torch.eye(2, device=device).tolist() == [[1, 0], [0, 1]]
    assert torch.linspace(0, 1, 3, device=device).tolist() == [0, 0.5, 1]
    assert torch.openreg.current_device() == int(other_device[-1])


def test_the_current_device_is_restored_after_an_exception(device: str, other_device: str) -> None:
    torch.openreg.set_device(other_device)
    with pytest.raises(RuntimeError):
        torch.linalg.cholesky(on(device, -torch.eye(2)))
    assert torch.openreg.current_device() == int(other_device[-1])


def test_strided_and_offset_arguments_are_read_right(device: str) -> None:
    base = matrix(4, 6)
    for view in (base.t(), base[1:, ::2], base[:, 3], base.expand(2, 4, 6), base.flip(0).t()):
        same(lambda x: x.cumsum(-1), view, device=device)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.complex64]
)
def test_other_data_types_are_served(device: str, dtype: torch.dtype) -> None:
    x = (matrix(3, 4) * 3).to(dtype)
    same(lambda t: t == t.t().contiguous().t(), x, device=device)
    same(lambda t: torch.cat([t, t], 1), x, device=device)


def test_lazy_conjugation_and_negation_reach_the_cpu(device: str) -> None:
    x = torch.complex(matrix(3, 3), matrix(3, 3).t().contiguous())
    on_device = on(device, x)
    for lazy in (torch.conj, lambda t: t.conj().imag):
        torch.testing.assert_close(torch.sin(lazy(on_device)).cpu(), torch.sin(lazy(x)))


def test_empty_tensors_are_served(device: str) -> None:
    same(lambda x: x.sum(), torch.empty(0), device=device)
    same(lambda x: x.exp(), torch.empty(3, 0), device=device)
    same(lambda x: torch.cat([x, torch.ones(2, 3).to(x.device)]), torch.empty(0, 3), device=device)


def test_tensors_without_dimensions_are_served(device: str) -> None:
    same(lambda x: x.exp() + 1, torch.tensor(2.0), device=device)


# -------------------------------------------------------------------- arguments


def test_scalars_types_strings_flags_and_nothing_are_passed_on(device: str) -> None:
    x = matrix(3, 4)
    same(lambda t: torch.add(t, 2, alpha=3), x, device=device)
    same(lambda t: torch.add(t.to(torch.complex64), 2j), x, device=device)
    same(lambda t: t.sum(0, dtype=torch.float64), x, device=device)
    same(lambda t: torch.div(t, 0.3, rounding_mode="floor"), x, device=device)
    same(lambda t: torch.div(t, 0.3, rounding_mode=None), x, device=device)
    same(lambda t: torch.nn.functional.gelu(t, approximate="tanh"), x, device=device)
    same(lambda t: t.std(1, unbiased=False, keepdim=True), x, device=device)
    same(lambda t: t.clamp(min=None, max=0.2), x, device=device)
    same(lambda t: torch.linalg.norm(t, ord=float("inf")), x, device=device)
    same(lambda t: torch.einsum("ij,kj->ik", t, t), x, device=device)


def test_optional_tensors_are_passed_on(device: str) -> None:
    x, weight = matrix(2, 4), matrix(4)
    norm = torch.nn.functional.layer_norm
    same(lambda t: norm(t, (4,)), x, device=device)
    same(lambda t, w: norm(t, (4,), w, None), x, weight, device=device)
    same(lambda t, w: norm(t, (4,), None, w), x, weight, device=device)


def test_lists_of_tensors_are_passed_on(device: str) -> None:
    x, y = matrix(2, 3), matrix(4, 3)
    same(lambda *tensors: torch.cat(tensors), x, y, device=device)
    same(lambda *tensors: torch.block_diag(*tensors), x, y, device=device)
    same(lambda *tensors: torch.meshgrid(*tensors, indexing="ij"), x[0], y[:, 0], device=device)
    same(lambda *tensors: torch.ops.aten.stack([*tensors, *tensors]), x, x, device=device)


def test_lists_of_tensors_are_written_in_place(device: str) -> None:
    def add(*tensors: torch.Tensor) -> list[torch.Tensor]:
        torch._foreach_add_(tensors, 2.0)
        torch._foreach_mul_(tensors, tensors)
        return list(tensors)

    same(add, matrix(2, 3), matrix(4), device=device)


def test_an_operator_that_writes_several_lists_writes_them_all(device: str) -> None:
    def step(params: list[torch.Tensor], grads: list[torch.Tensor], *state: list[torch.Tensor]) -> list[torch.Tensor]:
        torch._fused_adam_(
            params,
            grads,
            *state,
            lr=0.1,
            beta1=0.9,
            beta2=0.99,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )
        return [*params, *state[0], *state[1]]

    sizes = (2, 3), (4,)
    zeros = [[torch.zeros(s) for s in sizes] for _ in range(2)]
    same(
        step,
        [matrix(*s) for s in sizes],
        [matrix(*s) for s in sizes],
        *zeros,
        [],
        [torch.ones(()) for _ in sizes],
        device=device,
    )
    assert torch.openreg.fallbacks()["aten::_fused_adam_"] == 1


def test_lists_of_optional_tensors_are_passed_on(device: str) -> None:
    x, rows = matrix(4, 5, 3), torch.tensor([0, 2, 2])
    same(lambda t, r: t[r], x, rows, device=device)
    same(lambda t, r: t[:, r], x, rows, device=device)
    same(lambda t, r: t[r, :, r - 1], x, rows, device=device)
    same(lambda t, mask: t[mask], x, matrix(4, 5) > 0, device=device)

    def put(t: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
        t[:, r] = 9.0
        return t.index_put_((r, r), torch.ones(3).to(t.device), accumulate=True)

    same(put, x, rows, device=device)


def test_an_index_may_be_on_the_cpu(device: str) -> None:
    x = matrix(4, 3)
    assert on(device, x)[torch.tensor([2, 0])].tolist() == x[[2, 0]].tolist()


def test_a_number_on_the_cpu_joins_tensors_of_the_device(device: str) -> None:
    x, number = on(device, matrix(2, 3)), torch.tensor(2.5)
    for result in (x * number, number * x, torch.where(x > 0, number, x), x.clone().mul_(number)):
        assert str(result.device) == device
    torch.testing.assert_close((x * number).cpu(), matrix(2, 3) * 2.5)
    torch.testing.assert_close(torch.where(x > 0, number, x).cpu(), torch.where(matrix(2, 3) > 0, number, matrix(2, 3)))


# ---------------------------------------------------------- devices that differ

MIXED = {
    "elementwise": lambda x, y: x + y,
    "in place": lambda x, y: x.add_(y),
    "product": lambda x, y: x @ y,
    "list": lambda x, y: torch.cat([x, y]),
    "no iterator": lambda x, y: torch.bmm(x[None], y[None]),
    "condition": lambda x, y: torch.where(x > 0, y, x),
    "registered by name": torch.nn.functional.smooth_l1_loss,
    "convolution": lambda x, y: torch.nn.functional.conv1d(x[None], y[None]),
    "recurrent": lambda x, y: torch.ops.aten._thnn_fused_lstm_cell(x.repeat(1, 4), x.repeat(1, 4), y),
    "linear": torch.nn.functional.linear,
}


@pytest.mark.parametrize("case", MIXED)
def test_tensors_of_two_devices_are_refused_with_both_devices_named(case: str, device: str, other_device: str) -> None:
    x = matrix(3, 3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device") as caught:
        MIXED[case](on(device, x), on(other_device, x))
    assert device in str(caught.value)
    assert other_device in str(caught.value)


# PyTorch itself refuses a convolution of an accelerator's input with a CPU weight, in words of its own.
@pytest.mark.parametrize("case", [case for case in MIXED if case != "convolution"])
def test_cpu_tensors_are_refused_with_both_devices_named(case: str, device: str) -> None:
    x = matrix(3, 3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device") as caught:
        MIXED[case](on(device, x), x)
    assert device in str(caught.value)
    assert "cpu" in str(caught.value)


def test_a_refusal_for_the_device_names_argument_and_operator() -> None:
    x = matrix(3, 3)
    with pytest.raises(RuntimeError) as caught:
        torch.linalg.cross(on("openreg:0", x), on("openreg:1", x))
    assert str(caught.value) == (
        "Expected all tensors to be on the same device, but got other is on openreg:1, different from other tensors on "
        "openreg:0 (when checking argument in method aten::linalg_cross.out)"
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
        torch.linalg.cross(x, y)
    assert torch.openreg.fallbacks() == {}


# ------------------------------------------------------------------------- out=


def test_out_of_the_right_shape_is_written(device: str) -> None:
    x = matrix(3, 4)
    out = torch.full((3, 4), -1.0, device=device)
    before = out.data_ptr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.sin(on(device, x), out=out) is out
    assert out.data_ptr() == before
    torch.testing.assert_close(out.cpu(), torch.sin(x))


def test_out_that_is_empty_is_resized_without_a_warning(device: str) -> None:
    out = torch.empty(0, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.sin(on(device, matrix(3, 4)), out=out)
    torch.testing.assert_close(out.cpu(), torch.sin(matrix(3, 4)))


def test_out_of_a_wrong_shape_is_resized_with_the_cpus_warning(device: str) -> None:
    def run(place: str) -> tuple[torch.Tensor, list[str]]:
        out = torch.zeros(2, 5, device=place)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.sin(on(place, matrix(3, 4)), out=out)
        return out.cpu(), [str(warning.message) for warning in caught]

    expected, said_by_cpu = run("cpu")
    actual, said = run(device)
    torch.testing.assert_close(actual, expected)
    assert len(said_by_cpu) == 1
    assert RESIZED in said_by_cpu[0]
    assert said == said_by_cpu


def test_out_with_strides_is_written_through_and_its_gaps_are_kept(device: str) -> None:
    same(lambda x, base: torch.sin(x, out=base[:, ::2]), matrix(3, 3), torch.full((3, 6), -1.0), device=device)
    same(lambda x, base: torch.mm(x, x.t(), out=base[1:, 1:4]), matrix(3, 3), torch.full((4, 6), -1.0), device=device)


def test_out_of_a_wrong_type_is_refused_as_on_the_cpu(device: str) -> None:
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Int"):
        torch.sin(on(device, matrix(3)), out=torch.empty(3, dtype=torch.int32, device=device))


def test_out_of_another_type_that_can_hold_the_result_is_cast(device: str) -> None:
    same(lambda x, out: torch.sin(x, out=out), matrix(3), torch.empty(3, dtype=torch.float64), device=device)


def test_several_outs_are_written(device: str) -> None:
    x = matrix(3, 4)
    for size in (0, 3):

        def outs(size: int = size) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.empty(size), torch.empty(size, dtype=torch.int64)

        same(lambda t, *out: torch.max(t, 1, out=out), x, *outs(), device=device)
    same(
        lambda t, *out: torch.sort(t, 0, out=out),
        x,
        torch.empty(3, 4),
        torch.empty(3, 4, dtype=torch.int64),
        device=device,
    )
    same(lambda t, *out: torch.topk(t, 2, out=out), x, torch.empty(0), torch.empty(0, dtype=torch.int64), device=device)
    same(lambda t, *out: torch.linalg.qr(t, out=out), x, torch.empty(0), torch.empty(0), device=device)


# --------------------------------------------------------------------- in place


def test_in_place_operators_write_their_argument(device: str) -> None:
    x = on(device, matrix(3, 4))
    before = x.data_ptr()
    assert x.add_(1).sin_().mul_(2) is x
    assert x.data_ptr() == before
    torch.testing.assert_close(x.cpu(), torch.sin(matrix(3, 4) + 1) * 2)


def test_in_place_operators_write_through_a_view_and_nothing_else(device: str) -> None:
    def write(base: torch.Tensor) -> torch.Tensor:
        base[1:, ::2].exp_()
        base.t()[0].fill_(5)
        base[:, 1].clamp_(min=0)
        return base

    same(write, matrix(4, 6), device=device)


def test_in_place_operators_that_would_change_the_shape_are_refused_as_on_the_cpu(device: str) -> None:
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        on(device, matrix(3)).add_(on(device, matrix(2, 3)))


def test_overlapping_memory_is_not_written(device: str) -> None:
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"
    ):
        on(device, matrix(3)).expand(2, 3).add_(1)


# ----------------------------------------------------------------------- shapes


def test_shapes_that_depend_on_the_data_are_right_and_the_operator_runs_once(device: str) -> None:
    x = torch.tensor([3, 0, 1, 0, 3, 7])
    cases: dict[str, Callable[[torch.Tensor], Any]] = {
        "aten::nonzero": torch.nonzero,
        "aten::_unique2": lambda t: torch.unique(t, return_inverse=True, return_counts=True),
        "aten::masked_select": lambda t: torch.masked_select(t, t.bool()),
        "aten::bincount": torch.bincount,
        "aten::unique_consecutive": torch.unique_consecutive,
    }
    for name, function in cases.items():
        torch.openreg.reset_fallbacks()
        same(function, x, device=device)
        assert torch.openreg.fallbacks()[name] == 1


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
        lambda place: on(place, matrix(3))[torch.tensor([5], device=place)],
        lambda place: torch.linalg.cholesky(on(place, -torch.eye(2))),
        lambda place: torch.mm(on(place, matrix(2, 3)), on(place, matrix(2, 3))),
        lambda place: on(place, matrix(3)) & 1,
        lambda place: torch.zeros(2, device=place).sum(5),
        lambda place: torch.nn.functional.multi_margin_loss(
            on(place, matrix(2, 3)), torch.tensor([0, 7], device=place)
        ),
    ]
    for function in cases:
        expected, actual = error_of(function, "cpu"), error_of(function, device)
        assert type(actual) is type(expected)
        assert str(actual) == str(expected)
    assert (torch.ones(2, device=device) + 1).tolist() == [2, 2]


# ----------------------------------------------------------------------- counts


def test_counts_are_exact_and_sorted(device: str) -> None:
    x = on(device, matrix(3))
    for _ in range(3):
        x.sin()
    x.exp_()
    assert torch.openreg.fallbacks() == {"aten::sin.out": 3, "aten::exp.out": 1}
    assert list(torch.openreg.fallbacks()) == ["aten::sin.out", "aten::exp.out"]
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
            x.erfinv()

    threads = [threading.Thread(target=work, args=(x,)) for x in tensors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.openreg.fallbacks() == {"aten::erfinv.out": 2000}


def test_the_backward_pass_is_counted_in_its_own_thread(device: str) -> None:
    x = on(device, matrix(3)).requires_grad_()
    y = x.tanh()
    torch.openreg.reset_fallbacks()
    y.backward(torch.ones(3, device=device))
    assert torch.openreg.fallbacks()["aten::tanh_backward.grad_input"] == 1


def test_an_operator_registered_by_name_is_counted_under_its_own_name_and_does_not_warn(device: str) -> None:
    x, y = matrix(3, 4), matrix(4, 3).t()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(torch.nn.functional.smooth_l1_loss, x, y, device=device)
    assert torch.openreg.fallbacks() == {"aten::smooth_l1_loss": 1}


def test_convolutions_are_counted_under_the_name_that_reaches_a_backend(device: str) -> None:
    x = on(device, matrix(1, 2, 5)).requires_grad_()
    weight = on(device, matrix(3, 2, 3)).requires_grad_()
    torch.nn.functional.conv1d(x, weight).backward(torch.ones(1, 3, 3, device=device))
    counts = torch.openreg.fallbacks()
    assert counts["aten::convolution_overrideable"] == 1
    assert counts["aten::convolution_backward_overrideable"] == 1


# --------------------------------------------------------------------- refusals


def test_no_fallback_raises_naming_the_operator_and_counts_nothing(device: str) -> None:
    x = on(device, matrix(3))
    with torch.openreg.no_fallback(), pytest.raises(NotImplementedError) as caught:
        x.exp()
    assert str(caught.value).splitlines()[0] == (
        "openreg: 'aten::exp.out' has no kernel for openreg, and falling back to the CPU is refused"
    )
    assert torch.openreg.fallbacks() == {}
    x.exp()
    assert torch.openreg.fallbacks() == {"aten::exp.out": 1}


def test_no_fallback_leaves_what_has_a_kernel_alone(device: str) -> None:
    with torch.openreg.no_fallback():
        x = torch.empty(2, device=device)
        x.copy_(torch.tensor([1.0, 2.0]))
        assert x.cpu().tolist() == [1, 2]


def test_no_fallback_ends_with_an_exception_and_nests() -> None:
    with pytest.raises(ZeroDivisionError), torch.openreg.no_fallback(), torch.openreg.no_fallback():
        raise ZeroDivisionError
    assert torch.openreg.set_fallback("cpu") == "cpu"
    with torch.openreg.no_fallback():
        with torch.openreg.no_fallback():
            pass
        assert torch.openreg.set_fallback("raise") == "raise"


def test_no_fallback_holds_in_the_backward_threads_too(device: str) -> None:
    y = on(device, matrix(3)).requires_grad_().tanh()
    with torch.openreg.no_fallback(), pytest.raises(NotImplementedError, match=r"'aten::tanh_backward.grad_input'"):
        y.backward(torch.empty(3, device=device))


def test_no_fallback_holds_for_convolutions_and_recurrent_cells_too(device: str) -> None:
    x = on(device, matrix(1, 2, 5))
    gates = on(device, matrix(2, 12))
    with torch.openreg.no_fallback():
        with pytest.raises(NotImplementedError, match="'aten::convolution_overrideable'"):
            torch.nn.functional.conv1d(x, x)
        with pytest.raises(NotImplementedError, match="'aten::_thnn_fused_lstm_cell'"):
            torch.ops.aten._thnn_fused_lstm_cell(gates, gates, gates[:, :3])
        with pytest.raises(NotImplementedError, match="'aten::_thnn_fused_gru_cell'"):
            torch.ops.aten._thnn_fused_gru_cell(gates[:, :9], gates[:, :9], gates[:, :3])


def test_set_fallback_returns_the_mode_before() -> None:
    assert torch.openreg.set_fallback("raise") == "cpu"
    assert torch.openreg.set_fallback("raise") == "raise"
    assert torch.openreg.set_fallback("cpu") == "raise"


def test_set_fallback_refuses_other_modes() -> None:
    with pytest.raises(ValueError, match=r"^set_fallback: argument 'mode' is 'gpu'; expected 'cpu' or 'raise'$"):
        torch.openreg.set_fallback("gpu")
    assert torch.openreg.set_fallback("cpu") == "cpu"


def test_block_fallback_refuses_one_operator_until_it_is_unblocked(device: str) -> None:
    x = on(device, matrix(3))
    torch.openreg.block_fallback("aten::sin.out")
    try:
        with pytest.raises(NotImplementedError) as caught:
            x.sin()
        x.cos()
    finally:
        torch.openreg.block_fallback("aten::sin.out", False)
    assert str(caught.value).splitlines()[0] == (
        "openreg: 'aten::sin.out' has no kernel for openreg, and its fallback to the CPU is blocked"
    )
    assert torch.openreg.fallbacks() == {"aten::cos.out": 1}
    torch.testing.assert_close(x.sin().cpu(), matrix(3).sin())


def test_blocking_twice_is_undone_by_unblocking_once(device: str) -> None:
    torch.openreg.block_fallback("aten::sin.out")
    torch.openreg.block_fallback("aten::sin.out")
    torch.openreg.block_fallback("aten::sin.out", block=False)
    torch.openreg.block_fallback("aten::sin.out", block=False)
    on(device, matrix(3)).sin()
    assert torch.openreg.fallbacks() == {"aten::sin.out": 1}


def test_block_fallback_refuses_a_name_without_namespace() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"^block_fallback: argument 'op' is 'sin'; expected a name such as 'aten::sin' or 'aten::sin.out'",
    ):
        torch.openreg.block_fallback("sin")


# ------------------------------------------------------- recurrent, convolution


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_networks_equal_the_cpus(device: str, kind: type[torch.nn.RNNBase], bias: bool) -> None:
    torch.manual_seed(0)
    model = kind(4, 3, num_layers=2, bidirectional=True, bias=bias)
    results = []
    for place in ("cpu", device):
        x = matrix(5, 2, 4).to(place).requires_grad_()
        model = model.to(place)
        model.zero_grad()
        output, state = model(x)
        sum(part.square().sum() for part in (output, *state)).backward()
        results.append([on("cpu", value) for value in (output.detach(), x.grad, *(p.grad for p in model.parameters()))])
    torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_convolutions_equal_the_cpus(device: str, dimensions: int, transposed: bool) -> None:
    suffix = f"{dimensions}d"
    kind = getattr(torch.nn, ("ConvTranspose" if transposed else "Conv") + suffix)
    torch.manual_seed(0)
    for options in ({}, {"bias": False, "groups": 2, "stride": 2, "padding": 1}):
        model = kind(4, 6, 3, **options)
        results = []
        for place in ("cpu", device):
            x = matrix(2, 4, *[7] * dimensions).to(place).requires_grad_()
            model = model.to(place)
            model.zero_grad()
            y = model(x)
            y.square().sum().backward()
            results.append([on("cpu", value) for value in (y.detach(), x.grad, *(p.grad for p in model.parameters()))])
        torch.testing.assert_close(results[1], results[0])


# --------------------------------------------------- the dispatcher's own tools


def table_line(op: str, key: str = "PrivateUse1") -> str:
    """What the dispatcher calls for an operator and a key."""
    lines = torch._C._dispatch_dump_table(op).splitlines()
    return next(line for line in lines if line.startswith(f"{key}:"))


def test_the_dispatch_table_tells_the_four_ways_in_which_an_operator_is_served() -> None:
    assert table_line("aten::empty.memory_format").endswith("[kernel]")
    assert "ops/empty.cpp" in table_line("aten::empty.memory_format")
    assert table_line("aten::sin.out").endswith("[backend fallback]")
    assert "fallback/cpu_fallback.cpp" in table_line("aten::sin.out")
    assert table_line("aten::sin").endswith("[default backend kernel]")
    assert "CompositeExplicitAutogradNonFunctional" in table_line("aten::sin")
    assert table_line("aten::linear").endswith("[math kernel]")
    assert "CompositeImplicitAutograd" in table_line("aten::linear")


def test_an_operator_registered_by_name_is_a_kernel_in_the_dispatch_table() -> None:
    assert table_line("aten::smooth_l1_loss").endswith("[kernel]")
    assert "fallback/by_name.cpp" in table_line("aten::smooth_l1_loss")


def test_the_dispatcher_says_which_operators_have_a_kernel_of_their_own() -> None:
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has_kernel("aten::empty.memory_format", "PrivateUse1")
    assert has_kernel("aten::smooth_l1_loss", "PrivateUse1")
    assert not has_kernel("aten::sin.out", "PrivateUse1")
    assert has_kernel("aten::sin.out", "CPU")
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
