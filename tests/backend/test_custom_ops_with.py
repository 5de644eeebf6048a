"""What the operators of the namespace openreg work under: opcheck, derivatives of any order, torch.func, graphs."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from torch.library import opcheck
from torch.testing._internal.optests import OpCheckError
from torch.utils.checkpoint import checkpoint

openreg = torch.ops.openreg
EPS = 1e-5
CPU_AND_DEVICES = ["cpu", "openreg:0", "openreg:1"]
CHECKS = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic", "test_aot_dispatch_static")

everywhere = pytest.mark.parametrize("place", CPU_AND_DEVICES)


class Block(torch.nn.Module):
    """A layer and the norm behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.weight = torch.nn.Parameter(torch.rand(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalises what the layer makes."""
        return openreg.rms_norm(self.layer(x), self.weight, EPS)


def made(place: str, *shape: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """An input, a weight, a gradient."""
    generator = torch.Generator().manual_seed(0)
    shapes = (shape, shape[-1:], shape)
    return [torch.randn(size, generator=generator, dtype=torch.float64).to(place, dtype) for size in shapes]


def block(place: str) -> Block:
    """The same block everywhere."""
    torch.manual_seed(0)
    return Block().to(place)


def gradients(model: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, *of: torch.Tensor) -> list[torch.Tensor]:
    """Of what comes out, squared."""
    return list(torch.autograd.grad(model(x).square().sum(), of))


@pytest.fixture(autouse=True)
def no_graph_of_another_test() -> None:
    """PyTorch gives up on a function of which it has made a graph too often."""
    torch._dynamo.reset()


# opcheck


@everywhere
@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck_passes_for_each(place: str, requires_grad: bool) -> None:
    x, weight, grad = made(place, 4, 3, 8)
    _, rstd = openreg.rms_norm_forward(x, weight, EPS)
    leaves = [tensor.requires_grad_(requires_grad) for tensor in (x, weight)]
    # What it checks of autograd's registration, it checks on CPU, CUDA and XPU only: the next test.
    checks = (*CHECKS, "test_autograd_registration") if place == "cpu" else CHECKS
    opcheck(openreg.rms_norm.default, (*leaves, EPS), test_utils=checks)
    opcheck(openreg.rms_norm_forward.default, (*leaves, EPS), test_utils=checks)
    opcheck(openreg.rms_norm_backward.default, (grad, *leaves, rstd, [True, True]), test_utils=checks)
    opcheck(openreg.rms_norm_backward.default, (grad, *leaves, rstd, [False, True]), test_utils=checks)
    if not requires_grad:
        opcheck(openreg.add_rms_norm_.default, (x.clone(), grad, weight, EPS), test_utils=checks)
        opcheck(openreg.rms_norm.out, (x, weight, EPS), {"out": torch.empty_like(x)}, test_utils=checks)


@everywhere
def test_what_comes_out_has_the_strides_that_the_meta_says(place: str) -> None:
    x, weight, grad = made(place, 4, 3, 8)
    turned, turned_grad = (
        x.movedim(-1, 0).contiguous().movedim(0, -1),
        grad.transpose(0, 1).contiguous().transpose(0, 1),
    )
    _, rstd = openreg.rms_norm_forward(turned, weight, EPS)
    for operator, arguments in (
        (openreg.rms_norm_forward.default, (turned, weight, EPS)),
        (openreg.rms_norm_backward.default, (turned_grad, turned, weight, rstd, [True, True])),
        (openreg.add_rms_norm_.default, (turned, turned_grad, weight, EPS)),
    ):
        opcheck(operator, arguments, test_utils="test_faketensor")


def test_one_check_of_opcheck_is_not_for_this_device(device: str) -> None:
    x, weight, _ = made(device, 4, 8)
    said = (
        "opcheck(op, ...): test_autograd_registration failed with autograd_registration_check: NYI devices other than "
        "CPU/CUDA/XPU, got {'openreg'} (scroll up for stack trace)"
    )
    with pytest.raises(OpCheckError) as caught:
        opcheck(openreg.rms_norm.default, (x.requires_grad_(), weight), test_utils="test_autograd_registration")
    assert str(caught.value) == said


# Derivatives


@everywhere
def test_derivatives_of_all_kinds_are_those_of_finite_differences(place: str) -> None:
    x, weight, _ = (tensor.requires_grad_() for tensor in made(place, 3, 2, 5, dtype=torch.float64))

    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return openreg.rms_norm(x, weight, EPS)

    assert torch.autograd.gradcheck(norm, (x, weight), check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(norm, (x, weight), check_batched_grad=True)
    assert torch.autograd.gradgradcheck(norm, (x, weight.detach()))
    assert torch.autograd.gradgradcheck(norm, (x.detach(), weight))

    def slope(x: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(norm(x, weight.detach()).pow(3).sum(), x, create_graph=True)[0]

    assert torch.autograd.gradgradcheck(slope, (x,))  # the third derivative


@everywhere
def test_the_in_place_form_is_differentiable_and_counts_as_a_change(place: str) -> None:
    x, weight, grad = made(place, 3, 8)
    own = [x.clone().requires_grad_(), grad.clone().requires_grad_(), weight.clone().requires_grad_()]
    residual = own[0] * 1
    norm = openreg.add_rms_norm_(residual, *own[1:], EPS)
    mine = torch.autograd.grad((norm.square().sum() + residual.sum()), own)
    added = own[0] + own[1]
    theirs = torch.autograd.grad(openreg.rms_norm(added, own[2], EPS).square().sum() + added.sum(), own)
    torch.testing.assert_close(mine, theirs)

    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        openreg.add_rms_norm_(own[0], grad, weight)
    for change in (
        lambda x: openreg.add_rms_norm_(x, grad, weight),
        lambda x: openreg.rms_norm(grad, weight, out=x),
    ):
        saved = own[0] * 1
        loss = saved.square().sum()
        with torch.no_grad():
            change(saved)
        with pytest.raises(RuntimeError, match=r"has been modified by an inplace operation: \[.*\], which is output 0"):
            loss.backward()
        before = saved._version
        with torch.no_grad():
            change(saved.view(-1)[:].view_as(saved))
        assert saved._version > before


@everywhere
def test_the_out_form_refuses_to_be_differentiated(place: str) -> None:
    x, weight, _ = made(place, 3, 8)
    said = r"openreg::rms_norm\(\): functions with out=... arguments don't support automatic differentiation"
    with pytest.raises(RuntimeError, match=said):
        openreg.rms_norm(x.requires_grad_(), weight, out=torch.empty_like(x))
    with torch.no_grad():
        openreg.rms_norm(x, weight, out=torch.empty_like(x))


@everywhere
def test_a_graph_is_freed_after_the_backward_pass_and_may_be_kept(place: str) -> None:
    x, weight, grad = made(place, 3, 8)
    out = openreg.rms_norm(x.requires_grad_(), weight)
    assert out.grad_fn.name() == "RmsNormBackward"
    out.backward(grad, retain_graph=True)
    first = x.grad.clone()
    out.backward(grad)
    torch.testing.assert_close(x.grad, 2 * first)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        out.backward(grad)


# torch.func


@everywhere
def test_functions_of_torch_func_take_it(place: str) -> None:
    x, weight, _ = made(place, 3, 5, dtype=torch.float64)

    def loss(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return openreg.rms_norm(x, weight, EPS).pow(3).sum()

    leaves = [tensor.clone().requires_grad_() for tensor in (x, weight)]
    expected = torch.autograd.grad(loss(*leaves), leaves)
    torch.testing.assert_close(torch.func.grad(loss, argnums=(0, 1))(x, weight), expected)
    hessian = torch.autograd.functional.hessian(lambda x: loss(x, weight), x)
    torch.testing.assert_close(torch.func.hessian(loss)(x, weight), hessian)  # forward over reverse
    torch.testing.assert_close(torch.func.jacrev(torch.func.jacrev(loss))(x, weight), hessian)
    torch.testing.assert_close(torch.func.jacfwd(torch.func.jacfwd(loss))(x, weight), hessian)
    model, other = block(place), {"weight": torch.ones(8, device=place)}
    data = made(place, 3, 8)[0]
    called = torch.func.functional_call(model, other, (data,))
    torch.testing.assert_close(called, openreg.rms_norm(model.layer(data), other["weight"], EPS))


VMAPS: list[tuple[tuple[int | None, int | None], tuple[int, ...], tuple[int, ...]]] = [
    ((0, None), (4, 3, 8), (8,)),
    ((1, None), (3, 4, 8), (8,)),
    ((-1, None), (3, 8, 4), (8,)),
    ((0, None), (4, 8), (8,)),
    ((0, 0), (4, 3, 8), (4, 8)),
    ((None, 0), (3, 8), (4, 8)),
    ((0, 1), (4, 8), (8, 4)),
    ((None, 0), (8,), (4, 8)),
]


@everywhere
@pytest.mark.parametrize(("dims", "x_shape", "weight_shape"), VMAPS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_vmap_gives_what_a_loop_gives(
    place: str,
    dims: tuple[int | None, int | None],
    x_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    dtype: torch.dtype,
) -> None:
    x, weight = made(place, *x_shape, dtype=dtype)[0], made(place, *weight_shape, dtype=dtype)[0]

    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return openreg.rms_norm(x, weight, EPS)

    def both(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.func.grad(lambda *own: norm(*own).float().pow(3).sum(), argnums=(0, 1))(x, weight)

    def part(tensor: torch.Tensor, dim: int | None, i: int) -> torch.Tensor:
        return tensor if dim is None else tensor.select(dim, i)

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # PyTorch warns where it has no rule and goes one by one
        got = torch.vmap(norm, dims)(x, weight), *torch.vmap(both, dims)(x, weight)
    pairs = [(part(x, dims[0], i), part(weight, dims[1], i)) for i in range(4)]
    expected = [(norm(*pair), *both(*pair)) for pair in pairs]
    for i, mine in enumerate(got):
        tolerance = {"rtol": 4e-2, "atol": 0.1} if dtype == torch.bfloat16 else {}
        torch.testing.assert_close(mine, torch.stack([each[i] for each in expected]), **tolerance)


@everywhere
def test_vmaps_may_be_nested(place: str) -> None:
    x, weights = made(place, 2, 3, 4, 8, dtype=torch.float64)[0], made(place, 2, 8, dtype=torch.float64)[0]
    inner = torch.vmap(lambda x, weight: openreg.rms_norm(x, weight, EPS), (0, None))
    got = torch.vmap(inner)(x, weights)
    torch.testing.assert_close(got[1], openreg.rms_norm(x[1], weights[1], EPS))
    outer = torch.vmap(torch.vmap(lambda x, weight: openreg.rms_norm(x, weight, EPS), (None, 0)), (0, None))
    torch.testing.assert_close(outer(x, weights)[1, 0], openreg.rms_norm(x[1], weights[0], EPS))


@everywhere
def test_the_in_place_form_under_vmap(place: str) -> None:
    residual, weight, x = made(place, 4, 3, 8, dtype=torch.float64)
    weights = made(place, 4, 8, dtype=torch.float64)[0]
    for dims, given in (((0, 0, None), (x, weight)), ((0, None, None), (x[0], weight)), ((0, 0, 0), (x, weights))):
        there = residual.clone()
        got = torch.vmap(lambda r, x, w: openreg.add_rms_norm_(r, x, w, EPS), dims)(there, *given)
        expected = residual.clone()
        each = [
            openreg.add_rms_norm_(expected[i], *(t if d is None else t[i] for t, d in zip(given, dims[1:])), EPS)  # noqa: B905
            for i in range(4)
        ]
        torch.testing.assert_close((got, there), (torch.stack(each), expected))
    said = "argument 'residual' has no batch in this vmap; expected one, as 'input' has one"
    with pytest.raises(RuntimeError, match=said):
        torch.vmap(lambda x: openreg.add_rms_norm_(residual[0], x, weight))(x)


# Graphs


@everywhere
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_model_trains_in_one_graph(place: str, dynamic: bool) -> None:
    model = block(place)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for rows in (4, 6):
        x = made(place, rows, 8)[0].requires_grad_()
        torch.testing.assert_close(compiled(x), model(x))
        mine, theirs = (gradients(m, x, x, model.weight, model.layer.weight) for m in (compiled, model))
        torch.testing.assert_close(mine, theirs)


@everywhere
def test_graphs_have_the_writing_forms_too(place: str) -> None:
    x, weight, residual = made(place, 4, 8)

    def in_place(residual: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        norm = openreg.add_rms_norm_(residual, x, weight, EPS)
        return norm + residual

    def out(residual: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        into = torch.empty_like(x)
        openreg.rms_norm(residual + x, weight, EPS, out=into)
        openreg.rms_norm(x, weight, EPS, out=residual)
        return into * 2

    for function in (in_place, out):
        eager, graph = residual.clone(), residual.clone()
        expected = function(eager, x)
        got = torch.compile(function, fullgraph=True, backend="aot_eager")(graph, x)
        torch.testing.assert_close((got, graph), (expected, eager))


@everywhere
def test_a_model_is_exported_with_a_size_left_open_and_keeps_the_operator(place: str) -> None:
    model, x = block(place), made(place, 4, 8)[0]
    rows = torch.export.Dim("rows", min=2)
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: rows},))
    calls = {str(node.target) for node in exported.graph.nodes if node.op == "call_function"}
    assert "openreg.rms_norm.default" in calls
    lowered = exported.run_decompositions()
    calls = {str(node.target) for node in lowered.graph.nodes if node.op == "call_function"}
    assert "openreg.rms_norm_forward.default" in calls
    more = made(place, 7, 8)[0]
    for program in (exported, lowered):
        torch.testing.assert_close(program.module()(more), model(more))


# Checkpoint, autocast, inference mode


@everywhere
@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_computes_it_again(place: str, reentrant: bool) -> None:
    model = block(place)
    x = made(place, 4, 8)[0].requires_grad_()
    mine = x.detach().clone().requires_grad_()
    checkpoint(model, mine, use_reentrant=reentrant).square().sum().backward()
    torch.testing.assert_close(mine.grad, gradients(model, x, x)[0])


@contextlib.contextmanager
def autocast(place: str, dtype: torch.dtype) -> Iterator[None]:
    """Inside, autocast is on. Not torch.autocast: that asks the device which types it offers."""
    kind = place.split(":")[0]
    before = torch.get_autocast_dtype(kind)
    torch.set_autocast_enabled(kind, True)
    torch.set_autocast_dtype(kind, dtype)
    try:
        yield
    finally:
        torch.set_autocast_enabled(kind, False)
        torch.set_autocast_dtype(kind, before)
        torch.clear_autocast_cache()


@everywhere
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_gives_it_halves_and_leaves_the_weight_as_it_is(place: str, dtype: torch.dtype) -> None:
    x, weight, _ = (tensor.requires_grad_() for tensor in made(place, 4, 8))
    half, other = x.to(dtype), weight.to(torch.float16 if dtype == torch.bfloat16 else torch.bfloat16)
    doubles = x.double(), weight.double()
    with autocast(place, dtype):
        out = openreg.rms_norm(x, weight, EPS)
        same = openreg.rms_norm(half, other, EPS)
        wide = openreg.rms_norm(*doubles, EPS)
    assert (out.dtype, same.dtype, wide.dtype) == (dtype, dtype, torch.float64)
    assert torch.equal(out, openreg.rms_norm(x.to(dtype), weight, EPS))
    out.float().square().sum().backward()
    assert (x.grad.dtype, weight.grad.dtype) == (torch.float32, torch.float32)
    torch.testing.assert_close(
        weight.grad, 2 * out.detach().float().pow(2).sum(0) / weight.detach(), rtol=2e-2, atol=2e-2
    )


@everywhere
def test_in_inference_mode_all_forms_run(place: str) -> None:
    x, weight, residual = made(place, 4, 8)
    expected = openreg.rms_norm(x, weight, EPS)
    with torch.inference_mode():
        assert torch.equal(openreg.rms_norm(x, weight, EPS), expected)
        assert torch.equal(openreg.rms_norm(x, weight, EPS, out=torch.empty_like(x)), expected)
        openreg.add_rms_norm_(residual, x, weight, EPS)
