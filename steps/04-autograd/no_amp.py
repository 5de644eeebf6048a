"""Autocast. No data type is offered to it yet, but PyTorch asks: checkpointing saves and restores its state."""

from __future__ import annotations

import torch

__all__ = ["get_amp_supported_dtype"]


# LITERALINCLUDE START: AMP NONE
def get_amp_supported_dtype() -> list[torch.dtype]:
    """Data types that autocast may use on this device: none yet, so it warns and changes nothing."""
    return []


# LITERALINCLUDE END: AMP NONE
