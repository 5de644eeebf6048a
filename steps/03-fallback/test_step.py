"""What must hold from step 03 on: every operator works, the fallback counts and can be refused, devices don't mix."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]

# The operators of these tests are ones that no later step writes a kernel for.


@pytest.fixture(autouse=True)
def fresh_start() -> None:
    """Every test counts from zero, on device 0."""
    torch.openreg.set_device(0)
    torch.openreg.reset_fallbacks()


def test_a_tensor_can_be_printed() -> None:
    assert repr(torch.arange(3.0).to("openreg:1")) == "tensor([0., 1., 2.], device='openreg:1')"


@pytest.mark.parametrize("device", DEVICES)
def test_results_equal_the_cpus_and_are_on_the_device(device: str) -> None:
    x = torch.arange(12.0).view(3, 4) / 7 - 0.6
    functions = (
        lambda t: t + 2 * t,
        lambda t: t @ t.t(),
        lambda t: t.softmax(1),
        lambda t: torch.cat([t, t[:, ::2]], 1),
        lambda t: t.sort(0, descending=True),
        lambda t: t[t > 0],
        lambda t: torch.nn.functional.conv1d(t[None], torch.ones(2, 3, 2).to(t.device)),
        lambda t: torch.where(t > 0, t, torch.tensor(0.5)),
        lambda t: 7 // (t + 2),
    )
    for function in functions:
        expected, actual = function(x), function(x.to(device))
        for want, got in zip(expected, actual, strict=True):
            assert str(got.device) == device
            torch.testing.assert_close(got.cpu(), want)
    assert torch.openreg.current_device() == 0


@pytest.mark.parametrize("device", DEVICES)
def test_batch_normalisation_keeps_its_running_statistics(device: str) -> None:
    x = torch.arange(24.0).view(4, 3, 2)
    here, there = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3).to(device)
    torch.testing.assert_close(there(x.to(device)).cpu(), here(x))
    torch.testing.assert_close(there.running_mean.cpu(), here.running_mean)
    torch.testing.assert_close(there.running_var.cpu(), here.running_var)


@pytest.mark.parametrize("device", DEVICES)
def test_out_and_in_place_write_where_they_should(device: str) -> None:
    x = torch.arange(1.0, 5.0).to(device)
    base = torch.zeros(4, 2, device=device)
    torch.special.airy_ai(x, out=base[:, 1])
    assert base[:, 0].tolist() == [0] * 4
    torch.testing.assert_close(base[:, 1].cpu(), torch.special.airy_ai(torch.arange(1.0, 5.0)))
    x[::2].nextafter_(x[1::2])
    assert x[1::2].tolist() == [2, 4]
    assert x[0].item() > 1


def test_calls_are_counted_by_operator() -> None:
    x = torch.ones(3, device="openreg")
    torch.openreg.reset_fallbacks()
    for _ in range(3):
        torch.special.airy_ai(x)
    x.nextafter_(x)
    assert torch.openreg.fallbacks() == {"aten::special_airy_ai.out": 3, "aten::nextafter.out": 1}
    torch.openreg.reset_fallbacks()
    assert torch.openreg.fallbacks() == {}


def test_the_fallback_can_be_refused() -> None:
    x = torch.ones(3, device="openreg")
    with (
        torch.openreg.no_fallback(),
        pytest.raises(NotImplementedError, match=r"'aten::special_airy_ai.out' has no kernel for openreg"),
    ):
        torch.special.airy_ai(x)
    torch.special.airy_ai(x)


def test_one_operator_can_be_blocked() -> None:
    x = torch.ones(3, device="openreg")
    torch.openreg.block_fallback("aten::special_airy_ai.out")
    with pytest.raises(NotImplementedError, match=r"'aten::special_airy_ai.out'.* blocked"):
        torch.special.airy_ai(x)
    torch.special.bessel_j0(x)
    torch.openreg.block_fallback("aten::special_airy_ai.out", False)
    torch.special.airy_ai(x)


def test_tensors_of_two_devices_do_not_mix() -> None:
    x, y = (torch.ones(2, 2, device=device) for device in DEVICES)
    for other in (y, y.cpu()):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            torch.kron(x, other)
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            torch.linalg.solve_triangular(x, other, upper=True)
    assert (x * torch.tensor(3.0)).sum().item() == 12


def test_composites_that_read_memory_on_the_host_go_to_the_cpu() -> None:
    x = torch.tensor([[1e6, -2.0]]).to("openreg")
    assert torch.ops.aten._saturate_weight_to_fp16(x).tolist() == [[65504, -2]]
    reshaped = torch.ops.aten._reshape_from_tensor(x, torch.tensor([2, 1]).to("openreg"))
    reshaped.zero_()
    assert x.tolist() == [[0, 0]]


def test_errors_of_the_cpus_kernel_arrive_unchanged() -> None:
    with pytest.raises(torch.linalg.LinAlgError, match="not positive-definite"):
        torch.linalg.cholesky(-torch.eye(2).to("openreg:1"))
    assert torch.openreg.current_device() == 0


def test_random_numbers_come_from_the_seeded_generator() -> None:
    draws = []
    for _ in range(2):
        torch.manual_seed(3)
        draws.append(torch.rand(4, device="openreg").tolist())
    assert draws[0] == draws[1]


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the CPU fallback" in done.stdout
