"""The probes, a module for each mechanism, in the order of the table."""

# isort: off
from . import build
from . import registration
from . import driver
from . import device
from . import tensors
from . import autograd
from . import memory
from . import streams
from . import events
from . import pinned
from . import rng
from . import storage
from . import autocast
from . import profiler
from . import graphs
from . import distributed
from . import forks
