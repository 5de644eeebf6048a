"""``torch.openreg``: the device's own module, as ``torch.cuda`` is CUDA's. Each mechanism is a file of its own."""

from . import autograd
from .amp import *
from .device import *
from .device import _is_in_bad_fork, _lazy_init
from .fallback import *
from .memory import *
from .pinned import *
from .random import *
from .stream import *
