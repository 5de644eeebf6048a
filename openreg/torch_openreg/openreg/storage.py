"""What tensors and their memory carry beside numbers: a scale, and a label. Both survive ``torch.save``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from torch_openreg import _C
from torch_openreg._name import NAME

from .device import _device_index

__all__ = [
    "dequantize",
    "get_memory_label",
    "get_scale",
    "memory_by_label",
    "memory_label",
    "quantize",
    "set_memory_label",
    "set_scale",
]


def _of_this_backend(tensor: torch.Tensor, function: str) -> torch.Tensor:
    if not tensor.is_openreg:
        raise ValueError(f"{function}: argument 'tensor' is on {tensor.device}; expected a tensor of an {NAME} device")
    return tensor


# LITERALINCLUDE START: PYTHON SCALE
def set_scale(tensor: torch.Tensor, scale: float | None) -> None:
    """Says what a step of a tensor's integers stands for. It hangs on this tensor, not on its views.

    Args:
        tensor: Which one.
        scale: A positive number; None takes the scale away.

    Raises:
        ValueError: If the scale is not positive, or the tensor is on another device.
    """
    _C._set_scale_of(_of_this_backend(tensor, "set_scale"), scale)


def get_scale(tensor: torch.Tensor) -> float | None:
    """The scale of a tensor; None if it has none."""
    return _C._scale_of(tensor)


def quantize(x: torch.Tensor) -> torch.Tensor:
    """A tensor in a quarter of the memory: integers from -127 to 127, and their scale.

    Args:
        x: Floating-point numbers on this device. Reads the largest of them, so it waits for the device.

    Returns:
        A tensor of ``torch.int8`` that `dequantize` takes.
    """
    scale = _of_this_backend(x, "quantize").abs().max().item() / 127 or 1.0
    quantized = (x / scale).round().to(torch.int8)
    set_scale(quantized, scale)
    return quantized


def dequantize(quantized: torch.Tensor) -> torch.Tensor:
    """The numbers that `quantize` was given, each with an error of up to half a step.

    Raises:
        ValueError: If the tensor has lost its scale.
    """
    scale = get_scale(quantized)
    if scale is None:
        raise ValueError("dequantize: argument 'quantized' has no scale; expected one, from quantize or set_scale")
    return quantized.to(torch.float32) * scale


# LITERALINCLUDE END: PYTHON SCALE
# LITERALINCLUDE START: PYTHON LABEL
@contextmanager
def memory_label(name: str) -> Iterator[None]:
    """Labels the memory of all tensors that the calling thread makes on this backend's devices.

    Args:
        name: What the memory is for. Empty: no label.
    """
    before = _C._exchange_current_label(name)
    try:
        yield
    finally:
        _C._exchange_current_label(before)


def set_memory_label(tensor: torch.Tensor, name: str) -> None:
    """Labels the memory of a tensor, and so of all its views.

    Args:
        tensor: Which one. Its memory has to be of this backend's making.
        name: What it is for. Empty takes the label away.
    """
    _C._set_label_of(_of_this_backend(tensor, "set_memory_label"), name)


def get_memory_label(tensor: torch.Tensor) -> str:
    """The label of a tensor's memory; empty if it has none."""
    return _C._label_of(tensor)


def memory_by_label(device: torch.device | str | int | None = None) -> dict[str, int]:
    """Bytes of the tensors that are alive, by the label of their memory. What has no label is not listed.

    Args:
        device: Which one; the current device if None.
    """
    return _C._bytes_by_label(_device_index(device, "memory_by_label"))


# LITERALINCLUDE END: PYTHON LABEL
