"""A backend in Python alone: the device `mychip`. Its memory is NumPy arrays, its kernels are functions of NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

# LITERALINCLUDE START: PROLOGUE SETUP
_setup_privateuseone_for_python_backend("mychip")
# LITERALINCLUDE END: PROLOGUE SETUP

# LITERALINCLUDE START: PROLOGUE TENSOR
NUMPY = {getattr(torch, name): np.dtype(name) for name in ("float32", "float64", "int64", "bool")}
TORCH = {theirs: ours for ours, theirs in NUMPY.items()}


class ChipTensor(torch.Tensor):
    """A tensor of the device: PyTorch has its shape and its data type, the attribute has the numbers."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    array: np.ndarray


def wrap(array: np.ndarray) -> ChipTensor:
    """Makes a tensor of an array."""
    tensor = torch._C._acc.create_empty_tensor(array.shape, TORCH[array.dtype])
    tensor.__class__ = ChipTensor
    tensor.array = array
    return tensor


def memory(tensor: torch.Tensor) -> np.ndarray:
    """Returns the numbers of a tensor, on the device or on the CPU, as an array that can be written to."""
    return tensor.array if tensor.device.type == "mychip" else tensor.detach().numpy()


# LITERALINCLUDE END: PROLOGUE TENSOR


# LITERALINCLUDE START: PROLOGUE MEMORY
def empty(size: list[int], *, dtype: torch.dtype | None = None, **_: Any) -> ChipTensor:
    """Makes a tensor that nobody has written to."""
    return wrap(np.empty(size, NUMPY[dtype or torch.get_default_dtype()]))


def empty_strided(size: list[int], stride: list[int], *, dtype: torch.dtype | None = None, **_: Any) -> ChipTensor:
    """The same. The strides are not kept: PyTorch's half of a tensor can only be contiguous."""
    return empty(size, dtype=dtype)


def copy_from(source: torch.Tensor, to: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Copies to the device, from it, and on it."""
    np.copyto(memory(to), memory(source), casting="unsafe")
    return to


# LITERALINCLUDE END: PROLOGUE MEMORY


# LITERALINCLUDE START: PROLOGUE KERNELS
def unwrap(argument: Any) -> Any:
    """Returns what a kernel gets for an argument of its operator. The 2 in `x * 2` arrives as a tensor of the CPU."""
    if not isinstance(argument, torch.Tensor):
        return argument
    return argument.item() if argument.device.type == "cpu" and argument.dim() == 0 else memory(argument)


def on_tensors(function: Callable[..., Any]) -> Callable[..., ChipTensor]:
    """Makes a kernel of a function that takes and returns arrays."""
    return lambda *args, **options: wrap(np.asarray(function(*map(unwrap, args), **options)))


def add_(x: torch.Tensor, y: torch.Tensor, *, alpha: float = 1) -> torch.Tensor:
    """Adds in place: how an optimizer changes a weight."""
    memory(x)[...] += unwrap(y) * alpha
    return x


ON_ARRAYS: dict[str, Callable[..., Any]] = {
    "detach": lambda x: x,
    "view": np.reshape,
    "t": np.transpose,
    "expand": lambda x, size, implicit=False: np.broadcast_to(x, size),
    "ones_like": lambda x, **_: np.ones_like(x),
    "add.Tensor": lambda x, y, *, alpha=1: x + y * alpha,
    "sub.Tensor": lambda x, y, *, alpha=1: x - y * alpha,
    "mul.Tensor": np.multiply,
    "div.Scalar": np.divide,
    "pow.Tensor_Scalar": np.power,
    "mm": np.matmul,
    "addmm": lambda c, a, b, *, beta=1, alpha=1: c * beta + a @ b * alpha,
    "sum.dim_IntList": lambda x, dim, keepdim=False, *, dtype=None: np.sum(x, tuple(dim), keepdims=keepdim),
    "mean": lambda x, *, dtype=None: np.mean(x),
    "relu": lambda x: np.maximum(x, 0),
    "threshold_backward": lambda grad, x, threshold: grad * (x > threshold),
    "leaky_relu": lambda x, slope=0.01: np.where(x > 0, x, x * slope),
    "leaky_relu_backward": lambda grad, x, slope, is_result: np.where(x > 0, grad, grad * slope),
}
# LITERALINCLUDE END: PROLOGUE KERNELS

# LITERALINCLUDE START: PROLOGUE REGISTRATION
KERNELS = {name: on_tensors(function) for name, function in ON_ARRAYS.items()}
KERNELS |= {"empty.memory_format": empty, "empty_strided": empty_strided, "_copy_from": copy_from, "add_.Tensor": add_}

for name, kernel in KERNELS.items():
    torch.library.impl(f"aten::{name}", "PrivateUse1", kernel)
# LITERALINCLUDE END: PROLOGUE REGISTRATION
