"""Lets a process end right after a backward pass."""

import atexit

from torch_openreg import _C

# LITERALINCLUDE START: EXIT
# A thread of the autograd engine may still be destroying a graph when the interpreter ends. A thread that then needs
# the GIL is ended by Python in the middle of a destructor, and the process aborts:
# "terminate called without an active exception".
atexit.register(_C._wait_for_idle_engine)
# LITERALINCLUDE END: EXIT
