"""A fused node as a kernel of the device: Inductor's loops for a CPU, in the frame of a module."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache

import sympy
import torch
from torch._inductor.codegen.common import BracesBuffer
from torch._inductor.codegen.cpp import (
    CppKernel,
    CppKernelProxy,
    CppTile2DKernel,
    CppVecKernel,
    CppVecOverrides,
    KernelGroup,
    LoopLevel,
    ParallelDepth,
)
from torch._inductor.codegen.cpp_utils import CppCSEVariable, cexpr_index
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.scheduler import BaseSchedulerNode
from torch._inductor.utils import Placeholder
from torch._inductor.virtualized import V
from torch.utils._sympy.functions import FloorDiv, ModularIndexing, PythonMod

from . import config

BEGIN, END = sympy.symbols("begin end", integer=True)
ELEMENTS_OF_A_PIECE = 16384  # fewer are not worth another thread
SEVERAL = 2  # threads. With one, Inductor would add to a place without an atomic operation; no more hangs on it.


@cache
def has_vector_mathematics() -> bool:
    """Whether the C library has all functions of whole vectors that compiled_math.h names: glibc's for x86."""
    library, version = platform.libc_ver()
    return platform.machine() == "x86_64" and library == "glibc" and [int(it) for it in version.split(".")] >= [2, 35]


# LITERALINCLUDE START: COMPILED OPERATIONS
class VectorOperations(CppVecOverrides):
    """How each operation on a vector reads in C++: Inductor's, but for random numbers, which it draws one by one."""

    def __new__(cls, *args: object, **kwargs: object) -> VectorOperations:
        """Inductor has its operations as attributes of the object."""
        self = super().__new__(cls, *args, **kwargs)
        one_by_one = self.rand

        def rand(seed: CppCSEVariable, offset: CppCSEVariable) -> object:
            if not offset.is_vec:
                return one_by_one(seed, offset)
            return f"uniform<{V.kernel._get_vec_type(torch.float)}>({seed}, {offset})"

        self.rand = rand
        return self


class VectorKernel(CppVecKernel):
    """Inductor's loops over vectors."""

    overrides = VectorOperations


class TileKernel(CppTile2DKernel, VectorKernel):
    """Inductor's loops over tiles of two dimensions, which it takes to be loops over vectors."""

    def store(self, name: str, index: sympy.Expr, value: CppCSEVariable, mode: str | None = None) -> None:
        """Stores a row of the tile, or adds it to what is there.

        Inductor's own moves the index on to the row, and where it adds atomically, ``index_expr`` does so again
        (https://github.com/pytorch/pytorch/issues/191837).
        """
        if mode == "atomic_add" and not self.need_vec_transpose(self.rename_indexing(index)):
            CppVecKernel.store(self, name, index, value if value.is_vec else self.broadcast(value), mode)
        else:
            super().store(name, index, value, mode)


# LITERALINCLUDE END: COMPILED OPERATIONS


# LITERALINCLUDE START: COMPILED LOOPS
class Loops(CppKernelProxy):
    """Inductor's loops without OpenMP: the device has threads of its own."""

    vec_kernel_cls = VectorKernel
    tile2d_kernel_cls = TileKernel

    def __init__(self, kernel_group: KernelGroup) -> None:
        super().__init__(kernel_group)
        if not has_vector_mathematics():
            self.picked_vec_isa = None

    def aggregate_reduction_buffers(self, inner_reduces: bool, outer: LoopLevel | None) -> None:
        """Joins what the loops over whole vectors, and over what is left at the end, store of a reduction.

        Inductor asks the loop behind the outer of two tiled ones whether it reduces. That may be a third loop between
        them, and then what is left is stored as a whole vector (https://github.com/pytorch/pytorch/issues/196681).
        """
        first = self.kernels[0]
        if isinstance(first, TileKernel):
            inner_reduces = [self.loop_nest.loops[it].is_reduction for it in first.tiling_indices] == [False, True]
        super().aggregate_reduction_buffers(inner_reduces, outer)

    def decide_parallel_depth(self, max_parallel_depth: ParallelDepth, threads: int) -> ParallelDepth:
        """No loop is OpenMP's. :meth:`Kernel.finalize_kernel` hands the outermost to the device."""
        return ParallelDepth(parallel_depth=0, start_depth=0)


