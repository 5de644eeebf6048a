"""Networks train in half precision as they do in float, on the device alone."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.amp import autocast

from .conftest import ProgramFunction

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import models

DTYPES = [torch.bfloat16, torch.float16]
STEPS = 30
NEAR = 0.02  # of float32's loss, or this much: bfloat16 has 8 bits


def train(model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    """The losses of some steps; without a type, in float32."""
    model = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler("openreg", enabled=dtype == torch.float16)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with autocast("openreg", dtype=dtype, enabled=dtype is not None):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    return torch.stack(losses).cpu()


@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_networks_train_in_half_as_they_do_in_float(device: str, kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    if kind == "cnn":
        model, inputs = models.CNN(), torch.randn(64, 1, 16, 16, generator=generator)
        labels = torch.randint(10, (64,), generator=generator)
    else:
        symbols = torch.randint(64, (16, 33), generator=generator)
        model, inputs, labels = models.Transformer(), symbols[:, :-1], symbols[:, 1:].contiguous()
    here = [model.to(device), inputs.to(device), labels.to(device)]
    with torch.openreg.no_fallback():
        expected = train(*here, None)
        for dtype in DTYPES:
            torch.testing.assert_close(train(*here, dtype), expected, rtol=NEAR, atol=NEAR)
    assert expected[-1] < expected[0] / 2


@pytest.mark.usefixtures("no_collection")
def test_in_half_less_is_kept_for_the_backward_pass(device: str) -> None:
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(8))).to(device)
    rows = torch.randn(4096, 256, device=device)

    def kept(enabled: bool) -> int:
        before = torch.accelerator.memory_allocated(rows.device)
        with autocast("openreg", dtype=torch.bfloat16, enabled=enabled):
            out = model(rows)
        return torch.accelerator.memory_allocated(rows.device) - before - out.nbytes

    assert kept(True) < 0.65 * kept(False)


def test_a_network_trains_in_half_on_a_device_in_another_process(program: ProgramFunction) -> None:
    printed = program(
        """
        model = torch.nn.Linear(8, 2).to("openreg")
        optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("openreg")
        rows = torch.randn(16, 8, device="openreg")
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            with torch.amp.autocast("openreg"):
                loss = model(rows).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        print(losses[-1] < losses[0], torch.openreg.fallbacks())
        """,
        OPENREG_DRIVER="process",
    )
    assert printed == "True {}\n"
