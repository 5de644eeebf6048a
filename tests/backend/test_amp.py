"""torch.amp.autocast: regions, what is cast in them and what isn't, the cache, gradients."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.amp import autocast, custom_bwd, custom_fwd
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

DTYPES = [torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def on_the_device_alone() -> Iterator[None]:
    """Whatever is tested here, the CPU does none of it."""
    with torch.openreg.no_fallback():
        yield


@pytest.fixture
def x(device: str) -> torch.Tensor:
    """A matrix."""
    return torch.randn(4, 4, generator=torch.Generator().manual_seed(0)).to(device)


class Casts(TorchDispatchMode):
    """Counts how often a tensor is cast."""

    def __init__(self, of: torch.Tensor) -> None:
        super().__init__()
        self.of, self.count = of, 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.count += func is torch.ops.aten._to_copy.default and args[0] is self.of
        return func(*args, **(kwargs or {}))


# Regions


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_a_region_products_are_computed_in_half_and_sums_in_float(x: torch.Tensor, dtype: torch.dtype) -> None:
    with autocast("openreg", dtype=dtype):
        product = x @ x
        assert product.dtype == dtype
        assert product.softmax(-1).dtype == product.sum().dtype == product.exp().dtype == torch.float32
        assert product.relu().dtype == dtype
        assert (product + x).dtype == torch.float32
    assert torch.equal(product, x.to(dtype) @ x.to(dtype))
    assert (x @ x).dtype == torch.float32


def test_without_a_type_a_region_has_float16_and_another_can_be_set() -> None:
    assert torch.get_autocast_dtype("openreg") == torch.float16
    x = torch.ones(2, 2, device="openreg")
    torch.set_autocast_dtype("openreg", torch.bfloat16)
    try:
        with autocast("openreg"):
            assert (x @ x).dtype == torch.bfloat16
    finally:
        torch.set_autocast_dtype("openreg", torch.float16)


def test_a_region_says_that_it_is_one() -> None:
    assert torch.amp.is_autocast_available("openreg")
    assert torch.openreg.get_amp_supported_dtype() == [torch.float16, torch.bfloat16]
    assert not torch.is_autocast_enabled("openreg")
    with autocast("openreg", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("openreg")
        assert torch.get_autocast_dtype("openreg") == torch.bfloat16
        assert not torch.is_autocast_enabled("cpu")
    assert not torch.is_autocast_enabled("openreg")
    assert torch.get_autocast_dtype("openreg") == torch.float16


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_any_other_type_is_a_warning_and_changes_nothing(x: torch.Tensor, dtype: torch.dtype) -> None:
    # Newer releases of PyTorch name the type that came.
    text = rf"In openreg autocast, but the target dtype( {dtype})? is not supported. Disabling autocast"
    with pytest.warns(UserWarning, match=text) as warned:
        region = autocast("openreg", dtype=dtype)
    with region:
        assert (x @ x).dtype == torch.float32
        assert not torch.is_autocast_enabled("openreg")
    assert "openreg Autocast only supports dtypes of torch.float16, torch.bfloat16 currently." in str(warned[0].message)


def test_regions_are_nested_and_parts_of_them_left_out(x: torch.Tensor) -> None:
    with autocast("openreg", dtype=torch.float16):
        outer = x @ x
        with autocast("openreg", dtype=torch.bfloat16):
            assert (x @ x).dtype == (outer @ x).dtype == torch.bfloat16
        with autocast("openreg", enabled=False):
            assert (x @ x).dtype == torch.float32
            assert torch.equal(outer.float() @ x, outer.float() @ x.float())
        assert (outer @ x).dtype == torch.float16


def test_a_region_ends_with_an_exception(x: torch.Tensor) -> None:
    with pytest.raises(ZeroDivisionError), autocast("openreg", dtype=torch.bfloat16):
        raise ZeroDivisionError
    assert (x @ x).dtype == torch.float32


def test_a_function_is_a_region(x: torch.Tensor) -> None:
    @autocast("openreg", dtype=torch.bfloat16)
    def product() -> torch.Tensor:
        return x @ x

    assert product().dtype == torch.bfloat16


def test_a_region_is_its_threads_alone(x: torch.Tensor) -> None:
    seen = []
    with autocast("openreg", dtype=torch.bfloat16):
        other = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        other.start()
        other.join()
    assert seen == [torch.float32]


def test_what_pytorchs_own_project_tests_of_its_backend_holds(device: str) -> None:
    with pytest.warns(UserWarning, match="In openreg autocast, but the target dtype"):
        autocast(device_type="openreg", dtype=torch.float32)
    with autocast(device_type="openreg", dtype=torch.float16):
        product = torch.mm(torch.randn(2, 3, device=device), torch.randn(3, 3, device=device))
        assert product.dtype == torch.float16
    with autocast(device_type="openreg"):
        halves = torch.randn(2, 2, device=device, dtype=torch.float16)
        assert torch.dot(halves[0], halves[1]).dtype == torch.float32
    assert torch.get_autocast_dtype("openreg") == torch.half


# What is cast


def test_double_and_integers_stay_what_they_are(device: str) -> None:
    numbers = torch.arange(4, device=device).reshape(2, 2)
    with autocast("openreg", dtype=torch.bfloat16):
        assert (numbers.double() @ numbers.double()).dtype == torch.float64
        assert (numbers @ numbers).dtype == torch.int64
        assert numbers.double().sum().dtype == torch.float64
        assert torch.linalg.vector_norm(numbers.double()).dtype == torch.float64
        assert numbers.sum().dtype == torch.int64
        assert torch.norm(numbers.double()).dtype == torch.float64


def test_a_type_that_the_program_asks_for_is_what_it_gets(x: torch.Tensor) -> None:
    with autocast("openreg", dtype=torch.bfloat16):
        half = x @ x
        assert half.sum(dtype=torch.bfloat16).dtype == torch.bfloat16
        assert half.softmax(-1, dtype=torch.float64).dtype == torch.float64
        assert half.norm(dtype=torch.float64).dtype == torch.float64
        assert half.norm().dtype == half.norm(dim=0).dtype == torch.float32


def test_a_region_of_one_device_leaves_others_alone(x: torch.Tensor) -> None:
    there = x.cpu()
    with autocast("openreg", dtype=torch.bfloat16):
        assert (there @ there).dtype == torch.float32
    with autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.float32


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_that_promote_nothing_get_the_widest_type(x: torch.Tensor, dtype: torch.dtype) -> None:
    other = torch.float16 if dtype == torch.bfloat16 else torch.bfloat16
    crossed = torch.cross((x.to(dtype) @ x.to(dtype)).float()[:, :3], x.to(other).float()[:, :3], dim=1)
    with autocast("openreg", dtype=dtype):
        half = x @ x
        assert torch.atan2(half, half).dtype == dtype
        assert torch.atan2(half, x).dtype == torch.float32
        assert torch.atan2(half, x.to(other)).dtype == torch.float32
        assert torch.equal(torch.cross(half[:, :3], x.to(other)[:, :3], dim=1).half(), crossed.half())
        assert torch.equal(x.index_put((torch.tensor([0], device=x.device),), half[:1])[0], half[0].float())
        assert torch.tensordot(half, x).dtype == torch.float32


def test_lists_of_tensors_are_cast(x: torch.Tensor) -> None:
    with autocast("openreg", dtype=torch.bfloat16):
        out = torch.linalg.multi_dot([x, x, x])
        assert torch.einsum("ij,jk->ik", x, x).dtype == torch.bfloat16
    assert torch.equal(out, torch.linalg.multi_dot([x.bfloat16()] * 3))


def test_what_is_not_given_is_not_cast(x: torch.Tensor) -> None:
    with autocast("openreg", dtype=torch.bfloat16):
        assert nn.functional.linear(x, x, None).dtype == torch.bfloat16
        assert nn.functional.layer_norm(x, (4,), None, None).dtype == torch.float32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_networks_run_in_half(device: str, kind: type[nn.Module], dtype: torch.dtype) -> None:
    model, steps = kind(4, 8).to(device), torch.randn(3, 2, 4, device=device)
    with autocast("openreg", dtype=dtype):
        out, _ = model(steps)
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), model(steps)[0], rtol=0.03, atol=0.03)


def test_a_loss_of_probabilities_is_refused(x: torch.Tensor) -> None:
    text = (
        "binary_cross_entropy is unsafe to autocast: its input comes out of a sigmoid in half precision, where the "
        r"gradient of the logarithm overflows\."
    )
    with autocast("openreg"), pytest.raises(RuntimeError, match=text):
        nn.functional.binary_cross_entropy(x.sigmoid(), x.sigmoid())
    with autocast("openreg"):
        assert nn.functional.binary_cross_entropy_with_logits(x @ x, x.sigmoid()).dtype == torch.float32


# The cache


@pytest.mark.parametrize(("keywords", "casts"), [({}, 1), ({"cache_enabled": False}, 3)])
def test_a_weight_is_cast_once_in_a_region(x: torch.Tensor, keywords: dict[str, bool], casts: int) -> None:
    weight = nn.Parameter(x.clone())
    with Casts(weight) as counted, autocast("openreg", dtype=torch.bfloat16, **keywords):
        (x @ weight + x @ weight + x @ weight).sum().backward()
    assert counted.count == casts
    assert weight.grad.dtype == torch.float32
    torch.testing.assert_close(weight.grad, 3 * x.T @ torch.ones_like(x), rtol=0.02, atol=0.02)


def test_the_next_region_casts_anew(x: torch.Tensor) -> None:
    weight = nn.Parameter(x.clone())
    with Casts(weight) as counted:
        for _ in range(2):
            with autocast("openreg", dtype=torch.bfloat16):
                out = x @ weight
            with torch.no_grad():
                weight.mul_(2)
    assert counted.count == 2
    assert torch.equal(out, (x.bfloat16() @ (2 * x).bfloat16()))


def test_what_is_no_weight_is_not_kept(x: torch.Tensor) -> None:
    with Casts(x) as counted, autocast("openreg", dtype=torch.bfloat16):
        for _ in range(2):
            torch.mm(x, torch.eye(4, device=x.device))
    assert counted.count == 2


# Gradients


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_come_in_the_type_of_the_parameters(device: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2)).to(device)
    rows = torch.randn(5, 4, device=device)
    with autocast("openreg", dtype=dtype):
        model(rows).square().mean().backward()
    mine = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model(rows).square().mean().backward()
    for here, there in zip(mine, model.parameters(), strict=True):
        assert here.dtype == torch.float32
        torch.testing.assert_close(here, there.grad, rtol=0.05, atol=0.02)


class Product(torch.autograd.Function):
    """A function of the program's own, that runs backward in the state in which it ran forward."""

    @staticmethod
    @custom_fwd(device_type="openreg")
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """One product."""
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    @custom_bwd(device_type="openreg")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Two products."""
        x, weight = ctx.saved_tensors
        assert torch.is_autocast_enabled("openreg") == (grad.dtype != torch.float32)
        return grad @ weight.T, x.T @ grad


class InFloat(torch.autograd.Function):
    """A function that was written for float."""

    @staticmethod
    @custom_fwd(device_type="openreg", cast_inputs=torch.float32)
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """One product."""
        assert x.dtype == torch.float32
        ctx.save_for_backward(x)
        return x @ x

    @staticmethod
    @custom_bwd(device_type="openreg")
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Two products."""
        (x,) = ctx.saved_tensors
        assert not torch.is_autocast_enabled("openreg")
        return grad @ x.T + x.T @ grad


