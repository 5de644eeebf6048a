"""torch.amp.GradScaler: gradients are scaled back on the device, steps with infinities left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from .conftest import GateFunction


@pytest.fixture(autouse=True)
def on_the_device_alone() -> Iterator[None]:
    """Whatever is tested here, the CPU does none of it."""
    with torch.openreg.no_fallback():
        yield


def unscale(gradients: list[torch.Tensor], inverse: float) -> float:
    """Multiplies gradients, and says whether one of them was not finite."""
    device = gradients[0].device
    found, scale = torch.zeros(1, device=device), torch.full((1,), inverse, device=device)
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, scale)
    return found.item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_gradients_are_multiplied_whatever_their_type_and_strides(device: str, dtype: torch.dtype) -> None:
    gradients = [torch.arange(6.0).to(device, dtype), torch.ones(4, 5, device=device, dtype=dtype)[:, ::2]]
    assert unscale(gradients, 0.5) == 0
    torch.testing.assert_close(gradients[0].cpu(), torch.arange(6.0).to(dtype) / 2)
    torch.testing.assert_close(gradients[1].cpu(), torch.full((4, 3), 0.5, dtype=dtype))


@pytest.mark.parametrize("wrong", [float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("at", [0, 77, 50_015, 99_999])
def test_one_gradient_that_is_not_finite_is_found(device: str, wrong: float, at: int) -> None:
    gradient = torch.ones(100_000, device=device)
    gradient[at] = wrong
    assert unscale([torch.ones(3, device=device), gradient, torch.ones(3, device=device)], 1.0) == 1


def test_more_gradients_than_a_launch_takes_of_several_types_are_multiplied(device: str) -> None:
    kinds = [torch.float32] * 70 + [torch.float64, torch.float16, torch.float64] + [torch.float32] * 130
    gradients = [torch.full((3,), 2.0 * i, dtype=dtype, device=device) for i, dtype in enumerate(kinds)]
    assert unscale(gradients, 0.5) == 0
    for i, gradient in enumerate(gradients):
        assert gradient.tolist() == [i] * 3
    gradients[-1][2] = float("inf")
    assert unscale(gradients, 0.5) == 1


def test_nothing_to_scale_is_nothing_wrong(device: str) -> None:
    assert unscale([torch.ones(0, device=device)], 0.5) == 0


def test_the_scale_grows_after_so_many_good_steps_and_shrinks_at_once(device: str) -> None:
    histories = []
    for place in ("cpu", device):
        scale = torch.full((1,), 8.0, device=place)
        steps = torch.zeros(1, dtype=torch.int32, device=place)
        history = []
        for found in (0, 0, 0, 1, 0, 0, 0):
            torch._amp_update_scale_(scale, steps, torch.full((1,), float(found), device=place), 2.0, 0.5, 2)
            history.append((scale.item(), steps.item()))
        histories.append(history)
    assert histories[1] == histories[0]


def test_a_scale_never_grows_to_infinity(device: str) -> None:
    scale, steps = torch.full((1,), 3e38, device=device), torch.zeros(1, dtype=torch.int32, device=device)
    torch._amp_update_scale_(scale, steps, torch.zeros(1, device=device), 2.0, 0.5, 1)
    assert scale.item() == torch.tensor(3e38).item()


def test_a_network_trains_with_a_scaler_and_skips_a_step_with_infinities(device: str) -> None:
    weight = torch.nn.Parameter(torch.ones(3, device=device))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler(device, init_scale=4.0)
    for factor, expected in ((1.0, 0.9), (float("inf"), 0.9), (1.0, 0.8)):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.testing.assert_close(weight.detach().cpu(), torch.full((3,), expected))
    assert scaler.get_scale() == 2.0


def test_of_several_optimizers_only_those_with_infinities_leave_a_step_out(device: str) -> None:
    weights = [torch.nn.Parameter(torch.ones(3, device=device)) for _ in range(3)]
    optimizers = [torch.optim.SGD([weights[0]], lr=0.1), torch.optim.Adam(weights[1:], lr=0.1)]
    scaler = torch.amp.GradScaler(device, init_scale=4.0)
    losses = weights[0].sum(), weights[1].sum() + (weights[2] * float("inf")).sum()
    for loss in losses:
        scaler.scale(loss).backward()
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    torch.testing.assert_close(weights[0].detach().cpu(), torch.full((3,), 0.9))
    assert all(weight.tolist() == [1] * 3 for weight in weights[1:])
    assert scaler.get_scale() == 2.0


def test_gradients_are_clipped_after_they_are_scaled_back(device: str) -> None:
    weight = torch.nn.Parameter(torch.ones(4, device=device))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler(device, init_scale=1024.0)
    scaler.scale((10 * weight).sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [10] * 4
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    scaler.step(optimizer)
    torch.testing.assert_close(weight.detach().cpu(), torch.full((4,), 0.5))
    with pytest.raises(RuntimeError, match="unscale_\\(\\) is being called after step\\(\\)"):
        scaler.unscale_(optimizer)


def test_a_step_waits_for_the_device_only_to_see_whether_it_is_to_be_left_out(device: str, gate: GateFunction) -> None:
    weight = torch.nn.Parameter(torch.ones(3, device=device))
    scaler = torch.amp.GradScaler(device, init_scale=4.0)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler.scale(weight.sum()).backward()
    closed = gate(torch.device(device).index)
    scaler.unscale_(optimizer)
    closed.open()
    scaler.step(optimizer)
    assert weight.grad.tolist() == [1] * 3


def test_the_state_of_a_scaler_goes_on_in_another(device: str) -> None:
    scaler = torch.amp.GradScaler(device, init_scale=4.0, growth_interval=2)
    weight = torch.nn.Parameter(torch.ones(3, device=device))
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def step(scaler: torch.amp.GradScaler) -> None:
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    step(scaler)
    other = torch.amp.GradScaler(device)
    other.load_state_dict(scaler.state_dict())
    step(other)
    assert other.get_scale() == 8.0


def test_parameters_on_two_devices_share_a_scaler() -> None:
    weights = [torch.nn.Parameter(torch.ones(3, device=f"openreg:{i}")) for i in range(2)]
    optimizer = torch.optim.SGD(weights, lr=0.1)
    scaler = torch.amp.GradScaler("openreg", init_scale=4.0)
    for factor, expected in ((1.0, 0.9), (float("nan"), 0.9)):
        optimizer.zero_grad()
        scaler.scale(weights[0].sum() + (weights[1] * factor).sum().to("openreg:0")).backward()
        scaler.step(optimizer)
        scaler.update()
        for weight in weights:
            torch.testing.assert_close(weight.detach().cpu(), torch.full((3,), expected))
    assert scaler.get_scale() == 2.0


def test_a_scale_of_another_type_is_an_error(device: str) -> None:
    gradient = torch.ones(3, device=device)
    one = torch.ones(1, device=device)
    with pytest.raises(RuntimeError, match="found_inf must be a Float tensor, but is a Double"):
        torch._amp_foreach_non_finite_check_and_unscale_([gradient], one.double(), one)
    with pytest.raises(RuntimeError, match="inv_scale must be a 1-element tensor, but has 3 elements"):
        torch._amp_foreach_non_finite_check_and_unscale_([gradient], one, gradient)
