"""Descriptions of tensors, by the numbers in them."""

from __future__ import annotations

from typing import Any

import torch
from overload_tensors import Tensor

Shapes = dict[str, Any]

MILLION = 1 << 20


def numbers(*shape: int, dtype: torch.dtype = torch.float32, fill: str = "") -> Tensor:
    """Different numbers between 0 and 1, unless `fill` says which."""
    return Tensor(shape, dtype, fill)


def below(high: int, *shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
    """Whole numbers from 0 to `high`, without it."""
    return Tensor(shape, dtype, f"torch.randint(0, {high}, n.shape)")


def ordered(*shape: int) -> Tensor:
    """Numbers in order between 0 and 1."""
    return Tensor(shape, torch.float32, "(n + 0.5) / n.numel()")
