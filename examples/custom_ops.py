"""RMS normalisation as an operator of one's own, from Python alone: the twin of openreg/csrc/custom_ops.

    python examples/custom_ops.py

Everything that the C++ registers is here, under the namespace `tutorial`, and launches the same kernels.
"""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor


class NumberRows(ctypes.Structure):
    """Where a kernel finds rows of numbers: openreg/kernels/normalization/rms_norm.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("row", ctypes.c_int64),
        ("column", ctypes.c_int64),
        ("dtype", ctypes.c_int32),
        ("unused", ctypes.c_int32),
    )


# LITERALINCLUDE START: PYTHON ARGS
class RmsNormArgs(ctypes.Structure):
    """Arguments of the kernel "rms_norm", member by member as the C++ struct has them."""

    _fields_ = (
        ("input", NumberRows),
        ("residual", NumberRows),
        ("weight", NumberRows),
        ("output", NumberRows),
        ("rstd", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("columns", ctypes.c_int64),
        ("eps", ctypes.c_double),
    )


# LITERALINCLUDE END: PYTHON ARGS
class RmsNormBackwardArgs(ctypes.Structure):
    """Arguments of the kernel "rms_norm_backward"."""

    _fields_ = (
        ("grad_output", NumberRows),
        ("input", NumberRows),
        ("weight", NumberRows),
        ("grad_input", NumberRows),
        ("grad_weight", NumberRows),
        ("rstd", ctypes.c_void_p),
        ("sums", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("columns", ctypes.c_int64),
    )


DTYPES = {torch.float16: 5, torch.bfloat16: 6, torch.float32: 7, torch.float64: 8}  # of kernels/launch/dtype.h


def sum_type(dtype: torch.dtype) -> torch.dtype:
    """Returns the type that rows are summed in, and that `rstd` has."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def rows(tensor: Tensor) -> NumberRows:
    """Describes a contiguous tensor, but for its address."""
    size = tensor.element_size()
    return NumberRows(row=tensor.shape[-1] * size, column=size, dtype=DTYPES[tensor.dtype])


def kernel_name(name: str, dtype: torch.dtype) -> str:
    """Returns the name with the type that the kernel computes in."""
    return f"{name}.{'double' if dtype == torch.float64 else 'float'}"


def check(x: Tensor, weight: Tensor) -> None:
    """Checks what the fake kernel and the real ones have in common."""
    if weight.shape != x.shape[-1:] or weight.dtype != x.dtype or x.dtype not in DTYPES:
        raise ValueError(
            f"tutorial::rms_norm: argument 'weight' is {weight.dtype} of shape {tuple(weight.shape)}; "
            f"expected {x.dtype} of shape {tuple(x.shape[-1:])}, as the last dimension of 'x'"
        )


def root_mean_square(x: Tensor, eps: float) -> Tensor:
    """Returns 1 / the root mean square of each row."""
    wide = x.to(sum_type(x.dtype))
    return (wide.square().sum(-1, keepdim=True) / max(1, x.shape[-1]) + eps).rsqrt()


