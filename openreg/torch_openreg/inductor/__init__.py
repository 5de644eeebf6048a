"""torch.compile for the device: Inductor's C++ loops, compiled to modules of the device, launched on its streams.

Importing this imports Dynamo and Inductor, which takes as long as to import torch. So ``torch.openreg`` imports it when
Inductor first asks for the attribute ``Scheduling``, and not before.
"""

import torch
from torch._dynamo.device_interface import register_interface_for_device
from torch._inductor import scheduler
from torch._inductor.codegen.common import register_backend_for_device, register_device_op_overrides
from torch._inductor.codegen.wrapper import PythonWrapperCodegen

from torch_openreg._name import NAME

from . import config, variance
from .interface import Interface, OpOverrides
from .scheduling import Scheduling

__all__ = ["Scheduling"]

# LITERALINCLUDE START: REGISTER COMPILER
for _name in [NAME, *(f"{NAME}:{index}" for index in range(torch.openreg.device_count()))]:
    register_interface_for_device(_name, Interface)
register_device_op_overrides(NAME, OpOverrides())
register_backend_for_device(NAME, Scheduling, PythonWrapperCodegen, device_custom_config=config)
# LITERALINCLUDE END: REGISTER COMPILER

# LITERALINCLUDE START: COMPILED GUARD
# Inductor makes a graph's device current, and enters streams, for the devices of a list of its own. Without it, results
# would be allocated on whatever device is current. PyTorch has no way to join that list, so its function is wrapped.
_needs_guard = scheduler.device_need_guard
scheduler.device_need_guard = lambda device: device == NAME or _needs_guard(device)
# LITERALINCLUDE END: COMPILED GUARD
