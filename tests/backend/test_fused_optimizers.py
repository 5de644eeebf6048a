"""torch.optim's optimizers as one step for all parameters: plain, as lists (foreach), and fused into one kernel."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from .test_foreach import launches, on

Optimizer = torch.optim.Optimizer

MANY = 200


@pytest.fixture(autouse=True)
def on_the_device_alone() -> Iterator[None]:
    """Whatever is tested here, the CPU does none of it."""
    with torch.openreg.no_fallback():
        yield


OPTIMIZERS: dict[str, tuple[type[Optimizer], dict[str, Any]]] = {
    "SGD": (torch.optim.SGD, {"lr": 0.1}),
    "SGD, weight decay": (torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.2}),
    "SGD, momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "SGD, dampening": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    "SGD, Nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "SGD, maximize": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "maximize": True, "weight_decay": 0.1}),
    "Adam": (torch.optim.Adam, {"lr": 0.1}),
    "Adam, weight decay": (torch.optim.Adam, {"lr": 0.1, "weight_decay": 0.2}),
    "Adam, amsgrad": (torch.optim.Adam, {"lr": 0.1, "amsgrad": True, "betas": (0.3, 0.5)}),
    "Adam, maximize": (torch.optim.Adam, {"lr": 0.1, "maximize": True, "weight_decay": 0.1}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.2}),
    "AdamW, amsgrad": (torch.optim.AdamW, {"lr": 0.1, "amsgrad": True, "maximize": True}),
}
FORMS = {"plain": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


def parameters(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Small ones, one without elements, one that is transposed, two long ones: more than one thread takes at a time."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (0,), (), (5, 2), (20_001,), (20_000,)]
    made = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    made[3] = made[3].t()
    return made


def train(
    make: Callable[..., Optimizer], place: str, dtype: torch.dtype, steps: int = 4, **options: Any
) -> tuple[list[torch.Tensor], Optimizer]:
    """Steps with gradients that change their sign, one of them of another layout than its parameter's."""
    own = [on(place, x).requires_grad_() for x in parameters(dtype)]
    optimizer = make(own, **options)
    for step in range(steps):
        for x in own:
            x.grad = (x.detach() * (0.7 - step * 0.3)).sin()
        own[3].grad = own[3].grad.contiguous()
        optimizer.step()
    return [x.detach() for x in own], optimizer


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_parameters_and_state_follow_the_cpus(device: str, name: str, form: str, dtype: torch.dtype) -> None:
    make, options = OPTIMIZERS[name]
    expected, reference = train(make, "cpu", dtype, foreach=False, **options)
    actual, optimizer = train(make, device, dtype, **FORMS[form], **options)
    # In bfloat16 the loop rounds after each of its operators, and the fused kernel once.
    near = {"rtol": 0.05, "atol": 0.05} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close([x.cpu() for x in actual], expected, **near)
    for ours, theirs in zip(optimizer.state.values(), reference.state.values(), strict=True):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            if theirs[key] is not None:
                torch.testing.assert_close(ours[key].cpu(), theirs[key], check_dtype=key != "step", **near)


def one_step(place: str, own: torch.Tensor, grad: torch.Tensor, name: str, **numbers: float) -> list[torch.Tensor]:
    """A parameter and its gradient after a fused step; `numbers` are those of a gradient scaler."""
    make, options = OPTIMIZERS[name]
    own = own.to(place, copy=True).requires_grad_()
    own.grad = grad.to(place, copy=True)
    optimizer = make([own], fused=True, **options)
    for key, value in numbers.items():
        setattr(optimizer, key, torch.full((), value, device=place))
    optimizer.step()
    return [own.detach().cpu(), own.grad.cpu()]


# Halves are compared with what the CPU computes in float: its fused SGD leaves longer bfloat16 parameters as they are.


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_step_of_halves_is_the_step_of_floats_rounded_once(device: str, name: str, dtype: torch.dtype) -> None:
    own = torch.linspace(-3, 3, 1000).to(dtype)
    grad = own * 0.25
    expected = [x.to(dtype) for x in one_step("cpu", own.float(), grad.float(), name)]
    actual = one_step(device, own, grad, name)
    torch.testing.assert_close(actual, expected, rtol=torch.finfo(dtype).eps, atol=1e-6)


