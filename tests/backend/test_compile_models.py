"""torch.compile of networks: results, gradients, buffers and optimizer steps beside the CPU's eager ones."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from torch import nn
from torch.nn import functional as F  # noqa: N812

from .compile_checks import check, close, compiled, error, kernels_of, numbers, on

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes


class Residual(nn.Module):
    """Convolutions with batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.second, self.other_norm = nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.first(x)))
        x = F.relu(x + self.other_norm(self.second(x)))
        return self.head(F.max_pool2d(x, 2).mean((2, 3)))


class Recurrent(nn.Module):
    """An LSTM of two layers, and what its states say."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 16, num_layers=2), nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, (hidden, cell) = self.lstm(x)
        return self.head(x) + self.head(hidden + cell.tanh()).sum(0)


NETWORKS: dict[str, tuple[Callable[[], nn.Module], torch.Tensor]] = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10)),
        numbers(32, 64),
    ),
    "cnn": (Residual, numbers(4, 3, 16, 16)),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True, activation="gelu"),
        numbers(4, 16, 64),
    ),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(50, 32, padding_idx=3), nn.GELU(), nn.Linear(32, 50), nn.LogSoftmax(-1)),
        torch.arange(28).view(4, 7) * 11 % 50,
    ),
    "lstm": (Recurrent, numbers(5, 3, 8)),
}
BOUND = 1e-5  # of a gradient's largest number: float's rounding times what a handful of layers make of it


def made(name: str) -> tuple[nn.Module, torch.Tensor]:
    """A network with the same weights each time, in double precision, and an input."""
    torch.manual_seed(0)
    make, x = NETWORKS[name]
    return make().double(), x


@pytest.mark.parametrize("name", NETWORKS)
def test_results_gradients_and_buffers_are_those_of_double_precision(name: str) -> None:
    exact, x = made(name)
    network = copy.deepcopy(exact).float().to("openreg")
    run = compiled(network, fullgraph=name != "lstm")
    expected = exact(x.double() if x.is_floating_point() else x)
    expected.square().mean().backward()
    with torch.openreg.no_fallback():
        result = run(x.to("openreg"))
        result.square().mean().backward()
    assert error(result.detach(), expected.detach()) < BOUND
    sizes = [it.grad.abs().max().item() for it in exact.parameters() if it.grad is not None]
    for mine, theirs, size in zip(network.parameters(), exact.parameters(), sizes, strict=True):
        assert mine.grad is not None and theirs.grad is not None
        # The gradient of a bias before batch normalisation is 0 but for rounding. That is measured by the others.
        assert (mine.grad.cpu() - theirs.grad).abs().max().item() < BOUND * max(size, 0.1 * max(sizes))
    for mine, theirs in zip(network.buffers(), exact.buffers(), strict=True):
        assert error(mine, theirs) < BOUND

    network.eval()
    exact.eval()
    with torch.no_grad(), torch.openreg.no_fallback():
        result = run(x.to("openreg"))
        assert error(result, exact(x.double() if x.is_floating_point() else x)) < BOUND


def test_a_network_runs_on_another_device_than_the_current_one() -> None:
    exact, x = made("mlp")
    network = copy.deepcopy(exact).float().to("openreg:1")
    with torch.openreg.no_fallback():
        result = compiled(network)(x.to("openreg:1"))
        result.sum().backward()
    assert result.device == torch.device("openreg:1")
    assert error(result.detach(), exact(x.double()).detach()) < BOUND
    assert torch.openreg.current_device() == 0


@pytest.mark.parametrize("foreach", [False, True])
def test_an_optimizers_step_is_compiled(foreach: bool) -> None:
    def parameters(place: str) -> list[nn.Parameter]:
        return [nn.Parameter(numbers(30, 5, seed=seed).to(place)) for seed in range(9)]

    there, here = parameters("openreg"), parameters("cpu")
    optimizers = [torch.optim.AdamW(it, lr=0.1, foreach=foreach) for it in (there, here)]
    step = compiled(optimizers[0].step)
    for seed in range(3):
        for mine, theirs in zip(there, here, strict=True):
            theirs.grad = numbers(30, 5, seed=100 * seed)
            mine.grad = theirs.grad.to("openreg")
        with torch.openreg.no_fallback():
            step()
        optimizers[1].step()
    close(there, here, 1e-4)
    ran = kernels_of(step)
    assert ran and [name for name in ran if not name.startswith("openreg_fused_")] == []


def test_training_compiled_follows_eager_training() -> None:
    def losses(place: str, compiles: bool) -> list[float]:
        network, x = made("cnn")
        network = network.float().to(place)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
        run = compiled(network) if compiles else network
        x, labels, found = x.to(place), torch.tensor([1, 5, 0, 9]).to(place), []
        for _ in range(12):
            loss = F.cross_entropy(run(x), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.detach())
        return torch.stack(found).tolist()

    mine = losses("openreg", True)
    torch.testing.assert_close(mine, losses("cpu", False), rtol=1e-3, atol=1e-4)
    assert mine[-1] < 0.5 * mine[0]


def test_autocast_outside_and_inside_gives_the_types_and_numbers_of_eager() -> None:
    x, w = numbers(16, 32), numbers(32, 8)

    def product(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.relu(x @ w) + 1
        return y, y.softmax(-1)

    def inside(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with torch.autocast("openreg", torch.bfloat16):
            return *product(x, w), x + 1

    def outside(function: Callable[..., Any]) -> tuple[torch.Tensor, ...]:
        with torch.autocast("openreg", torch.bfloat16), torch.openreg.no_fallback():
            return function(*on("openreg", (x, w)))

    eager = outside(product)
    assert [it.dtype for it in eager] == [torch.bfloat16, torch.float32]
    mine = outside(compiled(product, fullgraph=True))
    assert [it.dtype for it in mine] == [it.dtype for it in eager]
    close(mine, on("cpu", eager), 2**-7)

    mine = compiled(inside, fullgraph=True)(*on("openreg", (x, w)))
    assert [it.dtype for it in mine] == [torch.bfloat16, torch.float32, torch.float32]
    close(mine, on("cpu", (*eager, x + 1)), 2**-7)


def test_gradients_flow_through_autocast() -> None:
    network = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))
    exact = copy.deepcopy(network).double()
    network.to("openreg")
    x = numbers(8, 16)
    run = compiled(network)
    with torch.autocast("openreg", torch.bfloat16), torch.openreg.no_fallback():
        loss = run(x.to("openreg")).float().square().mean()
    loss.backward()
    exact(x.double()).square().mean().backward()
    for mine, theirs in zip(network.parameters(), exact.parameters(), strict=True):
        assert mine.grad is not None and theirs.grad is not None
        assert mine.grad.dtype == torch.float32
        assert error(mine.grad, theirs.grad) < 0.03


def test_scaled_dot_product_attention_is_one_operator_of_the_backend() -> None:
    q, k, v = (numbers(2, 2, 16, 8, seed=seed) for seed in range(3))

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q * 2, k, v, is_causal=True) + 1

    check(attend, q, k, v, rtol=1e-5)
    arguments = [it.to("openreg").requires_grad_() for it in (q, k, v)]
    exact = [it.double().requires_grad_() for it in (q, k, v)]
    with torch.openreg.no_fallback():
        compiled(attend, fullgraph=True)(*arguments).square().sum().backward()
    attend(*exact).square().sum().backward()
    for mine, theirs in zip(arguments, exact, strict=True):
        assert mine.grad is not None and theirs.grad is not None
        assert error(mine.grad, theirs.grad) < BOUND


@pytest.mark.parametrize("mode", ["max-autotune-no-cudagraphs", "reduce-overhead", "max-autotune"])
def test_each_mode_gives_the_numbers_of_the_default(mode: str) -> None:
    run = check(lambda x, w: torch.relu(x @ w).sum(-1), numbers(16, 16), numbers(16, 24), mode=mode, rtol=1e-5)
    for seed in (1, 2):  # the calls in which CUDA would record and replay a graph
        x, w = numbers(16, 16, seed=seed), numbers(16, 24, seed=seed)
        close(run(*on("openreg", (x, w))), torch.relu(x @ w).sum(-1), 1e-5)
