"""OpenReg: a reference accelerator backend for PyTorch, outside PyTorch's tree.

Importing this package makes ``torch.device("openreg")`` work and adds ``torch.openreg``. It starts no thread and
touches no device.
"""

import torch

from . import _C, openreg

# LITERALINCLUDE START: RENAME
# The rename comes first: it fixes the name under which PyTorch looks for the module. It can be done once in a process.
torch.utils.rename_privateuse1_backend("openreg")
torch._register_device_module("openreg", openreg)
# LITERALINCLUDE END: RENAME

# LITERALINCLUDE START: GENERATE METHODS
# Tensor.openreg(), Module.openreg(), Tensor.is_openreg and the like; storages must be asked for.
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
# LITERALINCLUDE END: GENERATE METHODS
