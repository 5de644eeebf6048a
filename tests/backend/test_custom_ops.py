"""The operators of the namespace openreg: numbers, gradients, layouts, launches, order, and wrong arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from .conftest import GateFunction, ProgramFunction
from .test_foreach import launches

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
openreg = torch.ops.openreg
EPS = 1e-5
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]

Numbers = list[torch.Tensor]


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Numbers:
    """An input, a weight, a gradient of what comes out."""
    generator = torch.Generator().manual_seed(sum(shape))
    shapes = [shape, shape[-1:], shape]
    x, weight, grad = (torch.randn(size, generator=generator, dtype=torch.float64).to(dtype) for size in shapes)
    return [x, weight, grad]


def composed(x: torch.Tensor, weight: torch.Tensor, eps: float = EPS) -> torch.Tensor:
    """What PyTorch's own operators make of it, as a user would write it down."""
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * weight


def run(function: Callable[..., torch.Tensor], tensors: Numbers, place: str) -> Numbers:
    """The result and the gradients, on the CPU."""
    x, weight, grad = (tensor.detach().to(place) for tensor in tensors)
    own = [x.requires_grad_(), weight.requires_grad_()]
    out = function(*own, EPS)
    out.backward(grad.to(out.dtype))
    return [tensor.detach().cpu() for tensor in (out, *(tensor.grad for tensor in own))]


def close(actual: Numbers, exact: Numbers, dtype: torch.dtype) -> None:
    """Each is the exact number rounded, give or take what one type's rounding in between costs."""
    size = max(tensor.abs().max().item() for tensor in exact)  # a small gradient is the difference of large numbers
    for mine, theirs in zip(actual, exact, strict=True):
        assert mine.dtype == dtype
        tolerance = {"rtol": 2 * torch.finfo(dtype).eps, "atol": 8 * torch.finfo(dtype).eps * size}
        torch.testing.assert_close(mine.double(), theirs, **tolerance)


# Numbers


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8,), (1, 1), (4, 3, 8), (300, 130), (2, 1000), (70, 2, 33)])
def test_results_and_gradients_are_those_of_double_precision_rounded(
    device: str, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    tensors = numbers(*shape, dtype=dtype)
    exact = run(composed, [tensor.double() for tensor in tensors], "cpu")
    with torch.openreg.no_fallback():
        close(run(openreg.rms_norm, tensors, device), exact, dtype)
    close(run(openreg.rms_norm, tensors, "cpu"), exact, dtype)


@pytest.mark.parametrize("shape", [(0, 8), (3, 0), (0, 0), (2, 0, 4)])
def test_without_elements_there_is_nothing_to_normalise_and_the_weight_has_a_gradient(
    device: str, shape: tuple[int, ...]
) -> None:
    for place in ("cpu", device):
        out, grad, weight_grad = run(openreg.rms_norm, numbers(*shape), place)
        assert (out.shape, grad.shape) == (shape, shape)
        assert torch.equal(weight_grad, torch.zeros(shape[-1]))


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.transpose(0, 1),
        lambda x: x.movedim(-1, 0),
        lambda x: x[:, ::2],
        lambda x: x[..., ::3],
        lambda x: x[1:, :, 1:],
        lambda x: x[:1].expand(5, -1, -1),
        lambda x: x[0],
    ],
    ids=["transposed", "last first", "every other row", "every third number", "a corner", "expanded", "one matrix"],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_views_of_any_kind_are_taken(
    device: str, view: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype
) -> None:
    x = view(torch.randn(4, 6, 9).to(dtype))
    weight, grad = torch.randn(2, x.shape[-1]).to(dtype)[1], torch.randn_like(x)
    there = [view(torch.zeros(4, 6, 9, dtype=dtype, device=device)), weight.to(device), grad.to(device)]
    if x.data_ptr() and all(x.stride()) and 0 not in x.stride():
        there[0].copy_(x)
    else:
        there[0] = x[:1].to(device).expand(x.shape)
    leaf = there[0].detach()
    assert leaf.stride() == x.stride()
    out, rstd = openreg.rms_norm_forward(leaf, there[1], EPS)
    assert out.is_contiguous() and rstd.shape == (*x.shape[:-1], 1)
    exact = composed(x.double(), weight.double())
    close([out.cpu()], [exact], dtype)
    grads = openreg.rms_norm_backward(there[2], leaf, there[1], rstd, [True, True])
    on_cpu = openreg.rms_norm_backward(grad, x, weight, rstd.cpu(), [True, True])
    for mine, theirs in zip(grads, on_cpu, strict=True):
        torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-2 if dtype == torch.bfloat16 else 1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves_come_with_a_weight_of_floats_and_are_summed_in_float(device: str, dtype: torch.dtype) -> None:
    x, weight = (torch.randn(3, 512) * 300).to(dtype), torch.rand(512)
    out, rstd = openreg.rms_norm_forward(x.to(device), weight.to(device), EPS)
    assert (out.dtype, rstd.dtype) == (dtype, torch.float32)  # a sum of squares in halves is infinite at 256
    close([out.cpu()], [composed(x.double(), weight.double())], dtype)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 3e30, 1e-30, 0.0])
