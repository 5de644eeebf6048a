"""Tensors: memory, copies, and operators without a kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch

from ..backend import Backend
from ..processes import Child
from ..registry import Missing, Section, Silent, Wrong

section = Section("tensors and operators", step=2, chapter="02-tensor")
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.bool]
DTYPES += [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
NEEDS = ("import", "tensors")
TOO_MUCH = 1 << 50  # bytes; no device has a petabyte
HOT: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "add.Tensor": lambda x: x + x,
    "mul.Tensor": lambda x: x * x,
    "mm": lambda x: x @ x,
    "relu": torch.relu,
    "sum.dim_IntList": lambda x: x.sum(1),
    "_log_softmax": lambda x: torch.log_softmax(x, 1),
}


@section.probe("tensors", write="empty.memory_format, empty_strided, _copy_from")
def tensors(backend: Backend) -> str:
    """Copies numbers to the device and back, of each type, and with strides."""
    for dtype in DTYPES:
        here = torch.arange(24).reshape(2, 3, 4).to(dtype)
        for view in (here, here.transpose(0, 2), here[:, ::2], here[1]):
            there = view.to(backend.device())
            if there.device.type != backend.name:
                raise Silent(f"to({backend.name!r}) leaves the tensor on {there.device}")
            if not torch.equal(there.cpu(), view):
                raise Wrong(f"a copy of {dtype} of shape {tuple(view.shape)} comes back with other numbers")
    return f"{len(DTYPES)} types, there and back"


@section.probe("out of memory", write="throw c10::OutOfMemoryError from Allocator::allocate", needs=NEEDS)
def out_of_memory(backend: Backend) -> str:
    """Asks for a petabyte, and then for a tensor that fits."""
    try:
        torch.empty(TOO_MUCH, dtype=torch.uint8, device=backend.device())
    except torch.OutOfMemoryError:
        here, there = backend.numbers(3)
        backend.check(there, here, "a tensor after the error")
        return "torch.OutOfMemoryError"
    except RuntimeError as error:
        raise Wrong(f"the error is a {type(error).__name__}, not torch.OutOfMemoryError: {error}") from error
    raise Silent("a petabyte was given out")


@section.probe("host read", write="nothing: this says what your memory is", needs=NEEDS)
def host_read(backend: Backend) -> str:
    """Reads a tensor's memory on the host, in a process that may die of it."""
    there = torch.tensor([305419896], dtype=torch.int32).to(backend.device())
    torch.accelerator.synchronize()
    ended = Child(lambda: ctypes.c_int32.from_address(there.data_ptr()).value, backend.patience, group=False).wait()
    if ended.status == 0 and ended.said != 305419896:
        raise Silent("the host reads something else at data_ptr(), so it is not an address of the host")
    return "the host can read it" if ended.status == 0 else f"a process that reads it {ended.how}"


@section.probe(
    "fallback",
    step=3,
    chapter="03-fallback",
    write="TORCH_LIBRARY_IMPL(_, PrivateUse1): at::native::cpu_fallback",
    needs=NEEDS,
)
def fallback(backend: Backend) -> None:
    """Calls operators for which hardly anybody writes a kernel, and compares with the CPU."""
    here, there = backend.numbers(4, 6)
    backend.check(torch.special.zeta(there.abs() + 2, 1.5), torch.special.zeta(here.abs() + 2, 1.5), "special.zeta")
    backend.check(torch.logcumsumexp(there, 1), torch.logcumsumexp(here, 1), "logcumsumexp")
    backend.check(there.lgamma_(), here.lgamma_(), "lgamma_, in place")
    backend.check(torch.frexp(there)[0], torch.frexp(here)[0], "frexp")


@section.probe(
    "print",
    step=3,
    chapter="03-fallback",
    write="the fallback: print calls abs, ne, masked_select and others",
    needs=NEEDS,
)
def printing(backend: Backend) -> None:
    """Prints a tensor."""
    here, there = backend.numbers(3)
    if (said := repr(there)) != repr(here)[:-1] + f", device='{backend.name}:0')":
        raise Wrong(f"repr() is {said}")


@section.probe(
    "native kernels",
    step=5,
    chapter="05-kernels",
    write="TORCH_LIBRARY_IMPL(aten, PrivateUse1): the operators named",
    needs=NEEDS,
)
def native_kernels(backend: Backend) -> str:
    """Asks the dispatcher who serves the operators of a training loop, and compares their results with the CPU.

    What is registered may still go to the CPU, where the driver lacks the kernel. A backend that counts says so.
    """
    here, there = backend.numbers(9, 9)
    count = getattr(backend.module, "fallbacks", dict)
    before = count()
    results = {name: call(there) for name, call in HOT.items()}
    served = sorted(count().keys() - before.keys())
    for name, call in HOT.items():
        backend.check(results[name], call(here), name)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    structured = {
        "add.Tensor": "add.out",
        "mul.Tensor": "mul.out",
        "mm": "mm.out",
        "sum.dim_IntList": "sum.IntList_out",
    }
    names = {it: [f"aten::{it}", f"aten::{structured.get(it, it + '.out')}"] for it in HOT}
    lacking = [it for it, forms in names.items() if not any(has(form, "PrivateUse1") for form in forms)]
    if lacking:
        raise Missing(f"without a kernel on the device: {', '.join(lacking)}")
    if served:
        raise Missing(f"registered, but the driver lacks the kernel, and the CPU computes: {', '.join(served)}")
    return ", ".join(HOT)
