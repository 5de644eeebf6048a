"""Beside CUDA: PyTorch has one accelerator in a process, and whoever installs this package may need the other one.

Most of it needs a PyTorch that finds a GPU. beside_cuda.cpp makes one of a build without CUDA.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from .conftest import SITE, TESTS, child_environment
from .probe import built
from .test_autoload import install

RunFunction = Callable[..., subprocess.CompletedProcess[str]]

ASSERTION = "opt_ready_stream && opt_parent_stream INTERNAL ASSERT FAILED"
WARNING = (
    "RuntimeWarning: this process uses 'cuda' beside 'openreg', and PyTorch has one accelerator, which is 'openreg': "
    "backward passes on 'cuda' fail with 'opt_ready_stream && opt_parent_stream'; "
    "TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps torch_openreg out of a process\n"
)

CUDA_OF_ITS_OWN = torch.backends.cuda.is_built()
with_stand_in = pytest.mark.skipif(CUDA_OF_ITS_OWN, reason="this PyTorch has a CUDA of its own")
with_cuda = pytest.mark.skipif(not CUDA_OF_ITS_OWN, reason="this PyTorch was built without CUDA; TORCH=2.14.1 was with")

# Before PyTorch is imported, which asks once. Then what a build with CUDA does when CUDA is first used.
STAND_IN = """
import ctypes, os, sys
beside = ctypes.CDLL(os.environ["BESIDE_CUDA"], ctypes.RTLD_GLOBAL)
import torch

def cuda_lazy_init():
    if not torch.cuda._initialized:
        torch.cuda._initialized = True
        for call, _ in torch.cuda._queued_calls:
            if call.__module__ != "torch.cuda":
                call()

torch.cuda._lazy_init = cuda_lazy_init
torch.cuda.device_count = lambda: 1
if os.environ["AUTOLOAD"] == "1":
    torch._import_device_backends()  # what the end of `import torch` is
