"""What must hold from step 12 on: the namespace has operators, and they have all that PyTorch's own have."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]
ops = torch.ops.openreg


def tensors(place: str, *shape: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """An input, a weight, a gradient."""
    generator = torch.Generator().manual_seed(0)
    made = [torch.randn(size, generator=generator).to(place, dtype) for size in (shape, shape[-1:], shape)]
    return [made[0].requires_grad_(), made[1].requires_grad_(), made[2]]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_norm_and_its_gradients_equal_the_cpus(device: str, dtype: torch.dtype) -> None:
    results = []
    for place in (device, "cpu"):
        x, weight, grad = tensors(place, 5, 3, 16, dtype=dtype)
        out = ops.rms_norm(x, weight)
        results.append([tensor.detach().cpu() for tensor in (out, *torch.autograd.grad(out, (x, weight), grad))])
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=2e-2 if dtype == torch.bfloat16 else 1e-4, atol=1e-2)


@pytest.mark.parametrize("device", DEVICES)
def test_it_works_under_what_pytorch_does_with_operators(device: str) -> None:
    x, weight, _ = (tensor.detach() for tensor in tensors(device, 4, 8))

    def loss(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return ops.rms_norm(x, weight).square().sum()

    expected = torch.func.grad(loss)(x, weight)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    leaf = x.clone().requires_grad_()
    torch.testing.assert_close(torch.autograd.grad(compiled(leaf, weight), leaf)[0], expected)
    torch.testing.assert_close(torch.vmap(torch.func.grad(loss), (0, None))(x, weight), expected)
    checks = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(ops.rms_norm.default, (leaf, weight), test_utils=checks)


@pytest.mark.parametrize("device", DEVICES)
def test_the_forms_that_write(device: str) -> None:
    x, weight, residual = (tensor.detach() for tensor in tensors(device, 4, 8))
    before = residual.clone()
    norm = ops.add_rms_norm_(residual, x, weight)
    assert torch.equal(residual, before + x)
    torch.testing.assert_close(norm, ops.rms_norm(residual, weight))
    out = torch.empty_like(x)
    assert ops.rms_norm(residual, weight, out=out) is out
    torch.testing.assert_close(out, norm)


@pytest.mark.parametrize("device", DEVICES)
def test_errors_name_operator_and_argument(device: str) -> None:
    x, weight, _ = (tensor.detach() for tensor in tensors(device, 4, 8))
    with pytest.raises(RuntimeError, match=r"openreg::rms_norm_forward: argument 'weight' is of shape \[3\]; expected"):
        ops.rms_norm(x, weight[:3])


class OneAddress(ctypes.Structure):
    """Arguments of a kernel that isn't there."""

    _fields_ = (("data", ctypes.c_void_p),)


@pytest.mark.parametrize("device", DEVICES)
def test_kernels_are_launched_from_python_by_name(device: str) -> None:
    with pytest.raises(NotImplementedError, match=r"has no kernel 'nothing\.float'"):
        torch.openreg.launch("nothing.float", OneAddress(), {}, {0: torch.ones(2, device=device)})


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
    assert done.stdout.count("SUCCESS") == 6 and "on openreg:0" in done.stdout
