"""LSTM and GRU: all samples at once, and cell by cell, forward and backward."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def on_the_device_alone() -> Iterator[None]:
    """Whatever is tested here, the CPU does none of it."""
    with torch.openreg.no_fallback():
        yield


def tensors(value: torch.Tensor | tuple) -> list[torch.Tensor]:
    """All tensors in nested tuples."""
    return [value] if isinstance(value, torch.Tensor) else [tensor for part in value for tensor in tensors(part)]


def results(network: nn.Module, device: str, dtype: torch.dtype, *sizes: tuple[int, ...]) -> list[torch.Tensor]:
    """What a network computes of fixed numbers, and the gradients of all its parameters and inputs."""
    network = network.to(device, dtype)
    network.zero_grad()
    generator = torch.Generator().manual_seed(3)
    inputs = [torch.randn(size, generator=generator).to(device, dtype).requires_grad_() for size in sizes]
    outputs = tensors(network(*inputs))
    sum((output * output).sum() for output in outputs).backward()
    gradients = [x.grad for x in (*inputs, *network.parameters())]
    return [tensor.detach().cpu().double() for tensor in (*outputs, *gradients)]


CELLS = {
    "LSTM": (lambda: nn.LSTM(5, 7, num_layers=2), (4, 3, 5)),
    "LSTM without biases": (lambda: nn.LSTM(5, 7, bias=False), (4, 3, 5)),
    "LSTM in both directions": (lambda: nn.LSTM(5, 7, bidirectional=True, batch_first=True), (3, 4, 5)),
    "LSTM that projects": (lambda: nn.LSTM(5, 7, proj_size=2), (4, 3, 5)),
    "LSTMCell": (lambda: nn.LSTMCell(5, 7), (3, 5)),
    "GRU": (lambda: nn.GRU(5, 7, num_layers=2), (4, 3, 5)),
    "GRU without biases": (lambda: nn.GRU(5, 7, bias=False), (4, 3, 5)),
    "GRUCell": (lambda: nn.GRUCell(5, 7), (3, 5)),
    "RNN": (lambda: nn.RNN(5, 7, nonlinearity="relu"), (4, 3, 5)),
}


@pytest.mark.parametrize("cell", CELLS)
def test_results_and_gradients_equal_the_cpus(device: str, cell: str) -> None:
    torch.manual_seed(1)
    make, size = CELLS[cell]
    network = make()
    expected = results(network, "cpu", torch.float64, size)
    torch.testing.assert_close(results(network, device, torch.float32, size), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [nn.LSTMCell, nn.GRUCell])
def test_half_precision_is_as_exact_as_the_type(device: str, make: type[nn.Module]) -> None:
    torch.manual_seed(1)
    network = make(5, 7).half()
    expected = results(network, "cpu", torch.float64, (3, 5))
    torch.testing.assert_close(results(network, device, torch.float16, (3, 5)), expected, rtol=2e-2, atol=2e-2)


def test_only_the_hidden_state_or_only_the_cell_may_be_used(device: str) -> None:
    torch.manual_seed(1)
    network = nn.LSTMCell(5, 7)
    x = torch.randn(3, 5)
    for which in (0, 1):
        found = []
        for place in ("cpu", device):
            network = network.to(place)
            network.zero_grad()
            network(x.to(place))[which].sum().backward()
            # Copies: the gradients are the parameters', and move along.
            found.append([p.grad.to("cpu", copy=True) for p in network.parameters()])
        torch.testing.assert_close(found[1], found[0])


def test_gates_that_do_not_fit_the_state_are_an_error(device: str) -> None:
    gates, state = torch.ones(3, 8, device=device), torch.ones(3, 2, device=device)
    with pytest.raises(RuntimeError, match=r"expected 4 gates for a state of size \[3, 2\], but .* of size \[3, 7\]"):
        torch.ops.aten._thnn_fused_lstm_cell(gates, gates[:, :7], state)
    with pytest.raises(RuntimeError, match=r"expected 3 gates for a state of size \[3, 2\]"):
        torch.ops.aten._thnn_fused_gru_cell(gates, gates, state)
    with pytest.raises(RuntimeError, match="expected both biases or none"):
        torch.ops.aten._thnn_fused_lstm_cell(gates, gates, state, gates[0])