"""

# Python ends while autograd's thread for "cuda" is there, and only CUDA's own code knows how to end it.
END = """
sys.stdout.flush()
os._exit(0)
"""

TRAIN = """
def train(device):
    x = torch.ones(3, device=device, requires_grad=True)
    try:
        (x * 2).sum().backward()
    except RuntimeError as error:
        return str(error).partition(" at ")[0]
    return x.grad.tolist()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """beside_cuda.cpp, compiled."""
    return built("beside_cuda", tmp_path_factory.mktemp("beside"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages that comes first, in which this package is installed."""
    entries = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]["entry-points"]
    install(tmp_path, "torch_openreg", entries["torch.backends"]["torch_openreg"])
    return tmp_path


def run(site: Path, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own; what it says goes into the test's output, should it fail."""
    path = os.pathsep.join([str(site), str(TESTS), str(SITE)])
    env = child_environment(**env) | {"PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def beside(site: Path, library: Path) -> RunFunction:
    """Runs a program whose PyTorch has CUDA and finds a GPU."""
    libraries = {"BESIDE_CUDA": str(library), "LD_LIBRARY_PATH": str(Path(torch.__file__).parent / "lib")}

    def run_beside(code: str, *, autoload: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        code = STAND_IN + TRAIN + textwrap.dedent(code) + END
        env |= libraries | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "AUTOLOAD": str(int(autoload))}
        return run(site, code, **env)

    return run_beside


# ------------------------------------------------------------------------------------------------- the accelerator


@with_stand_in
def test_cuda_is_the_accelerator_where_nothing_of_ours_is_loaded(beside: RunFunction) -> None:
    done = beside("print(torch.accelerator.current_accelerator(), train('cuda'))", autoload=False)
    assert (done.stdout, done.stderr) == ("cuda [2.0, 2.0, 2.0]\n", "")


@with_stand_in
def test_a_machine_without_our_device_keeps_cuda_although_the_package_is_installed(beside: RunFunction) -> None:
    code = "print('torch_openreg' in sys.modules, torch.accelerator.current_accelerator(), train('cuda'))"
    done = beside(code, OPENREG_DRIVER="fake")
    assert (done.stdout, done.stderr) == ("False cuda [2.0, 2.0, 2.0]\n", "")


@with_stand_in
def test_who_imports_the_package_by_its_name_has_it_there_too(beside: RunFunction) -> None:
    code = """
    import torch_openreg
    print(torch.accelerator.current_accelerator(), torch.device("openreg"), torch.openreg.is_available())
    """
    assert beside(code, OPENREG_DRIVER="fake").stdout == "openreg openreg False\n"


@with_stand_in
def test_a_broken_installation_keeps_cuda_and_says_why(beside: RunFunction, site: Path) -> None:
    (site / "torch_openreg.py").write_text("raise ImportError('libtorch_openreg.so: no such file')")
    done = beside("print(torch.accelerator.current_accelerator(), train('cuda'))")
    assert done.stdout == "cuda [2.0, 2.0, 2.0]\n"
    assert "RuntimeWarning: the device 'openreg' cannot be used: libtorch_openreg.so: no such file\n" in done.stderr


@with_stand_in
def test_where_both_have_devices_ours_trains_and_the_first_use_of_cuda_warns_of_what_will_fail(
    beside: RunFunction,
) -> None:
    code = """
    import warnings
    print(torch.accelerator.current_accelerator(), train("openreg:1"))
    with torch.Stream("openreg:1"):
        print(train("openreg:1"))
    with warnings.catch_warnings(record=True) as caught:
        torch.ones(2, device="cuda")
        torch.ones(2, device="cuda")
    print(*(f"{it.category.__name__}: {it.message}" for it in caught))
    print(train("cuda"))
    print(train("openreg:1"))
    """
    twos = "[2.0, 2.0, 2.0]\n"
    done = beside(code)
    assert done.stdout == f"openreg {twos}{twos}{WARNING}{ASSERTION}\n{twos}"
    assert done.stderr == ""


@with_stand_in
def test_where_cuda_was_used_before_the_import_warns_at_once(beside: RunFunction) -> None:
    code = """
    print(train("cuda"))
    import torch_openreg
    print(train("cuda"))
    """
    done = beside(code, autoload=False)
    assert done.stdout == f"[2.0, 2.0, 2.0]\n{ASSERTION}\n"
    assert WARNING in done.stderr and done.stderr.count("Warning") == 1


# --------------------------------------------------------------------------------------------------- pinned memory


@with_stand_in
def test_what_the_backend_pins_itself_is_its_own(beside: RunFunction) -> None:
    code = """
    from backend.simulator import sim
    from contract.harness import Gate

    x = torch.arange(1000.0)
    pinned = lambda: (beside.cuda_pinned_count(), torch.openreg.host_memory_stats()["allocations.current"])
    y = torch.zeros(1000, 2, device="openreg:1")
    gate = Gate(sim, "staged", 30.0)
    gate.close(sim.default_stream(1))
    gate.wait_for(1)
    there = x.to("openreg:1", non_blocking=True)
    y[:, 1].copy_(x + 1, non_blocking=True)
    print(pinned())
    x.fill_(-1)
    gate.destroy()
    print(torch.equal(there.cpu(), torch.arange(1000.0)), torch.equal(y[:, 1].cpu(), torch.arange(1000.0) + 1))

    import torch.distributed as dist
    dist.init_process_group("occl", store=dist.HashStore(), rank=0, world_size=1, device_id=there.device)
    dist.all_reduce(there)
    print(there.sum().item(), pinned()[0])
    dist.destroy_process_group()
    """
    assert beside(code).stdout == "(0, 2)\nTrue True\n499500.0 0\n"


@with_stand_in
def test_what_pytorch_pins_is_cudas_or_ours_by_the_way_it_is_asked_for(beside: RunFunction) -> None:
    code = """
    from torch.utils.data import DataLoader
    here, there = torch.ones(3), torch.ones(3, device="openreg:1")
    for name, make in {
        "empty": lambda: torch.empty(3, pin_memory=True).fill_(1),
        "empty_like": lambda: torch.ones_like(here, pin_memory=True),
        "tensor": lambda: torch.tensor([1.0, 1.0, 1.0], pin_memory=True),
        "to": lambda: there.to("cpu", non_blocking=True),
        "pin_memory": lambda: here.pin_memory(),
        "loader": lambda: next(iter(DataLoader(here, batch_size=3, pin_memory=True))),
        "again": lambda: torch.tensor([1.0, 1.0, 1.0], pin_memory=True).pin_memory(),
    }.items():
        before = beside.cuda_pinned_count()
        made = make()
        sums = there + made.to("openreg:1", non_blocking=True)
        print(name, beside.cuda_pinned_count() - before, made.is_pinned(), sums.tolist())
    """
    cudas, ours, twos = "1 False", "0 True", "[2.0, 2.0, 2.0]\n"
    assert beside(code).stdout == (
        f"empty {cudas} {twos}empty_like {cudas} {twos}tensor {cudas} {twos}to {cudas} {twos}"
        f"pin_memory {ours} {twos}loader {ours} {twos}again 1 True {twos}"
    )


# ------------------------------------------------------------------------------------------ a build that finds no GPU


@with_cuda
def test_in_a_build_with_cuda_that_finds_no_gpu_all_is_ours(site: Path) -> None:
    code = """
    import torch
    from torch.utils.data import DataLoader
    print(torch.accelerator.current_accelerator(), train("openreg:1"))
    with torch.Stream("openreg:1"):
        print(train("openreg:1"))
    pinned = [
        torch.empty(3, pin_memory=True),
        torch.ones_like(torch.ones(3), pin_memory=True),
        torch.ones(3, device="openreg:1").to("cpu", non_blocking=True),
        torch.ones(3).pin_memory(),
        next(iter(DataLoader(torch.ones(3), batch_size=3, pin_memory=True))),
    ]
    print([it.is_pinned() for it in pinned], torch.cuda.is_initialized())
    """
    done = run(site, TRAIN + textwrap.dedent(code))
    twos = "[2.0, 2.0, 2.0]\n"
    assert (done.stdout, done.stderr) == (f"openreg {twos}{twos}{[True] * 5} False\n", "")


@with_cuda
def test_without_a_device_of_ours_such_a_build_stays_as_it_is_if_it_finds_a_gpu(site: Path) -> None:
    code = """
    import sys, torch
    print(torch.accelerator.current_accelerator(), "torch_openreg" in sys.modules)
    torch.cuda.device_count = lambda: int(sys.argv[1])
    torch._import_device_backends()
    print(torch.accelerator.current_accelerator(), "torch_openreg" in sys.modules)
    """
    env = {"OPENREG_DRIVER": "fake", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    for gpus, then in {"1": "cuda False", "0": "openreg True"}.items():
        done = run(site, textwrap.dedent(code).replace("sys.argv[1]", gpus), **env)
        assert (done.stdout, done.stderr) == (f"cuda False\n{then}\n", "")


@with_cuda
def test_such_a_build_warns_when_cuda_is_initialised(site: Path) -> None:
    # There is no GPU, so CUDA's own initialisation fails before it calls what is queued.
    code = """
    import torch
    for call, _ in torch.cuda._queued_calls:
        if call.__module__ != "torch.cuda":
            call()
    """
    assert WARNING in run(site, textwrap.dedent(code)).stderr
