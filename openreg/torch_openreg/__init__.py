"""OpenReg: a reference accelerator backend for PyTorch, outside PyTorch's tree.

Importing this package makes ``torch.device("openreg")`` work and adds ``torch.openreg``. It starts no thread and
touches no device.
"""

import torch

# LITERALINCLUDE START: FIRST COME
from ._beside import warn_when_another_is_used
from ._taken import take_the_name

# Before any library of ours is loaded: what they register cannot be taken back.
take_the_name()
warn_when_another_is_used()
# LITERALINCLUDE END: FIRST COME

from . import _C, openreg  # noqa: E402
from ._name import NAME  # noqa: E402

# LITERALINCLUDE START: RENAME
# The rename comes first: it fixes the name under which PyTorch looks for the module. It can be done once in a process.
torch.utils.rename_privateuse1_backend(NAME)
torch._register_device_module(NAME, openreg)
# LITERALINCLUDE END: RENAME

# LITERALINCLUDE START: GENERATE METHODS
# Tensor.openreg(), Module.openreg(), Tensor.is_openreg and the like; storages must be asked for.
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
# LITERALINCLUDE END: GENERATE METHODS