def test_numbers_at_the_edge_come_out_where_the_composite_has_them(device: str, value: float) -> None:
    x, weight, grad = numbers(3, 40)
    x[1] = value
    mine, theirs = (run(openreg.rms_norm, [x, weight, grad], place) for place in (device, "cpu"))
    if abs(value) != 3e30:  # there the CPU's sum of squares overflows, and the device's doesn't
        torch.testing.assert_close(mine, theirs, equal_nan=True)
    else:
        close(mine[:1], [composed(x.double(), weight.double())], torch.float32)


def test_the_same_numbers_come_out_in_every_run_and_of_every_batch(device: str) -> None:
    x, weight, grad = (tensor.to(device) for tensor in numbers(700, 96))
    out, rstd = openreg.rms_norm_forward(x, weight, EPS)
    first = openreg.rms_norm_backward(grad, x, weight, rstd, [True, True])
    for _ in range(5):
        again = openreg.rms_norm_backward(grad, x, weight, rstd, [True, True])
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert torch.equal(openreg.rms_norm(x[3:5], weight, EPS), out[3:5])


# The forms


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_in_place_form_leaves_the_sum_and_returns_what_the_two_operators_do(
    device: str, dtype: torch.dtype
) -> None:
    residual, weight, x = numbers(5, 7, 16, dtype=dtype)
    for place in ("cpu", device):
        there = residual.clone().to(place)
        out = openreg.add_rms_norm_(there, x.to(place), weight.to(place), EPS)
        assert torch.equal(there.cpu(), residual + x)
        close([out.cpu()], [composed((residual + x).double(), weight.double())], dtype)


def test_the_in_place_form_takes_a_view_and_itself(device: str) -> None:
    base, weight, x = (tensor.to(device) for tensor in numbers(4, 6, 8))
    expected = base.transpose(0, 1).cpu() + x.transpose(0, 1).cpu()
    out = openreg.add_rms_norm_(base.transpose(0, 1), x.transpose(0, 1), weight, EPS)
    assert torch.equal(base.transpose(0, 1).cpu(), expected)
    close([out.cpu()], [composed(expected.double(), weight.cpu().double())], torch.float32)
    twice = base.clone()
    openreg.add_rms_norm_(twice, twice, weight, EPS)
    assert torch.equal(twice, base * 2)
    flat = torch.arange(24.0, device=device)
    openreg.add_rms_norm_(flat[8:].view(2, 8), flat[:16].view(2, 8), weight, EPS)  # the second row is read after the
    assert flat[8:].tolist() == [8.0 + 2 * i for i in range(16)]  # first one is written


