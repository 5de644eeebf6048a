"""What must hold from step 11 on: who imports PyTorch has the device, and who doesn't use it is left alone."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATH = os.environ.get("PYTHONPATH", "")


def run(*command: str, first: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, with a folder of packages in front of the others."""
    path = os.pathsep.join(filter(None, [first, PATH]))
    return subprocess.run(
        [sys.executable, *command],
        env=os.environ | {"PYTHONPATH": path} | env,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_pytorch_alone_has_the_device_and_importing_started_nothing() -> None:
    code = """
import torch
print(torch.openreg.is_initialized(), torch.ones(2, device="openreg:1").sum().item(), torch.openreg.is_initialized())
"""
    done = run("-c", code)
    assert (done.stdout, done.stderr) == ("False 2.0 True\n", "")


def test_the_package_may_still_be_imported_first() -> None:
    done = run("-c", "import torch_openreg, torch; print(torch.ones(2, device='openreg').sum().item())")
    assert (done.stdout, done.stderr) == ("2.0\n", "")


def test_a_variable_turns_it_off() -> None:
    done = run("-c", "import torch; torch.device('openreg')", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stderr.endswith("device type at start of device string: openreg\n")


def test_a_broken_package_is_an_error_of_the_device_and_not_of_pytorch(tmp_path: Path) -> None:
    (tmp_path / "torch_openreg.py").write_text("raise ImportError('the driver is not installed')\n")
    code = """
import torch
torch.manual_seed(0)
print(torch.ones(2).sum().item(), torch.accelerator.is_available())
torch.ones(2, device="openreg")
"""
    done = run("-c", code, first=str(tmp_path))
    said = "the device 'openreg' cannot be used: the driver is not installed"
    assert done.stdout == "2.0 False\n"
    assert f"RuntimeWarning: {said}\n" in done.stderr
    assert done.stderr.endswith(f"RuntimeError: {said}\n")


def test_a_second_backend_is_refused_before_it_registers_anything() -> None:
    code = """
import types, torch
torch.utils.rename_privateuse1_backend("mychip")
torch._register_device_module("mychip", types.ModuleType("chip_for_torch"))
try:
    import torch_openreg
except ImportError as error:
    print("chip_for_torch has registered 'mychip'" in str(error))
print(torch._C._dispatch_has_kernel_for_dispatch_key("aten::empty.memory_format", "PrivateUse1"))
"""
    done = run("-c", code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.stdout == "True\nFalse\n", done.stderr


def test_where_pytorch_has_a_device_of_its_own_and_the_driver_has_none_pytorch_keeps_its_own() -> None:
    code = """
import sys, torch
torch.accelerator.device_count = lambda: 1
torch._import_device_backends()
print("torch_openreg" in sys.modules)
"""
    said = [run("-c", code, TORCH_DEVICE_BACKEND_AUTOLOAD="0", OPENREG_DRIVER=it).stdout for it in ("fake", "sim")]
    assert said == ["False\n", "True\n"]


def test_the_exercise_runs() -> None:
    done = run(str(HERE / "exercise.py"))
    assert done.returncode == 0, done.stderr
    assert "torch_openreg_autoload:load of torch_openreg" in done.stdout and "registers 'openreg'" in done.stdout
