"""``torch.openreg``: the device's own module, as ``torch.cuda`` is CUDA's. Each mechanism is a file of its own."""

from . import autograd
from .amp import *
from .device import *
from .device import _is_in_bad_fork, _lazy_init, is_initialized
from .distributed import *
from .dlpack import *
from .explanation import *
from .fallback import *
from .graphs import *
from .launch import *
from .memory import *
from .memory_history import *
from .multiprocessing import *
from .operators import *
from .pinned import *
from .random import *
from .storage import *
from .stream import *


# LITERALINCLUDE START: INITIALIZED
def __getattr__(name: str) -> object:
    """PyTorch's checkpoints save random states only if the device's module has this attribute and it is true."""
    if name == "_initialized":
        return is_initialized()
    # LITERALINCLUDE START: COMPILER WHEN ASKED
    if name == "Scheduling":  # Inductor, when it first looks for what compiles for the device
        from torch_openreg.inductor import Scheduling

        return Scheduling
    # LITERALINCLUDE END: COMPILER WHEN ASKED
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# LITERALINCLUDE END: INITIALIZED
