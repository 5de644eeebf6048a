"""Operators from Python: the example examples/custom_ops.py, and torch.openreg.launch, with which it runs kernels."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.library import opcheck

from .conftest import GateFunction, child_environment
from .test_custom_ops import DTYPES, EPS, close, composed, numbers, run
from .test_foreach import launches

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "custom_ops.py"
CHECKS = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic", "test_aot_dispatch_static")


@pytest.fixture(scope="module")
def twin() -> ModuleType:
    """The example, whose import registers its operators: once in a process."""
    if "custom_ops_example" not in sys.modules:
        spec = importlib.util.spec_from_file_location("custom_ops_example", EXAMPLE)
        assert spec and spec.loader
        sys.modules["custom_ops_example"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["custom_ops_example"])
    torch._dynamo.reset()
    return sys.modules["custom_ops_example"]


# The example


def test_the_example_runs_and_finds_the_numbers_of_c_plus_plus() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], env=child_environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(DTYPES) and all(line.endswith("from Python as from C++: True") for line in lines)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_and_gradients_are_those_of_double_precision_rounded(
    twin: ModuleType, device: str, dtype: torch.dtype
) -> None:
    for shape in ((8,), (4, 3, 8), (300, 130), (0, 8)):
        tensors = numbers(*shape, dtype=dtype)
        exact = run(composed, [tensor.double() for tensor in tensors], "cpu")
        if 0 not in shape:
            close(run(twin.rms_norm, tensors, device), exact, dtype)
            close(run(twin.rms_norm, tensors, "cpu"), exact, dtype)
        else:
            assert [x.shape for x in run(twin.rms_norm, tensors, device)] == [x.shape for x in exact]


def test_it_is_one_launch_forward_and_one_backward(twin: ModuleType, device: str) -> None:
    x, weight, grad = (tensor.to(device) for tensor in numbers(4, 8))
    _, rstd = twin.rms_norm_forward(x, weight, EPS)
    for body in (
        lambda: twin.rms_norm(x, weight, EPS),
        lambda: twin.rms_norm_backward(grad, x, weight, rstd),
    ):
        assert launches(body, 1) and not launches(body, 0)


@pytest.mark.parametrize("place", ["cpu", "openreg:0", "openreg:1"])
def test_opcheck_passes_for_each(twin: ModuleType, place: str) -> None:
    x, weight, grad = (tensor.to(place) for tensor in numbers(4, 3, 8))
    _, rstd = twin.rms_norm_forward(x, weight, EPS)
    opcheck(twin.rms_norm_backward, (grad, x, weight, rstd), test_utils=CHECKS)
    opcheck(twin.add_rms_norm_, (x.clone(), grad, weight, EPS), test_utils=CHECKS)
    opcheck(twin.rms_norm_forward, (x.requires_grad_(), weight.requires_grad_(), EPS), test_utils=CHECKS)


@pytest.mark.parametrize("place", ["cpu", "openreg:0", "openreg:1"])
def test_it_works_under_what_the_other_one_works_under(twin: ModuleType, place: str) -> None:
    x, weight, _ = (tensor.to(place) for tensor in numbers(4, 3, 8))

    def loss(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return twin.rms_norm(x, weight, EPS).square().sum()

    def theirs(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.ops.openreg.rms_norm(x, weight, EPS).square().sum()

    both = (0, 1)
    expected = torch.func.grad(theirs, both)(x, weight)
    torch.testing.assert_close(
        torch.vmap(twin.rms_norm, (1, None), 1)(x, weight), torch.ops.openreg.rms_norm(x, weight)
    )
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    own = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
    torch.testing.assert_close(torch.autograd.grad(compiled(*own), own), expected)

    def changes(residual: torch.Tensor) -> torch.Tensor:
        return twin.add_rms_norm_(residual, x, weight) + residual

    one, other = x.clone(), x.clone()
    torch.testing.assert_close(torch.compile(changes, fullgraph=True, backend="aot_eager")(one), changes(other))
    assert torch.equal(one, other) and torch.equal(one, x + x)
    kind = place.split(":")[0]
    torch.set_autocast_enabled(kind, True)
    try:
        out = twin.rms_norm(x, weight, EPS)
    finally:
        torch.set_autocast_enabled(kind, False)
    assert out.dtype == torch.bfloat16
    with pytest.raises(
        ValueError, match=r"argument 'weight' is torch.float32 of shape \(3,\); expected torch.float32 of"
    ):
        twin.rms_norm(x, weight[:3])


@pytest.mark.parametrize("place", ["cpu", "openreg:0", "openreg:1"])
def test_torch_func_takes_the_function_and_not_the_formula_that_is_registered(twin: ModuleType, place: str) -> None:
    x, weight, _ = (tensor.to(place) for tensor in numbers(4, 3, 8))

    def loss(norm: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        return lambda x, weight: norm(x, weight, EPS).pow(3).sum()

    mine, theirs = loss(twin.functional_rms_norm), loss(torch.ops.openreg.rms_norm)
    grad, vmap, jacrev = torch.func.grad, torch.vmap, torch.func.jacrev
    torch.testing.assert_close(grad(mine, (0, 1))(x, weight), grad(theirs, (0, 1))(x, weight))
    each = vmap(grad(mine, (0, 1)), (0, None))(x, weight)
    torch.testing.assert_close(each, vmap(grad(theirs, (0, 1)), (0, None))(x, weight), rtol=1e-4, atol=1e-4)
    second = jacrev(jacrev(mine))(x[0], weight)
    torch.testing.assert_close(second, jacrev(jacrev(theirs))(x[0], weight), rtol=1e-4, atol=1e-4)
    own = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
    compiled = torch.compile(mine, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(torch.autograd.grad(compiled(*own), own), grad(theirs, (0, 1))(x, weight))
    said = (
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
        "override the setup_context staticmethod."
    )
    with pytest.raises(RuntimeError, match=re.escape(said)):
        grad(loss(twin.rms_norm))(x, weight)


# torch.openreg.launch


class Fill(ctypes.Structure):
    """Arguments of "add_one", which no driver has."""

    _fields_ = (("data", ctypes.c_void_p), ("count", ctypes.c_int64))


def test_a_launch_goes_to_its_tensors_device_and_current_stream(
    twin: ModuleType, device: str, gate: GateFunction
) -> None:
    x, weight, _ = (tensor.to(device) for tensor in numbers(4, 8))
    expected = twin.rms_norm(x, weight, EPS)
    stream = torch.openreg.Stream(device)
    torch.openreg.synchronize(device)
    closed = gate(stream)
    with torch.openreg.stream(stream):
        out = twin.rms_norm(x, weight, EPS)
        done = stream.record_event()
    assert not done.query()
    closed.open()
    done.synchronize()
    assert out.device == torch.device(device) and torch.equal(out, expected)


def test_a_backward_pass_finds_out_that_a_launch_has_written_what_it_saved(twin: ModuleType, device: str) -> None:
    x = torch.full((1, 4), 3.0, device=device, requires_grad=True)
    saved, weight = x * 1, torch.ones(4, device=device)
    square = saved * saved
    at = {name: getattr(twin.RmsNormArgs, name).offset for name in ("input", "weight", "output")}
    described = {"input": twin.rows(weight), "weight": twin.rows(weight), "output": twin.rows(saved)}
    args = twin.RmsNormArgs(rows=1, columns=4, **described)
    torch.openreg.launch("rms_norm.float", args, {at["input"]: weight, at["weight"]: weight}, {at["output"]: saved})
    assert torch.equal(saved.cpu(), torch.ones(1, 4))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_wrong_launches_are_named_at_the_call(device: str, other_device: str) -> None:
    launch, x = torch.openreg.launch, torch.ones(4, device=device)
    with pytest.raises(NotImplementedError, match=r"the driver of device . has no kernel 'add_one.float'"):
        launch("add_one.float", Fill(count=4), {}, {0: x})
    with pytest.raises(RuntimeError, match="launch: kernel 'fill' was given no tensor; expected one at least"):
        launch("fill", Fill(), {}, {})
    said = f"launch: kernel 'fill' was given a tensor on {other_device}; expected all of them on one device"
    with pytest.raises(RuntimeError, match=said):
        launch("fill", Fill(), {0: x}, {0: torch.ones(4, device=other_device)})
    with pytest.raises(RuntimeError, match="was given a tensor on cpu"):
        launch("fill", Fill(), {}, {0: torch.ones(4)})
    with pytest.raises(RuntimeError, match="was to have an address at byte 12 of its arguments, and they have 16"):
        launch("fill", Fill(), {}, {12: x})
    with pytest.raises(RuntimeError, match="orLaunchKernel"):
        launch("rms_norm.float", Fill(count=4), {}, {0: x})  # the arguments are too short
    torch.openreg.synchronize(device)
    assert torch.equal(x.cpu(), torch.ones(4))


def test_a_launch_forgets_its_kernels_when_the_device_is_reset(twin: ModuleType) -> None:
    code = f"""
import sys, torch
sys.path.insert(0, {str(EXAMPLE.parent)!r})
import custom_ops
for _ in range(2):
    x, weight = torch.ones(2, 4, device="openreg"), torch.ones(4, device="openreg")
    print(custom_ops.rms_norm(x, weight, 0.0).sum().item())
    del x, weight
    torch.openreg.reset_device("openreg:0")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=child_environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "8.0\n8.0\n", done.stderr
