"""Refuses to be the second backend of a process: PyTorch has room for one device from outside its tree."""

import torch

from ._name import NAME


# LITERALINCLUDE START: TAKEN
def take_the_name() -> None:
    """Makes sure that the name can be this package's, and that nothing stands in for it any more.

    Raises:
        ImportError: Another backend has registered, with the names of both.
    """
    name = torch._C._get_privateuse1_backend_name()
    if name in ("privateuseone", NAME):  # PyTorch's own name for it, and ours
        if getattr(getattr(torch, NAME, None), "stands_in", False):
            delattr(torch, NAME)  # the package could not be imported before, and now it can
        return
    other = getattr(getattr(torch, name, None), "__name__", "an unknown module")
    raise ImportError(
        f"torch_{NAME} cannot register the device {NAME!r}: PyTorch has room for one device from outside its tree, "
        f"and {other} has registered {name!r} in this process; set TORCH_DEVICE_BACKEND_AUTOLOAD=0 and import one of "
        "the two"
    )


# LITERALINCLUDE END: TAKEN
