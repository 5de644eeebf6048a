"""What must hold from step 17 on: functions are compiled into kernels, which run where eager code's would."""

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch.profiler import DeviceType, ProfilerActivity, profile

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]

pytestmark = pytest.mark.kernels


def work_of(function: Callable[[], object]) -> list[tuple[str, int, int]]:
    """What devices do for a call: each kernel's name, device and stream."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recording:
        function()
    work = [it for it in recording.events() if it.device_type != DeviceType.CPU]
    return [(it.name, it.device_index, it.device_resource_id) for it in work]


def program(*arguments: str) -> str:
    """Run Python and return what it prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("device", DEVICES)
def test_operators_become_one_kernel_on_the_stream_that_is_current(device: str) -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        return (torch.relu(x * 2) - x).exp()

    x, compiled, side = torch.randn(100, device=device), torch.compile(chain), torch.Stream(device)
    torch.testing.assert_close(compiled(x), chain(x))
    torch.accelerator.synchronize(device)
    with side:
        work = work_of(lambda: compiled(x))
    assert work == [("openreg_fused_exp_mul_relu_sub_0", x.device.index, side.stream_id)]


def test_gradients_are_those_of_eager_code() -> None:
    eager = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 2)).to("openreg")
    ours, x = copy.deepcopy(eager), torch.randn(5, 8, device="openreg")
    with torch.openreg.no_fallback():
        torch.compile(ours)(x).square().sum().backward()
    eager(x).square().sum().backward()
    for mine, theirs in zip(ours.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_one_kernel_serves_all_sizes() -> None:
    counter = CompileCounterWithBackend("inductor")
    rows = torch.compile(lambda x: (x * x.shape[0]).amax(-1), backend=counter, dynamic=True)
    for size in (3, 50, 1000):
        x = torch.randn(size, 7)
        assert torch.equal(rows(x.to("openreg")).cpu(), (x * size).amax(-1))
    assert counter.frame_count == 1


@pytest.mark.parametrize("as_eager", [False, True])
def test_random_numbers_follow_the_seed_and_are_eager_codes_if_asked(as_eager: bool) -> None:
    x, drop, drawn = torch.ones(1000, device="openreg"), nn.Dropout(), []
    compiled = torch.compile(lambda x: drop(x * 2), options={"fallback_random": as_eager})
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(compiled(x).tolist())
    torch.manual_seed(1)
    assert drawn[0] == drawn[1] != drawn[2]
    assert (drawn[0] == drop(x * 2).tolist()) == as_eager


def test_an_index_out_of_bounds_is_an_error_of_the_device_that_names_the_kernel() -> None:
    look_up = torch.compile(lambda table, row: table[row] + 1)
    table = torch.arange(4.0, device="openreg:1")
    look_up(table, torch.tensor([4], device="openreg:1"))
    try:
        with pytest.raises(
            torch.AcceleratorError, match=r"kernel 'openreg_fused_add_index_0' on device 1: index out of bounds: 0 <= "
        ):
            torch.openreg.synchronize(1)
    finally:
        torch.openreg.reset_device(1)
    table = torch.arange(4.0, device="openreg:1")
    assert look_up(table, torch.tensor([-1], device="openreg:1")).tolist() == [4.0]  # the same code, loaded anew


def test_who_compiles_nothing_imports_no_compiler() -> None:
    code = "import sys, torch, torch_openreg; torch.ones(1, device='openreg'); print('torch._inductor' in sys.modules)"
    assert program("-c", code) == "False\n"


def test_the_exercise_runs() -> None:
    assert program(str(HERE / "exercise.py")).endswith("eager: 6\ncompiled: 5\ncaptured: 1\n")
