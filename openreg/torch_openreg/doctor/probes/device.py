"""The guard: which device is current, and waiting for one."""

from __future__ import annotations

import threading

import torch

from ..backend import Backend
from ..registry import NotApplicable, Section, Silent, Wrong

section = Section("guard", step=1, chapter="01-device")


@section.probe("devices", write="DeviceGuardImplInterface::deviceCount")
def devices(backend: Backend) -> str:
    """Counts the devices."""
    if backend.count == 0:
        raise Wrong("there is no device: the driver finds none, or the guard says 0")
    return f"{backend.count} device{'s' * (backend.count > 1)}"


@section.probe("current device", write="DeviceGuardImplInterface::setDevice, getDevice, exchangeDevice")
def current_device(backend: Backend) -> str:
    """Makes the last device current, reads it back, and looks from another thread."""
    last, seen = backend.last, []
    torch.accelerator.set_device_index(last)
    if (now := torch.accelerator.current_device_index()) != last:
        raise Silent(f"set_device_index({last}) leaves device {now} current")
    thread = threading.Thread(target=lambda: seen.append(torch.accelerator.current_device_index()))
    thread.start()
    thread.join()
    if last and seen != [0]:
        raise Wrong(f"device {last} is current in a thread that never asked for it: it belongs to a thread")
    torch.accelerator.set_device_index(0)
    return "each thread has its own" if last else "there is one device"


@section.probe("device context", write="the class `device` of the device's module")
def device_context(backend: Backend) -> None:
    """Enters and leaves torch.<name>.device."""
    with backend.module.device(backend.last):
        inside = torch.accelerator.current_device_index()
    if inside != backend.last:
        raise Silent(f"in torch.{backend.name}.device({backend.last}), device {inside} is current")
    if (after := torch.accelerator.current_device_index()) != 0:
        raise Wrong(f"after torch.{backend.name}.device({backend.last}), device {after} is current, not 0")


@section.probe(
    "index of a tensor",
    step=2,
    chapter="02-tensor",
    write="DeviceGuard in each kernel; the index in empty",
    needs=("import", "tensors"),
)
def index_of_a_tensor(backend: Backend) -> str:
    """Makes and copies tensors on the device that isn't current, and looks where they are and what is current then."""
    if not backend.last:
        raise NotApplicable
    here, there = backend.numbers(5, index=backend.last)
    if there.device.index != backend.last:
        raise Wrong(f"a tensor for device {backend.last} is on device {there.device.index}")
    backend.check(there.clone(), here, "clone")
    backend.check(there.to(backend.device(0)), here, "copy between devices")
    if (after := torch.accelerator.current_device_index()) != 0:
        raise Wrong(f"an operator leaves device {after} current")
    return "the tensor's device is used, the current one stays"


@section.probe("synchronize", write="DeviceGuardImplInterface::synchronizeDevice")
def synchronize(backend: Backend) -> None:
    """Waits for each device; the section on streams sees whether that waits for work."""
    for index in range(max(backend.count, 1)):
        torch.accelerator.synchronize(index)
        if hasattr(backend.module, "synchronize"):  # "module functions" says whether it is there
            backend.module.synchronize(index)