def test_the_out_form_writes_where_it_is_told_to(device: str) -> None:
    x, weight, _ = (tensor.to(device) for tensor in numbers(4, 6, 8))
    expected = openreg.rms_norm(x, weight, EPS)
    for place in (torch.empty_like(x), x.new_empty(6, 4, 8).transpose(0, 1), x.new_empty(0), x.clone(), x):
        out = openreg.rms_norm(x.clone() if place is not x else x, weight, EPS, out=place)
        assert out is place and torch.equal(out, expected)
    shifted = torch.arange(24.0, device=device)
    there = openreg.rms_norm(shifted[:16].view(2, 8).clone(), weight, EPS)
    openreg.rms_norm(shifted[:16].view(2, 8), weight, EPS, out=shifted[8:].view(2, 8))
    assert torch.equal(shifted[8:].view(2, 8), there)


def test_each_is_one_launch(device: str) -> None:
    for dtype in DTYPES:
        x, weight, grad = (tensor.to(device) for tensor in numbers(40, 64, dtype=dtype))
        _, rstd = openreg.rms_norm_forward(x, weight, EPS)
        out, view = torch.empty_like(x), x.view(5, 8, 64)[:, :4]
        for body in (
            lambda x=x, weight=weight: openreg.rms_norm(x, weight, EPS),
            lambda view=view, weight=weight: openreg.rms_norm(view.flatten(0, 0)[0], weight, EPS),
            lambda x=x, weight=weight, out=out: openreg.rms_norm(x, weight, EPS, out=out),
            lambda x=x, weight=weight, out=out: openreg.add_rms_norm_(out, x, weight, EPS),
            lambda x=x, weight=weight, grad=grad, rstd=rstd: openreg.rms_norm_backward(
                grad, x, weight, rstd, [True, True]
            ),
        ):
            assert launches(body, 1) and not launches(body, 0)


def test_only_the_gradients_that_are_wanted_are_made(device: str) -> None:
    for place in ("cpu", device):
        x, weight, grad = (tensor.to(place) for tensor in numbers(4, 8))
        _, rstd = openreg.rms_norm_forward(x, weight, EPS)
        both = openreg.rms_norm_backward(grad, x, weight, rstd, [True, True])
        assert openreg.rms_norm_backward(grad, x, weight, rstd, [True, False])[1] is None
        only = openreg.rms_norm_backward(grad, x, weight, rstd, [False, True])
        assert only[0] is None and torch.equal(only[1], both[1])
        frozen = openreg.rms_norm(x.requires_grad_(), weight)
        frozen.backward(grad)
        assert weight.grad is None and x.grad is not None


# Order


def test_nothing_waits_and_the_kernels_run_on_the_current_stream(device: str, gate: GateFunction) -> None:
    x, weight, grad = (tensor.to(device) for tensor in numbers(4, 8))
    expected = run(openreg.rms_norm, [x, weight, grad], device)
    stream = torch.openreg.Stream(device)
    torch.openreg.synchronize(device)
    closed = gate(stream)
    with torch.openreg.stream(stream):
        own = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
        out = openreg.rms_norm(*own, EPS)
        out.backward(grad)
        residual = x.clone()
        openreg.add_rms_norm_(residual, grad, weight, EPS)
        done = stream.record_event()
    assert not done.query() and not stream.query()
    torch.openreg.default_stream(device).synchronize()  # nothing of it went there
    closed.open()
    done.synchronize()
    got = [out.detach(), *(tensor.grad for tensor in own)]
    assert all(torch.equal(a.cpu(), b) for a, b in zip(got, expected, strict=True))
    assert torch.equal(residual, x + grad)


# Wrong arguments


