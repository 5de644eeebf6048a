"""What Dynamo and Inductor ask of a device, and the pieces of Python that Inductor writes around kernels."""

from __future__ import annotations

import torch
from torch._dynamo.device_interface import DeviceInterface
from torch._inductor.codegen.common import DeviceOpOverrides


# LITERALINCLUDE START: DEVICE INTERFACE
class Interface(DeviceInterface):
    """The functions of ``torch.openreg`` under the names that Dynamo and Inductor have for them."""

    device = torch.openreg.device
    Event = torch.openreg.Event
    Stream = torch.openreg.Stream

    class Worker:
        """What processes that only compile are asked; they use no device."""

        current_device = staticmethod(torch.openreg.current_device)
        set_device = staticmethod(torch.openreg.set_device)
        get_device_properties = staticmethod(torch.openreg.get_device_properties)

    current_device = staticmethod(torch.openreg.current_device)
    set_device = staticmethod(torch.openreg.set_device)
    device_count = staticmethod(torch.openreg.device_count)
    is_available = staticmethod(torch.openreg.is_available)
    stream = staticmethod(torch.openreg.stream)
    current_stream = staticmethod(torch.openreg.current_stream)
    set_stream = staticmethod(torch.openreg.set_stream)
    synchronize = staticmethod(torch.openreg.synchronize)
    get_device_properties = staticmethod(torch.openreg.get_device_properties)

    @staticmethod
    def get_compute_capability(device: torch.types.Device = None) -> int:
        """A number for the kind of device, of which Inductor keeps code apart."""
        properties = torch.openreg.get_device_properties(device)
        return properties.major * 10 + properties.minor

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        """True: what is generated computes bfloat16 in float."""
        return True


# LITERALINCLUDE END: DEVICE INTERFACE


# LITERALINCLUDE START: OP OVERRIDES
class OpOverrides(DeviceOpOverrides):
    """Pieces of the Python that Inductor writes around kernels."""

    def device_guard(self, device_idx: int) -> str:
        """The context in which a graph's tensors are allocated."""
        return f"torch.openreg.device({device_idx})"

    def set_device(self, device_idx: int) -> str:
        """A statement that makes a device current."""
        return f"torch.openreg.set_device({device_idx})"

    def current_stream(self) -> str:
        """An expression for the current stream."""
        return "torch.openreg.current_stream()"

    def synchronize(self) -> str:
        """A statement that waits for the current device."""
        return "torch.openreg.synchronize()"


# LITERALINCLUDE END: OP OVERRIDES
