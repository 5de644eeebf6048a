"""Descriptions of arguments, from which the same ones are made on every device and as often as they are wanted."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch


class Tensor(NamedTuple):
    """A tensor to be made: the same numbers every time and on every device."""

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    fill: str = ""  # an expression of `n`, the elements' numbers, and `shape`; the usual numbers of the type if empty
    on_cpu: bool = False  # it belongs on the CPU whatever the device


class Storage(NamedTuple):
    """A storage to be made, of so many floats."""

    count: int


class Stream(NamedTuple):
    """The device's current stream."""


def floats(*shape: int, fill: str = "", dtype: torch.dtype = torch.float32) -> Tensor:
    """Different numbers between 0 and 1, if nothing else is asked for."""
    return Tensor(shape, dtype, fill)


def integers(*values: int, dtype: torch.dtype = torch.int64, on_cpu: bool = False) -> Tensor:
    """A vector of these numbers."""
    return Tensor((len(values),), dtype, str(list(values)), on_cpu)


def zeros(*shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
    """Zeros, which are valid as indices and classes of all there is."""
    return Tensor(shape, dtype, "n * 0")


def make(value: Any, device: torch.device) -> Any:
    """A nest of values in which descriptions have become what they describe, on a device."""
    if isinstance(value, Tensor):
        made = _numbers(value)
        return made if value.on_cpu else made.to(device)
    if isinstance(value, Storage):
        return torch.arange(float(value.count)).to(device).untyped_storage()
    if isinstance(value, Stream):
        return torch.accelerator.current_stream(device) if device.type != "cpu" else torch.Stream(device)
    if isinstance(value, torch.device):
        return device
    if isinstance(value, list):
        return [make(it, device) for it in value]
    return {name: make(it, device) for name, it in value.items()} if isinstance(value, dict) else value


def _numbers(tensor: Tensor) -> torch.Tensor:
    shape, dtype = tensor.shape, tensor.dtype
    n = torch.arange(math.prod(shape))
    if tensor.fill:
        made = eval(tensor.fill, {"torch": torch, "n": n})
        return torch.as_tensor(made).to(dtype).reshape(shape).clone()
    if not dtype.is_floating_point and not dtype.is_complex:
        return ((n * 5 + 1) % 3).to(dtype).reshape(shape)  # indices into what is of usual size
    made = ((n * 7 + 3) % 31 + 1).double() / 64 + n.double() / 4096
    made = made.reshape(shape)
    if len(shape) >= 2 and shape[-1] == shape[-2]:  # a matrix that has an inverse and a Cholesky decomposition
        made = (made + made.mT) / 8 + torch.eye(shape[-1], dtype=torch.float64) * 0.7
    return made.to(dtype)
