"""Beside another accelerator that this PyTorch was built for: PyTorch has one in a process."""

import warnings

import torch

from ._name import NAME


# LITERALINCLUDE START: BESIDE
def warn_when_another_is_used() -> None:
    """Makes CUDA, or what else PyTorch was built for, warn when it is first used. Called before the rename.

    After the rename this device is the accelerator, whatever PyTorch was built for.
    """
    other = torch.accelerator.current_accelerator()
    if other is None or other.type == NAME:
        return

    def warn() -> None:
        warnings.warn(
            f"this process uses {other.type!r} beside {NAME!r}, and PyTorch has one accelerator, which is {NAME!r}: "
            f"backward passes on {other.type!r} fail with 'opt_ready_stream && opt_parent_stream'; "
            f"TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps torch_{NAME} out of a process",
            RuntimeWarning,
            stacklevel=2,
        )

    # CUDA calls it when it is initialised, at once if it is: the build may never find a GPU. MPS has no such function.
    getattr(torch.get_device_module(other), "_lazy_call", lambda _: None)(warn)


# LITERALINCLUDE END: BESIDE
