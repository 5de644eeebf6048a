"""What must hold from step 10 on: networks of all kinds train on the device alone."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]


@pytest.fixture(autouse=True)
def nothing_on_the_cpu() -> None:
    """Every test starts on device 0 with no fallback counted."""
    torch.openreg.set_device(0)
    torch.openreg.reset_fallbacks()


@pytest.mark.kernels
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["sin", "erf", "exp", "sqrt", "floor", "sigmoid", "logical_not", "sign", "reciprocal"])
def test_functions_equal_the_cpus(device: str, name: str) -> None:
    x = torch.linspace(0.1, 3, 50)
    for given in (x, x.double(), x.half(), x.view(5, 10).t()):
        function = getattr(torch, name)
        torch.testing.assert_close(function(given.to(device)).cpu(), function(given))
    assert torch.openreg.fallbacks() == {}


@pytest.mark.kernels
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_reductions_and_scans_go_along_any_dimension(device: str, dim: int) -> None:
    x = torch.randn(3, 4, 5)
    for name in ("sum", "prod", "amax", "argmin", "var", "cumsum", "softmax", "logsumexp"):
        torch.testing.assert_close(getattr(x.to(device), name)(dim).cpu(), getattr(x, name)(dim))
    assert torch.openreg.fallbacks() == {}


def test_what_networks_are_made_of_is_native() -> None:
    coverage = torch.openreg.operator_coverage()
    for name in ("add.Tensor", "convolution_overrideable", "index.Tensor", "native_layer_norm", "_softmax", "cumsum"):
        assert coverage[f"aten::{name}"] == "native"


@pytest.mark.kernels
def test_dividing_by_zero_is_an_error_at_the_next_wait() -> None:
    code = """
import os, torch, torch_openreg
x = torch.arange(3, device="openreg") // 0
try:
    torch.openreg.synchronize()
except RuntimeError as error:
    print(error, flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "ZeroDivisionError" in done.stdout


@pytest.mark.kernels
def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "a layer" in done.stdout
