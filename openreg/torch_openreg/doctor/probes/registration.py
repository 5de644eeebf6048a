"""Registration: the device has a name, a module and methods, and ``import torch`` brings it."""

from __future__ import annotations

import os
import subprocess
import sys

import torch

from ..backend import Backend
from ..registry import Missing, Section, Silent, Wrong

section = Section("registration", step=1, chapter="01-device")
# Of each device's module. What belongs to another mechanism is asked there.
FUNCTIONS = ("device", "device_count", "is_available", "is_initialized", "current_device", "set_device", "synchronize")
CODE = "import torch; print(); print(torch._C._get_privateuse1_backend_name())"


@section.probe(
    "import", write="TORCH_LIBRARY_IMPL, C10_REGISTER_GUARD_IMPL; a Python package that loads them", needs=()
)
def imported(backend: Backend) -> None:
    """Imports the package, in the process from which all others are forked."""


@section.probe("name", write="torch.utils.rename_privateuse1_backend(NAME)")
def name(backend: Backend) -> str:
    """Reads the name as a device, and asks torch.accelerator for its own."""
    if torch.device(backend.name).type != backend.name:
        raise Wrong(f"torch.device({backend.name!r}) has the type {torch.device(backend.name).type!r}")
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or accelerator.type != backend.name:
        raise Wrong(f"torch.accelerator.current_accelerator() is {accelerator}")
    return f"torch.device({backend.name!r})"


@section.probe("module functions", write="torch._register_device_module(NAME, module) with these functions")
def module_functions(backend: Backend) -> str:
    """Looks for the functions that PyTorch calls of each device's module, and asks them for devices."""
    lacking = [it for it in FUNCTIONS if not hasattr(backend.module, it)]
    if lacking:
        raise Missing(f"torch.{backend.name} lacks {', '.join(lacking)}")
    count, available = backend.module.device_count(), backend.module.is_available()
    if available != (count > 0):
        raise Wrong(f"torch.{backend.name}.is_available() is {available} with {count} devices")
    return f"all {len(FUNCTIONS)} of torch.{backend.name}"


@section.probe(
    "methods", step=2, write="torch.utils.generate_methods_for_privateuse1_backend()", needs=("import", "tensors")
)
def methods(backend: Backend) -> str:
    """Sends a tensor and a module there by the methods that have the device's name."""
    for kind in (torch.Tensor, torch.nn.Module):
        if not hasattr(kind, backend.name):
            raise Missing(f"{kind.__name__} has no method {backend.name}()")
    tensor = getattr(torch.ones(2), backend.name)()
    if not getattr(tensor, f"is_{backend.name}") or tensor.device.type != backend.name:
        raise Silent(f"Tensor.{backend.name}() leaves the tensor on {tensor.device}")
    module = getattr(torch.nn.Linear(2, 2), backend.name)()
    if module.weight.device.type != backend.name:
        raise Silent(f"Module.{backend.name}() leaves the weights on {module.weight.device}")
    return f"x.{backend.name}(), module.{backend.name}()"


@section.probe(
    "autoload",
    step=11,
    chapter="11-packaging",
    write='the entry point "torch.backends"',
    seconds=60.0,
    needs=(),
)
def autoload(backend: Backend) -> str:
    """Imports torch alone in a new process, and asks for the device's name."""
    env = {key: value for key, value in os.environ.items() if key != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(f"`import torch` fails: {(done.stderr.strip().splitlines() or [''])[-1]}")
    if done.stdout.split()[-1] != backend.name:
        raise Missing(f"after `import torch` alone, the device is called {done.stdout.split()[-1]!r}")
    return "`import torch` is enough"