def message(function: Callable[..., object], *arguments: object, **options: object) -> str:
    """The first line of the error that a call raises."""
    with pytest.raises(RuntimeError) as caught:
        function(*arguments, **options)
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize("place", ["cpu", "openreg:0", "openreg:1", "meta"])
def test_wrong_arguments_are_named_on_every_device(place: str) -> None:
    x, weight, norm = torch.ones(4, 8, device=place), torch.ones(8, device=place), openreg.rms_norm
    start = "openreg::rms_norm_forward: argument"
    assert message(norm, x, weight[:3]) == (
        f"{start} 'weight' is of shape [3]; expected [8], the last dimension of 'input'"
    )
    assert message(norm, x, x) == f"{start} 'weight' is of shape [4, 8]; expected [8], the last dimension of 'input'"
    assert message(norm, x, weight.double()) == f"{start} 'weight' is of type Double; expected Float"
    assert message(norm, x.half(), weight.double()) == f"{start} 'weight' is of type Double; expected Half or Float"
    assert message(norm, x.long(), weight) == (
        f"{start} 'input' is of type Long; expected Float, Double, Half or BFloat16"
    )
    assert message(norm, x, weight, -1.0) == f"{start} 'eps' is -1; expected 0 or more"
    assert message(norm, x, weight, math.nan) == f"{start} 'eps' is nan; expected 0 or more"
    assert message(norm, weight[0], weight) == (
        f"{start} 'input' has no dimension; expected one at least, the last of which is normalised"
    )
    assert message(openreg.add_rms_norm_, x[0], x, weight) == (
        "openreg::add_rms_norm_: argument 'input' is of shape [4, 8]; expected [8], as 'residual' is"
    )
    assert message(openreg.add_rms_norm_, x, x.half(), weight) == (
        "openreg::add_rms_norm_: argument 'input' is of type Half; expected Float, as 'residual' is"
    )
    assert message(norm, x, weight, out=x.half()) == (
        f"openreg::rms_norm: argument 'out' is of type Half on {x.device}; expected Float on {x.device}, as 'input' is"
    )
    backward, both = openreg.rms_norm_backward, [True, True]
    assert message(backward, x[:2], x, weight, x[:, :1], both) == (
        "openreg::rms_norm_backward: argument 'grad_output' is of shape [2, 8]; expected [4, 8], as 'input' is"
    )
    assert message(backward, x, x, weight, x, both) == (
        "openreg::rms_norm_backward: argument 'rstd' is of type Float and shape [4, 8]; expected Float and [4, 1], "
        "what rms_norm_forward returned"
    )


def test_tensors_of_two_devices_are_refused_with_the_arguments_name(device: str, other_device: str) -> None:
    x, weight = torch.ones(4, 8, device=device), torch.ones(8, device=other_device)
    said = (
        f"Expected all tensors to be on the same device, but got weight is on {other_device}, different from other "
        f"tensors on {device} (when checking argument in method openreg::rms_norm_forward)"
    )
    assert message(openreg.rms_norm, x, weight) == said
    assert "openreg::add_rms_norm_" in message(openreg.add_rms_norm_, x, x, weight)
    assert "residual" not in message(openreg.add_rms_norm_, x, x.cpu(), weight.to(device))


def test_memory_that_is_written_twice_is_refused(device: str) -> None:
    x, weight = torch.ones(4, 8, device=device), torch.ones(8, device=device)
    wide = weight.expand(4, 8)
    said = "unsupported operation: more than one element of the written-to tensor refers to a single memory location"
    assert message(openreg.add_rms_norm_, wide, x, weight).startswith(said)
    assert message(openreg.rms_norm, x, weight, out=wide).startswith(said)


# Other drivers


def test_a_device_in_a_process_of_its_own_computes_the_same(program: ProgramFunction) -> None:
    code = f"""
    sys.path.insert(0, {str(EXAMPLES)!r})
    import custom_ops
    from backend.test_custom_ops import composed, close, numbers, run
    for device in ("openreg:0", "openreg:1"):
        for dtype in (torch.float32, torch.bfloat16):
            tensors = numbers(70, 33, dtype=dtype)
            exact = run(composed, [tensor.double() for tensor in tensors], "cpu")
            close(run(torch.ops.openreg.rms_norm, tensors, device), exact, dtype)
            close(run(custom_ops.rms_norm, tensors, device), exact, dtype)  # the launch from Python
            residual, weight, x = (tensor.to(device) for tensor in tensors)
            expected = residual + x
            torch.ops.openreg.add_rms_norm_(residual, x, weight)
            assert torch.equal(residual, expected)
    print("the same")
    """
    assert program(code, timeout=60, OPENREG_DRIVER="process") == "the same\n"


