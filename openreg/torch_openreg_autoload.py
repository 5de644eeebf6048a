"""What PyTorch calls at the end of ``import torch``: the entry point of the group ``torch.backends``.

A module beside the package, not in it: importing a part of a package runs the whole of it first, and this has to work
where the package doesn't.
"""

from __future__ import annotations

import contextlib
import sys
import types
import warnings


# LITERALINCLUDE START: AUTOLOAD
def load() -> None:
    """Imports the package. If it can't be imported, warns with the reason and leaves ``import torch`` unharmed."""
    try:
        import torch_openreg  # noqa: F401 - half imported where it is who imports torch; it goes on after this
    except Exception as error:  # whatever it is, a program that uses no device of ours must run
        with contextlib.suppress(Exception):  # it may well be a PyTorch that has changed
            stand_in(error)
        warnings.warn(f"the device 'openreg' cannot be used: {error}", RuntimeWarning, stacklevel=2)


# LITERALINCLUDE END: AUTOLOAD


# LITERALINCLUDE START: STAND IN
def stand_in(reason: Exception) -> None:
    """Gives PyTorch the name of the device, and a module that says at the device's first use why there is none."""
    import torch

    if torch._C._get_privateuse1_backend_name() not in ("privateuseone", "openreg"):
        return  # another backend has the name, and PyTorch has room for one

    def _lazy_init() -> None:
        raise RuntimeError(f"the device 'openreg' cannot be used: {reason}") from reason

    module = types.ModuleType("torch.openreg", "No device: the package torch_openreg could not be imported.")
    module.stands_in = True  # by which the package knows it, should it be mended and imported again
    module._lazy_init = _lazy_init  # PyTorch calls it before it makes a tensor
    # What PyTorch asks of each backend in programs that use none of its devices.
    module.is_available = lambda: False
    module.device_count = lambda: 0
    module._is_in_bad_fork = lambda: False
    module.manual_seed_all = lambda seed: None

    def missing(name: str) -> object:
        raise AttributeError(f"the device 'openreg' cannot be used: {reason}")

    module.__getattr__ = missing
    torch.utils.rename_privateuse1_backend("openreg")
    sys.modules["torch.openreg"] = module
    torch.openreg = module  # also in the place of the real one, where importing broke behind that


# LITERALINCLUDE END: STAND IN