@pytest.mark.parametrize("dtype", [*DTYPES, None])
def test_a_function_of_ones_own_runs_backward_as_it_ran_forward(x: torch.Tensor, dtype: torch.dtype | None) -> None:
    own = [x.clone().requires_grad_(), x.clone().requires_grad_()]
    with autocast("openreg", dtype=dtype, enabled=dtype is not None):
        out = Product.apply(*own)
    assert out.dtype == (dtype or torch.float32)
    out.sum().backward()
    torch.testing.assert_close(own[1].grad, x.T @ torch.ones_like(x), rtol=0.02, atol=0.02)


def test_a_function_of_ones_own_can_ask_for_float(x: torch.Tensor) -> None:
    own = x.clone().requires_grad_()
    with autocast("openreg", dtype=torch.bfloat16):
        out = InFloat.apply(own @ own)
    assert out.dtype == torch.float32
    out.sum().backward()
    assert own.grad.dtype == torch.float32


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_computes_again_in_the_same_type(x: torch.Tensor, reentrant: bool) -> None:
    model = nn.Linear(4, 4).to(x.device)
    results = []
    for run in (model, lambda rows: checkpoint(model, rows, use_reentrant=reentrant)):
        own = x.clone().requires_grad_()
        with autocast("openreg", dtype=torch.bfloat16):
            run(own).square().sum().backward()
        results.append(own.grad)
    assert torch.equal(*results)


def test_graphs_and_functions_of_torch_func_are_cast(x: torch.Tensor) -> None:
    def loss(weight: torch.Tensor) -> torch.Tensor:
        with autocast("openreg", dtype=torch.bfloat16):
            out = x @ weight
            assert out.dtype == torch.bfloat16
            return out.float().square().sum()

    expected = loss(x)
    torch.testing.assert_close(torch.compile(loss, fullgraph=True, backend="aot_eager")(x), expected)
    torch.testing.assert_close(torch.vmap(loss)(x[None])[0], expected)
    assert torch.func.grad(loss)(x).dtype == torch.float32
