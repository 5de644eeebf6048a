"""Networks of three kinds train on the device as on the CPU, and leave nothing to it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import models

STEPS = 30
NETWORKS = [models.mlp, models.cnn, models.transformer]
Network = Callable[[str], models.Step]


def losses(network: Network, device: str) -> list[float]:
    """The loss of each step; all are read at the end, so that the device never waits for the host."""
    step = network(device)
    return torch.stack([step() for _ in range(STEPS)]).tolist()


@pytest.mark.parametrize("network", NETWORKS)
def test_the_losses_follow_the_cpus(network: Network, device: str) -> None:
    here, cpu = losses(network, device), losses(network, "cpu")
    torch.testing.assert_close(here, cpu, rtol=1e-3, atol=1e-4)
    assert here[-1] < 0.9 * here[0]


@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_is_left_to_the_cpu(network: Network) -> None:
    step = network("openreg")
    torch.openreg.synchronize()
    torch.openreg.reset_fallbacks()
    for _ in range(3):
        step()
    assert torch.openreg.fallbacks() == {}


@pytest.mark.parametrize("network", NETWORKS)
def test_two_runs_give_the_same_numbers(network: Network) -> None:
    assert losses(network, "openreg:0") == losses(network, "openreg:1") == losses(network, "openreg:0")