class Kernel(KernelGroup):
    """One kernel of the device, which is a module of its own."""

    def new_kernel(self, cls: type[CppKernel], *args: object) -> CppKernel:
        """Begins loops that several threads share, whatever torch.get_num_threads() says: those are the CPU's."""
        kernel = cls(self.args, SEVERAL, *args)
        # In the object and not in a subclass: Inductor asks whether a type is CppKernel, loops over single elements.
        inductors = kernel.rename_indexing
        kernel.rename_indexing = lambda index: _floored(inductors(index))
        return kernel

    def finalize_kernel(self, kernel: CppKernelProxy, nodes: Sequence[BaseSchedulerNode]) -> None:
        """Writes a nest of loops. The device's threads share the outermost, unless it is a reduction."""
        self.scheduled_nodes += nodes
        outermost = next(iter(kernel.loop_nest.loops or []), None)
        if outermost is None or outermost.is_reduction:
            kernel.codegen_loops(self.loops_code, self.ws)
            return
        rounds = V.graph.sizevars.optimization_hint(kernel.call_ranges[0]) // outermost.steps
        grain = max(1, int(ELEMENTS_OF_A_PIECE * rounds // max(1, kernel.size_hint())))
        size, step = cexpr_index(outermost.size), cexpr_index(outermost.steps)
        outermost.offset, outermost.size = BEGIN, END
        self.loops_code.writeline(f"parallelFor(context, {size}, {step}, {grain}, [&](int64_t begin, int64_t end)")
        kernel.codegen_loops(self.loops_code, self.ws)
        self.loops_code.writeline(");")

    # LITERALINCLUDE END: COMPILED LOOPS

    # LITERALINCLUDE START: COMPILED FRAME
    def codegen_group(self, name: str | None = None) -> str:
        """The module's source. The kernel's name is filled in later."""
        self.stack.close()
        if not self.scheduled_nodes:
            return ""
        parameters, _, _ = self.args.cpp_argdefs()
        code = BracesBuffer()
        code.writeline(f"#include <{config.frame}>  // {config.headers[:16]} {config.processor[:16]}")
        code.writeline(f"static void kernel({', '.join(['orKernelContext* context', *parameters])})")
        with code.indent():
            for old, new in self.args.aliases():
                code.writeline(f"auto {old} = {new};")
            code.splice(self.loops_code)
        code.writeline(f'OPENREG_MODULE("{Placeholder.DESCRIPTIVE_NAME}", kernel)')
        return code.getvalue()

    def call_kernel(self, wrapper: PythonWrapperCodegen, kernel_name: str) -> None:
        """Writes the line of Python that launches it."""
        _, arguments, types = self.args.cpp_argdefs()
        arguments = [_on_device(argument) for argument in arguments]
        # "cpu" stands for a plain call of a function. The kernels of all other devices are taken to be Triton's.
        wrapper.generate_kernel_call(kernel_name, arguments, triton=False, arg_types=types, device=torch.device("cpu"))

    # LITERALINCLUDE END: COMPILED FRAME


def _floored(index: sympy.Expr | list[sympy.Expr]) -> sympy.Expr | list[sympy.Expr]:
    """An index whose remainders are Python's, with which Inductor reckons.

    It leaves out what a divisor divides, and the rest may be below zero. A remainder of C++ is then below zero, too: a
    place in front of the tensor (https://github.com/pytorch/pytorch/issues/190765).
    """
    if isinstance(index, list):
        return index  # of indices that were renamed one by one
    return index.replace(
        lambda it: isinstance(it, ModularIndexing) and not it.args[0].is_nonnegative,
        lambda it: PythonMod(FloorDiv(it.args[0], it.args[1]), it.args[2]),
    )


def _on_device(argument: str) -> str:
    """The argument, and what sends it if it is a tensor on the CPU: one without dimensions may be."""
    buffer = V.graph.try_get_buffer(argument)
    device = V.graph.get_current_device_or_throw()
    return argument if buffer is None or buffer.get_device() == device else f"{argument}.to('{device}')"
