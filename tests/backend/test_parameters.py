"""Moving a model keeps its parameters: who holds one before holds it after."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401

Move = Callable[[torch.nn.Module, str], torch.nn.Module]

# All the ways of PyTorch to move a model, or to change its type.
MOVES: dict[str, Move] = {
    "to(device)": lambda module, device: module.to(device),
    "to(device, dtype)": lambda module, device: module.to(device, torch.double),
    "openreg()": lambda module, device: module.openreg(int(device[-1])),
    "half() there": lambda module, device: module.to(device).half().float(),
    "there, back, there": lambda module, device: module.to(device).cpu().to(device),
    "from device to device": lambda module, device: module.to("openreg:0").to("openreg:1").to(device),
}


def numbers(*sizes: int) -> torch.Tensor:
    """Numbers without a pattern, the same each time."""
    return torch.sin(torch.arange(float(torch.Size(sizes).numel())) * 1.7).view(sizes)


def mlp() -> torch.nn.Module:
    """A small network, the same each time."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


class Tied(torch.nn.Module):
    """A network whose first and last layer have one weight, as language models do."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = torch.nn.Embedding(11, 6)
        self.decoder = torch.nn.Linear(6, 11, bias=False)
        self.decoder.weight = self.encoder.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the next token."""
        return self.decoder(torch.tanh(self.encoder(x)))


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> list[float]:
    """Losses of a few steps."""
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("move", MOVES)
def test_a_move_keeps_every_parameter_the_object_it_is(device: str, move: str) -> None:
    model = mlp()
    before = dict(model.named_parameters())
    refs = {name: weakref.ref(parameter) for name, parameter in before.items()}
    before["0.weight"].color = "red"
    expected = {name: parameter.detach().clone() for name, parameter in before.items()}
    assert MOVES[move](model, device) is model
    rounding = 1e-3 if "half" in move else 0
    for name, parameter in model.named_parameters():
        assert parameter is before[name] is refs[name]()
        assert type(parameter) is torch.nn.Parameter and parameter.requires_grad and parameter.is_leaf
        assert str(parameter.device) == device
        torch.testing.assert_close(parameter.detach().cpu().float(), expected[name], rtol=rounding, atol=rounding)
    assert model[0].weight.color == "red"


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam])
def test_an_optimizer_made_before_the_move_trains_the_model(device: str, make: Callable[..., Any]) -> None:
    here, cpu = mlp(), mlp()
    optimizer = make(here.parameters(), lr=0.01)
    losses = train(here.to(device), optimizer, numbers(4, 8).to(device))
    assert losses[-1] < losses[0]
    assert losses == pytest.approx(train(cpu, make(cpu.parameters(), lr=0.01), numbers(4, 8)), rel=1e-4)


def test_training_goes_on_after_a_move_back(device: str) -> None:
    here, cpu = mlp(), mlp()
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (here, cpu)]
    losses = train(here.to(device), optimizers[0], numbers(4, 8).to(device))
    losses += train(here.cpu(), optimizers[0], numbers(4, 8))
    expected = train(cpu, optimizers[1], numbers(4, 8)) + train(cpu, optimizers[1], numbers(4, 8))
    assert losses == pytest.approx(expected, rel=1e-4)


def test_tied_weights_stay_tied(device: str) -> None:
    model, cpu, x = Tied(), Tied(), torch.tensor([1, 4, 9])
    for place in (device, "cpu", device):
        model.to(place)
        assert model.decoder.weight is model.encoder.weight
        assert [name for name, _ in model.named_parameters()] == ["encoder.weight"]
    losses = train(model, torch.optim.SGD(model.parameters(), lr=0.5), x.to(device))
    assert losses == pytest.approx(train(cpu, torch.optim.SGD(cpu.parameters(), lr=0.5), x), rel=1e-4)


@pytest.mark.parametrize("form", ["deepcopy", "deepcopy, then to"])
def test_a_copy_of_a_model_is_tied_within_itself_and_to_nothing_else(device: str, form: str) -> None:
    model = Tied()
    replica = copy.deepcopy(model.to(device)) if form == "deepcopy" else copy.deepcopy(model).to(device)
    assert replica.decoder.weight is replica.encoder.weight
    assert replica.decoder.weight is not model.decoder.weight
    with torch.no_grad():
        replica.encoder.weight.zero_()
    assert model.encoder.weight.abs().sum().item() > 0
    assert replica(torch.tensor([1], device=device)).abs().sum().item() == 0