# A driver that has less


def test_a_driver_without_the_kernels_computes_the_composite(program: ProgramFunction) -> None:
    code = """
    from backend.test_foreach import launches
    openreg = torch.ops.openreg
    x = torch.arange(1.0, 9.0).view(2, 4)

    def all_of_it(place):
        own = [x.clone().to(place).requires_grad_(), torch.ones(4, device=place, requires_grad=True)]
        out = openreg.rms_norm(*own)
        grads = torch.autograd.grad(out.square().sum(), own)
        residual = x.clone().to(place)
        norm = openreg.add_rms_norm_(residual, *(tensor.detach() for tensor in own))
        into = openreg.rms_norm(residual, own[1].detach(), out=torch.empty_like(norm))
        return [tensor.detach().cpu() for tensor in (out, *grads, residual, norm, into)]

    def composed():  # each kernel that it needs is looked up here
        own = [x.to("openreg").requires_grad_(), torch.ones(4, device="openreg", requires_grad=True)]
        wide = (own[0] * own[0]).sum(-1, keepdim=True) / 4 + 1e-6
        (own[0].square() - own[0] * wide.rsqrt() * own[1]).to(torch.float32).sum_to_size(4).sum().backward()
        torch.add(own[0].detach(), own[1].detach()).copy_(own[0])

    composed()
    for name in ("rms_norm", "rms_norm_backward"):
        sim.lib.orSimFailCall(b"orModuleGetKernel", 1, sim.errors["orErrorNotFound"])
        if name == "rms_norm":
            out, rstd = openreg.rms_norm_forward(x.to("openreg"), torch.ones(4, device="openreg"), 1e-6)
        else:
            openreg.rms_norm_backward(out, out, torch.ones(4, device="openreg"), rstd, [True, True])
    assert not launches(lambda: openreg.rms_norm(out, out[0]), 2)  # more than one: it is made of others
    torch.testing.assert_close(all_of_it("openreg"), all_of_it("cpu"))
    print("the same")
    """
    assert program(code).endswith("the same\n")


def test_without_any_kernel_the_cpu_serves_it(program: ProgramFunction) -> None:
    code = """
    def run(device):
        x, weight = torch.arange(6.0).view(2, 3), torch.tensor([1.0, 2.0, 3.0])
        return torch.ops.openreg.rms_norm(x.to(device), weight.to(device)).cpu()

    torch.testing.assert_close(run("openreg"), run("cpu"))
    assert torch.openreg.fallbacks()
    """
    program(code, OPENREG_SIM="kernels=0")


# Upstream's


def test_the_operators_of_pytorchs_own_project_are_there_with_its_behaviour(device: str) -> None:
    x = torch.randn(2, 3)
    assert torch.equal(openreg.custom_abs(x.to(device)).cpu(), x.abs())
    assert openreg.custom_abs(x.to("meta")).shape == (2, 3)
    with pytest.raises(RuntimeError, match="derivative for openreg::custom_abs is not implemented"):
        openreg.custom_abs(x.to(device).requires_grad_()).sum().backward()
    said = r"Could not run 'openreg::custom_abs' with arguments from the 'CPU' backend\."
    with pytest.raises(NotImplementedError, match=said):
        openreg.custom_abs(x)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has("openreg::custom_abs", "PrivateUse1")
    for name in ("custom_autograd_fn_returns_self", "custom_autograd_fn_aliasing"):
        assert has(f"openreg::{name}", "AutogradPrivateUse1")
        given = x.to(device).requires_grad_()
        for function in (getattr(openreg, name), torch.compile(getattr(openreg, name), backend="aot_eager")):
            given.grad = None
            out = function(given)
            out.sum().backward()
            assert torch.equal(out.cpu(), x) and out.data_ptr() == given.data_ptr()
            assert torch.equal(given.grad.cpu(), torch.full((2, 3), 0.5))
