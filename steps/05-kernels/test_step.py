"""What must hold from step 05 on: an MLP's operators run on the device, whatever types and layouts they meet."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.int64, torch.complex64]


@pytest.fixture(autouse=True)
def nothing_on_the_cpu() -> None:
    """Every test starts on device 0 with no fallback counted."""
    torch.openreg.set_device(0)
    torch.openreg.reset_fallbacks()


@pytest.mark.kernels
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arithmetic_of_mixed_types_and_strides_equals_the_cpus(device: str, dtype: torch.dtype) -> None:
    x = torch.arange(24).view(4, 6).to(dtype)
    y = torch.linspace(1, 6, 6)
    for here, there in ((x.t(), y[:4]), (x[:, ::2], y[3:]), (x, 3), (x, torch.tensor(2))):
        other = there.to(device) if isinstance(there, torch.Tensor) and there.dim() else there
        for operator in (torch.add, torch.mul, torch.sub):
            got = operator(here.to(device), other)
            torch.testing.assert_close(got.cpu(), operator(here, there))
            assert str(got.device) == device
    assert torch.openreg.fallbacks() == {}


@pytest.mark.parametrize("device", DEVICES)
def test_out_takes_its_own_layout_and_type(device: str) -> None:
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    out = torch.full((5, 3), -1.0, dtype=torch.float32).to(device)
    assert torch.mm(a.to(device), b.to(device), out=out.t()).data_ptr() == out.data_ptr()
    torch.testing.assert_close(out.cpu(), (a @ b).t())


@pytest.mark.kernels
@pytest.mark.parametrize("device", DEVICES)
def test_an_mlp_trains_without_the_cpu_and_learns_what_the_cpu_learns(device: str) -> None:
    def losses(place: str) -> list[float]:
        torch.manual_seed(0)
        inputs, targets = torch.randn(32, 8).to(place), torch.randint(0, 4, (32,)).to(place)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).to(place)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
        found = []
        for _ in range(10):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    torch.testing.assert_close(torch.tensor(losses(device)), torch.tensor(losses("cpu")), rtol=1e-4, atol=1e-5)
    assert torch.openreg.fallbacks() == {}


def test_operands_on_two_devices_are_refused_by_name() -> None:
    with pytest.raises(RuntimeError, match="openreg:1"):
        torch.mm(torch.ones(2, 2, device="openreg:0"), torch.ones(2, 2, device="openreg:1"))


def test_a_type_that_an_operator_lacks_is_an_error_at_the_call() -> None:
    with pytest.raises(RuntimeError, match="not implemented"):
        torch.nn.functional.threshold(torch.ones(2, dtype=torch.complex64).to("openreg"), 0.0, 1.0)


@pytest.mark.simulator
@pytest.mark.parametrize("kernels", ["only=gemm", "kernels=0"])
def test_what_the_driver_lacks_the_cpu_computes(kernels: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "demo.py")],
        env=os.environ | {"OPENREG_SIM": kernels},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "losses equal the CPU's: True" in done.stdout
    assert "  aten::sum.dim_IntList\n" in done.stdout
    assert ("aten::addmm" in done.stdout) == (kernels == "kernels=0")
    refused = "gemm" if kernels == "kernels=0" else "clamp_min"
    assert done.stderr.splitlines()[-1] == f"NotImplementedError: \"{refused}\" not implemented for 'Float'"


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "structured class:      True" in done.stdout