def test_gradients_move_with_their_parameters(device: str) -> None:
    model = mlp()
    model(numbers(4, 8)).sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    grads = [parameter.grad for parameter in model.parameters()]
    for place in (device, "cpu", device):
        model.to(place)
        assert {str(parameter.grad.device) for parameter in model.parameters()} == {place}
        torch.testing.assert_close([parameter.grad.cpu() for parameter in model.parameters()], expected)
    assert all(parameter.grad is grad for parameter, grad in zip(model.parameters(), grads, strict=True))
    model(numbers(4, 8).to(device)).sum().backward()  # adds to them
    torch.testing.assert_close([parameter.grad.cpu() for parameter in model.parameters()], [g * 2 for g in expected])


def test_hooks_of_parameters_survive(device: str) -> None:
    model, seen = mlp(), []
    model[0].weight.register_hook(lambda grad: (seen.append(str(grad.device)), grad * 10)[1])
    model[0].weight.register_post_accumulate_grad_hook(lambda it: seen.append(str(it.grad.device)))
    expected = copy.deepcopy(model)
    expected(numbers(4, 8)).sum().backward()
    model.to(device)(numbers(4, 8).to(device)).sum().backward()
    assert seen == [device, device]
    torch.testing.assert_close(model[0].weight.grad.cpu(), expected[0].weight.grad * 10)


