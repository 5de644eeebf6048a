"""What must hold from step 01 on: devices have names and numbers, one is current, and errors say what is wrong."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
import torch_openreg

HERE = Path(__file__).resolve().parent


def run(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *command], env=os.environ | env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(autouse=True)
def first_device() -> None:
    """Every test starts on device 0."""
    torch.openreg.set_device(0)


def test_pytorch_knows_the_name() -> None:
    assert str(torch.device("openreg:1")) == "openreg:1"
    assert torch.get_device_module("openreg") is torch.openreg


def test_the_package_is_built_for_this_pytorch() -> None:
    assert torch_openreg._C._torch_version() == torch.__version__.split("+")[0]


def test_there_are_two_devices() -> None:
    assert torch.openreg.is_available()
    assert torch.openreg.device_count() == 2, "there is no device 1"


def test_the_context_switches_and_restores_also_after_an_exception() -> None:
    with torch.openreg.device("openreg:1"):
        assert torch.openreg.current_device() == 1
        with pytest.raises(KeyError), torch.openreg.device(0):
            raise KeyError
        assert torch.openreg.current_device() == 1
    assert torch.openreg.current_device() == 0


def test_each_thread_has_its_own_current_device() -> None:
    torch.openreg.set_device(1)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.openreg.current_device).result() == 0


@pytest.mark.parametrize("index", [-1, 2])
def test_a_device_that_is_not_there_is_named(index: int) -> None:
    said = f"set_device: argument 'device' has index {index}; there are 2 openreg devices"
    with pytest.raises(ValueError, match=said):
        torch.openreg.set_device(index)
    assert torch.openreg.current_device() == 0


def test_every_device_can_be_synchronized() -> None:
    torch.openreg.synchronize()
    torch.openreg.synchronize("openreg:1")
    torch.openreg.synchronize(torch.device("openreg:1"))


@pytest.mark.simulator
def test_properties_name_the_device() -> None:
    assert torch.openreg.get_device_properties(1).name == "OpenReg Simulator"
    assert torch.openreg.get_device_properties(1).total_memory > 0


def test_import_starts_no_thread_and_initialises_nothing() -> None:
    done = run(
        "-c",
        "import os, torch\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "import torch_openreg\n"
        "assert torch.openreg.device_count() == 2 and not torch.openreg.is_initialized()\n"
        "assert len(os.listdir('/proc/self/task')) == before",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.simulator
def test_without_a_device_the_error_says_so() -> None:
    done = run("-c", "import torch, torch_openreg; torch.openreg.current_device()", OPENREG_SIM="devices=0")
    assert done.stderr.splitlines()[-1] == "RuntimeError: openreg: no device available; the driver found 0 devices"


def test_the_exercise_has_a_solution() -> None:
    done = run(str(HERE / "exercise.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "the main thread is on device 0",
        "the other thread is on device 1",
        "after an exception: 0",
    ]