def composed_backward(grad: Tensor, x: Tensor, weight: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the gradients of x and weight, by operators that every device has."""
    weighted, normalized = grad * weight.to(rstd.dtype), x * rstd
    mean = (weighted * normalized).sum(-1, keepdim=True) / max(1, x.shape[-1])
    grad_x = (rstd * (weighted - normalized * mean)).to(x.dtype).contiguous()
    return grad_x, (grad * normalized).sum_to_size(weight.shape).to(weight.dtype).contiguous()


# LITERALINCLUDE START: PYTHON OPERATOR
@torch.library.custom_op("tutorial::rms_norm_forward", mutates_args=())
def rms_norm_forward(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Any device. The schema is made of these annotations."""
    check(x, weight)
    rstd = root_mean_square(x, eps)
    return (x * rstd * weight).to(x.dtype).contiguous(), rstd


# LITERALINCLUDE END: PYTHON OPERATOR
# LITERALINCLUDE START: PYTHON KERNEL
@rms_norm_forward.register_kernel("openreg")
def _(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    check(x, weight)
    x, weight = x.contiguous(), weight.contiguous()
    output = torch.empty_like(x)
    rstd = x.new_empty((*x.shape[:-1], 1), dtype=sum_type(x.dtype))
    places = {"input": x, "weight": weight, "output": output}
    args = RmsNormArgs(rows=rstd.numel(), columns=x.shape[-1], eps=eps, **{k: rows(x) for k, x in places.items()})
    at = {name: getattr(RmsNormArgs, name).offset for name, *_ in RmsNormArgs._fields_}
    reads = {at["input"]: x, at["weight"]: weight}
    torch.openreg.launch(kernel_name("rms_norm", x.dtype), args, reads, {at["output"]: output, at["rstd"]: rstd})
    return output, rstd


# LITERALINCLUDE END: PYTHON KERNEL
# LITERALINCLUDE START: PYTHON FAKE
@rms_norm_forward.register_fake
def _(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    check(x, weight)
    output = torch.empty_like(x, memory_format=torch.contiguous_format)
    return output, x.new_empty((*x.shape[:-1], 1), dtype=sum_type(x.dtype))


# LITERALINCLUDE END: PYTHON FAKE
@torch.library.custom_op("tutorial::rms_norm_backward", mutates_args=())
def rms_norm_backward(grad: Tensor, x: Tensor, weight: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    """Any device."""
    check(x, weight)
    return composed_backward(grad, x, weight, rstd)


@rms_norm_backward.register_kernel("openreg")
def _(grad: Tensor, x: Tensor, weight: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    grad, x, weight, rstd = grad.contiguous(), x.contiguous(), weight.contiguous(), rstd.contiguous()
    grad_input, grad_weight = torch.empty_like(x), torch.empty_like(weight)
    sums = x.new_empty((8, weight.numel()), dtype=torch.float64)  # kSummedParts of them
    places = {"grad_output": grad, "input": x, "weight": weight}
    written = {"grad_input": grad_input, "grad_weight": grad_weight}
    described = {name: rows(x) for name, x in (places | written).items()}
    args = RmsNormBackwardArgs(rows=rstd.numel(), columns=x.shape[-1], **described)
    at = {name: getattr(RmsNormBackwardArgs, name).offset for name, *_ in RmsNormBackwardArgs._fields_}
    reads = {at[name]: tensor for name, tensor in places.items()} | {at["rstd"]: rstd}
    name = kernel_name("rms_norm_backward", x.dtype)
    writes = {at[name]: tensor for name, tensor in written.items()} | {at["sums"]: sums}
    torch.openreg.launch(name, args, reads, writes)
    return grad_input, grad_weight


@rms_norm_backward.register_fake
def _(grad: Tensor, x: Tensor, weight: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x, memory_format=torch.contiguous_format), torch.empty_like(weight)


# LITERALINCLUDE START: PYTHON AUTOGRAD
def setup_context(ctx: torch.autograd.function.FunctionCtx, inputs: tuple, output: tuple) -> None:
    """Keeps what the backward needs."""
    x, weight, _ = inputs
    ctx.save_for_backward(x, weight, output[1])
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def backward(ctx: torch.autograd.function.FunctionCtx, grad: Tensor | None, _: Tensor | None) -> tuple:
    """Gradients of input, weight and eps."""
    return (None, None, None) if grad is None else (*rms_norm_backward(grad, *ctx.saved_tensors), None)


rms_norm_forward.register_autograd(backward, setup_context=setup_context)
# LITERALINCLUDE END: PYTHON AUTOGRAD


# LITERALINCLUDE START: PYTHON AUTOCAST VMAP
rms_norm_forward.register_autocast("cpu", torch.bfloat16)  # casts all arguments, the weight, too
rms_norm_forward.register_autocast("openreg", torch.bfloat16)


@rms_norm_forward.register_vmap
def _(info: object, in_dims: tuple, x: Tensor, weight: Tensor, eps: float) -> tuple:
    if in_dims[1] is not None:
        raise NotImplementedError("tutorial::rms_norm: a weight for each of the batch")
    return rms_norm_forward(x.movedim(in_dims[0], 0), weight, eps), (0, 0)


# LITERALINCLUDE END: PYTHON AUTOCAST VMAP
# LITERALINCLUDE START: PYTHON MUTATES
@torch.library.custom_op("tutorial::add_rms_norm_", mutates_args=("residual",))
def add_rms_norm_(residual: Tensor, x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """Any device, in two operators. That `residual` changes is in the schema, so autograd and graphs are told."""
    return rms_norm_forward(residual.add_(x), weight, eps)[0]


@add_rms_norm_.register_fake
def _(residual: Tensor, x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    return torch.empty_like(residual, memory_format=torch.contiguous_format)


# LITERALINCLUDE END: PYTHON MUTATES
def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """Normalises the last dimension: what users call."""
    return rms_norm_forward(x, weight, eps)[0]


# LITERALINCLUDE START: PYTHON FUNCTION
class RmsNorm(torch.autograd.Function):
    """For torch.func, which refuses what register_autograd() makes: the fused forward, and a backward of operators.

    torch.func always wants to go on differentiating, so each operator in the backward has to have a derivative.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor, eps: float) -> Tensor:
        """The operator from above."""
        return rms_norm_forward(x, weight, eps)[0]

    @staticmethod
    def setup_context(ctx: torch.autograd.function.FunctionCtx, inputs: tuple, output: Tensor) -> None:
        """Keeps the arguments only: what was computed of them would count as a constant."""
        ctx.save_for_backward(*inputs[:2])
        ctx.eps = inputs[2]

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: Tensor) -> tuple:
        """Gradients of x, weight and eps."""
        x, weight = ctx.saved_tensors
        rstd = root_mean_square(x, ctx.eps)
        return *composed_backward(grad, x, weight, rstd), None


# LITERALINCLUDE END: PYTHON FUNCTION
def functional_rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """Normalises the last dimension, inside the functions of torch.func, too."""
    return RmsNorm.apply(x, weight, eps)


def main() -> None:
    """Compares the operator with the one that is registered in C++."""
    x, weight = torch.randn(4, 8, device="openreg"), torch.rand(8, device="openreg")
    for dtype in DTYPES:
        equal = torch.equal(
            rms_norm(x.to(dtype), weight.to(dtype)), torch.ops.openreg.rms_norm(x.to(dtype), weight.to(dtype))
        )
        print(f"{dtype}: from Python as from C++: {equal}")


if __name__ == "__main__":
    main()