def test_hooks_made_after_a_first_backward_pass_survive_too(device: str) -> None:
    model, seen = mlp(), []
    model(numbers(4, 8)).sum().backward()  # the engine's node for the gradient is of the CPU
    model.zero_grad()
    model[2].bias.register_post_accumulate_grad_hook(lambda it: seen.append(str(it.grad.device)))
    model.to(device)(numbers(4, 8).to(device)).sum().backward()
    assert seen == [device]
    assert model[2].bias.grad.tolist() == [4.0] * 3


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (lambda: torch.nn.LazyLinear(3), (4, 5)),
        (lambda: torch.nn.LazyConv2d(3, 2), (1, 2, 5, 5)),
        (lambda: torch.nn.LazyBatchNorm1d(), (4, 5)),
        (lambda: torch.nn.Sequential(torch.nn.LazyLinear(6), torch.nn.Tanh(), torch.nn.LazyLinear(2)), (4, 5)),
    ],
)
def test_lazy_modules_get_their_parameters_where_they_were_moved(
    device: str, make: Callable[[], torch.nn.Module], sizes: tuple[int, ...]
) -> None:
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # of parameters without a shape
    model.to(device)
    y = model(numbers(*sizes).to(device))
    assert {str(it.device) for it in [*model.parameters(), *model.buffers()]} == {device}
    assert not any(isinstance(it, torch.nn.UninitializedParameter) for it in model.parameters())
    torch.testing.assert_close(y.cpu(), copy.deepcopy(model).cpu().train()(numbers(*sizes)), rtol=1e-4, atol=1e-5)
    before = [parameter.detach().cpu() for parameter in model.parameters()]
    y.square().sum().backward()
    optimizer.step()
    assert any((was != now.detach().cpu()).any() for was, now in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("dtype", [torch.float, torch.half])
def test_data_of_a_parameter_can_be_set_to_a_tensor_of_another_device(
    device: str, other_device: str, dtype: torch.dtype
) -> None:
    parameter = torch.nn.Parameter(numbers(2, 3))
    for place in (device, other_device, "cpu", device):
        parameter.data = numbers(3, 2).to(place, dtype).t()
        assert (str(parameter.device), parameter.dtype, parameter.stride()) == (place, dtype, (1, 2))
        assert parameter.is_leaf and parameter.requires_grad
        parameter.grad = None
        (parameter * 2).sum().backward()
        assert (str(parameter.grad.device), parameter.grad.tolist()) == (place, [[2.0] * 3] * 2)
    torch.testing.assert_close(parameter.detach().cpu().float(), numbers(3, 2).t().to(dtype).float())


def test_data_of_a_tensor_without_gradient_can_be_set_too(device: str) -> None:
    buffer = numbers(3)
    buffer.data = buffer.to(device)
    assert buffer.is_openreg
    with torch.inference_mode():
        x = torch.ones(2)
        x.data = x.to(device)
    assert (str(x.device), (x + 1).tolist()) == (device, [2.0, 2.0])


def test_a_view_keeps_what_was_before(device: str) -> None:
    parameter = torch.nn.Parameter(numbers(4))
    view = parameter.detach()
    parameter.data = parameter.data.to(device)
    assert str(view.device) == "cpu"
    assert view.tolist() == parameter.tolist()


def test_state_dicts_go_in_either_direction(device: str) -> None:
    source, there = mlp(), mlp().to(device)
    with torch.no_grad():
        source[0].weight.mul_(3)
    before = dict(there.named_parameters())
    there.load_state_dict(source.state_dict())
    assert all(parameter is before[name] for name, parameter in there.named_parameters())
    torch.testing.assert_close(there(numbers(4, 8).to(device)).cpu(), source(numbers(4, 8)))
    back = mlp()
    back.load_state_dict(there.state_dict())
    assert {str(parameter.device) for parameter in back.parameters()} == {"cpu"}
    torch.testing.assert_close(back.state_dict(), source.state_dict())
    back.load_state_dict(there.state_dict(), assign=True)
    assert {str(parameter.device) for parameter in back.parameters()} == {device}


@pytest.mark.parametrize(
    "parametrize",
    [
        torch.nn.utils.parametrizations.weight_norm,
        torch.nn.utils.parametrizations.spectral_norm,
        torch.nn.utils.parametrizations.orthogonal,
    ],
)
def test_parametrizations_survive(device: str, parametrize: Callable[[torch.nn.Module], torch.nn.Module]) -> None:
    torch.manual_seed(0)
    model = parametrize(torch.nn.Linear(4, 4)).eval()
    expected = model(numbers(2, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [id(parameter) for parameter in model.parameters()]
    model.to(device)
    assert [id(parameter) for parameter in model.parameters()] == before
    y = model(numbers(2, 4).to(device))
    torch.testing.assert_close(y.detach().cpu(), expected.detach(), rtol=1e-4, atol=1e-5)
    y.square().sum().backward()
    optimizer.step()
    assert model(numbers(2, 4).to(device)).square().sum().item() < y.square().sum().item()


def test_a_recurrent_network_finds_its_weights(device: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.LSTM(3, 4, num_layers=2)
    expected = model(numbers(5, 2, 3))[0].detach()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    y = model.to(device)(numbers(5, 2, 3).to(device))[0]
    torch.testing.assert_close(y.detach().cpu(), expected, rtol=1e-4, atol=1e-5)
    y.square().sum().backward()
    optimizer.step()
    assert model(numbers(5, 2, 3).to(device))[0].square().sum().item() < y.square().sum().item()


def test_parameters_without_data_are_made_anew(device: str) -> None:
    with torch.device("meta"):
        model = mlp()
    model.to_empty(device=device)
    assert {str(parameter.device) for parameter in model.parameters()} == {device}


# -------------------------------------------------------------- what stays PyTorch's


@pytest.fixture
def conversion() -> Iterator[Any]:
    """torch.__future__, as it was."""
    yield torch.__future__
    torch.__future__.set_swap_module_params_on_conversion(False)
    torch.__future__.set_overwrite_module_params_on_conversion(False)


def test_nobodys_settings_are_changed() -> None:
    assert not torch.__future__.get_swap_module_params_on_conversion()
    assert not torch.__future__.get_overwrite_module_params_on_conversion()


def test_who_wants_new_parameters_gets_them(device: str, conversion: Any) -> None:
    model = mlp()
    before = list(model.parameters())
    conversion.set_overwrite_module_params_on_conversion(True)
    model.to(device)
    assert all(now is not then for now, then in zip(model.parameters(), before, strict=True))


def test_who_wants_them_swapped_gets_that(device: str, conversion: Any) -> None:
    model = mlp()
    before = list(model.parameters())
    conversion.set_swap_module_params_on_conversion(True)
    model.to(device)
    assert all(now is then for now, then in zip(model.parameters(), before, strict=True))
    assert {str(parameter.device) for parameter in model.parameters()} == {device}


def test_other_kinds_of_tensors_are_refused_as_ever(device: str) -> None:
    sparse, meta = torch.eye(2).to_sparse(), torch.empty(2, 2, device="meta")
    dense, here = torch.eye(2), torch.eye(2, device=device)
    answers = {
        (first, second): torch._has_compatible_shallow_copy_type(a, b)
        for first, a in (("cpu", dense), ("openreg", here), ("sparse", sparse), ("meta", meta))
        for second, b in (("cpu", dense), ("openreg", here), ("sparse", sparse), ("meta", meta))
    }
    same = {("sparse", "sparse"), ("meta", "meta")}
    compatible = same | {(a, b) for a in ("cpu", "openreg") for b in ("cpu", "openreg")}
    assert {pair for pair, answer in answers.items() if answer} == compatible
    for other in (sparse, meta):
        with pytest.raises(RuntimeError, match="`variable` and `tensor` have incompatible tensor type"):
            here.data = other
        with pytest.raises(RuntimeError, match="`variable` and `tensor` have incompatible tensor type"):
            other.data = here