@pytest.mark.parametrize("name", ["SGD, momentum", "Adam", "AdamW, amsgrad"])
def test_a_fused_step_takes_few_launches(device: str, name: str) -> None:
    make, options = OPTIMIZERS[name]
    own = [torch.ones(3, device=device, requires_grad=True) for _ in range(MANY)]
    for x in own:
        x.grad = torch.ones_like(x)
    optimizer = make(own, fused=True, **options)
    optimizer.step()  # makes the state, looks the kernels up
    assert launches(optimizer.step, most=MANY // 8)
    assert not launches(make(own, foreach=False, **options).step, most=MANY - 1)


@pytest.mark.parametrize("where", ["cpu", "device"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_learning_rate_may_be_a_tensor_here_or_there(device: str, name: str, where: str) -> None:
    make, options = OPTIMIZERS[name]
    expected, _ = train(make, "cpu", torch.float32, foreach=False, **options)
    rate = torch.tensor(options["lr"], device=device if where == "device" else "cpu")
    actual, _ = train(make, device, torch.float32, fused=True, **options | {"lr": rate})
    torch.testing.assert_close([x.cpu() for x in actual], expected, rtol=1e-5, atol=1e-5)


def adam(device: str, **changes: Any) -> dict[str, Any]:
    """Arguments of a call of _fused_adam_."""
    lists = ("self", "grads", "exp_avgs", "exp_avg_sqs")
    arguments: dict[str, Any] = {name: [torch.ones(4, device=device)] for name in lists}
    arguments |= {"max_exp_avg_sqs": [], "state_steps": [torch.ones((), device=device)]}
    numbers = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8}
    return arguments | numbers | {"amsgrad": False, "maximize": False} | changes


def call(op: Callable[..., object], arguments: dict[str, Any]) -> None:
    """PyTorch's functions take their first list without a name."""
    op(arguments["self"], **{name: value for name, value in arguments.items() if name != "self"})


@pytest.mark.parametrize("name", ["SGD", "SGD, momentum", "Adam", "AdamW, amsgrad"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_gradients_are_scaled_back_and_stay_so(device: str, name: str, dtype: torch.dtype) -> None:
    own = torch.linspace(-1, 1, 600).to(dtype)
    numbers = {"grad_scale": 64.0, "found_inf": 0.0}
    expected = [x.to(dtype) for x in one_step("cpu", own.float(), own.float() * 64, name, **numbers)]
    actual = one_step(device, own, own * 64, name, **numbers)
    torch.testing.assert_close(actual[1], own, rtol=0, atol=0)
    torch.testing.assert_close(actual, expected, rtol=max(torch.finfo(dtype).eps, 1e-5), atol=1e-6)


@pytest.mark.parametrize("name", ["SGD, momentum", "Adam", "AdamW"])
def test_a_step_with_an_infinity_changes_nothing_and_waits_for_nothing(device: str, name: str, gate) -> None:
    make, options = OPTIMIZERS[name]
    own = torch.ones(4, device=device, requires_grad=True)
    own.grad = torch.ones(4, device=device)
    optimizer = make([own], fused=True, **options)
    optimizer.step()
    before = copy.deepcopy(optimizer.state_dict()), own.detach().clone()
    optimizer.grad_scale = torch.ones((), device=device)
    optimizer.found_inf = torch.zeros((), device=device)
    torch.openreg.synchronize(device)
    closed = gate(int(device[-1]))
    optimizer.found_inf.fill_(1.0)  # of which the host knows nothing
    optimizer.step()
    assert not torch.openreg.current_stream(device).query()
    closed.open()
    torch.testing.assert_close(own.detach(), before[1], rtol=0, atol=0)
    torch.testing.assert_close(optimizer.state_dict(), before[0], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_gradient_scaler_leaves_the_scaling_to_the_fused_step(device: str, name: str) -> None:
    make, options = OPTIMIZERS[name]
    histories = []
    for place in ("cpu", device):
        own = torch.ones(4, device=place, requires_grad=True)
        optimizer = make([own], fused=True, **options)
        scaler = torch.amp.GradScaler(place.split(":")[0], init_scale=8.0, growth_interval=2)
        history = []
        for factor in (1.0, float("inf"), 2.0, 3.0):
            optimizer.zero_grad()
            scaler.scale((own * own * factor).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            history.append([own.detach().cpu().clone(), scaler.get_scale()])
        histories.append(history)
    torch.testing.assert_close(histories[1], histories[0])


FOUR, TWO = torch.ones(4), torch.ones(2)
WRONG = {
    "too few gradients": (
        {"grads": []},
        "_fused_adam_: argument 'grads' has 0 tensors; expected as many as 'self', which has 1",
    ),
    "another type": (
        {"grads": [FOUR.double()]},
        "_fused_adam_: argument 'grads' has a tensor of type Double; expected Float",
    ),
    "another shape": (
        {"exp_avgs": [TWO]},
        "_fused_adam_: argument 'exp_avgs' has a tensor of shape [2]; expected [4]",
    ),
    "maxima without amsgrad": (
        {"max_exp_avg_sqs": [FOUR]},
        "_fused_adam_: argument 'max_exp_avg_sqs' has 1 tensors; expected none without amsgrad",
    ),
    "a scale in double": (
        {"grad_scale": FOUR[0].double()},
        "_fused_adam_: argument 'grad_scale' is of type Double; expected Float",
    ),
    "two infinities": ({"found_inf": TWO}, "_fused_adam_: argument 'found_inf' has 2 elements; expected 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_the_kernel_would_misread_is_refused(device: str, case: str) -> None:
    changes, text = WRONG[case]
    with pytest.raises(RuntimeError) as caught:
        call(torch._fused_adam_, adam(device, **{name: on(device, value) for name, value in changes.items()}))
    assert str(caught.value).splitlines()[0] == text
    torch.openreg.synchronize(device)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.float16])
def test_steps_may_be_counted_in_any_type(device: str, dtype: torch.dtype) -> None:
    results = []
    for place in ("cpu", device):
        arguments = adam(place, state_steps=[torch.full((), 3, dtype=dtype, device=place)])
        call(torch._fused_adam_, arguments)
        results.append(arguments["self"][0].cpu())
    torch.testing.assert_close(results[1], results[0])


def test_integers_have_no_fused_step(device: str) -> None:
    integers = [torch.ones(4, dtype=torch.long, device=device)]
    lists = ("self", "grads", "exp_avgs", "exp_avg_sqs")
    with pytest.raises(NotImplementedError, match="\"fused_adam\" not implemented for 'Long'"):
        call(torch._fused_adam_, adam(device, **dict.fromkeys(lists, integers)))


@pytest.mark.parametrize("name", ["grads", "state_steps", "found_inf"])
def test_an_argument_on_another_device_is_named(device: str, other_device: str, name: str) -> None:
    elsewhere = torch.ones(4, device=other_device)
    with pytest.raises(RuntimeError, match=f"{name} is on {other_device}"):
        call(torch._fused_adam_, adam(device, **{name: elsewhere[0] if name == "found_inf" else [elsewhere]}))


def test_a_list_without_parameters_is_refused_as_by_the_cpu() -> None:
    with pytest.raises(NotImplementedError, match="no tensor arguments"):
        call(torch._fused_adam_, adam("cpu", self=[], grads=[], exp_avgs=[], exp_avg_sqs=[], state_steps=[]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 16, 17, 64, 65, 200])
def test_a_long_list_is_changed_to_its_end(device: str, form: str, count: int) -> None:
    own = [torch.full((3,), float(i), device=device, requires_grad=True) for i in range(count)]
    for x in own:
        x.grad = torch.ones_like(x)
    torch.optim.SGD(own, lr=0.5, momentum=0.9, **FORMS[form]).step()
    assert [x[2].item() for x in own] == [i - 0.5 for i in range(count)]
