"""What must hold from step 14 on: regions of half precision, by list; gradients scaled back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from torch import nn
from torch.amp import GradScaler, autocast

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]
DTYPES = [torch.bfloat16, torch.float16]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_each_list_has_its_type(device: str, dtype: torch.dtype) -> None:
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(0)).to(device)
    with autocast("openreg", dtype=dtype):
        product = x @ x
        types = [product.dtype, product.exp().dtype, product.sum().dtype, product.norm().dtype, product.relu().dtype]
        mixed = torch.dot(product[0], x[0])
        with autocast("openreg", enabled=False):
            assert (x @ x).dtype == torch.float32
    assert types == [dtype, torch.float32, torch.float32, torch.float32, dtype]
    assert mixed.dtype == torch.float32
    assert torch.equal(product, x.to(dtype) @ x.to(dtype))


def test_other_types_are_refused_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="In openreg autocast, but the target dtype"):
        context = autocast("openreg", dtype=torch.float32)
    with context:
        assert not torch.is_autocast_enabled("openreg")
    assert torch.get_autocast_dtype("openreg") == torch.float16


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_network_trains_as_in_float(device: str, dtype: torch.dtype) -> None:
    rows = torch.randn(64, 8, generator=torch.Generator().manual_seed(0)).to(device)
    losses = []
    for kind in (None, dtype):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 1)).to(device)
        optimizer, scaler = torch.optim.Adam(model.parameters(), lr=0.01), GradScaler(device, enabled=kind is not None)
        for _ in range(20):
            optimizer.zero_grad()
            with autocast("openreg", dtype=kind, enabled=kind is not None):
                loss = nn.functional.mse_loss(model(rows), rows[:, :1])
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=0.05)


@pytest.mark.parametrize("device", DEVICES)
def test_a_step_with_an_infinity_is_left_out(device: str) -> None:
    weight = nn.Parameter(torch.ones(2, device=device))
    optimizer, scaler = torch.optim.SGD([weight], lr=0.5), GradScaler(device, init_scale=4.0)
    scaler.scale((weight * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1, 1] and scaler.get_scale() == 2


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "lerp: torch.float32" in done.stdout and "layer_norm: torch.bfloat16" in done.stdout
