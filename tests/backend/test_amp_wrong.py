"""What goes wrong with half precision: each mistake made once, with what tells of it, and the way out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.amp import GradScaler, autocast


@pytest.fixture
def x(device: str) -> torch.Tensor:
    """A matrix."""
    return torch.randn(4, 4, generator=torch.Generator().manual_seed(0)).to(device)


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    """Registrations that end with the test."""
    made = torch.library.Library("aten", "IMPL")
    yield made
    made._destroy()


def test_an_operator_without_a_rule_gets_what_is_there(x: torch.Tensor) -> None:
    with autocast("openreg", dtype=torch.bfloat16):
        half = x @ x
        with pytest.raises(RuntimeError, match="expected dtype c10::BFloat16 for `end` but got dtype float"):
            torch.lerp(half, x, 0.5)
        torch.testing.assert_close(torch.lerp(half.float(), x, 0.5), (half + x) / 2)


def test_a_rule_is_added_from_python_and_taken_back(x: torch.Tensor, library: torch.library.Library) -> None:
    def lerp(start: torch.Tensor, end: torch.Tensor, weight: float) -> torch.Tensor:
        with autocast("openreg", enabled=False):
            return torch.lerp(start.float(), end.float(), weight)

    library.impl("lerp.Scalar", lerp, "AutocastPrivateUse1")
    with autocast("openreg", dtype=torch.bfloat16):
        half = x @ x
        assert torch.lerp(half, x, 0.5).dtype == torch.float32
    assert torch.lerp(half, half, 0.5).dtype == torch.bfloat16
    library._destroy()
    with autocast("openreg", dtype=torch.bfloat16), pytest.raises(RuntimeError, match="expected dtype"):
        torch.lerp(half, x, 0.5)


def test_forms_that_write_have_no_rule(x: torch.Tensor) -> None:
    with autocast("openreg", dtype=torch.bfloat16):
        half = x @ x
        with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype, but got Float and BFloat16"):
            x.clone().addmm_(half, half)
        with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: float != c10::BF"):
            torch.mm(x, half, out=torch.empty_like(x))
        x.clone().copy_(torch.addmm(x, half, half))


def test_outside_the_region_types_do_not_fit(x: torch.Tensor) -> None:
    with autocast("openreg", dtype=torch.bfloat16):
        half = x @ x
    with pytest.raises(
        RuntimeError, match="expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16"
    ):
        x @ half
    torch.testing.assert_close(x @ half.float(), x @ x @ x, rtol=0.03, atol=0.05)


def test_a_weight_that_is_changed_in_the_region_is_used_as_it_was(x: torch.Tensor) -> None:
    weight = nn.Parameter(x.clone())
    with autocast("openreg", dtype=torch.bfloat16):
        before = x @ weight
        with torch.no_grad():
            weight.mul_(2)
        assert torch.equal(x @ weight, before)
        torch.clear_autocast_cache()
        assert torch.equal(x @ weight, 2 * before)


def test_a_sum_in_half_stops_where_halves_are_too_far_apart(device: str) -> None:
    total = torch.zeros((), device=device, dtype=torch.bfloat16)
    for _ in range(1000):
        total += 1
    assert total.item() == 256
    assert torch.ones(1000, device=device, dtype=torch.bfloat16).sum(dtype=torch.float32).item() == 1000


def test_the_devices_own_sums_of_halves_are_summed_in_float(device: str) -> None:
    # A kernel that sums in the type of its input would stop at 256 here, and nobody would be told.
    ones = torch.ones(1, 1000, device=device, dtype=torch.bfloat16)
    assert ones.sum().item() == 1000
    assert (ones @ ones.mT).item() == 1000
    assert (ones.expand(3, -1) @ ones.expand(3, -1).mT).tolist() == [[1000] * 3] * 3
    assert torch.dot(ones[0], ones[0]).item() == 1000
    image = torch.ones(1, 1000, 2, 2, device=device, dtype=torch.bfloat16)
    assert torch.conv2d(image, image[:, :, :1, :1]).flatten().tolist() == [1000] * 4


def test_a_scale_only_falls_if_the_forward_pass_overflows(device: str) -> None:
    model, scaler = nn.Linear(4, 4).to(device), GradScaler(device, init_scale=2.0**16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows, scales = torch.full((2, 4), 1e4, device=device), []
    nn.init.constant_(model.weight, 10.0)
    weight = model.weight.detach().clone()
    for _ in range(20):
        optimizer.zero_grad()
        with autocast("openreg", dtype=torch.float16):
            loss = model(rows).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [2.0 ** (15 - i) for i in range(20)]
    assert not loss.isfinite() and torch.equal(model.weight, weight)
    # No scale helps: the infinity is there before it. A type with float's range does.
    with autocast("openreg", dtype=torch.bfloat16):
        assert model(rows).square().mean().isfinite()


def test_gradients_in_half_are_not_unscaled(device: str) -> None:
    model, scaler = nn.Linear(2, 2).to(device).half(), GradScaler(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler.scale(model(torch.ones(1, 2, device=device, dtype=torch.half)).sum()).backward()
    with pytest.raises(ValueError, match=r"Attempting to unscale FP16 gradients\."):
        scaler.step(optimizer)


def test_an_optimizer_without_gradients_is_an_error(device: str) -> None:
    model, scaler = nn.Linear(2, 2).to(device), GradScaler(device)
    scaler.scale(torch.ones(1, device=device))
    with pytest.raises(AssertionError, match=r"No inf checks were recorded for this optimizer\."):
        scaler.step(torch.optim.SGD(model.parameters(), lr=0.1))
