"""What PyTorch calls at the end of ``import torch``: the entry point of the group ``torch.backends``.

A module beside the package, not in it: importing a part of a package runs the whole of it first, and this has to work
where the package doesn't.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import sys
import types
import warnings
from pathlib import Path


# LITERALINCLUDE START: AUTOLOAD
def load() -> None:
    """Imports the package. If it can't be imported, warns with the reason and leaves ``import torch`` unharmed.

    Does nothing on a machine that has a device of the PyTorch's own, a GPU for example, and none of ours.
    """
    with contextlib.suppress(Exception):  # an installation that is broken, which importing it explains
        if stays_out():
            return
    try:
        import torch_openreg  # noqa: F401 - half imported where it is who imports torch; it goes on after this
    except Exception as error:  # whatever it is, a program that uses no device of ours must run
        with contextlib.suppress(Exception):  # it may well be a PyTorch that has changed
            stand_in(error)
        warnings.warn(f"the device 'openreg' cannot be used: {error}", RuntimeWarning, stacklevel=2)


# LITERALINCLUDE END: AUTOLOAD


# LITERALINCLUDE START: STAYS OUT
def would_replace_another() -> bool:
    """Whether PyTorch has a device of its own here, a GPU for example, that the rename would put out of work."""
    import torch

    free = torch._C._get_privateuse1_backend_name() == "privateuseone"
    return free and torch.accelerator.device_count() > 0  # CUDA's comes from NVML: it is not initialised


def stays_out() -> bool:
    """Whether importing the package would do harm and no good: there is no device of ours, and one of PyTorch's."""
    if not would_replace_another():
        return False
    package = Path(importlib.util.find_spec("torch_openreg").origin).parent  # found, not imported
    count = ctypes.c_int()
    # The driver alone, which knows nothing of PyTorch. Asking starts nothing, and where it fails there are 0.
    ctypes.CDLL(str(package / "lib" / "libopenreg.so")).orGetDeviceCount(ctypes.byref(count))
    return count.value == 0


# LITERALINCLUDE END: STAYS OUT


# LITERALINCLUDE START: STAND IN
def stand_in(reason: Exception) -> None:
    """Gives PyTorch the name of the device, and a module that says at the device's first use why there is none."""
    import torch

    if torch._C._get_privateuse1_backend_name() not in ("privateuseone", "openreg") or would_replace_another():
        return  # PyTorch has room for one, and another has it

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
