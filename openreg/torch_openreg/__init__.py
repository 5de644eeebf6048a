"""OpenReg: a reference accelerator backend for PyTorch, outside PyTorch's tree.

Importing this package makes ``torch.device("openreg")`` work and adds ``torch.openreg``. It starts no thread and
touches no device.
"""

import torch

from . import _C

if _C._torch_version() != torch.__version__.split("+")[0]:
    # Checked before anything of PyTorch's C++ is called: between versions its classes change their layout.
    raise ImportError(
        f"torch_openreg was built against torch {_C._torch_version()}, but torch {torch.__version__} is installed; "
        "rebuild it with: pip install --no-build-isolation ."
    )

from . import openreg

# LITERALINCLUDE START: RENAME
# The rename comes first: it fixes the name under which PyTorch looks for the module. It can be done once in a process.
torch.utils.rename_privateuse1_backend("openreg")
torch._register_device_module("openreg", openreg)
# LITERALINCLUDE END: RENAME

# LITERALINCLUDE START: GENERATE METHODS
# Tensor.openreg(), Module.openreg(), Tensor.is_openreg and the like; storages must be asked for.
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
# LITERALINCLUDE END: GENERATE METHODS
