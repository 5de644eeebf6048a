"""Autocast: what ``torch.amp.autocast("openreg")`` asks the device's module."""

from __future__ import annotations

import torch

__all__ = ["get_amp_supported_dtype"]


# LITERALINCLUDE START: AMP TYPES
def get_amp_supported_dtype() -> list[torch.dtype]:
    """Data types that autocast may use on this device; any other is a warning, and autocast is off."""
    return [torch.float16, torch.bfloat16]


# LITERALINCLUDE END: AMP TYPES
